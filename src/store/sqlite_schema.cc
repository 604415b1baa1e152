#include "store/sqlite_schema.h"

#include <fmt/format.h>

#include "store/page_sum.h"

namespace pawl {
namespace {

constexpr uint64_t kApplicationId = 0x5061776c;  // "Pawl", in the database header

constexpr std::string_view kLargeTables =
    "CREATE TABLE large(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL, unpacked INTEGER);"
    "CREATE TABLE large_spaces(space INTEGER PRIMARY KEY);";

// An even one has page sums. 1 and 2 had no tables for large values, 3 and 4 packed nothing.
uint64_t version_of(const DatabaseForm& form) { return form.sums ? 6 : 5; }

Status create(Connection& db, const DatabaseForm& form, const PartitionPlace& place) {
  return db.execute(
      fmt::format("BEGIN IMMEDIATE;"
                  "PRAGMA application_id = {};"
                  "CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
                  "CREATE TABLE kv(space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
                  " PRIMARY KEY (space, key)) WITHOUT ROWID;"
                  "CREATE TABLE journal(number INTEGER PRIMARY KEY, record BLOB NOT NULL,"
                  " unpacked INTEGER);"
                  "{}"
                  "INSERT INTO meta(name, value) VALUES ('schema', {}), ('partition', {}),"
                  " ('partitions', {});"
                  "COMMIT",
                  kApplicationId, kLargeTables, version_of(form), place.id, place.of));
}

Status upgrade(Connection& db, const DatabaseForm& form, uint64_t from) {
  return db.execute(
      fmt::format("BEGIN IMMEDIATE; {} ALTER TABLE journal ADD COLUMN unpacked INTEGER;"
                  "UPDATE meta SET value = {} WHERE name = 'schema'; COMMIT",
                  from <= 2 ? kLargeTables : "ALTER TABLE large ADD COLUMN unpacked INTEGER;",
                  version_of(form)));
}

Result<uint64_t> check_version(Connection& db, const DatabaseForm& form) {
  PAWL_TRY(const uint64_t version, db.query_number("SELECT value FROM meta WHERE name = 'schema'"));
  if (version > kSqliteSchemaVersion) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("the database has layout version {}, this Pawl knows up to {}: it was "
                             "written by a newer Pawl",
                             version, kSqliteSchemaVersion)};
  }
  if (version == 0) return Error{ErrorCode::Corrupt, "the database has no layout version"};
  if ((version % 2 == 0) != form.sums) {
    return Error{ErrorCode::Corrupt,
                 fmt::format("the database has layout version {} but pages {} checksums", version,
                             form.sums ? "with" : "without")};
  }
  return version;
}

}  // namespace

Status prepare_schema(Connection& db, const DatabaseForm& form, const PartitionPlace& place) {
  // Only a database without pages yet takes these.
  int reserved = static_cast<int>(kPageSumBytes);
  if (form.sums) sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  PAWL_TRY_DO(
      db.execute(fmt::format("PRAGMA page_size = {}; PRAGMA auto_vacuum = NONE", form.page_bytes)));
  PAWL_TRY(const uint64_t tables, db.query_number("SELECT count(*) FROM sqlite_schema"));
  PAWL_TRY(const uint64_t application, db.query_number("PRAGMA application_id"));
  if (tables != 0 && application != kApplicationId) {
    return Error{ErrorCode::Corrupt, "the database was not made by Pawl"};
  }
  uint64_t version = version_of(form);
  if (tables != 0) {
    PAWL_TRY(version, check_version(db, form));
  }
  PAWL_TRY_DO(db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  if (tables == 0) PAWL_TRY_DO(create(db, form, place));
  if (version != version_of(form)) PAWL_TRY_DO(upgrade(db, form, version));
  PAWL_TRY(const uint64_t page_bytes, db.query_number("PRAGMA page_size"));
  if (page_bytes == form.page_bytes) return ok_status();
  return Error{ErrorCode::Corrupt,
               fmt::format("the database has pages of {} bytes, its header says {}", page_bytes,
                           form.page_bytes)};
}

Result<PartitionPlace> read_place(Connection& db) {
  PAWL_TRY(const uint64_t of, db.query_number("SELECT value FROM meta WHERE name = 'partitions'"));
  PAWL_TRY(const uint64_t id, db.query_number("SELECT value FROM meta WHERE name = 'partition'"));
  if (of == 0) return PartitionPlace{};
  return PartitionPlace{static_cast<uint16_t>(id), static_cast<uint16_t>(of)};
}

}  // namespace pawl
