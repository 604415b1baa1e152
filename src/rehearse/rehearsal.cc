#include "rehearse/rehearsal.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "engine/core.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/settings.h"
#include "rehearse/final_state.h"
#include "rehearse/people.h"
#include "rehearse/span.h"
#include "rehearse/stand_in.h"
#include "store/memory_store.h"

namespace pawl::rehearse {
namespace {

constexpr uint32_t kCrashesMax = 25;
constexpr int64_t kDownMsMax = 500;
constexpr uint64_t kCrashPercent = 4;  // before and after each commit

// An input from outside. The sender repeats it until it is durable; an answer is not repeated,
// since the engine itself requests it again.
class Input : public Task {
 public:
  using Deed = std::function<Status(Frame&)>;
  using Done = std::function<void(const Status&)>;
  Input(Deed deed, Done done, bool again)
      : repeats(again), deed_(std::move(deed)), done_(std::move(done)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    outcome_ = deed_(frame);
    return std::nullopt;
  }
  void durable(Wakes&) override {}
  void refuse(const Error&) override {}
  void committed() {
    if (done_) done_(outcome_);
  }

  const bool repeats;

 private:
  Deed deed_;
  Done done_;
  Status outcome_ = ok_status();
};

bool has_job_or_composition(const State& state, const Run& run, uint32_t effect) {
  const Uuid child = child_id(run, effect);
  const Run* nested = state.find_run(RunId(child));
  return nested != nullptr ? !nested->script : state.find_job(JobId(child)) != nullptr;
}

// A mock has answered in place of the step's job: nobody is to work on that any more.
void withdraw_child(Frame& frame, const RunId& id, uint32_t effect) {
  constexpr const char* kWhy = "a mock has answered for it";
  const Run* run = frame.state().find_run(id);
  if (run == nullptr || !has_job_or_composition(frame.state(), *run, effect)) return;
  const Uuid child = child_id(*run, effect);
  if (const Job* job = frame.state().find_job(JobId(child))) {
    if (!is_terminal(job->state)) cancel_job(frame, *job, kWhy);
  } else {
    (void)cancel_run(frame, RunId(child), kWhy).ok();  // refused if it is over
  }
}

class Driver {
 public:
  Driver(const TestFile& file, const Case& given, const std::optional<FaultPlan>& faults,
         const RealAction& real)
      : file_(file),
        case_(given),
        faults_(faults),
        clock_(given.starts_at_ms),
        core_dice_(faults ? faults->seed : 0),
        fault_dice_(faults ? faults->seed : 0),
        story_(given.starts_at_ms),
        stage_(given, story_, clock_, faults ? faults->seed : 0, faults ? &fault_dice_ : nullptr,
               real),
        people_(given),
        disk_(std::make_shared<MemoryDisk>()) {
    config_.effects = &stage_;
    config_.retention.finished_ms = 0;
    config_.retention.journal_ms = 0;
  }

  Rehearsed run() {
    open();
    start();
    settle();
    while (!is_over() && advance()) settle();
    return summary();
  }

 private:
  void open();
  void start();
  void submit(const std::shared_ptr<Input>& input);
  void settle();
  void commit_once();
  void take_commit(const ClosedBatch& closed);
  bool advance();
  void deliver();
  bool is_over() const;
  bool may_die() const { return faults_ && result_.crashes < kCrashesMax; }
  void die(const std::string& when);
  const Run* root() const { return run_.is_nil() ? nullptr : core_->state().find_run(run_); }
  int64_t elapsed_ms() { return clock_.now_ms() - case_.starts_at_ms; }
  void give_up(std::string problem) {
    if (result_.problems.empty()) result_.problems.push_back(std::move(problem));
    stopped_ = true;
    result_.given_up = true;
  }
  Rehearsed summary();
  Status register_and_start(Frame& frame);

  const TestFile& file_;
  const Case& case_;
  std::optional<FaultPlan> faults_;
  VirtualClock clock_;
  Dice core_dice_;
  Dice fault_dice_;
  Story story_;
  Stage stage_;
  People people_;
  CoreConfig config_;
  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Core> core_;
  std::vector<std::shared_ptr<Input>> unsettled_;  // sent, and not known to be durable
  RunId run_;
  uint32_t commits_ = 0;
  bool stopped_ = false;
  bool died_after_call_ = false;
  Rehearsed result_;
};

void Driver::open() {
  auto store = open_memory(disk_);
  PAWL_CHECK(store.ok());
  store_ = std::move(*store);
  auto core = Core::open(*store_, config_, clock_, core_dice_);
  PAWL_CHECK(core.ok());
  core_ = std::move(*core);
  for (const auto& [id, prefix] : story_.runs()) {
    const Run* run = core_->state().find_run(id);
    if (run == nullptr || !run->script) continue;
    for (const OpenEffect& open : run->script->effects)
      if (has_job_or_composition(core_->state(), *run, open.effect))
        stage_.ask_child(core_->state(), id, open.effect);
  }
}

Status Driver::register_and_start(Frame& frame) {
  for (const auto& other : file_.others) {
    StoredDefinition stored;
    stored.name = other->name;
    stored.version = "v1";
    stored.number = 1;
    stored.canonical = staged_definition(*other, file_, case_);
    stored.created_ms = frame.now_ms();
    put_doc(frame, DocKind::Definition, definition_key(stored.name, stored.version),
            codec::encoded(stored));
    put_doc(frame, DocKind::Definition, stored.name, stored.version);
  }
  StartScript command;
  command.id = run_;
  command.definition = file_.script->name;
  command.source = staged_definition(*file_.script, file_, case_);
  command.inputs = Value(case_.inputs).json();
  PAWL_TRY_DO(start_script(frame, command));
  return ok_status();
}

void Driver::start() {
  Dice ids(faults_ ? faults_->seed ^ 0x1d : 0x1d);
  run_ = RunId(Uuid::v7(case_.starts_at_ms, ids.next(), ids.next(), 0));
  submit(std::make_shared<Input>([this](Frame& frame) { return register_and_start(frame); },
                                 [this](const Status& started) {
                                   if (!started.ok())
                                     give_up("the run does not start: " + started.error().message);
                                 },
                                 true));
}

void Driver::submit(const std::shared_ptr<Input>& input) {
  unsettled_.push_back(input);
  core_->decide(input);
}

// --- commits

void Driver::settle() {
  while (!stopped_) {
    while (core_->tick()) {
    }
    if (!core_->wants_commit()) return;
    commit_once();
    if (!stage_.problem().empty()) give_up(stage_.problem());
    if (++commits_ > kCommitsMax || story_.too_long())
      give_up("it does not come to an end: given up after " + std::to_string(commits_) +
              " commits, " + span_text(elapsed_ms()) + " of virtual time");
  }
}

void Driver::commit_once() {
  ClosedBatch closed = core_->close_batch(faults_ && fault_dice_.percent(20));
  if (may_die() && fault_dice_.percent(kCrashPercent))
    return die("before its commit: record " + std::to_string(closed.batch.number) + " is lost");
  if (!closed.empty()) PAWL_CHECK(store_->commit(closed.batch).ok());
  take_commit(closed);
  if (may_die() && fault_dice_.percent(kCrashPercent))
    return die("after its commit: record " + std::to_string(closed.batch.number) +
               " is durable, nothing of it was released");
  core_->committed(closed);
  Core::release(closed);
  for (const ChildMade& made : story_.take_children())
    stage_.ask_child(core_->state(), made.run, made.effect);
  for (const auto& [run, effect] : stage_.take_unmade())
    submit(std::make_shared<Input>(
        [run = run, effect = effect](Frame& frame) {
          make_step_child(frame, run, effect);
          return ok_status();
        },
        nullptr, false));
  // A rehearsal with faults makes each call twice in some seed, not only by luck.
  if (may_die() && !died_after_call_ && stage_.calls().size() > faults_->die_after_call) {
    died_after_call_ = true;
    const Call& call = stage_.calls()[faults_->die_after_call];
    die("after it asked for " + call.action + " in step '" + call.step + "', before the answer");
  }
}

void Driver::take_commit(const ClosedBatch& closed) {
  if (closed.batch.number != 0) story_.read(closed.batch.number, closed.batch.journal);
  for (const Beginning& beginning : story_.take_beginnings()) people_.notice(beginning);
  for (const TaskPtr& task : closed.outgoing.answers) {
    auto input = std::static_pointer_cast<Input>(task);
    std::erase(unsettled_, input);
    input->committed();
  }
}

void Driver::die(const std::string& when) {
  ++result_.crashes;
  result_.faults.push_back("+" + span_text(elapsed_ms()) + " the engine dies " + when);
  stage_.forget_replies();
  story_.take_children();  // asked for again when the engine is back, as all that is open
  core_.reset();
  store_.reset();
  clock_.move_to(clock_.now_ms() + static_cast<int64_t>(fault_dice_.below(kDownMsMax)));
  open();
  std::vector<std::shared_ptr<Input>> again = std::exchange(unsettled_, {});
  for (const auto& input : again)
    if (input->repeats) submit(input);
}

// --- time

bool Driver::is_over() const {
  const Run* run = root();
  return stopped_ || (run != nullptr && is_terminal(run->state));
}

// Advances to the next event. False if there is none, or not before the case's `until`.
bool Driver::advance() {
  int64_t next = 0;
  for (int64_t at : {stage_.next_ms(), people_.next_ms(), core_->state().next_due_ms()})
    if (at != 0 && (next == 0 || at < next)) next = at;
  int64_t end = case_.starts_at_ms + (case_.until_ms != 0 ? case_.until_ms : kVirtualMsMax);
  if (next == 0 || next > end) {
    if (case_.until_ms != 0) clock_.move_to(end);
    return false;
  }
  clock_.move_to(next);
  deliver();
  return true;
}

void Driver::deliver() {
  for (Stage::Reply& reply : stage_.take_due())
    submit(std::make_shared<Input>(
        [reply = std::move(reply)](Frame& frame) {
          effect_done(frame, reply.run, reply.effect, reply.outcome);
          withdraw_child(frame, reply.run, reply.effect);
          return ok_status();
        },
        nullptr, false));
  for (size_t event : people_.take_due(clock_.now_ms()))
    submit(std::make_shared<Input>(
        [this, event](Frame& frame) { return people_.act(frame, run_, event); },
        [this, event](const Status& done) {
          if (!done.ok())
            result_.problems.push_back(people_.describe(event) +
                                       " was refused: " + done.error().message);
        },
        true));
}

Rehearsed Driver::summary() {
  result_.elapsed_ms = elapsed_ms();
  result_.calls = stage_.calls();
  result_.timeline = story_.moments();
  if (const Run* run = root(); run != nullptr && run->script) {
    describe_end(core_->state(), *run, result_);
    describe_steps(core_->state(), story_, result_);
    if (!is_terminal(run->state))
      describe_waits(core_->state(), story_, case_.starts_at_ms, result_);
  }
  if (!stopped_ && case_.until_ms == 0)
    for (std::string& left : people_.undone()) result_.problems.push_back(std::move(left));
  return std::move(result_);
}

}  // namespace

Rehearsed rehearse(const TestFile& file, const Case& given, const std::optional<FaultPlan>& faults,
                   const RealAction& real) {
  return Driver(file, given, faults, real).run();
}

}  // namespace pawl::rehearse
