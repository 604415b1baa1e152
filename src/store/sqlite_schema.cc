#include "store/sqlite_schema.h"

#include <fmt/format.h>

namespace pawl {
namespace {

constexpr uint64_t kApplicationId = 0x5061776c;  // "Pawl", in the database header

Status create(Connection& db) {
  return db.execute(
      fmt::format("BEGIN IMMEDIATE;"
                  "PRAGMA application_id = {};"
                  "CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
                  "CREATE TABLE kv(space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
                  " PRIMARY KEY (space, key)) WITHOUT ROWID;"
                  "CREATE TABLE journal(number INTEGER PRIMARY KEY, record BLOB NOT NULL);"
                  "INSERT INTO meta(name, value) VALUES ('schema', {});"
                  "COMMIT",
                  kApplicationId, kSqliteSchemaVersion));
}

Status check_version(Connection& db) {
  PAWL_TRY(const uint64_t version, db.query_number("SELECT value FROM meta WHERE name = 'schema'"));
  if (version > kSqliteSchemaVersion) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("the database has layout version {}, this Pawl knows up to {}: it was "
                             "written by a newer Pawl",
                             version, kSqliteSchemaVersion)};
  }
  if (version == 0) return Error{ErrorCode::Corrupt, "the database has no layout version"};
  return ok_status();
}

}  // namespace

Status prepare_schema(Connection& db, uint64_t page_bytes) {
  // Only a database without pages yet takes a page size.
  PAWL_TRY_DO(
      db.execute(fmt::format("PRAGMA page_size = {}; PRAGMA auto_vacuum = NONE", page_bytes)));
  PAWL_TRY(const uint64_t tables, db.query_number("SELECT count(*) FROM sqlite_schema"));
  PAWL_TRY(const uint64_t application, db.query_number("PRAGMA application_id"));
  if (tables != 0 && application != kApplicationId) {
    return Error{ErrorCode::Corrupt, "the database was not made by Pawl"};
  }
  if (tables != 0) PAWL_TRY_DO(check_version(db));
  PAWL_TRY_DO(db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  return tables == 0 ? create(db) : ok_status();
}

}  // namespace pawl
