#include "store/postgres_schema.h"

#include <fmt/format.h>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/read_number.h"

namespace pawl {
namespace {

constexpr int kAttempts = 5;
constexpr char kCopying[] = "copying";

// Only the settings without which an acknowledged commit could be lost.
Status check_promises(pg::Connection& database) {
  PAWL_TRY(const pg::Rows rows,
           database.run("SELECT name, setting FROM pg_settings WHERE name IN "
                        "('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'"));
  if (rows.size() == 0) return ok_status();
  return Error{
      ErrorCode::InvalidRequest,
      fmt::format("PostgreSQL runs with {} = off, so it may lose what Pawl has acknowledged; "
                  "switch it on",
                  rows.bytes(0, 0))};
}

Status make_tables(pg::Connection& database) {
  for (const char* sql : {
           "CREATE TABLE IF NOT EXISTS pawl_meta (name text PRIMARY KEY, value text NOT NULL)",
           "CREATE TABLE IF NOT EXISTS pawl_node (name text PRIMARY KEY, incarnation uuid NOT NULL,"
           " url text NOT NULL, version text NOT NULL, formats text NOT NULL,"
           " started_at timestamptz NOT NULL, beat bigint NOT NULL, last_seen timestamptz NOT NULL,"
           " draining boolean NOT NULL, stages text NOT NULL DEFAULT '') WITH (fillfactor = 50)",
           "CREATE TABLE IF NOT EXISTS pawl_partition (id int PRIMARY KEY, epoch bigint NOT NULL,"
           " owner text, incarnation uuid, trim_before bigint NOT NULL, first_segment int NOT NULL)"
           " WITH (fillfactor = 50)",
           "CREATE TABLE IF NOT EXISTS pawl_kv (partition int, space int2, key bytea,"
           " value bytea NOT NULL, PRIMARY KEY (partition, space, key)) WITH (fillfactor = 80,"
           " autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)",
           "ALTER TABLE pawl_kv ALTER COLUMN value SET STORAGE EXTERNAL",
           "CREATE TABLE IF NOT EXISTS pawl_segment (id int PRIMARY KEY,"
           " made_at timestamptz NOT NULL)",
       })
    PAWL_TRY_DO(database.run(sql));
  return make_segment(database, 1);
}

Status fill_tables(pg::Connection& database, uint16_t partitions) {
  PAWL_TRY_DO(
      database.run(fmt::format("INSERT INTO pawl_partition SELECT id, 0, NULL, NULL, 0, 1"
                               " FROM generate_series(0, {}) AS id ON CONFLICT DO NOTHING",
                               partitions - 1)));
  PAWL_TRY_DO(database.run(
      fmt::format("INSERT INTO pawl_meta VALUES ('partitions', '{}'), ('cluster_id', '{}'),"
                  " ('schema', '{}')",
                  partitions, random_secret(16), kPostgresSchema)));
  return ok_status();
}

// The layout that is there; nothing if there is none.
Result<std::optional<uint64_t>> read_meta(pg::Connection& database, std::string_view name) {
  auto rows =
      database.run("SELECT value FROM pawl_meta WHERE name = $1::text", pg::Params().bytes(name));
  if (!rows.ok() && database.sql_state() == "42P01") return std::optional<uint64_t>();
  if (!rows.ok()) return std::move(rows).error();
  if (rows->size() == 0) return std::optional<uint64_t>();
  uint64_t number = 0;
  if (!read_number(rows->bytes(0, 0), number))
    return Error{ErrorCode::Corrupt, fmt::format("pawl_meta: {} is no number", name)};
  return std::optional<uint64_t>(number);
}

Status in_transaction(pg::Connection& database, FunctionRef<Status()> act) {
  PAWL_TRY_DO(database.run("BEGIN"));
  Status done = act();
  if (done.ok()) {
    auto committed = database.run("COMMIT");
    if (committed.ok()) return ok_status();
    done = std::move(committed).error();
  }
  (void)database.run("ROLLBACK");
  return done;
}

// One node makes the tables while others wait for it; who loses finds them there.
Status make_all(pg::Connection& database, uint16_t partitions) {
  return in_transaction(database, [&]() -> Status {
    PAWL_TRY_DO(make_tables(database));
    return fill_tables(database, partitions);
  });
}

// Nodes of the former layout go on beside it.
Status upgrade_tables(pg::Connection& database) {
  return in_transaction(database, [&]() -> Status {
    PAWL_TRY_DO(database.run(
        "ALTER TABLE pawl_node ADD COLUMN IF NOT EXISTS stages text NOT NULL DEFAULT ''"));
    PAWL_TRY_DO(database.run(
        fmt::format("UPDATE pawl_meta SET value = '{}' WHERE name = 'schema'", kPostgresSchema)));
    return ok_status();
  });
}

}  // namespace

Result<std::string> claim_meta(pg::Connection& database, std::string_view name,
                               std::string_view value) {
  PAWL_TRY_DO(
      database.run("INSERT INTO pawl_meta VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING",
                   pg::Params().bytes(name).bytes(value)));
  PAWL_TRY(const pg::Rows rows, database.run("SELECT value FROM pawl_meta WHERE name = $1::text",
                                             pg::Params().bytes(name)));
  if (rows.size() != 1) return Error{ErrorCode::Corrupt, "pawl_meta lost what was written"};
  return std::string(rows.bytes(0, 0));
}

std::string segment_table(uint32_t id) { return fmt::format("pawl_journal_{}", id); }

Status make_segment(pg::Connection& database, uint32_t id) {
  const std::string table = segment_table(id);
  PAWL_TRY_DO(database.run(fmt::format(
      "CREATE TABLE IF NOT EXISTS {} (partition int, number bigint, record bytea NOT NULL,"
      " PRIMARY KEY (partition, number))",
      table)));
  PAWL_TRY_DO(
      database.run(fmt::format("ALTER TABLE {} ALTER COLUMN record SET STORAGE EXTERNAL", table)));
  PAWL_TRY_DO(database.run(fmt::format(
      "INSERT INTO pawl_segment VALUES ({}, clock_timestamp()) ON CONFLICT DO NOTHING", id)));
  return ok_status();
}

Status mark_copying(pg::Connection& database) {
  PAWL_TRY_DO(claim_meta(database, kCopying, "1"));
  return ok_status();
}

Status unmark_copying(pg::Connection& database) {
  PAWL_TRY_DO(
      database.run("DELETE FROM pawl_meta WHERE name = $1::text", pg::Params().bytes(kCopying)));
  return ok_status();
}

Status drop_schema(pg::Connection& database) {
  PAWL_TRY(const pg::Rows segments, database.run("SELECT id FROM pawl_segment"));
  std::string tables = "pawl_meta, pawl_node, pawl_partition, pawl_kv, pawl_segment";
  for (size_t i = 0; i < segments.size(); ++i)
    tables += ", " + segment_table(static_cast<uint32_t>(segments.number(i, 0)));
  PAWL_TRY_DO(database.run("DROP TABLE IF EXISTS " + tables));
  return ok_status();
}

Result<uint16_t> settle_schema(pg::Connection& database, uint16_t partitions) {
  PAWL_TRY_DO(check_promises(database));
  Status made = ok_status();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PAWL_TRY(const std::optional<uint64_t> schema, read_meta(database, "schema"));
    if (schema && *schema > kPostgresSchema) {
      return Error{
          ErrorCode::Unsupported,
          fmt::format("the database has layout {}, which a newer Pawl wrote; this one knows {}",
                      *schema, kPostgresSchema)};
    }
    if (schema) {
      PAWL_TRY(const std::optional<uint64_t> copying, read_meta(database, kCopying));
      if (copying)
        return Error{ErrorCode::Conflict,
                     "a migration into this database did not finish; drop it and migrate again"};
      if (*schema < kPostgresSchema) PAWL_TRY_DO(upgrade_tables(database));
      PAWL_TRY(const std::optional<uint64_t> found, read_meta(database, "partitions"));
      if (found && (partitions == 0 || partitions == *found)) return static_cast<uint16_t>(*found);
      return Error{ErrorCode::InvalidRequest,
                   fmt::format("the database has {} partitions, which is fixed; {} were asked for",
                               found.value_or(0), partitions)};
    }
    if (partitions == 0) return Error{ErrorCode::NotFound, "the database holds no data of Pawl"};
    made = make_all(database, partitions);
    if (!database.usable()) return std::move(made).error();
  }
  if (!made.ok()) return std::move(made).error();
  return Error{ErrorCode::StoreFailed, "the tables were made and are not there"};
}

}  // namespace pawl
