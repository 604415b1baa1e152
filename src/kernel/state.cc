#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "kernel/cold.h"
#include "kernel/keys.h"
#include "kernel/mutable_state.h"
#include "kernel/run_family.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/state_memory.h"

namespace pawl {
namespace {

// Counts what a scan has read.
class ScanTally {
 public:
  explicit ScanTally(size_t jobs_max)
      : jobs_max_(jobs_max), bytes_max_(jobs_max == SIZE_MAX ? SIZE_MAX : State::kScanBytesMax) {}
  bool full() const { return jobs_ >= jobs_max_ || bytes_ >= bytes_max_; }
  void add(const Job& job) {
    ++jobs_;
    bytes_ += job.weight_bytes();
  }

 private:
  const size_t jobs_max_;
  const size_t bytes_max_;
  size_t jobs_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

State::State(Cold& cold, const StateConfig& config)
    : cold_(cold),
      config_(config),
      memory_(std::make_unique<StateMemory>(config.timer_window_max, config.plan_bytes_max)) {}

State::~State() = default;

Result<std::shared_ptr<const expr::JsonSchema>> State::compiled_schema(
    const std::string& text) const {
  return memory_->schemas.get(text);
}

bool State::has_room_for_queue() const { return memory_->queues.size() < config_.queues_max; }
bool State::has_room_for_limit() const { return memory_->limits.size() < config_.limits_max; }
size_t State::dirty_count() const { return memory_->dirty.size(); }
bool State::has_crowded_runs() const { return !memory_->crowded_runs.empty(); }
bool State::has_effects() const { return !memory_->new_effects.empty(); }
bool State::has_to_recall() const { return !memory_->to_recall.empty(); }

Status MutableState::load() {
  return reading([&] { load_rows(); });
}

void MutableState::load_rows() {
  memory_->timers.forget_all();
  cold_.scan(Space::Queue, "", "", false, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               auto queue = std::make_unique<Queue>(std::string(key), config_.ready_window_max);
               if (!decode_queue(value, *queue)) unreadable_row("queue", key);
               queue->ready->forget_all();
               memory_->queues.emplace(key, std::move(queue));
               return true;
             });
  cold_.scan(Space::Limit, "", "", false, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               auto limit = std::make_unique<Limit>();
               if (!codec::decode(value, *limit)) unreadable_row("limit", key);
               memory_->limits.emplace(key, std::move(limit));
               return true;
             });
  cold_.scan(Space::Cron, "", "", false, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               auto cron = std::make_unique<Cron>();
               if (!codec::decode(value, *cron)) unreadable_row("cron", key);
               if (cron->next_ms != 0 && !cron->spec.paused)
                 memory_->cron_timers.emplace(cron->next_ms, key);
               if (cron->waiting_ms != 0) {
                 memory_->awaited.emplace(
                     cron->last_run.is_nil() ? Uuid(cron->last_job) : Uuid(cron->last_run), key);
                 memory_->cron_looks.emplace(key);
               }
               memory_->crons.emplace(key, std::move(cron));
               return true;
             });
  load_docs(DocKind::RunCount);
  load_docs(DocKind::RunGate);
  load_docs(DocKind::Mail);
}

// --- jobs

Job* State::resident_job(const JobId& id) const {
  if (Job* job = memory_->jobs.find(id)) {
    if (job->dirty_since == 0 && job->in_flight == 0) {
      memory_->clean_jobs.remove(*job);
      memory_->clean_jobs.push_newest(*job, job->weight_bytes());
    }
    return job;
  }
  auto row = cold_.get(Space::Job, id.bytes());
  if (!row) return nullptr;
  auto job = std::make_unique<Job>();
  std::string queue_name;
  if (!decode_job(*row, *job, queue_name)) unreadable_row("job", id.text());
  job->queue = &need_queue(queue_name);
  load_places(*job);
  Job& resident = memory_->jobs.insert(std::move(job));
  memory_->clean_jobs.push_newest(resident, resident.weight_bytes());
  return &resident;
}

void State::load_places(Job& job) const {
  job.places = job.current_places();
  job.has_row = job.row_durable = true;
}

const Job* State::find_job(const JobId& id) const {
  const Job* job = resident_job(id);
  return job != nullptr && !job->forgotten ? job : nullptr;
}

void State::each_unique(std::string_view unique_key, FunctionRef<bool(const Job&)> visit) const {
  std::set<JobId> ids;
  auto [from, to] = memory_->unique_in_memory.equal_range(unique_key);
  for (auto at = from; at != to; ++at) ids.insert(at->second->id);
  cold_.scan(Space::Unique, unique_key, prefix_end(unique_key), false, SIZE_MAX,
             [&](std::string_view key, std::string_view) {
               if (auto id = Uuid::from_bytes(key.substr(unique_key.size())))
                 ids.insert(JobId(*id));
               return true;
             });
  for (const JobId& id : ids) {
    const Job* job = find_job(id);
    if (job != nullptr && job->unique_key == unique_key && !visit(*job)) return;
  }
}

std::vector<Job*> State::jobs_without_row() const {
  std::vector<Job*> found;
  auto consider = [&](Resident* entity) {
    if (entity->kind != EntityKind::Job) return;
    Job* job = static_cast<Job*>(entity);
    if (!job->row_durable && !job->forgotten) found.push_back(job);
  };
  for (const auto& set : memory_->in_flight)
    for (Resident* entity : set) consider(entity);
  memory_->dirty.each(consider);
  std::sort(found.begin(), found.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

JobId State::each_job(const JobId& from, bool newest_first, size_t scan_max,
                      FunctionRef<bool(const Job&)> visit) const {
  std::vector<Job*> fresh = jobs_without_row();
  if (newest_first) std::reverse(fresh.begin(), fresh.end());
  auto before = [&](const JobId& a, const JobId& b) { return newest_first ? b < a : a < b; };
  size_t next_fresh = 0;
  while (next_fresh < fresh.size() && !from.is_nil() && before(fresh[next_fresh]->id, from))
    ++next_fresh;

  bool stopped = false;
  ScanTally tally(scan_max);
  JobId go_on;
  auto offer = [&](const Job& job) {
    if (tally.full()) {
      go_on = job.id;
      return false;
    }
    tally.add(job);
    return visit(job) || !(stopped = true);
  };
  auto offer_fresh_before = [&](const JobId* id) {
    while (next_fresh < fresh.size() && (id == nullptr || before(fresh[next_fresh]->id, *id)))
      if (!offer(*fresh[next_fresh++])) return false;
    if (id != nullptr && next_fresh < fresh.size() && fresh[next_fresh]->id == *id) ++next_fresh;
    return true;
  };
  std::string low = newest_first || from.is_nil() ? "" : from.bytes();
  std::string high = newest_first && !from.is_nil() ? from.bytes() + '\0' : "";
  bool at_end = true;
  cold_.scan(Space::Job, low, high, newest_first, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               JobId id(*Uuid::from_bytes(key));
               at_end = false;
               if (!offer_fresh_before(&id)) return false;
               at_end = true;
               if (const Job* resident = memory_->jobs.find(id)) {
                 if (resident->forgotten) return true;
                 return at_end = offer(*resident);
               }
               Job job;
               std::string queue_name;
               if (!decode_job(value, job, queue_name)) unreadable_row("job", id.text());
               job.queue = &need_queue(queue_name);
               return at_end = offer(job);
             });
  if (at_end) offer_fresh_before(nullptr);
  return stopped ? JobId() : go_on;
}

const Job* State::find_job_here(const JobId& id) const {
  const Job* job = find_job(id);
  return job == nullptr || job->is_elsewhere() ? nullptr : job;
}

JobId State::each_job_here(const JobId& from, bool newest_first, size_t scan_max,
                           FunctionRef<bool(const Job&)> visit) const {
  return each_job(from, newest_first, scan_max,
                  [&](const Job& job) { return job.is_elsewhere() || visit(job); });
}

JobId State::each_dead(const JobId& from, size_t scan_max,
                       FunctionRef<bool(const Job&)> visit) const {
  std::set<JobId> ids;
  memory_->dirty.each([&](Resident* entity) {
    if (entity->kind == EntityKind::Job && static_cast<Job*>(entity)->current_places().dead)
      ids.insert(static_cast<Job*>(entity)->id);
  });
  for (const auto& set : memory_->in_flight)
    for (Resident* entity : set)
      if (entity->kind == EntityKind::Job && static_cast<Job*>(entity)->current_places().dead)
        ids.insert(static_cast<Job*>(entity)->id);
  while (!ids.empty() && *ids.begin() < from) ids.erase(ids.begin());
  cold_.scan(Space::Dead, from.is_nil() ? "" : from.bytes(), "", false, scan_max + 1,
             [&](std::string_view key, std::string_view) {
               ids.insert(JobId(*Uuid::from_bytes(key)));
               return true;
             });
  ScanTally tally(scan_max);
  for (const JobId& id : ids) {
    if (tally.full()) return id;
    const Job* job = find_job(id);
    if (job == nullptr) continue;
    tally.add(*job);
    if (job->current_places().dead && !visit(*job)) return JobId();
  }
  return JobId();
}

// --- queues, limits, documents, crons

Queue& State::need_queue(std::string_view scoped) const {
  auto at = memory_->queues.find(scoped);
  if (at != memory_->queues.end()) return *at->second;
  auto queue = std::make_unique<Queue>(std::string(scoped), config_.ready_window_max);
  return *memory_->queues.emplace(scoped, std::move(queue)).first->second;
}

const Queue* State::find_queue(std::string_view scoped) const {
  auto at = memory_->queues.find(scoped);
  return at == memory_->queues.end() ? nullptr : at->second.get();
}

const Limit* State::find_limit(std::string_view key) const {
  auto at = memory_->limits.find(key);
  return at == memory_->limits.end() ? nullptr : at->second.get();
}

const Cron* State::find_cron(std::string_view name) const {
  auto at = memory_->crons.find(name);
  return at == memory_->crons.end() || at->second->deleted ? nullptr : at->second.get();
}

void State::each_queue(FunctionRef<bool(const Queue&)> visit) const {
  for (const auto& [name, queue] : memory_->queues)
    if (!visit(*queue)) return;
}

void State::each_limit(FunctionRef<bool(const Limit&)> visit) const {
  for (const auto& [key, limit] : memory_->limits)
    if (!visit(*limit)) return;
}

void State::each_cron(FunctionRef<bool(const Cron&)> visit) const {
  for (const auto& [name, cron] : memory_->crons)
    if (!cron->deleted && !visit(*cron)) return;
}

// --- indexes

template <class Emit>
bool State::read_ready(const Queue& queue, const std::optional<ReadyKey>& after, size_t limit,
                       Emit&& emit) const {
  std::string prefix = ready_prefix(queue.name);
  std::string from = after ? ready_row_key(queue.name, *after) + '\0' : prefix;
  size_t seen = 0;
  cold_.scan(Space::Ready, from, prefix_end(prefix), false, limit,
             [&](std::string_view row_key, std::string_view) {
               ++seen;
               auto key = parse_ready_row_key(queue.name, row_key);
               if (!key) return true;
               const Job* job = memory_->jobs.find(key->job);
               emit(*key,
                    job == nullptr || (job->current_places().ready && ready_key(*job) == *key));
               return true;
             });
  return seen < limit;
}

const ReadyKey* State::first_ready(const Queue& queue) const {
  return queue.ready->front([&](const auto& after, size_t limit, auto&& emit) {
    return read_ready(queue, after, limit, emit);
  });
}

const ReadyKey* State::next_ready(const Queue& queue, const ReadyKey& key) const {
  return queue.ready->next_after(key, [&](const auto& after, size_t limit, auto&& emit) {
    return read_ready(queue, after, limit, emit);
  });
}

bool State::due_entry_is_live(const TimerKey& key) const {
  if (key.kind == TimerKind::Run) {
    const Run* run = memory_->runs.find(key.id);
    return run == nullptr || run->due_ms() == key.due_ms;
  }
  const Job* job = memory_->jobs.find(key.id);
  return job == nullptr || job->current_places().due_ms == key.due_ms;
}

template <class Emit>
bool State::read_due(const std::optional<TimerKey>& after, size_t limit, Emit&& emit) const {
  std::string from = after ? due_row_key(*after) + '\0' : "";
  size_t seen = 0;
  cold_.scan(Space::Due, from, "", false, limit, [&](std::string_view row_key, std::string_view) {
    ++seen;
    if (auto key = parse_due_row_key(row_key)) emit(*key, due_entry_is_live(*key));
    return true;
  });
  return seen < limit;
}

const TimerKey* State::first_timer() const {
  return memory_->timers.front(
      [&](const auto& after, size_t limit, auto&& emit) { return read_due(after, limit, emit); });
}

const Cron* State::first_cron() const {
  return memory_->cron_timers.empty() ? nullptr : find_cron(memory_->cron_timers.begin()->second);
}

const Cron* State::cron_to_look_at() const {
  return memory_->cron_looks.empty() ? nullptr : find_cron(*memory_->cron_looks.begin());
}

const std::string* State::gate_to_look_at() const {
  return memory_->gate_looks.empty() ? nullptr : &*memory_->gate_looks.begin();
}

const RunId* State::next_yielded(int64_t now_ms) const {
  if (memory_->yielded.empty() || memory_->yielded.begin()->first > now_ms) return nullptr;
  return &memory_->yielded.begin()->second;
}

int64_t State::next_due_ms() const {
  int64_t due = next_timer_ms();
  if (!memory_->yielded.empty() && (due == 0 || memory_->yielded.begin()->first < due))
    due = memory_->yielded.begin()->first;
  return due;
}

int64_t State::next_timer_ms() const {
  if (!memory_->cron_looks.empty() || !memory_->gate_looks.empty()) return 1;  // at once
  const TimerKey* timer = first_timer();
  int64_t due = timer == nullptr ? 0 : timer->due_ms;
  if (!memory_->cron_timers.empty() && (due == 0 || memory_->cron_timers.begin()->first < due))
    due = memory_->cron_timers.begin()->first;
  return due;
}

void MutableState::note_held_back(const Queue& queue, const Limit& limit) {
  Queue* waits = memory_->queues.find(queue.name)->second.get();
  memory_->limits.find(limit.key)->second->held_back.emplace(waits->name, waits);
}

void MutableState::note_cron_waits(const Cron& cron) { memory_->cron_looks.erase(cron.spec.name); }

void MutableState::note_gate_seen(const std::string& gate) { memory_->gate_looks.erase(gate); }

std::vector<RunId> MutableState::take_moved_runs() {
  return std::exchange(memory_->moved_runs, {});
}

void MutableState::note_answered(const Uuid& token) { memory_->moved_runs.push_back(RunId(token)); }

bool MutableState::take_new_messages() { return std::exchange(memory_->new_messages, false); }

std::vector<EffectNote> MutableState::take_effects() {
  return std::exchange(memory_->new_effects, {});
}

std::vector<Queue*> MutableState::take_ready_queues() {
  for (Queue* queue : memory_->ready_queues) queue->wake = false;
  return std::exchange(memory_->ready_queues, {});
}

// --- digest

std::string State::digest() const {
  uint64_t sum[2] = {0, 0};
  auto add = [&](Space space, std::string_view key, std::string_view value) {
    for (uint64_t lane = 0; lane < 2; ++lane)
      sum[lane] += hash64(value, hash64(key, static_cast<uint64_t>(space) << 8 | lane));
  };
  each_job(JobId(), false, SIZE_MAX,
           [&](const Job& job) { return add(Space::Job, job.id.bytes(), encode_job(job)), true; });
  each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    add(Space::Run, run.id.bytes(), encode_run(run));
    family_of(run).each_part(*this, run, [&](std::string_view key, const std::string& bytes) {
      add(Space::Scope, run.id.bytes().append(key), bytes);
    });
    return true;
  });
  each_queue(
      [&](const Queue& queue) { return add(Space::Queue, queue.name, encode_queue(queue)), true; });
  each_limit([&](const Limit& limit) {
    return add(Space::Limit, limit.key, codec::encoded(limit)), true;
  });
  each_cron([&](const Cron& cron) {
    return add(Space::Cron, cron.spec.name, codec::encoded(cron)), true;
  });
  for (int kind = 1; kind <= static_cast<int>(kLastDocKind); ++kind)
    each_doc(static_cast<DocKind>(kind), "", SIZE_MAX, [&](const Doc& doc) {
      return add(Space::Doc, doc_key(doc.doc_kind, doc.key), codec::encoded(doc)), true;
    });
  std::string bytes;
  put_big_endian(bytes, sum[0], 8);
  put_big_endian(bytes, sum[1], 8);
  return to_hex(bytes);
}

}  // namespace pawl
