#include "sim/world.h"

#include <algorithm>

#include "kernel/jobs/job.h"
#include "sim/job_plants.h"
#include "sim/record_rewrite.h"
#include "sim/script_plants.h"

namespace pawl::sim {
namespace {

constexpr int64_t kStartMs = 1'767'225'600'000;
constexpr int kTicksMax = 10'000;
constexpr int kSlowTicksMax = 1'000;

}  // namespace

CoreConfig draw_config(SimRandom& random) {
  CoreConfig config;
  config.state.ready_window_max = 4 + random.below(random.percent(50) ? 4 : 60);
  config.state.timer_window_max = 4 + random.below(random.percent(50) ? 4 : 60);
  config.state.resident_jobs_max = random.below(random.percent(50) ? 4 : 60);
  config.state.docs_max = random.below(8);
  config.dirty_max = random.below(random.percent(50) ? 4 : 100);
  config.rows_per_batch_max = 1 + random.below(random.percent(50) ? 4 : 60);
  config.tail_bytes_max = random.percent(50) ? random.below(2'000) : 1u << 20;
  config.parked_max = 1 + random.below(12);
  RetentionConfig& retention = config.retention;
  retention.finished_ms = random.percent(50) ? 0 : random.between(1, 3'600'000);
  retention.finished_max = random.percent(50) ? 0 : random.below(60) + 1;
  retention.journal_ms = random.percent(50) ? 0 : random.between(1, 600'000);
  retention.journal_records_max = random.percent(50) ? 0 : random.below(40) + 1;
  retention.sweep_every_ms = random.between(50, 60'000);
  config.state.resident_runs_max = random.below(random.percent(50) ? 4 : 60);
  config.state.scripts.parallel_steps = !random.percent(15);
  // So small that runs yield everywhere; the last one as on a server.
  uint64_t allowances[] = {20, 60, 400, config.state.scripts.frame_allowance};
  config.state.scripts.frame_allowance = allowances[random.below(4)];
  config.state.scripts.max_concurrent = random.percent(20) ? 1 + random.below(3) : 0;
  // Texts in separate rows, written ahead, read on demand: large ones only, or all of them.
  SimRandom aside = random;  // so that the draws of older seeds stay unchanged
  if (aside.percent(50)) {
    config.state.part_bytes_min = 1 + aside.below(40);
    config.state.resident_text_bytes_max = 4 * config.state.part_bytes_min;
  }
  if (aside.percent(50)) config.row_bytes_per_batch_max = 1 + aside.below(600);
  if (aside.percent(50)) config.heavy_run_bytes = aside.below(200);
  if (aside.percent(50)) config.state.scripts.open_lists_max = 1 + aside.below(6);
  if (aside.percent(50)) config.state.new_scopes_max = 1 + aside.below(4);
  if (aside.percent(50)) config.row_bytes_awaited_max = aside.below(200);
  if (aside.percent(50)) config.recall_bytes_max = 1 + aside.below(3'000);
  if (aside.percent(50)) config.state.plan_bytes_max = aside.below(20'000);
  return config;
}

World::World(SimRandom& random, Verdict& verdict, const Plants& plants, const FaultMix& mix,
             bool sqlite, uint64_t modules)
    : random_(random),
      core_random_(random.next()),
      verdict_(verdict),
      plants_(plants),
      mix_(mix),
      config_(draw_config(random)),
      clock_(kStartMs),
      model_(verdict),
      acknowledged_(verdict),
      desk_{verdict, model_, acknowledged_},
      effects_(desk_, plants_) {
  config_.effects = &effects_;
  if (!config_.state.scripts.parallel_steps) model_.scripts().one_step_at_a_time();
  if (plants.frozen_clock) clock_.freeze();
  if (sqlite) make_disk();
  if (modules != 0) modules_ = std::make_unique<ModuleWorlds>(desk_, plants_, clock_, modules);
  PAWL_CHECK(try_open());
  if (modules_) modules_->engine_is(*core_);
}

std::string World::told() const {
  return "+" + std::to_string(clock_.true_ms() - kStartMs) + "ms ";
}

// --- the engine's work, step by step

void World::submit(const std::shared_ptr<SimTask>& task) {
  if (verdict_.failed()) return;
  arm_read_trouble();
  if (in_flight_) verdict_.reach(Probe::DecidedWhileInFlight);
  if (auto fetch = std::dynamic_pointer_cast<FetchTask>(task)) fetches_.push_back(fetch);
  store_->watch_reads(true);
  core_->decide(task);
  store_->watch_reads(false);
  auto* fetch = dynamic_cast<FetchTask*>(task.get());
  if (plants_.advance_before_commit && fetch != nullptr) answer_too_early(*fetch);
  check_reads();
}

// Planted: the next step of a run goes to a worker before the end of the previous one is durable.
void World::answer_too_early(FetchTask& fetch) {
  bool next_step = std::any_of(fetch.leases.begin(), fetch.leases.end(), [&](const Lease& lease) {
    const Job* job = core_->state().find_job(lease.job);
    return job != nullptr && !job->parent.run.is_nil() && index_of(job->parent.place) > 0;
  });
  if (!next_step) return;
  fetch.needs_record = core_->journal_head() + 1;
  Wakes wakes;
  fetch.durable(wakes);
}

void World::spoil(Batch& batch) const {
  if (batch.number == 0) return;
  if (plants_.callback_twice) batch.journal = with_callbacks_twice(batch.number, batch.journal);
  if (plants_.retry_counted)
    batch.journal = with_retries_counted(batch.number, batch.journal, model_);
  if (plants_.cancelled_member_lost)
    batch.journal = without_cancelled_members(batch.number, batch.journal);
  batch.journal = spoil_jobs(plants_, batch.number, std::move(batch.journal));
  batch.journal = spoil_scripts(plants_, batch.number, std::move(batch.journal));
}

void World::advance(int64_t by_ms) {
  verdict_.tell(told() + "clock moves by " + std::to_string(by_ms) + "ms");
  if (by_ms < 0) verdict_.reach(Probe::ClockBack);
  if (by_ms >= 3'600'000) verdict_.reach(Probe::ClockJump);
  clock_.move(by_ms);
}

bool World::serve_modules(uint64_t steps_max) {
  if (!modules_) return false;
  bool served = false;
  const uint64_t life = life_;
  for (uint64_t i = 0; i < steps_max && life == life_ && !verdict_.failed(); ++i) {
    if (auto task = modules_->next_task()) {
      submit(task);
    } else {
      arm_read_trouble();
      if (!modules_->run_one()) {
        if (on_disk()) disk_.files->faults().disarm();
        return served;
      }
      check_reads();
    }
    served = true;
  }
  return served;
}

void World::fire_module_timers() {
  if (!modules_ || verdict_.failed()) return;
  modules_->fire_due();
  check_reads();
}

void World::audit_module_worlds(bool thorough) {
  if (!modules_ || verdict_.failed()) return;
  audit_modules(core_->state(), model_.modules(), modules_->code(), thorough, verdict_);
}

void World::tick() {
  if (verdict_.failed()) return;
  if (plants_.never_ticks) return;
  store_->watch_reads(true);
  arm_read_trouble();
  int ticks = 1;
  while (core_->tick() && ticks < kTicksMax) ++ticks;
  store_->watch_reads(false);
  check_reads();
  if (!verdict_.failed())
    verdict_.expect(ticks < kTicksMax, "liveness", "a tick always finds more to do");
}

void World::close_batch(bool idle) {
  if (verdict_.failed()) return;
  PAWL_CHECK(!in_flight_);
  InFlight next;
  arm_read_trouble();
  next.closed = core_->close_batch(idle);
  if (core_->unreadable()) Core::refuse(next.closed, *core_->unreadable());
  const uint64_t life = life_;
  check_reads();
  if (verdict_.failed() || life != life_) return;
  spoil(next.closed.batch);
  for (const TaskPtr& task : next.closed.outgoing.answers)
    static_cast<SimTask&>(*task).needs_record = core_->journal_head();
  EffectWorld::may_leave_after(next.closed.outgoing.effects.get(), core_->journal_head());
  if (plants_.effect_before_commit && next.closed.outgoing.effects)
    std::exchange(next.closed.outgoing.effects, nullptr)->release();
  const Batch& batch = next.closed.batch;
  verdict_.tell(told() + (idle ? "close idle" : "close") + ": record " +
                std::to_string(batch.number) + ", " + std::to_string(batch.journal.size()) +
                " bytes, " + std::to_string(batch.writes.size()) + " rows, " +
                std::to_string(next.closed.outgoing.answers.size()) + " tasks");
  if (!batch.writes.empty()) verdict_.reach(Probe::RowsInBatch);
  if (idle) verdict_.reach(Probe::IdleFlush);
  bool empty = next.closed.empty();
  if (empty && !next.closed.outgoing.answers.empty()) verdict_.reach(Probe::ReadOnlyBatchReleased);
  in_flight_ = std::move(next);
  if (empty || plants_.release_before_commit) release();
  if (empty) in_flight_.reset();
}

void World::read_durable_record(const ClosedBatch& closed) {
  desk_.durable_head = store_->durable_head();
  if (closed.batch.number == 0) return;
  std::map<uint64_t, SimTask*> marks;
  for (const TaskPtr& task : closed.outgoing.answers) {
    auto* marked = static_cast<SimTask*>(task.get());
    if (marked->mark() != 0) marks[marked->mark()] = marked;
  }
  model_.read_record(closed.batch.number, closed.batch.journal, [&](uint64_t sequence) {
    auto at = marks.find(sequence);
    if (at != marks.end() && !verdict_.failed()) at->second->judge_at_mark();
  });
  if (!verdict_.failed()) genesis_.fold(closed.batch.number, closed.batch.journal, verdict_);
}

void World::commit() {
  PAWL_CHECK(in_flight_ && !in_flight_->durable);
  if (on_disk()) {
    arm_quiet_trouble();
    return commit_and_see();
  }
  Status status = store_->commit(in_flight_->closed.batch);
  verdict_.tell(told() + (status.ok() ? "commit" : "commit fails"));
  verdict_.expect(status.ok(), "store", "a commit was refused without a fault");
  in_flight_->durable = true;
  read_durable_record(in_flight_->closed);
}

void World::release() {
  in_flight_->released = true;
  std::vector<TaskPtr> tasks = in_flight_->closed.outgoing.answers;
  Core::release(in_flight_->closed, [this](uint64_t number, std::string&& record) {
    followed_ = number;
    if (modules_) modules_->follow(record);
  });
  if (!plants_.fetch_reply_twice) return;
  Wakes wakes;
  for (const TaskPtr& task : tasks)
    if (dynamic_cast<FetchTask*>(task.get()) != nullptr && random_.percent(20))
      task->durable(wakes);
}

// One of the actions after a commit: notifying the core, or answering. Either may come first.
void World::finish_commit() {
  PAWL_CHECK(in_flight_ && in_flight_->durable);
  bool release_next = in_flight_->core_knows || (!in_flight_->released && random_.percent(50));
  if (release_next && !in_flight_->released) {
    if (!in_flight_->core_knows) verdict_.reach(Probe::ReleasedBeforeCommittedCall);
    release();
  } else {
    core_->committed(in_flight_->closed);
    in_flight_->core_knows = true;
    check_bounds();
  }
  if (in_flight_->core_knows && in_flight_->released) in_flight_.reset();
}

void World::fail_commit() {
  PAWL_CHECK(in_flight_ && !in_flight_->durable);
  if (on_disk()) return fail_commit_on_disk();
  bool kept = random_.percent(50);
  disk_.next_fault = kept ? CommitFault::FailAfter : CommitFault::FailBefore;
  Status status = store_->commit(in_flight_->closed.batch);
  verdict_.tell(told() + "commit fails, the batch is " + (kept ? "there" : "lost"));
  if (status.ok()) {  // nothing had to be written
    in_flight_->durable = true;
    disk_.next_fault = CommitFault::Ok;
    return read_durable_record(in_flight_->closed);
  }
  verdict_.reach(Probe::CommitFailedAndRefused);
  if (kept) read_durable_record(in_flight_->closed);
  if (plants_.ignore_failed_commit) {
    release();
  } else {
    Core::refuse(in_flight_->closed, status.error());
  }
  count_crash(kept);
  const std::string record = kept ? in_flight_->closed.batch.journal : "";
  in_flight_.reset();
  refuse_the_rest(status.error());
  // The engine may live on; then a batch that is found is told to those who follow the journal.
  const bool lives_on = modules_ && random_.percent(50);
  reopen(lives_on);
  if (lives_on && !record.empty()) modules_->follow(record);
}

// As the engine does when it gives up its state: nobody who is still there waits for an answer that
// cannot come.
void World::refuse_the_rest(const Error& error) {
  ClosedBatch open = core_->close_batch(false);
  Core::refuse(open, error);
  for (const TaskPtr& task : core_->take_parked()) task->refuse(error);
}

// --- its ends and beginnings

void World::count_crash(bool kept) {
  ++crashes_;
  if (core_->wants_commit()) verdict_.reach(Probe::CrashLosesOpenBatch);
  if (!in_flight_) {
    verdict_.reach(Probe::CrashIdle);
    return;
  }
  if (in_flight_->closed.has_rows)
    verdict_.reach(kept ? Probe::CrashKeepsRows : Probe::CrashLosesRows);
  if (!kept) verdict_.reach(Probe::CrashBeforeCommit);
  if (kept && !in_flight_->released) verdict_.reach(Probe::CrashBetweenCommitAndRelease);
}

void World::crash() {
  if (on_disk()) return crash_on_disk();
  bool kept = in_flight_ && in_flight_->durable;
  if (in_flight_ && !in_flight_->durable && random_.percent(60)) {
    kept = random_.percent(60);
    disk_.next_fault = kept ? CommitFault::FailAfter : CommitFault::FailBefore;
    (void)store_->commit(in_flight_->closed.batch).ok();
    disk_.next_fault = CommitFault::Ok;
    if (kept) read_durable_record(in_flight_->closed);
  }
  verdict_.tell(told() + "crash" +
                (in_flight_ ? kept ? ", the batch is there" : ", the batch is lost" : ""));
  count_crash(kept);
  in_flight_.reset();
  reopen();
}

bool World::try_open() {
  if (modules_) modules_->engine_is_gone();
  core_.reset();
  store_.reset();
  auto store = SimStore::open(disk_, plants_, verdict_);
  if (!store.ok()) {
    PAWL_CHECK(on_disk());
    verdict_.tell(told() + "opening fails: " + store.error().message);
    damage_found(store.error());
    return false;
  }
  store_ = std::move(*store);
  return open_core();
}

bool World::open_core() {
  if (modules_) modules_->engine_is_gone();
  core_.reset();
  if (on_disk()) settle_doubt();
  if (verdict_.failed()) return false;
  auto core = Core::open(*store_, config_, clock_, core_random_);
  if (!core.ok()) {
    verdict_.tell(told() + "recovery fails: " + core.error().message);
    damage_found(core.error());
    return false;
  }
  core_ = std::move(*core);
  ++life_;
  return true;
}

void World::reopen(bool same_process) {
  if (modules_ && !same_process) modules_->process_is_gone();
  fetches_.clear();
  if (verdict_.failed()) return;
  for (int i = 0; i < 2 && random_.percent(mix_.recovery_fails); ++i) {
    if (on_disk()) {
      if (!recovery_fails_on_disk()) break;
      verdict_.reach(Probe::CrashInRecovery);
      continue;
    }
    disk_.reads_until_fault = 1 + random_.below(20);
    bool opened = try_open();
    disk_.reads_until_fault = 0;
    if (opened) break;
    verdict_.reach(Probe::CrashInRecovery);
  }
  // An armed fault may occur now; with room again, and one more restart, it has passed.
  for (int i = 0; i < 3 && !verdict_.failed(); ++i) {
    if (try_open()) return check_recovered();
    if (!on_disk()) break;
    if (disk_.files->faults().full()) give_room();
  }
  verdict_.fail("I1 recovery", "the disk cannot be opened after a crash");
}

void World::check_recovered() {
  if (!all_is_readable()) return;
  desk_.durable_head = store_->durable_head();
  model_.restarted();
  effects_.restarted();
  if (core_->recovery().events > 0) verdict_.reach(Probe::TailFolded);
  verdict_.tell(told() + "reopened, " + std::to_string(core_->recovery().records) +
                " records folded");
  acknowledged_.check(core_->state(), model_);
  if (verdict_.failed()) return;
  audit_entities(core_->state(), model_, verdict_);
  verdict_.expect(core_->state().digest() == genesis_.digest(), "I2 replay",
                  "rows and tail give another state than the fold from genesis");
  if (!modules_ || verdict_.failed()) return;
  audit_module_worlds(false);
  modules_->engine_is(*core_);
  // Records of commits that failed and are there all the same: the engine tells of them now.
  Status told = store_->read_journal(followed_ + 1, SIZE_MAX, [&](uint64_t number, auto record) {
    followed_ = number;
    modules_->follow(record);
    return true;
  });
  if (!told.ok()) damage_found(told.error());
}

// --- checking

void World::calm_down() {
  mix_ = FaultMix::none();
  if (on_disk()) disk_.files->faults().room_again();
}

void World::settle() {
  const uint64_t disk_slow = mix_.disk_slow;
  come_to_rest();
  mix_.disk_slow = disk_slow;
}

void World::come_to_rest() {
  for (int i = 0; i < kTicksMax && !verdict_.failed(); ++i) {
    // Slow syncs advance the clock: a schedule may start more jobs in that time than are done.
    if (i == kSlowTicksMax) mix_.disk_slow = 0;
    if (in_flight_) {
      if (!in_flight_->durable) commit();
      while (in_flight_) finish_commit();
    }
    const uint64_t life = life_;
    tick();
    if (verdict_.failed()) return;
    if (life != life_) continue;  // due work is due again after the restart
    fire_module_timers();
    if (verdict_.failed()) return;
    if (serve_modules(kTicksMax) || life != life_) continue;
    if (!core_->wants_commit()) return;
    close_batch(false);
  }
}

// The core has just evicted down to its bounds: the rest is not flushed yet (I8).
void World::check_bounds() {
  StateCounts counts = core_->state().counts();
  verdict_.expect(counts.jobs_resident <= config_.state.resident_jobs_max + counts.dirty,
                  "I8 memory", "more jobs are in memory than the bound and what is not flushed");
}

// A parked fetch sleeps only while there is nothing for it.
void World::check_parked() {
  int64_t now_ms = std::max(clock_.true_ms(), model_.now_ms());
  std::erase_if(fetches_, [](const auto& fetch) { return fetch.expired(); });
  for (const auto& weak : fetches_) {
    auto fetch = weak.lock();
    if (fetch->answered() || fetch->abandoned()) continue;
    for (const std::string& queue : fetch->queues)
      if (const ModelJob* job = model_.fetchable(queue, now_ms))
        return verdict_.fail("I7 parked", "a fetch is parked, though " +
                                              short_name(job->birth.job) + " waits in " + queue);
  }
}

void World::audit(bool thorough) {
  settle();
  if (!all_is_readable()) return;
  verdict_.tell(told() + "audit" + (thorough ? " and restart" : ""));
  int64_t due_ms = model_.first_due_ms();
  verdict_.expect(due_ms == 0 || due_ms > clock_.true_ms(), "I7 timers",
                  "what is due was not done");
  verdict_.expect(due_ms == 0 || core_->next_tick_ms() <= due_ms, "I7 timers",
                  "the engine would sleep past what is due");
  effects_.check_all_asked();
  model_.scripts().check_gates(config_.state.scripts.max_concurrent);
  audit_entities(core_->state(), model_, verdict_);
  audit_module_worlds(thorough);
  verdict_.expect(core_->state().digest() == genesis_.digest(), "I2 replay",
                  "the live state is another than the fold from genesis");
  check_parked();
  if (!thorough || verdict_.failed()) return;
  audit_order(core_->state(), model_, verdict_);
  if (!verdict_.failed()) reopen();
}

}  // namespace pawl::sim
