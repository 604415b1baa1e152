#include "store/postgres_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/postgres_schema.h"

namespace pawl {
namespace {

// A visit often ends early: pages begin small and grow.
constexpr size_t kFirstPage = 16;
constexpr size_t kPageMax = 1024;
constexpr size_t kRecordPageMax = 256;
constexpr size_t kPageBytes = size_t{1} << 20;  // of records, which are held while they are visited

const pg::Query kGet{"get",
                     "SELECT value FROM pawl_kv WHERE partition = $1::int4 AND"
                     " space = $2::int2 AND key = $3::bytea"};

// `behind`: from after a key that was seen, instead of from one on.
pg::Query scan_query(const ScanRange& range, bool behind) {
  const bool ends = range.reverse ? behind || !range.to.empty() : !range.to.empty();
  const bool begins_behind = behind && !range.reverse;
  return {fmt::format("scan{}{}{}{}", range.keys_only ? "_keys" : "", range.reverse ? "_down" : "",
                      ends ? "_to" : "", begins_behind ? "_behind" : ""),
          fmt::format("SELECT key{} FROM pawl_kv WHERE partition = $1::int4 AND space = $2::int2"
                      " AND key {} $3::bytea{} ORDER BY partition {}, space {}, key {} LIMIT {}",
                      range.keys_only ? "" : ", value",
                      begins_behind ? ">" : ">=", ends ? " AND key < $4::bytea" : "",
                      range.reverse ? "DESC" : "ASC", range.reverse ? "DESC" : "ASC",
                      range.reverse ? "DESC" : "ASC", ends ? "$5::int8" : "$4::int8")};
}

}  // namespace

Result<std::optional<std::string>> PostgresReader::get(uint8_t space, std::string_view key) {
  for (int attempt = 0;; ++attempt) {
    PAWL_TRY(pg::Pool::Lease database, pool_->take());
    auto rows = database->run(kGet, pg::Params().int4(partition_).int2(space).bytes(key));
    // A connection that waited in the pool may have been dead for long.
    if (!rows.ok() && rows.error().code == ErrorCode::Unavailable && attempt == 0) continue;
    PAWL_TRY(const pg::Rows found, std::move(rows));
    if (found.size() == 0) return std::optional<std::string>();
    return std::optional<std::string>(found.bytes(0, 0));
  }
}

Result<size_t> PostgresReader::scan_page(pg::Connection& database, const ScanRange& range,
                                         std::string& behind, bool first, size_t limit, bool& going,
                                         VisitRow visit) {
  const pg::Query query = scan_query(range, !first);
  pg::Params params;
  params.int4(partition_).int2(range.space);
  params.bytes(first || range.reverse ? range.from : std::string_view(behind));
  if (range.reverse && !first) {
    params.bytes(behind);
  } else if (!range.to.empty()) {
    params.bytes(range.to);
  }
  params.int8(limit);
  size_t seen = 0;
  std::string last;
  PAWL_TRY_DO(database.each(query, params, [&](const pg::Rows& row) {
    ++seen;
    last = row.bytes(0, 0);
    return going = visit(last, range.keys_only ? std::string_view() : row.bytes(0, 1));
  }));
  behind = std::move(last);
  return seen;
}

// A lease whose connection is alive: one that waited in the pool may have died there.
Result<pg::Pool::Lease> PostgresReader::begin_reading() {
  for (int attempt = 0;; ++attempt) {
    PAWL_TRY(pg::Pool::Lease database, pool_->take());
    // Later pages come from the state that the first one saw.
    const auto begun = database->run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (begun.ok()) return database;
    if (begun.error().code != ErrorCode::Unavailable || attempt > 0) return Error(begun.error());
  }
}

Status PostgresReader::scan(const ScanRange& range, size_t limit, VisitRow visit) {
  if (limit == 0 || (!range.to.empty() && range.to <= range.from)) return ok_status();
  if (limit <= kFirstPage) return scan_one_page(range, limit, visit);
  PAWL_TRY(pg::Pool::Lease database, begin_reading());
  bool going = true;
  std::string behind;
  size_t visited = 0;
  for (size_t page = kFirstPage; going && visited < limit; page = std::min(page * 4, kPageMax)) {
    const size_t wanted = std::min(page, limit - visited);
    PAWL_TRY(const size_t rows,
             scan_page(*database, range, behind, visited == 0, wanted, going, visit));
    visited += rows;
    going = going && rows == wanted;
  }
  PAWL_TRY_DO(database->run("COMMIT"));
  return ok_status();
}

// A statement sees one state by itself.
Status PostgresReader::scan_one_page(const ScanRange& range, size_t limit, VisitRow visit) {
  bool visited = false;
  for (int attempt = 0;; ++attempt) {
    PAWL_TRY(pg::Pool::Lease database, pool_->take());
    bool going = true;
    std::string behind;
    const auto rows = scan_page(*database, range, behind, true, limit, going,
                                [&](std::string_view key, std::string_view value) {
                                  visited = true;
                                  return visit(key, value);
                                });
    if (rows.ok()) return ok_status();
    // A connection that waited in the pool may have been dead for long.
    if (rows.error().code != ErrorCode::Unavailable || visited || attempt > 0)
      return Error(rows.error());
  }
}

Status PostgresReader::read_journal(const Segments& segments, uint64_t from, uint64_t last,
                                    size_t limit, VisitRecord visit) {
  size_t visited = 0;
  size_t page = kFirstPage;
  int missed = 0;
  while (from <= last && visited < limit) {
    const std::vector<Segment> list = segments.list();
    const auto at = std::find_if(list.begin(), list.end(), [&](const Segment& one) {
      return !one.empty() && one.last >= from;
    });
    // Trimmed away since the caller looked.
    if (at == list.end() || at->first > last) return ok_status();
    // For each page a connection of its own, so that a visit holds none.
    PAWL_TRY(pg::Pool::Lease database, pool_->take());
    const pg::Query query{fmt::format("read_{}", at->id),
                          fmt::format("SELECT number, record FROM {} WHERE partition = $1::int4 AND"
                                      " number BETWEEN $2::int8 AND $3::int8"
                                      " ORDER BY partition, number LIMIT $4::int8",
                                      segment_table(at->id))};
    std::vector<std::pair<uint64_t, std::string>> records;
    Status read = database->each(query,
                                 pg::Params()
                                     .int4(partition_)
                                     .int8(std::max(from, at->first))
                                     .int8(std::min(last, at->last))
                                     .int8(std::min(page, limit - visited)),
                                 [&](const pg::Rows& row) {
                                   records.emplace_back(row.number(0, 0), row.bytes(0, 1));
                                   return true;
                                 });
    if (!read.ok()) {
      // The list is newer than what we looked for, or the connection had died in the pool.
      const bool again =
          read.error().code == ErrorCode::Unavailable || database->sql_state() == "42P01";
      if (!again || ++missed > 2) return read;
      continue;
    }
    if (records.empty())
      return Error{ErrorCode::Corrupt, fmt::format("journal record {} is missing", from)};
    size_t bytes = 0;
    for (const auto& [number, record] : records) {
      bytes += record.size();
      from = number + 1;
      ++visited;
      if (!visit(number, record)) return ok_status();
    }
    if (bytes < kPageBytes) page = std::min(page * 2, kRecordPageMax);
    if (bytes > 4 * kPageBytes) page = std::max<size_t>(page / 4, 1);
  }
  return ok_status();
}

}  // namespace pawl
