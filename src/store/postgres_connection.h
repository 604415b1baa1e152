// libpq, wrapped just enough: a connection that closes itself, the values of a statement and its
// rows in binary, and one place where an outcome becomes an Error.
//
// A statement ends within `silence` of the last sign of life from the server, so a database that no
// longer answers holds nobody up. What an error says of the statement:
//   Unavailable  the connection is gone or silent: it may have happened, now or later
//   Conflict     the database chose another transaction (40001, 40P01): it has not happened
//   StoreFailed  refused, in the database's words: it has not happened
// After Unavailable the connection is broken and stays so.
//
// Thread: one at a time per connection.
//
// A Server stands in for PostgreSQL and libpq: the simulator's (sim/database/sim_database.h). What
// an outcome means for the statement is decided here for both.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace pawl::pg {

// The values of a statement, in the order of $1, $2, …. Bytes are not copied: they must live until
// the statement has run.
class Params {
 public:
  Params& int2(int16_t value) { return number(static_cast<uint64_t>(value), 2); }
  Params& int4(int32_t value) { return number(static_cast<uint64_t>(value), 4); }
  Params& int8(uint64_t value) { return number(value, 8); }
  Params& bytes(std::string_view value);
  Params& int2_array(std::span<const int16_t> values);
  Params& bytes_array(std::span<const std::string_view> values);

  size_t size() const { return values_.size(); }
  std::string_view at(size_t i) const {
    return {values_[i].data, static_cast<size_t>(values_[i].size)};
  }

 private:
  friend class Connection;
  struct Value {
    const char* data = nullptr;
    int size = 0;
  };

  Params& number(uint64_t value, int size);
  Params& keep(std::string bytes);

  std::vector<std::unique_ptr<std::string>> kept_;
  std::vector<Value> values_;
};

class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}

  size_t size() const { return static_cast<size_t>(PQntuples(result_.get())); }
  bool is_null(size_t row, int column) const {
    return PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
  }
  std::string_view bytes(size_t row, int column) const;
  uint64_t number(size_t row, int column) const;  // int2, int4, int8; 0 if null
  Rows row(size_t at) const;                      // a copy of this one alone

 private:
  friend class Connection;
  PGresult* get() const { return result_.get(); }

  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

// A statement that a connection prepares when it first runs it. Both live as long as the program
// or the connection.
struct Query {
  std::string name;
  std::string sql;
};

class Server;

struct Access {
  std::string url;
  std::string application;  // what the database's own lists show
  std::chrono::milliseconds silence{3000};
  Server* server = nullptr;  // null: PostgreSQL, at the URL

  void pause(std::chrono::milliseconds time) const;  // before another attempt
};

// How a statement of a stand-in ended. No rows: as a session that is gone, or silent for too long.
// Otherwise the rows are the statement's if `sql_state` is empty.
struct Ended {
  std::optional<Rows> rows;
  std::string sql_state = {};
  std::string message = {};
};

class Session {
 public:
  virtual ~Session() = default;
  virtual Ended run(std::string_view sql, const Params& params) = 0;
  virtual bool in_transaction() const = 0;
};

class Server {
 public:
  virtual ~Server() = default;
  virtual std::unique_ptr<Session> connect(const Access& access) = 0;  // null: cannot be reached
  virtual void pause(std::chrono::milliseconds time) = 0;
};

class Connection {
 public:
  Connection() = default;
  static Result<Connection> open(const Access& access);

  Result<Rows> run(std::string_view sql, const Params& params = {});
  Result<Rows> run(const Query& query, const Params& params = {});
  // Hands over one row at a time as they arrive, so that a large result is never in memory as a
  // whole. False: the rest is passed over.
  Status each(const Query& query, const Params& params, FunctionRef<bool(const Rows& row)> visit);

  bool usable() const { return (handle_ != nullptr || session_ != nullptr) && !broken_; }
  bool idle() const;
  int backend() const { return PQbackendPID(handle_.get()); }
  // Of the last statement that failed: "23505"; "" if the database said nothing.
  const std::string& sql_state() const { return sql_state_; }
  void close() {
    handle_.reset();
    session_.reset();
  }

 private:
  enum class Wait { Read, ReadAndWrite };

  Status prepare(const Query& query);
  Status send(const char* sql, const char* prepared, const Params& params, std::string_view doing);
  using VisitRow = FunctionRef<bool(const Rows& row)>;
  Result<Rows> finish(std::string_view doing, VisitRow* visit = nullptr);
  bool flush();
  bool wait(Wait what);
  Error lost(std::string_view doing);
  Error refused(std::string_view doing, PGresult* result);
  Error refused(std::string_view doing, std::string state, std::string_view told);
  Result<Rows> ask(std::string_view doing, std::string_view sql, const Params& params);

  std::unique_ptr<PGconn, decltype(&PQfinish)> handle_{nullptr, &PQfinish};
  std::unique_ptr<Session> session_;  // of a stand-in; then there is no handle
  std::chrono::milliseconds silence_{3000};
  bool broken_ = false;
  std::set<std::string> prepared_;
  std::string sql_state_;
};

}  // namespace pawl::pg
