#include "kernel/testing/script_world.h"

#include "kernel/messages/placing.h"
#include "kernel/mutable_state.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "plan/definition.h"
#include "plan/secret_rule.h"

namespace pawl {

Result<expr::OpenedSecret> TestSecrets::reveal(std::string_view name, std::string_view,
                                               const plan::SecretRule&) const {
  if (name == "TOKEN") return expr::OpenedSecret{"hunter2"};
  return Error{ErrorCode::NotFound, "there is no such secret"};
}

ScriptWorld::ScriptWorld(bool restless, const StateConfig& config)
    : World(config), restless_(restless) {}

std::string ScriptWorld::define(const std::string& name, std::string_view text,
                                const std::string& version) {
  StoredDefinition stored;
  stored.name = name;
  stored.version = version;
  stored.canonical = canonical(text);
  return act([&](Frame& f) {
    put_doc(f, DocKind::Definition, definition_key(name, version), codec::encoded(stored));
    put_doc(f, DocKind::Definition, name, version);
    return ok_status();
  });
}

std::string ScriptWorld::begin(std::string_view text, const std::string& inputs) {
  StartScript command;
  command.source = canonical(text);
  command.inputs = inputs;
  return start(command);
}

std::string ScriptWorld::begin_stored(const std::string& canonical_text) {
  StartScript command;
  command.source = canonical_text;
  return start(command);
}

std::string ScriptWorld::start(const StartScript& command) {
  return act([&](Frame& f) -> Status {
    PAWL_TRY(run_, start_script(f, command));
    names.of(run_);
    return ok_status();
  });
}

std::string ScriptWorld::done(const std::string& step, const std::string& output) {
  StepOutcome outcome;
  outcome.ok = true;
  outcome.output = output;
  return answer(step, outcome);
}

std::string ScriptWorld::fail(const std::string& step, const std::string& code, bool retryable) {
  StepOutcome outcome;
  outcome.error = {code, "it broke", "", ""};
  outcome.retryable = retryable;
  return answer(step, outcome);
}

std::string ScriptWorld::answer(const std::string& step, const StepOutcome& outcome) {
  uint32_t effect = effect_of(step);
  if (effect == 0) return "nobody asked for " + step;
  return answer_effect(effect, outcome);
}

std::string ScriptWorld::answer_effect(uint32_t effect, const StepOutcome& outcome) {
  return act([&](Frame& f) {
    effect_done(f, run_, effect, outcome);
    return ok_status();
  });
}

std::string ScriptWorld::wait(int64_t ms) {
  advance(ms);
  return settle();
}

std::string ScriptWorld::signal(const std::string& type, const std::string& step,
                                const std::string& payload, const std::string& agent) {
  return act([&](Frame& f) { return signal_script(f, run_, {type, step, payload, agent, ""}); });
}

std::string ScriptWorld::decide(const std::string& step, const std::string& choice,
                                const std::string& agent) {
  const StepRecord* record = state().find_step(run(), step);
  std::string id = record == nullptr ? "" : record->decision;
  return act([&](Frame& f) { return resolve_decision(f, id, {choice, "", "because", agent}); });
}

std::string ScriptWorld::pause(bool now) {
  return act([&](Frame& f) { return pause_script(f, run_, now); });
}

std::string ScriptWorld::resume() {
  return act([&](Frame& f) { return resume_script(f, run_); });
}

std::string ScriptWorld::cancel(bool rollback) {
  return act([&](Frame& f) { return cancel_script(f, run_, "asked", rollback); });
}

std::string ScriptWorld::retry(const std::string& from, const std::string& inputs) {
  return act([&](Frame& f) -> Status {
    PAWL_TRY_DO(retry_script(f, run_, {.from_step = from, .inputs = inputs}));
    return ok_status();
  });
}

std::string ScriptWorld::extend(std::string_view text) {
  std::string whole = canonical(text);
  return act([&](Frame& f) { return extend_script(f, run_, whole, "{}"); });
}

std::string ScriptWorld::preview(const std::string& from) {
  std::string line;
  std::string story = frame([&](Frame& f) -> std::string {
    auto plan = retry_script(f, run_, {.from_step = from, .preview = true});
    if (!plan.ok()) return refused(plan);
    line = "again";
    for (const std::string& step : plan->again) line += " " + step;
    line += "; kept";
    for (const std::string& step : plan->kept) line += " " + step;
    return "";
  });
  return story == "nothing" ? line : story;
}

const Run& ScriptWorld::run() const {
  const Run* found = state().find_run(run_);
  PAWL_CHECK(found != nullptr && found->script);
  return *found;
}

std::string ScriptWorld::how() const {
  std::string line(script_status_name(script().status));
  if (script().status == ScriptStatus::Suspended) line += " " + script().reason;
  if (!script().error.empty() && is_terminal(run().state)) {
    line += " " + script().error.code;
    if (!script().error.step.empty()) line += " at " + script().error.step;
  }
  return line;
}

std::string ScriptWorld::steps() const {
  std::string line;
  state().each_scope(run(), "", [&](const Scope& in) {
    for (uint32_t i = 0; i < in.records.size(); ++i) {
      const StepRecord& record = in.records[i];
      line += (line.empty() ? "" : " ") +
              join_path(in.path, state().script_of(run())->at(in.list, i).id) + "=" +
              std::string(step_state_name(record.state));
      if (record.state == StepState::Skipped) line += "(" + record.reason + ")";
    }
    return true;
  });
  return line;
}

std::string ScriptWorld::step(const std::string& path) const {
  const StepRecord* record = state().find_step(run(), path);
  if (record == nullptr) return "none";
  std::string line(step_state_name(record->state));
  if (record->state == StepState::Skipped) line += "(" + record->reason + ")";
  if (record->state == StepState::Failed) line += "(" + record->error.code + ")";
  return line;
}

std::string ScriptWorld::output(const std::string& path) const {
  const StepRecord* record = state().find_step(run(), path);
  return record == nullptr ? "none" : record->output.str();
}

std::string ScriptWorld::asked() const {
  std::string line;
  for (const OpenEffect& open : script().effects) line += (line.empty() ? "" : " ") + open.step;
  return line;
}

Result<EffectRequest> ScriptWorld::request(const std::string& step) const {
  return effect_request(state(), {run_, effect_of(step), false}, TestSecrets(), now_ms);
}

std::string ScriptWorld::params(const std::string& step) const {
  auto made = request(step);
  if (!made.ok()) return made.error().message;
  return made->kind == EffectKind::Gone ? "gone" : made->params.json();
}

std::vector<std::string> ScriptWorld::notes(const std::string& type) const {
  std::vector<std::string> found;
  each_event([&](const journal::EventBytes& event) {
    StepNoted noted;
    if (event.type == EventType::StepNoted && codec::decode(event.bytes, noted) &&
        noted.run == run_ && noted.type == type)
      found.push_back(noted.data);
  });
  return found;
}

std::string ScriptWorld::moves() const {
  std::string line;
  each_event([&](const journal::EventBytes& event) {
    ScriptMoved moved;
    if (event.type != EventType::ScriptMoved || !codec::decode(event.bytes, moved) ||
        moved.run != run_)
      return;
    line += (line.empty() ? "" : " ") + std::string(script_status_name(moved.to));
    if (!moved.reason.empty()) line += "(" + moved.reason + ")";
  });
  return line;
}

size_t ScriptWorld::attempts(const std::string& step) const {
  size_t count = 0;
  each_event([&](const journal::EventBytes& event) {
    StepStarted started;
    if (event.type == EventType::StepStarted && codec::decode(event.bytes, started) &&
        started.run == run_ && started.step == step)
      ++count;
  });
  return count;
}

uint32_t ScriptWorld::effect_of(const std::string& step) const {
  for (const OpenEffect& open : script().effects)
    if (open.step == step) return open.effect;
  return 0;
}

void ScriptWorld::each_event(FunctionRef<void(const journal::EventBytes&)> visit) const {
  for (uint64_t number = 1; number <= journal().size(); ++number) {
    const auto events = journal::read_record(number, journal()[number - 1]).value();
    for (const auto& event : events) visit(event);
  }
}

void ScriptWorld::check() {
  take_notes(mutable_state());
  EXPECT_EQ(told_, unanswered()) << how();
  std::string digest = state().digest();
  MapCold nothing;
  MutableState folded(nothing, StateConfig{});
  EXPECT_TRUE(fold(folded, 1).ok());
  EXPECT_EQ(folded.digest(), digest) << "fold from genesis";
  MapCold disk;
  disk.rows = cold.rows;
  auto again = recovered(disk);
  EXPECT_EQ(again->digest(), digest) << "recovery";
  state().each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    if (!run.script) return true;
    uint64_t held = held_by(*run.script);
    state().each_scope(run, "", [&](const Scope& in) { return held += held_by(in), true; });
    EXPECT_EQ(run.script->held_bytes, held) << "counted";
    EXPECT_EQ(folded.find_run(run.id)->script->held_bytes, held) << "counted, fold from genesis";
    EXPECT_EQ(again->find_run(run.id)->script->held_bytes, held) << "counted, recovery";
    return true;
  });
}

void ScriptWorld::crash() {
  restart();
  mutable_state().plan_recall();
  mutable_state().recall(SIZE_MAX);
  told_.clear();
  take_notes(mutable_state());
  EXPECT_EQ(told_, unanswered()) << how();
}

std::string ScriptWorld::act(FunctionRef<Status(Frame&)> decide) {
  std::string refusal;
  frame([&](Frame& f) -> std::string {
    refusal = refused(f.attempt(decide));
    return "";
  });
  std::string now = settle();
  return refusal.empty() ? now : refusal;
}

std::string ScriptWorld::canonical(std::string_view text) {
  plan::ReadResult read = plan::read_definition(text);
  for (const plan::Fault& fault : read.errors)
    ADD_FAILURE() << fault.path << ": " << fault.message << "\n" << text;
  PAWL_CHECK(read.valid());
  return read.canonical;
}

std::string ScriptWorld::settle() {
  check();
  if (restless_) {
    ++moves_;
    if (moves_ % 3 != 0) collect(SIZE_MAX);
    if (moves_ % 3 != 1) commit_rows();
    if (moves_ % 3 == 1) evict();
    crash();
    check();
  }
  return run_.is_nil() ? "" : how();
}

void ScriptWorld::take_notes(MutableState& state) {
  for (const EffectNote& note : state.take_effects()) {
    if (note.cancel) {
      cancelled_.push_back(note.effect);
    } else {
      told_[{note.run, note.effect}] = "asked";
    }
  }
  Told open = unanswered();
  std::erase_if(told_, [&](const auto& entry) { return open.count(entry.first) == 0; });
}

ScriptWorld::Told ScriptWorld::unanswered() const {
  Told open;
  state().each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    if (run.script)
      for (const OpenEffect& effect : run.script->effects)
        if (const Uuid child = step_child_id(state(), child_id(run, effect.effect));
            state().find_job(JobId(child)) == nullptr && state().find_run(RunId(child)) == nullptr)
          open[{run.id, effect.effect}] = "asked";
    return true;
  });
  return open;
}

}  // namespace pawl
