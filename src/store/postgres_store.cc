#include "store/postgres_store.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/postgres_commit.h"
#include "store/postgres_reader.h"
#include "store/postgres_schema.h"
#include "store/postgres_segments.h"
#include "store/sync_times.h"

namespace pawl {
namespace {

// PostgreSQL takes messages of a gigabyte.
constexpr size_t kCommitBytesMax = size_t{900} << 20;
constexpr int kConflictsMax = 5;
constexpr int kLeaseWaitsMax = 20;
constexpr std::chrono::milliseconds kLeaseWait{50};
// What an old segment may still hold to be carried over.
constexpr uint64_t kCarriedRecordsMax = 1000;

class OnePartition : public PostgresStore {
 public:
  explicit OnePartition(PostgresOptions options)
      : options_(std::move(options)),
        access_{options_.url, options_.owner.application(), options_.silence, options_.server},
        readers_(options_.readers ? options_.readers
                                  : std::make_shared<pg::Pool>(access_, options_.readers_kept)),
        reader_(readers_, options_.partition) {}
  ~OnePartition() override;

  Status open();

  Status commit(const Batch& batch) override;
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override {
    auto value = reader_.get(space, key);
    PAWL_TRY_DO(lease_held());
    return value;
  }
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    PAWL_TRY_DO(reader_.scan({space, from, to, reverse, false}, limit, visit));
    return lease_held();
  }
  Status scan_keys(uint8_t space, std::string_view from, std::string_view to, size_t limit,
                   FunctionRef<bool(std::string_view)> visit) override {
    PAWL_TRY_DO(reader_.scan({space, from, to, false, true}, limit,
                             [&](std::string_view key, std::string_view) { return visit(key); }));
    return lease_held();
  }
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override {
    PAWL_TRY_DO(
        reader_.read_journal(segments_, std::max<uint64_t>(from, first_), last_, limit, visit));
    return lease_held();
  }
  uint64_t journal_first() const override { return first_; }
  uint64_t journal_last() const override { return last_; }
  Status backup(const std::string&, FunctionRef<void(uint64_t, uint64_t)>) override {
    return Error{ErrorCode::Unsupported,
                 "a PostgreSQL database is backed up by its own means, e.g. pg_dump"};
  }
  StoreStats stats() const override;
  Status reopen() override;
  uint64_t epoch() const override { return epoch_; }
  Status keep_up() override;

 private:
  Status take_row(const PartitionRow& seen, std::optional<uint64_t> owner_beat = {});
  Status take_again();
  Status read_bounds(const PartitionRow& row);
  Status write(const Batch& batch);
  Status fail(Error error);
  Error failure() const;
  Status lease_held() const;
  bool reachable() const { return !options_.fault || !options_.fault(); }
  void trim(uint64_t before);
  PartitionRow row() const;
  NewestRecord newest() const;
  Status begin_segment(pg::Connection& database);
  Status carry_over(pg::Connection& database);
  Status drop_segments(pg::Connection& database);
  void keep_up_at_each_pause();

  const PostgresOptions options_;
  const pg::Access access_;
  Segments segments_;
  const std::shared_ptr<pg::Pool> readers_;
  PostgresReader reader_;
  std::atomic<uint64_t> epoch_{0};
  std::atomic<uint64_t> first_{0};
  std::atomic<uint64_t> last_{0};
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> retries_{0};
  std::atomic<uint64_t> journal_bytes_{0};
  std::atomic<uint64_t> file_bytes_{0};
  SyncTimes times_;

  // Held by a commit, and by keep_up() while it moves records of ours.
  std::mutex writing_;
  pg::Connection writer_;         // guarded by writing_, as what follows
  std::optional<Error> failure_;  // of the last commit; sticky
  PartitionRow taken_;            // as it was when this store last took it
  std::mutex keeping_up_;
  PartitionRow noted_;  // guarded by keeping_up_

  std::mutex pause_mutex_;
  std::condition_variable wake_;
  bool ending_ = false;  // guarded by pause_mutex_
  std::thread upkeep_;
};

Status OnePartition::open() {
  PAWL_TRY(writer_, pg::Connection::open(access_));
  PAWL_TRY(const uint16_t partitions, settle_schema(writer_, options_.partitions));
  if (options_.partition >= partitions)
    return Error{ErrorCode::NotFound, fmt::format("the database has {} partitions, none is {}",
                                                  partitions, options_.partition)};
  PAWL_TRY(PartitionRow seen, read_partition(writer_, options_.partition));
  if (!seen.owner.node.empty() && !(options_.take && options_.take->epoch == seen.epoch))
    return Error{ErrorCode::Unavailable, fmt::format("partition {} is held by the node {}",
                                                     options_.partition, seen.owner.node)};
  PAWL_TRY_DO(take_row(seen, options_.take ? options_.take->owner_beat : std::nullopt));
  if (options_.keep_up_pause.count() > 0)
    upkeep_ = std::thread([this] { keep_up_at_each_pause(); });
  return ok_status();
}

Status OnePartition::take_row(const PartitionRow& seen, std::optional<uint64_t> owner_beat) {
  PAWL_TRY(const PartitionRow row,
           take_partition(writer_, options_.partition, seen, options_.owner, owner_beat));
  epoch_ = row.epoch;
  taken_ = row;
  return read_bounds(row);
}

Status OnePartition::read_bounds(const PartitionRow& row) {
  PAWL_TRY_DO(segments_.load(writer_, options_.partition, row.first_segment));
  last_ = segments_.last().last;
  first_ = std::min<uint64_t>(std::max(row.trim_before, segments_.list().front().first), last_);
  return ok_status();
}

OnePartition::~OnePartition() {
  if (upkeep_.joinable()) {
    {
      std::lock_guard lock(pause_mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    upkeep_.join();
  }
  if (epoch_ == 0 || (failure_ && failure_->code == ErrorCode::Fenced)) return;
  if (!writer_.usable()) {
    auto again = pg::Connection::open(access_);
    if (!again.ok()) return;
    writer_ = std::move(again).value();
  }
  // A commit whose outcome is unknown is over when this returns.
  const Status given_up = note_partition(writer_, options_.partition, row(), newest(), true);
  if (!given_up.ok() && given_up.error().code != ErrorCode::Fenced)
    log::warning("the partition was not given up", {{"error", given_up.error().message}});
}

// A beat that is answered after the read, and finds the partition still ours, vouches for it too.
Status OnePartition::lease_held() const {
  if (!options_.lease_holds) return ok_status();
  for (int waits = 0; !options_.lease_holds(); ++waits) {
    if (waits == kLeaseWaitsMax)
      return Error{ErrorCode::StoreFailed, "read without a lease: the rows may be another owner's"};
    access_.pause(kLeaseWait);
  }
  return ok_status();
}

PartitionRow OnePartition::row() const {
  const std::vector<Segment> list = segments_.list();
  if (list.empty()) return taken_;  // the connection broke before they were read
  return {.epoch = epoch_,
          .owner = options_.owner,
          .trim_before = first_,
          .first_segment = list.front().id};
}

NewestRecord OnePartition::newest() const {
  if (segments_.list().empty()) return {};
  const Segment last = segments_.last();
  return {last.id, last.last};
}

// --- commit

Status OnePartition::commit(const Batch& batch) {
  std::lock_guard lock(writing_);
  if (failure_) return failure();
  PAWL_TRY_DO(check_batch(batch, last_));
  size_t bytes = batch.journal.size();
  for (const Write& write : batch.writes)
    bytes += write.key.size() + (write.bytes() != nullptr ? write.bytes()->size() : 0);
  if (bytes > kCommitBytesMax)
    return Error{ErrorCode::TooLarge,
                 fmt::format("a commit of {} bytes; at most {} are taken", bytes, kCommitBytesMax)};
  if (batch.number != 0 || !batch.writes.empty()) PAWL_TRY_DO(write(batch));
  trim(batch.trim_journal_before);
  return ok_status();
}

Status OnePartition::write(const Batch& batch) {
  if (!reachable()) return fail({ErrorCode::StoreFailed, "the database cannot be reached"});
  const Segment last = segments_.last();
  const CommitPlace place{options_.partition, epoch_, segments_.newest(), last.id, last_};
  const auto begun = std::chrono::steady_clock::now();
  for (int conflicts = 0;; ++conflicts) {
    auto ended = commit_batch(writer_, place, batch);
    if (!ended.ok() && ended.error().code == ErrorCode::Conflict && conflicts < kConflictsMax) {
      ++retries_;
      access_.pause(std::chrono::milliseconds(5 << conflicts));
      continue;
    }
    if (!ended.ok()) return fail({ErrorCode::StoreFailed, ended.error().message});
    if (*ended == CommitEnd::Fenced)
      return fail({ErrorCode::Fenced,
                   fmt::format("partition {} belongs to another owner now", options_.partition)});
    if (*ended == CommitEnd::Gap)
      return fail({ErrorCode::StoreFailed,
                   fmt::format("the database lost journal records that it had acknowledged:"
                               " record {} is not there",
                               place.last)});
    break;
  }
  times_.add(std::chrono::steady_clock::now() - begun);
  ++commits_;
  if (batch.number == 0) return ok_status();
  journal_bytes_ += batch.journal.size();
  segments_.appended(batch.number);
  if (first_ == 0) first_ = batch.number;
  last_ = batch.number;
  return ok_status();
}

void OnePartition::trim(uint64_t before) {
  before = std::min<uint64_t>(before, last_);  // the newest stays
  if (before <= first_) return;
  first_ = before;
  segments_.forget_before(before);
}

Status OnePartition::fail(Error error) {
  failure_ = std::move(error);
  return failure();
}

Error OnePartition::failure() const { return Error(*failure_); }

Status OnePartition::reopen() {
  std::lock_guard lock(writing_);
  if (failure_ && failure_->code == ErrorCode::Fenced) return failure();
  if (!reachable()) return Error{ErrorCode::StoreFailed, "the database cannot be reached"};
  auto connected = pg::Connection::open(access_);
  if (!connected.ok()) return Error{ErrorCode::StoreFailed, connected.error().message};
  writer_ = std::move(connected).value();
  const Status taken = take_again();
  if (!taken.ok() && taken.error().code == ErrorCode::Fenced) return fail(taken.error());
  if (!taken.ok()) return Error{ErrorCode::StoreFailed, taken.error().message};
  failure_.reset();
  return ok_status();
}

// A new epoch of our own: a commit that may still be on its way is done or fenced after it. The
// epoch may be higher than we know, if the answer to an earlier attempt was lost.
Status OnePartition::take_again() {
  PAWL_TRY(const PartitionRow seen, read_partition(writer_, options_.partition));
  if (seen.owner != options_.owner)
    return Error{ErrorCode::Fenced,
                 fmt::format("partition {} belongs to another owner now", options_.partition)};
  return take_row(seen);
}

StoreStats OnePartition::stats() const {
  // A commit's round trip holds the database's own sync.
  const SyncStats commits = times_.stats();
  return StoreStats{.commits = commits_,
                    .fsyncs = commits.count,
                    .journal_bytes = journal_bytes_,
                    .file_bytes = file_bytes_,
                    .sync_ns_total = commits.ns_total,
                    .sync_ns_p50 = commits.ns_p50,
                    .sync_ns_p99 = commits.ns_p99,
                    .retries = retries_};
}

// --- keeping up

void OnePartition::keep_up_at_each_pause() {
  std::unique_lock lock(pause_mutex_);
  while (!wake_.wait_for(lock, options_.keep_up_pause, [this] { return ending_; })) {
    lock.unlock();
    const Status kept = keep_up();
    if (!kept.ok())
      log::warning("the journal's segments were not looked after",
                   {{"error", kept.error().message}});
    lock.lock();
  }
}

Status OnePartition::keep_up() {
  std::lock_guard lock(keeping_up_);
  PAWL_TRY(pg::Pool::Lease lent, readers_->take());
  pg::Connection& database = *lent;
  PAWL_TRY_DO(begin_segment(database));
  PAWL_TRY_DO(carry_over(database));
  const PartitionRow now = row();
  if (now.trim_before != noted_.trim_before || now.first_segment != noted_.first_segment) {
    PAWL_TRY_DO(note_partition(database, options_.partition, now, newest(), false));
    noted_ = now;
  }
  return drop_segments(database);
}

// A new segment when the newest is old or large; records go to the newest from then on.
Status OnePartition::begin_segment(pg::Connection& database) {
  PAWL_TRY(const pg::Rows newest,
           database.run("SELECT id, extract(epoch FROM clock_timestamp() - made_at)::int8"
                        " FROM pawl_segment ORDER BY id DESC LIMIT 1"));
  if (newest.size() == 0) return Error{ErrorCode::Corrupt, "there is no segment"};
  auto id = static_cast<uint32_t>(newest.number(0, 0));
  const auto age_s = static_cast<int64_t>(newest.number(0, 1));
  // Where the database cannot tell sizes, age decides.
  const auto size = database.run("SELECT pg_total_relation_size('" + segment_table(id) +
                                 "'), pg_total_relation_size('pawl_kv')");
  const uint64_t bytes = size.ok() && size->size() == 1 ? size->number(0, 0) : 0;
  if (size.ok() && size->size() == 1) file_bytes_ = bytes + size->number(0, 1);
  if (age_s >= options_.segment_age.count() || bytes >= options_.segment_bytes)
    PAWL_TRY_DO(make_segment(database, ++id));
  if (id == segments_.newest()) return ok_status();
  std::lock_guard lock(writing_);
  segments_.open(id);
  return ok_status();
}

// A partition that writes little would hold on to an old segment for ever: the few records that it
// still needs move to the one behind.
Status OnePartition::carry_over(pg::Connection& database) {
  std::lock_guard lock(writing_);
  const std::vector<Segment> list = segments_.list();
  const uint64_t first = first_;
  if (failure_ || list.size() < 2 || list[0].empty()) return ok_status();
  const uint64_t from = std::max(first, list[0].first);
  const bool old = list.size() > 2 || list[1].empty();
  if (!old || list[0].last - from >= kCarriedRecordsMax) return ok_status();
  PAWL_TRY(const pg::Rows carried,
           database.run(fmt::format("WITH f AS (SELECT 1 FROM pawl_partition WHERE id = $1::int4"
                                    " AND epoch = $2::int8 FOR SHARE), c AS (INSERT INTO {} SELECT"
                                    " partition, number, record FROM f, {} WHERE partition ="
                                    " $1::int4 AND number >= $3::int8 ON CONFLICT DO NOTHING)"
                                    " SELECT count(*) FROM f",
                                    segment_table(list[1].id), segment_table(list[0].id)),
                        pg::Params().int4(options_.partition).int8(epoch_).int8(from)));
  if (carried.number(0, 0) != 1) return ok_status();  // not ours any more: the next commit says so
  segments_.carried(from);
  return ok_status();
}

Status OnePartition::drop_segments(pg::Connection& database) {
  PAWL_TRY(const pg::Rows old,
           database.run("SELECT id FROM pawl_segment WHERE id < (SELECT min(first_segment)"
                        " FROM pawl_partition) ORDER BY id"));
  for (size_t i = 0; i < old.size(); ++i) {
    const auto id = static_cast<uint32_t>(old.number(i, 0));
    PAWL_TRY_DO(database.run("BEGIN"));
    // Somebody who still reads it must not hold up everybody else behind us.
    auto dropped = database.run("SET LOCAL lock_timeout = '1s'");
    if (dropped.ok())
      dropped = database.run("SET LOCAL idle_in_transaction_session_timeout = '2s'");
    if (dropped.ok()) dropped = database.run("DROP TABLE IF EXISTS " + segment_table(id));
    if (dropped.ok())
      dropped = database.run(fmt::format("DELETE FROM pawl_segment WHERE id = {}", id));
    PAWL_TRY_DO(database.run(dropped.ok() ? "COMMIT" : "ROLLBACK"));
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<PostgresStore>> open_postgres(PostgresOptions options) {
  auto store = std::make_unique<OnePartition>(std::move(options));
  PAWL_TRY_DO(store->open());
  return std::unique_ptr<PostgresStore>(std::move(store));
}

}  // namespace pawl
