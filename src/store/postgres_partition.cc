#include "store/postgres_partition.h"

#include <fmt/format.h>

#include "store/postgres_schema.h"

namespace pawl {
namespace {

constexpr int kTakeAttempts = 3;

Error fenced(uint16_t id) {
  return {ErrorCode::Fenced, fmt::format("partition {} belongs to another owner now", id)};
}

// Ends the sessions of an owner that holds the row without going on. Where the database does not
// know this, its own timeout decides.
void end_sessions(pg::Connection& database, const PartitionOwner& of) {
  (void)database.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1::text"
      " AND pid <> pg_backend_pid()",
      pg::Params().bytes(of.application()));
}

// The steps within the transaction: true if the partition is taken.
Result<bool> take_locked(pg::Connection& database, uint16_t id, const PartitionRow& seen,
                         const PartitionOwner& owner, std::optional<uint64_t> owner_beat) {
  PAWL_TRY_DO(database.run("SET LOCAL lock_timeout = '1s'"));
  // Should this machine be gone before it commits, the rows are free again soon: nobody could know
  // whose session holds them.
  PAWL_TRY_DO(database.run("SET LOCAL idle_in_transaction_session_timeout = '2s'"));
  if (owner_beat) {
    PAWL_TRY(
        const pg::Rows stands,
        database.run(
            "SELECT 1 FROM pawl_node WHERE name = $1::text"
            " AND incarnation = $2::text::uuid AND beat = $3::int8 FOR SHARE",
            pg::Params().bytes(seen.owner.node).bytes(seen.owner.incarnation).int8(*owner_beat)));
    if (stands.size() == 0) return false;
  }
  PAWL_TRY(const pg::Rows taken,
           database.run(
               "UPDATE pawl_partition SET owner = $3::text, incarnation = $4::text::uuid,"
               " epoch = epoch + 1 WHERE id = $1::int4 AND epoch = $2::int8"
               " RETURNING epoch",
               pg::Params().int4(id).int8(seen.epoch).bytes(owner.node).bytes(owner.incarnation)));
  return taken.size() == 1;
}

// Overloaded if somebody holds the row.
Result<bool> try_take(pg::Connection& database, uint16_t id, const PartitionRow& seen,
                      const PartitionOwner& owner, std::optional<uint64_t> owner_beat) {
  PAWL_TRY_DO(database.run("BEGIN"));
  const auto taken = take_locked(database, id, seen, owner, owner_beat);
  const bool held = !taken.ok() && database.sql_state() == "55P03";
  const auto ended = database.run(taken.ok() ? "COMMIT" : "ROLLBACK");
  if (held) return Error{ErrorCode::Overloaded, "the row is held"};
  if (!taken.ok()) return Error(taken.error());
  if (!ended.ok()) return Error(ended.error());
  return *taken;
}

}  // namespace

Result<PartitionRow> read_partition(pg::Connection& database, uint16_t id) {
  PAWL_TRY(const pg::Rows rows,
           database.run("SELECT epoch, coalesce(owner, ''), coalesce(incarnation::text, ''),"
                        " trim_before, first_segment FROM pawl_partition WHERE id = $1::int4",
                        pg::Params().int4(id)));
  if (rows.size() == 0)
    return Error{ErrorCode::NotFound, fmt::format("the database has no partition {}", id)};
  PartitionRow row;
  row.epoch = rows.number(0, 0);
  row.owner = {std::string(rows.bytes(0, 1)), std::string(rows.bytes(0, 2))};
  row.trim_before = rows.number(0, 3);
  row.first_segment = static_cast<uint32_t>(rows.number(0, 4));
  return row;
}

Result<PartitionRow> take_partition(pg::Connection& database, uint16_t id, const PartitionRow& seen,
                                    const PartitionOwner& owner,
                                    std::optional<uint64_t> owner_beat) {
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    auto taken = try_take(database, id, seen, owner, owner_beat);
    if (taken.ok() && !*taken) return fenced(id);
    // Read after the update: everything that the former owner committed is there now.
    if (taken.ok()) return read_partition(database, id);
    if (taken.error().code != ErrorCode::Overloaded) return std::move(taken).error();
    end_sessions(database, seen.owner);
  }
  return Error{ErrorCode::Unavailable,
               fmt::format("partition {}: a session of {} holds on to it", id, seen.owner.node)};
}

Status note_partition(pg::Connection& database, uint16_t id, const PartitionRow& row,
                      const NewestRecord& newest, bool free) {
  std::string sql = "UPDATE pawl_partition SET trim_before = $3::int8, first_segment = $4::int4";
  if (free) sql += ", owner = NULL, incarnation = NULL, epoch = epoch + 1";
  sql += " WHERE id = $1::int4 AND epoch = $2::int8";
  pg::Params params;
  params.int4(id).int8(row.epoch).int8(row.trim_before);
  params.int4(static_cast<int32_t>(row.first_segment));
  if (newest.number != 0) {
    sql += fmt::format(
        " AND EXISTS (SELECT 1 FROM {} WHERE partition = $1::int4 AND number = $5::int8)",
        segment_table(newest.segment));
    params.int8(newest.number);
  }
  PAWL_TRY(const pg::Rows noted, database.run(sql + " RETURNING epoch", params));
  if (noted.size() == 0) return fenced(id);
  return ok_status();
}

}  // namespace pawl
