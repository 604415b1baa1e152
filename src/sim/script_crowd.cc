#include "sim/script_crowd.h"

#include <algorithm>

#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"
#include "plan/definition.h"
#include "sim/random_definition.h"
#include "sim/script_oracle.h"

namespace pawl::sim {
namespace {

constexpr size_t kRunsAtOnceMax = 5;
constexpr int kDefinitions = 4;
constexpr size_t kInlineTextsMax = 3;
const std::vector<std::string> kSignals = {"go", "ready"};

// A loop with more work than fits into one frame.
std::string long_definition() {
  Value::Array items(4'200, Value(int64_t{1}));
  Value log = Value::Object{
      {"id", "s2"}, {"action", "workflow.log"}, {"params", Value::Object{{"message", "m"}}}};
  Value::Object config{{"over", std::move(items)}, {"body", Value::Array{std::move(log)}}};
  Value loop = Value::Object{{"id", "s1"}, {"type", "loop"}, {"config", std::move(config)}};
  return Value(Value::Object{{"steps", Value::Array{std::move(loop)}}}).json();
}

std::string definition_name(uint64_t number) { return "def" + std::to_string(number); }

}  // namespace

std::shared_ptr<ScriptTask> ScriptCrowd::task(ScriptOp op, const RunId& run) {
  return std::make_shared<ScriptTask>(world_.desk(), op, run);
}

void ScriptCrowd::send(ScriptOp op, const RunId& run,
                       const std::function<void(ScriptTask&)>& fill) {
  ways_.send(std::string(op_name(op)) + " script " + short_name(JobId(run)), [&] {
    auto made = task(op, run);
    fill(*made);
    return made;
  });
}

RunId ScriptCrowd::draw_run(bool over) {
  std::vector<RunId> fitting, others;
  for (const auto& [id, run] : world_.model().scripts().all())
    if (!run.forgotten) (run.over() == over ? fitting : others).push_back(id);
  if (!fitting.empty() && random_.percent(85)) return random_.pick(fitting);
  if (others.empty() || random_.percent(5)) return RunId(Uuid{random_.next(), random_.next()});
  return random_.pick(others);
}

// --- definitions

void ScriptCrowd::put_definition() {
  uint64_t number = random_.below(kDefinitions);
  std::vector<std::string> children;
  for (uint64_t i = 0; i < number; ++i) children.push_back(definition_name(i));
  uint64_t seed = random_.next() % 1'000'000;
  bool determinate = random_.percent(35);
  std::string text = determinate ? determinate_definition(seed)
                                 : RandomDefinition(random_, ways_.queues, children).text();
  bool is_long = !determinate && random_.below(1'000) < 4 && !world_.yields_early();
  if (is_long) text = long_definition();
  plan::ReadResult read = plan::read_definition(text);
  if (!read.valid())
    return verdict_.fail("crowd", "its definition is refused: " + read.errors.front().path + " " +
                                      read.errors.front().message + " in " + text);
  if (determinate) world_.desk().model.scripts().determinate(read.canonical, seed);
  StoredDefinition stored;
  stored.name = definition_name(number);
  stored.version = "v" + std::to_string(++serial_);
  stored.canonical = read.canonical;
  verdict_.tell("definition " + stored.name + " " + stored.version + ": " +
                (is_long ? "a long loop" : text));
  ways_.send("define " + stored.name, [&] {
    return std::make_shared<CallTask>(world_.desk(), [stored](Frame& frame) {
      std::string key = definition_key(stored.name, stored.version);
      put_doc(frame, DocKind::Definition, key, codec::encoded(stored));
      put_doc(frame, DocKind::Definition, stored.name, stored.version);
    });
  });
}

void ScriptCrowd::put_schedule() {
  static const std::vector<std::string> kNames = {"sched1", "sched2"};
  CronSpec spec;
  spec.name = random_.pick(kNames);
  if (random_.percent(25))
    return ways_.send("delete schedule " + spec.name, [&] {
      return std::make_shared<CallTask>(
          world_.desk(), [spec](Frame& frame) { (void)delete_cron(frame, spec.name).ok(); });
    });
  spec.expression = random_.percent(50) ? "@every 5s" : "@every 30s";
  spec.timezone = "UTC";
  spec.overlap = random_.percent(50) ? CronOverlap::Skip : CronOverlap::Allow;
  spec.source = CronSource::Schedule;
  const auto& registered = world_.model().scripts().newest();
  auto of = registered.begin();
  std::advance(of, static_cast<ptrdiff_t>(random_.below(registered.size())));
  spec.definition = of->first;
  ways_.send("schedule " + spec.name + " of " + spec.definition, [&] {
    return std::make_shared<CallTask>(world_.desk(),
                                      [spec](Frame& frame) { (void)put_cron(frame, spec).ok(); });
  });
}

// --- clients

void ScriptCrowd::start() {
  if (world_.model().scripts().unfinished() >= kRunsAtOnceMax) return;
  StartScript command;
  command.definition = definition_name(random_.below(kDefinitions));
  if (random_.percent(25)) {  // without registering it
    // Some texts repeat: only runs of the same text share a limit.
    if (inline_texts_.empty() || random_.percent(60)) {
      if (inline_texts_.size() >= kInlineTextsMax) inline_texts_.erase(inline_texts_.begin());
      inline_texts_.push_back(RandomDefinition(random_, ways_.queues, {"def0"}).text());
    }
    const std::string& text = random_.pick(inline_texts_);
    command.source = plan::read_definition(text).canonical;
    command.definition.clear();
    verdict_.tell("inline definition: " + text);
  }
  if (random_.percent(20)) command.priority = static_cast<int32_t>(random_.between(-3, 3));
  RunId id;
  if (random_.percent(40)) {
    uint64_t a = random_.next();
    id = RunId(Uuid::v7(world_.now_ms(), a, random_.next(), 0));
    const auto& all = world_.model().scripts().all();
    if (!all.empty() && random_.percent(35)) {
      auto other = all.begin();
      std::advance(other, static_cast<ptrdiff_t>(random_.below(all.size())));
      if (other->second.birth.parent.run.is_nil()) id = other->first;
    }
  }
  send(ScriptOp::Start, id, [&](ScriptTask& made) { made.start = command; });
}

void ScriptCrowd::meddle(ScriptOp op) {
  RunId id = draw_run(op == ScriptOp::Retry);
  bool flag = random_.percent(30);
  std::string from;
  const ModelScript* run = world_.model().scripts().existing(id);
  if (op == ScriptOp::Retry && run != nullptr && random_.percent(30)) {
    std::vector<std::string> steps;
    for (const auto& [path, scope] : run->scopes)
      for (uint32_t i = 0; i < scope.steps.size(); ++i)
        steps.push_back(join_path(path, run->plan->at(scope.list, i).id));
    if (!steps.empty()) from = random_.pick(steps);
  }
  send(op, id, [&](ScriptTask& made) {
    made.flag = flag;
    made.text = from;
  });
}

void ScriptCrowd::send_signal() {
  RunId id = draw_run(random_.percent(10));
  const ModelScript* run = world_.model().scripts().existing(id);
  ScriptSignal signal;
  signal.type = random_.pick(kSignals);
  signal.payload = "{\"s\":" + std::to_string(++serial_) + "}";
  uint64_t what = random_.below(100);
  std::vector<std::string> steps;
  for (size_t i = 0; run != nullptr && i < 1; ++i)
    for (const auto& [path, scope] : run->scopes)
      for (uint32_t j = 0; j < scope.steps.size(); ++j)
        if (scope.steps[j].state != StepState::Pending)
          steps.push_back(join_path(path, run->plan->at(scope.list, j).id));
  if (what < 8) signal.type = "data";
  if (what >= 8 && what < 20 && !steps.empty()) {
    static const std::vector<std::string> kAtSteps = {"skip", "retry", "cancel"};
    signal.type = random_.pick(kAtSteps);
    signal.step = random_.pick(steps);
    signal.payload.clear();
  }
  send(ScriptOp::Signal, id, [&](ScriptTask& made) { made.signal = signal; });
}

void ScriptCrowd::decide() {
  std::vector<std::string> open, others;
  for (const auto& [id, decision] : world_.model().scripts().decisions())
    (decision.status == "pending" ? open : others).push_back(id);
  if (open.empty() && others.empty()) return;
  bool late = open.empty() || (!others.empty() && random_.percent(15));
  std::string id = random_.pick(late ? others : open);
  DecisionAnswer answer;
  answer.choice = random_.percent(50) ? "yes" : random_.percent(80) ? "no" : "perhaps";
  answer.resolved_by = "p" + std::to_string(++serial_);
  send(ScriptOp::Decide, RunId(), [&](ScriptTask& made) {
    made.decision = id;
    made.answer = answer;
  });
}

void ScriptCrowd::extend() {
  RunId id = draw_run(false);
  const ModelScript* run = world_.model().scripts().existing(id);
  if (run == nullptr) return;
  plan::ReadResult read = plan::read_definition(RandomDefinition::extended(random_, run->text));
  if (!read.valid()) return;
  send(ScriptOp::Extend, id, [&](ScriptTask& made) { made.text = read.canonical; });
}

void ScriptCrowd::client_acts() {
  if (world_.model().scripts().newest().empty() || random_.percent(8)) return put_definition();
  uint64_t what = random_.below(100);
  if (what < 34) return start();
  if (what < 52) return send_signal();
  if (what < 66) return decide();
  if (what < 72) return meddle(ScriptOp::Pause);
  if (what < 80) return meddle(ScriptOp::Resume);
  if (what < 84) return meddle(ScriptOp::Cancel);
  if (what < 90) return meddle(ScriptOp::Retry);
  if (what < 93) return extend();
  put_schedule();
}

// --- performers

StepOutcome ScriptCrowd::draw_outcome(const Work& work, bool calm) {
  StepOutcome outcome;
  const ModelScript* run = world_.model().scripts().find(work.run);
  if (run != nullptr && run->seed) {
    auto asked = run->asked.find(work.step);
    size_t nth = 0;
    for (size_t i = 0; asked != run->asked.end() && i < asked->second.size(); ++i)
      if (asked->second[i] == work.effect) nth = i + 1;
    return determinate_answer(*run->seed, work.step, nth);
  }
  outcome.ok = calm || random_.percent(75);
  std::string serial = std::to_string(++serial_);
  if (outcome.ok) {
    outcome.output = "{\"n\":" + std::to_string(random_.below(10)) + ",\"by\":" + serial + "}";
  } else {
    outcome.error = {"E", "answer " + serial, "", ""};
    outcome.retryable = random_.percent(75);
  }
  return outcome;
}

void ScriptCrowd::answer(Work& work, bool calm) {
  std::string name = short_name(JobId(work.run)) + " effect " + std::to_string(work.effect);
  if (work.kind != EffectKind::Action && work.refusal.empty()) {
    ways_.send("make the child of " + name,
               [&] { return std::make_shared<MakeChildTask>(world_.desk(), work); });
    work.answered = true;
    return;
  }
  StepOutcome outcome = draw_outcome(work, calm);
  if (!work.refusal.empty()) {
    outcome = {};
    outcome.error = {"INTERPOLATION_ERROR", work.refusal, "", ""};
  }
  world_.desk().model.scripts().answered(work.run, work.effect, outcome);
  ways_.send("answer " + name + " " + work.step + (outcome.ok ? "" : " failed"), [&] {
    return std::make_shared<ReceiptTask>(world_.desk(), world_.plants(), work, outcome);
  });
  work.answered = true;
}

void ScriptCrowd::performer_acts() {
  std::vector<Work>& open = world_.effects().open();
  std::vector<Work>& stale = world_.effects().stale();
  bool late = !stale.empty() && (open.empty() || random_.percent(20));
  std::vector<Work>& from = late ? stale : open;
  if (from.empty()) return client_acts();
  // The engine may crash at the answer, and then the lists change.
  Work work = random_.pick(from);
  answer(work, false);
  auto same = [&](const Work& each) { return each.run == work.run && each.effect == work.effect; };
  auto left = std::find_if(from.begin(), from.end(), same);
  if (left == from.end()) return;
  left->answered = true;
  const ScriptModel& scripts = world_.model().scripts();
  bool over = !scripts.is_open(work.run, work.effect) || scripts.has_child(work.run, work.effect);
  // An answered performer may answer again; an unheard one must.
  if ((over || late) && random_.percent(70)) from.erase(left);
}

// --- the end

void ScriptCrowd::give_what_is_missing(const RunId& id, const ModelScript& run) {
  if (run.paused) send(ScriptOp::Resume, id, [](ScriptTask&) {});
  std::vector<std::pair<std::string, std::string>> waits;  // path, decision
  for (const auto& [path, scope] : run.scopes)
    for (uint32_t i = 0; i < scope.steps.size(); ++i)
      if (scope.steps[i].state == StepState::Suspended && scope.steps[i].effect == 0)
        waits.emplace_back(join_path(path, run.plan->at(scope.list, i).id),
                           scope.steps[i].decision);
  for (const auto& [path, decision] : waits) {
    if (!decision.empty()) {
      send(ScriptOp::Decide, id, [&decision = decision](ScriptTask& made) {
        made.decision = decision;
        made.answer.choice = "yes";
      });
    } else {
      send(ScriptOp::Signal, id, [this, &path = path](ScriptTask& made) {
        made.signal.type = "go";
        made.signal.step = path;
        made.signal.payload = "{\"s\":" + std::to_string(++serial_) + "}";
      });
    }
  }
}

void ScriptCrowd::work_off() {
  for (const auto& [name, cron] : std::map(world_.model().crons())) {
    if (cron.spec.definition.empty()) continue;
    ways_.send("delete schedule " + name, [&, schedule = name] {
      return std::make_shared<CallTask>(
          world_.desk(), [schedule](Frame& frame) { (void)delete_cron(frame, schedule).ok(); });
    });
  }
  std::vector<RunId> live;
  for (const auto& [id, run] : world_.model().scripts().all())
    if (!run.forgotten && !run.over()) live.push_back(id);
  for (const RunId& id : live)
    if (const ModelScript* run = world_.model().scripts().existing(id))
      give_what_is_missing(id, *run);
  for (Work& work : std::vector<Work>(std::exchange(world_.effects().open(), {}))) {
    const ScriptModel& scripts = world_.model().scripts();
    bool waited_for =
        scripts.is_open(work.run, work.effect) && !scripts.has_child(work.run, work.effect);
    if (waited_for) answer(work, true);
  }
}

}  // namespace pawl::sim
