// The SQLite C API, wrapped just enough: a connection and a prepared statement that close
// themselves, and one place where a result code becomes an Error.
//
// Thread: one at a time per connection (they are opened without SQLite's own mutex).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl {

// Corrupt for a damaged or foreign file, StoreFailed for everything else; `doing` says what failed.
Error sqlite_error(int code, std::string_view doing, std::string_view detail);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(Statement&& other) noexcept : statement_(other.statement_), bound_(other.bound_) {
    other.statement_ = nullptr;
  }
  Statement& operator=(Statement&& other) noexcept {
    std::swap(statement_, other.statement_);
    std::swap(bound_, other.bound_);
    return *this;
  }

  // Bound bytes are not copied: they must live until reset(). A value too large to bind is reported
  // by the next step().
  void bind(int index, std::string_view bytes);
  void bind(int index, uint64_t number);
  void bind_null(int index) { sqlite3_bind_null(statement_, index); }

  // SQLITE_ROW, SQLITE_DONE or an error code.
  int step() { return bound_ == SQLITE_OK ? sqlite3_step(statement_) : bound_; }
  void reset() {
    sqlite3_reset(statement_);
    bound_ = SQLITE_OK;
  }
  // For a statement that returns no row: runs it and resets it. SQLITE_OK or an error code.
  int run();

  std::string_view bytes(int column) const;
  bool is_number(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
  }
  uint64_t number(int column) const {
    return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = SQLITE_OK;
};

// Resets on leaving the scope, which also ends the read transaction of a query.
class ResetLater {
 public:
  explicit ResetLater(Statement& statement) : statement_(statement) {}
  ~ResetLater() { statement_.reset(); }
  ResetLater& operator=(ResetLater&&) = delete;

 private:
  Statement& statement_;
};

class Connection {
 public:
  Connection() = default;
  ~Connection() { close(); }
  Connection(Connection&& other) noexcept : db_(other.db_) { other.db_ = nullptr; }
  Connection& operator=(Connection&& other) noexcept {
    std::swap(db_, other.db_);
    return *this;
  }

  // `flags` as for sqlite3_open_v2.
  static Result<Connection> open(const std::string& path, int flags, const char* vfs);
  void close();

  Result<Statement> prepare(std::string_view sql);
  Status execute(const std::string& sql);
  Result<uint64_t> query_number(std::string_view sql);  // first column of the first row; 0 if none

  // Names the page, if a damaged one is the reason.
  Error error(int code, std::string_view doing) const;
  sqlite3* handle() const { return db_; }
  // Drops the pages in its cache that no statement is at.
  void release_pages() { sqlite3_db_release_memory(db_); }

 private:
  explicit Connection(sqlite3* db) : db_(db) {}

  sqlite3* db_ = nullptr;
};

}  // namespace pawl
