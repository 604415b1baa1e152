#include "store/sqlite_connection.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "store/sqlite_vfs.h"

namespace pawl {
namespace {

// Memory statistics would take one global mutex per allocation, shared by all connections.
void configure_once() {
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

}  // namespace

Error sqlite_error(int code, std::string_view doing, std::string_view detail) {
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || code == SQLITE_IOERR_DATA) {
    return Error{ErrorCode::Corrupt,
                 fmt::format("{}: the database is damaged ({}); restore a backup", doing, detail)};
  }
  if (primary == SQLITE_FULL) {
    return Error{ErrorCode::StoreFailed,
                 fmt::format("{}: the disk is full; free some space", doing)};
  }
  return Error{ErrorCode::StoreFailed, fmt::format("{}: {} (sqlite code {})", doing, detail, code)};
}

void Statement::bind(int index, std::string_view bytes) {
  // A null pointer would bind NULL, not the empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  const int code = sqlite3_bind_blob64(statement_, index, data, bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) bound_ = code;
}

void Statement::bind(int index, uint64_t number) {
  const int code = sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(number));
  if (code != SQLITE_OK) bound_ = code;
}

int Statement::run() {
  const int code = step();
  reset();
  return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<Connection> Connection::open(const std::string& path, int flags, const char* vfs) {
  configure_once();
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, vfs);
  Connection connection(db);
  if (code != SQLITE_OK) {
    return sqlite_error(code, "opening " + path,
                        db == nullptr ? "out of memory" : sqlite3_errmsg(db));
  }
  sqlite3_extended_result_codes(db, 1);
  return connection;
}

Error Connection::error(int code, std::string_view doing) const {
  std::string damage;
  if (code == SQLITE_IOERR_DATA) sqlite3_file_control(db_, "main", kTellDamage, &damage);
  return sqlite_error(code, doing, damage.empty() ? std::string_view(sqlite3_errmsg(db_)) : damage);
}

void Connection::close() {
  // Statements are finalized before their connection (member order), so this cannot be busy.
  if (db_ != nullptr) PAWL_CHECK(sqlite3_close(db_) == SQLITE_OK);
  db_ = nullptr;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error(code, fmt::format("preparing \"{}\"", sql));
  return Statement(statement);
}

Status Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  return ok_status();
}

Result<uint64_t> Connection::query_number(std::string_view sql) {
  PAWL_TRY(Statement statement, prepare(sql));
  const int code = statement.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return error(code, sql);
  return code == SQLITE_ROW ? statement.number(0) : uint64_t{0};
}

}  // namespace pawl
