#include "engine/core.h"

#include <algorithm>

#include "base/codec.h"
#include "kernel/fire_timers.h"

namespace pawl {
namespace {

constexpr size_t kTimersPerFrame = 512;
constexpr std::string_view kTailKey = "tail";

struct TailRow {
  uint64_t sequence = 0;  // the first event that rows do not hold
  int64_t now_ms = 0;     // time never goes back, also not over a restart

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "sequence", self.sequence);
    visit(2, "now_ms", self.now_ms);
  }
};

}  // namespace

Core::Core(Store& store, const CoreConfig& config, Clock& clock, Random& random)
    : store_(store),
      config_(config),
      clock_(clock),
      random_(random),
      cold_(store),
      state_(cold_, config.state),
      parked_(config.parked_max),
      retention_(config.retention, store),
      record_(store.journal_last() + 1) {}

Result<std::unique_ptr<Core>> Core::open(Store& store, const CoreConfig& config, Clock& clock,
                                         Random& random) {
  std::unique_ptr<Core> core(new Core(store, config, clock, random));
  PAWL_TRY_DO(core->recover());
  return core;
}

Status Core::recover() {
  PAWL_TRY_DO(state_.load());
  TailRow tail;
  auto row = cold_.get(Space::Meta, kTailKey);
  if (row && !codec::decode(*row, tail))
    return Error{ErrorCode::Corrupt, "the tail marker cannot be read"};
  now_ms_ = tail.now_ms;
  tail_marker_ = tail.sequence;
  uint64_t from = journal::record_of(tail.sequence);
  uint64_t first = store_.journal_first();
  if (from == 0) from = first;
  if (first > from && store_.journal_last() >= from)
    return Error{ErrorCode::Corrupt, "the journal begins at record " + std::to_string(first) +
                                         " but is needed from " + std::to_string(from)};
  std::optional<Error> bad;
  PAWL_TRY_DO(store_.read_journal(from, SIZE_MAX, [&](uint64_t number, std::string_view bytes) {
    auto events = journal::read_record(number, bytes);
    if (!events.ok()) bad = events.error();
    if (bad) return false;
    for (const journal::EventBytes& event : *events) {
      Status folded = state_.fold(event);
      if (!folded.ok()) bad = folded.error();
      now_ms_ = std::max(now_ms_, event.time_ms);
    }
    tail_.emplace_back(number, bytes.size());
    tail_bytes_ += bytes.size();
    ++recovery_.records;
    recovery_.events += events->size();
    return !bad;
  }));
  if (bad) return *bad;
  if (cold_.failed()) return cold_.error();
  state_.take_ready_queues();
  state_.evict();
  return ok_status();
}

void Core::advance_clock() { now_ms_ = std::max(now_ms_, clock_.now_ms()); }

void Core::fire_due() {
  bool more = true;
  while (more) {
    int64_t due = state_.next_due_ms();
    if (due == 0 || due > now_ms_) return;
    Frame frame(state_, record_, now_ms_, random_.next());
    more = fire_timers(frame, kTimersPerFrame) && !batch_full();
  }
}

void Core::run(TaskPtr task, bool last_call) {
  if (task->abandoned()) return;
  std::optional<Parking> parking;
  {
    Frame frame(state_, record_, now_ms_, random_.next());
    parking = task->decide(frame, last_call || parked_.full());
    PAWL_CHECK(!parking || frame.emitted() == 0);
  }
  if (parking) {
    parked_.park(std::move(task), std::move(*parking));
  } else {
    waiting_.push_back(std::move(task));
  }
}

// Jobs became available: parked fetches of those queues are tried again, longest waiting first,
// until one stays empty-handed.
void Core::wake_parked() {
  for (Queue* queue : state_.take_ready_queues()) {
    while (state_.first_ready(*queue) != nullptr) {
      TaskPtr task = parked_.take(queue->name);
      if (task == nullptr) break;
      size_t parked_before = parked_.size();
      run(std::move(task), false);
      if (parked_.size() > parked_before) break;
    }
  }
}

void Core::decide(TaskPtr task) {
  advance_clock();
  fire_due();
  run(std::move(task), false);
  wake_parked();
}

bool Core::tick() {
  advance_clock();
  fire_due();
  bool last_call = false;
  while (TaskPtr task = parked_.take_due(now_ms_, last_call)) run(std::move(task), last_call);
  bool more = false;
  if (retention_.next_ms() <= now_ms_) {
    Frame frame(state_, record_, now_ms_, random_.next());
    more = retention_.step(frame);
  }
  wake_parked();
  int64_t due = state_.next_due_ms();
  return more || (due != 0 && due <= now_ms_);
}

int64_t Core::next_tick_ms() const {
  int64_t next = retention_.next_ms();
  for (int64_t at : {state_.next_due_ms(), parked_.next_due_ms()})
    if (at != 0) next = std::min(next, at);
  return next;
}

size_t Core::rows_wanted(bool idle) const {
  if (idle) return config_.rows_per_batch_max;
  size_t dirty = state_.dirty_count();
  if (tail_bytes_ > config_.tail_bytes_max) return config_.rows_per_batch_max;
  return dirty > config_.dirty_max ? std::min(dirty - config_.dirty_max, config_.rows_per_batch_max)
                                   : 0;
}

SealedBatch Core::seal(bool idle) {
  SealedBatch sealed;
  uint64_t next_sequence = record_.next_sequence();
  if (!record_.empty()) {
    sealed.batch.number = record_.number();
    sealed.batch.journal = record_.finish();
    tail_.emplace_back(sealed.batch.number, sealed.batch.journal.size());
    tail_bytes_ += sealed.batch.journal.size();
    record_.reset(sealed.batch.number + 1);
  }
  sealed.tasks = std::exchange(waiting_, {});
  size_t rows = rows_wanted(idle);
  if (rows > 0 && state_.dirty_count() > 0) {
    std::vector<Row> collected;
    state_.collect_rows(rows, collected);
    for (Row& row : collected)
      sealed.batch.writes.push_back(
          {static_cast<uint8_t>(row.space), std::move(row.key), std::move(row.value)});
    uint64_t tail = state_.tail_start(next_sequence);
    sealed.batch.writes.push_back({static_cast<uint8_t>(Space::Meta), std::string(kTailKey),
                                   codec::encoded(TailRow{tail, now_ms_})});
    sealed.has_rows = true;
    tail_marker_ = tail;
    while (!tail_.empty() && tail_.front().first < journal::record_of(tail)) {
      tail_bytes_ -= tail_.front().second;
      tail_.pop_front();
    }
  }
  sealed.batch.trim_journal_before = retention_.trim_before(journal::record_of(tail_marker_));
  return sealed;
}

void Core::committed(const SealedBatch& sealed) {
  if (sealed.has_rows) state_.rows_durable();
  state_.evict();
}

void Core::release(SealedBatch& sealed) {
  for (TaskPtr& task : sealed.tasks) task->durable();
  sealed.tasks.clear();
}

void Core::refuse(SealedBatch& sealed, const Error& error) {
  for (TaskPtr& task : sealed.tasks) task->refuse(error);
  sealed.tasks.clear();
}

}  // namespace pawl
