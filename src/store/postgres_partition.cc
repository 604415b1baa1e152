#include "store/postgres_partition.h"

#include <fmt/format.h>

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

// True if the row was at that epoch and is taken.
Result<bool> try_take(pg::Connection& database, uint16_t id, uint64_t epoch,
                      const PartitionOwner& owner) {
  PAWL_TRY_DO(database.run("BEGIN"));
  auto taken = database.run("SET LOCAL lock_timeout = '1s'");
  if (taken.ok())
    taken = database.run(
        "UPDATE pawl_partition SET owner = $3::text, incarnation = $4::text::uuid,"
        " epoch = epoch + 1 WHERE id = $1::int4 AND epoch = $2::int8 RETURNING epoch",
        pg::Params().int4(id).int8(epoch).bytes(owner.node).bytes(owner.incarnation));
  const std::string state = database.sql_state();
  const auto ended = database.run(taken.ok() ? "COMMIT" : "ROLLBACK");
  if (!taken.ok() && state == "55P03") return Error{ErrorCode::Overloaded, "the row is held"};
  if (!taken.ok()) return std::move(taken).error();
  if (!ended.ok()) return Error(ended.error());
  return taken->size() == 1;
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
                                    const PartitionOwner& owner) {
  for (int attempt = 0; attempt < kTakeAttempts; ++attempt) {
    auto taken = try_take(database, id, seen.epoch, owner);
    if (taken.ok() && !*taken) return fenced(id);
    // Read after the update: everything that the former owner committed is there now.
    if (taken.ok()) return read_partition(database, id);
    if (taken.error().code != ErrorCode::Overloaded) return std::move(taken).error();
    end_sessions(database, seen.owner);
  }
  return Error{ErrorCode::Unavailable,
               fmt::format("partition {}: a session of {} holds on to it", id, seen.owner.node)};
}

Status note_partition(pg::Connection& database, uint16_t id, const PartitionRow& row, bool free) {
  const std::string given_up = free ? ", owner = NULL, incarnation = NULL, epoch = epoch + 1" : "";
  PAWL_TRY(const pg::Rows noted,
           database.run("UPDATE pawl_partition SET trim_before = $3::int8,"
                        " first_segment = $4::int4" +
                            given_up + " WHERE id = $1::int4 AND epoch = $2::int8 RETURNING epoch",
                        pg::Params()
                            .int4(id)
                            .int8(row.epoch)
                            .int8(row.trim_before)
                            .int4(static_cast<int32_t>(row.first_segment))));
  if (noted.size() == 0) return fenced(id);
  return ok_status();
}

}  // namespace pawl
