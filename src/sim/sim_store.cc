#include "sim/sim_store.h"

#include "kernel/cold.h"
#include "sim/record_rewrite.h"

namespace pawl::sim {
namespace {

bool is(uint8_t space, Space wanted) { return space == static_cast<uint8_t>(wanted); }

}  // namespace

Result<std::unique_ptr<SimStore>> SimStore::open(SimDisk& disk, const Plants& plants,
                                                 Verdict& verdict) {
  disk.disk->fault = [&disk](uint64_t) { return disk.next_fault; };
  PAWL_TRY(std::unique_ptr<Store> store,
           disk.files ? open_sqlite("sim", disk.sqlite) : open_memory(disk.disk));
  return std::unique_ptr<SimStore>(new SimStore(disk, std::move(store), plants, verdict));
}

SimStore::~SimStore() = default;

Status SimStore::write_held() {
  if (!held_) return ok_status();
  Batch batch = std::move(*held_);
  held_.reset();
  CommitFault fault = std::exchange(disk_.next_fault, CommitFault::Ok);
  Status status = store_->commit(batch);
  disk_.next_fault = fault;
  return status;
}

Status SimStore::commit(const Batch& batch) {
  PAWL_TRY_DO(write_held());
  Batch changed = batch;
  std::erase_if(changed.writes, [&](const Write& write) {
    return (plants_.lose_due_rows && is(write.space, Space::Due) && write.bytes()) ||
           (plants_.lose_ready_rows && is(write.space, Space::Ready) && write.bytes());
  });
  if (plants_.torn_batch && disk_.next_fault == CommitFault::FailBefore && !batch.writes.empty()) {
    changed.number = 0;
    changed.journal.clear();
    disk_.next_fault = CommitFault::FailAfter;
    Status torn = store_->commit(changed);
    disk_.next_fault = CommitFault::Ok;
    return torn;
  }
  if (plants_.trimmed_too_far && changed.trim_journal_before != 0) ++changed.trim_journal_before;
  if (plants_.rows_outside_commit && changed.number != 0 && !changed.writes.empty()) {
    PAWL_TRY_DO(store_->commit({.writes = std::exchange(changed.writes, {})}));
  }
  bool hold = plants_.drop_last_batch && batch.writes.empty() && batch.trim_journal_before == 0 &&
              disk_.next_fault == CommitFault::Ok && batch.number != 0;
  if (hold) held_ = std::move(changed);
  uint64_t first = store_->journal_first();
  Status status = hold ? ok_status() : store_->commit(changed);
  bool kept = status.ok() || disk_.next_fault == CommitFault::FailAfter;
  if (kept && batch.number != 0) disk_.archive.emplace(batch.number, batch.journal);
  if (first != 0 && store_->journal_first() > first) verdict_.reach(Probe::JournalTrimmed);
  disk_.next_fault = CommitFault::Ok;
  return status;
}

bool SimStore::read_fails() {
  return disk_.reads_until_fault != 0 && --disk_.reads_until_fault == 0;
}

Result<std::optional<std::string>> SimStore::get(uint8_t space, std::string_view key) {
  if (read_fails()) return Error{ErrorCode::StoreFailed, "the simulated disk fails"};
  auto value = store_->get(space, key);
  if (watching_ && is(space, Space::Job) && value.ok() && *value)
    verdict_.reach(Probe::EvictedJobReload);
  return value;
}

Status SimStore::scan(uint8_t space, std::string_view from, std::string_view to, bool reverse,
                      size_t limit, FunctionRef<bool(std::string_view, std::string_view)> visit) {
  if (read_fails()) return Error{ErrorCode::StoreFailed, "the simulated disk fails"};
  size_t rows = 0;
  Status status = store_->scan(space, from, to, reverse, limit,
                               [&](std::string_view key, std::string_view value) {
                                 ++rows;
                                 return visit(key, value);
                               });
  if (watching_ && rows > 0 && is(space, Space::Ready)) verdict_.reach(Probe::ReadyRefill);
  if (watching_ && rows > 0 && is(space, Space::Due)) verdict_.reach(Probe::TimerRefill);
  return status;
}

Status SimStore::read_journal(uint64_t from, size_t limit,
                              FunctionRef<bool(uint64_t, std::string_view)> visit) {
  if (read_fails()) return Error{ErrorCode::StoreFailed, "the simulated disk fails"};
  uint64_t last = journal_last();
  if (plants_.recovery_starts_late && !watching_) ++from;
  return store_->read_journal(from, limit, [&](uint64_t number, std::string_view record) {
    if (!plants_.skip_event || number != last || watching_) return visit(number, record);
    return visit(number, without_last_event(number, record));
  });
}

}  // namespace pawl::sim
