#include "sim/sim_store.h"

#include "base/codec.h"
#include "base/hash.h"
#include "journal/record.h"
#include "kernel/cold.h"

namespace pawl::sim {
namespace {

bool is(uint8_t space, Space wanted) { return space == static_cast<uint8_t>(wanted); }

// The same record with one event turned into nothing: the deletion of a document that is not there.
std::string without_last_event(uint64_t number, std::string_view record) {
  auto events = journal::read_record(number, record);
  if (!events.ok()) return std::string(record);
  journal::RecordWriter writer(number);
  std::string frames;
  for (size_t i = 0; i < events->size();) {
    size_t end = i + 1;
    while (end < events->size() && !(*events)[end].first_of_frame) ++end;
    std::string body;
    codec::put_varint(body, static_cast<uint64_t>((*events)[i].time_ms));
    codec::put_varint(body, end - i);
    for (; i < end; ++i) {
      bool skip = i + 1 == events->size();
      std::string nothing = codec::encoded(DocDeleted{DocKind::Pool, "never there"});
      std::string_view bytes = skip ? std::string_view(nothing) : (*events)[i].bytes;
      EventType type = skip ? EventType::DocDeleted : (*events)[i].type;
      codec::put_varint(body, static_cast<uint64_t>(type));
      codec::put_varint(body, bytes.size());
      body.append(bytes);
    }
    codec::put_varint(frames, body.size());
    frames.append(body);
  }
  std::string out = std::string(record.substr(0, 3)) + frames;
  uint32_t crc = crc32c(out);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(crc >> shift));
  return out;
}

}  // namespace

Result<std::unique_ptr<SimStore>> SimStore::open(SimDisk& disk, const StorePlants& plants,
                                                 Verdict& verdict) {
  disk.disk->fault = [&disk](uint64_t) { return disk.next_fault; };
  PAWL_TRY(std::unique_ptr<Store> store, open_memory(disk.disk));
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
    return (plants_.lose_due_rows && is(write.space, Space::Due) && write.value) ||
           (plants_.lose_ready_rows && is(write.space, Space::Ready) && write.value);
  });
  if (plants_.torn_batch && disk_.next_fault == CommitFault::FailBefore && !batch.writes.empty()) {
    changed.number = 0;
    changed.journal.clear();
    disk_.next_fault = CommitFault::FailAfter;
    Status torn = store_->commit(changed);
    disk_.next_fault = CommitFault::Ok;
    return torn;
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
  return store_->read_journal(from, limit, [&](uint64_t number, std::string_view record) {
    if (!plants_.skip_event || number != last || watching_) return visit(number, record);
    return visit(number, without_last_event(number, record));
  });
}

}  // namespace pawl::sim
