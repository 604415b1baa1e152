// Steps that hold lists of steps: conditions, loops, parallels, sequences.
#include <algorithm>
#include <charconv>

#include "expr/jq/jq.h"
#include "kernel/made_so_far.h"
#include "kernel/scripts/flow.h"

namespace pawl {
namespace {

constexpr uint32_t kIterationsMax = 1'000'000;

// The name under which a value chooses a branch.
std::string branch_key(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_double()) {
    char text[32];
    auto end =
        std::to_chars(text, text + sizeof text, value.as_double(), std::chars_format::general, 6);
    return std::string(text, end.ptr);
  }
  return value.json();
}

// An object is looped over as its members.
Value members_of(const Value& object) {
  Value::Array list;
  for (const Value::Member& member : object.as_object()) {
    Value::Object entry;
    entry.set("key", member.key);
    entry.set("value", member.value);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string_view mode_name(plan::ParallelMode mode) {
  return mode == plan::ParallelMode::Race ? "race" : "all";
}

}  // namespace

void ScriptFlow::around(const At& at) {
  if (record(at).state != StepState::Running) return;
  switch (at.step->type) {
    case plan::StepType::Condition:
    case plan::StepType::Sequence:
      return around_branch(at);
    case plan::StepType::Loop:
      return around_loop(at);
    case plan::StepType::Parallel:
      return around_parallel(at);
    case plan::StepType::Decision:  // it was not yet put together
      return begin_decision(at);
    case plan::StepType::Action:
    case plan::StepType::Test:
    case plan::StepType::Wait:
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      return;
  }
}

// --- one list: conditions and sequences

void ScriptFlow::begin_condition(const At& at) {
  const plan::Step& step = *at.step;
  auto value = evaluate_expression(scope_for(at, step.expression), step.expression);
  if (!value.ok())
    return fail(at,
                step_error("EXPRESSION_ERROR",
                           "its expression cannot be evaluated: " + value.error().message),
                true);
  if (!json_fits(*value, output_max())) return fail_too_large(at, "what its expression gives");
  std::string key = branch_key(*value);
  uint32_t list = plan::kNoList;
  for (const plan::Branch& branch : step.branches)
    if (branch.key == key) list = branch.list;
  bool matched = list != plan::kNoList;
  if (!matched && step.otherwise != plan::kNoList) {
    list = step.otherwise;
    key = plan::kDefaultBranch;
  }
  auto noted = event_for<StepNoted>(at);
  noted.type = "condition_evaluated";
  noted.choice = key;
  Value::Object data;
  data.set("expression", step.expression);
  data.set("result", *value);
  data.set("branch", key);
  noted.data = Value(std::move(data)).json();
  frame_.emit(noted);
  if (list != plan::kNoList && !plan().lists[list].steps.empty())
    return open_scope(&at, join_path(at.path, key), list, false, 0, "");
  Value::Object output;
  output.set("branch", key);
  if (list == plan::kNoList) output.set("skipped", true);
  complete(at, Value(std::move(output)).json());
}

void ScriptFlow::begin_test(const At& at) {
  const plan::Step& step = *at.step;
  auto value = test_expression(scope_for(at, step.expression), step.expression);
  if (!value.ok())
    return fail(at,
                step_error("EXPRESSION_ERROR",
                           "its condition cannot be evaluated: " + value.error().message),
                true);
  Value::Object data;
  data.set("expression", step.expression);
  data.set("result", *value);
  note(at, "condition_evaluated", data);
  Value::Object output;
  output.set("result", *value);
  complete(at, Value(std::move(output)).json());
}

void ScriptFlow::begin_sequence(const At& at) {
  uint32_t list = at.step->branches.front().list;
  if (plan().lists[list].steps.empty()) return complete(at, "null");
  open_scope(&at, join_path(at.path, plan::kSequenceName), list, false, 0, "");
}

void ScriptFlow::around_branch(const At& at) {
  bool condition = at.step->type == plan::StepType::Condition;
  std::string key = condition ? record(at).choice : std::string(plan::kSequenceName);
  const Scope* inner = scope(join_path(at.path, key));
  if (inner == nullptr || !inner->closed) return;
  if (inner->failed) return fail(at, inner->error, true);
  std::string last = last_output(*inner);
  if (!condition) return complete(at, std::move(last));
  complete(at, "{\"branch\":" + Value(key).json() + ",\"output\":" + last + "}");
}

// --- loops

Result<Value> ScriptFlow::loop_items(const At& at) const {
  const plan::Step& step = *at.step;
  std::string text = step.over.is_string() ? step.over.as_string() : step.over.json();
  ScriptScope names = scope_for(at, text);
  Value items;
  if (!step.over.is_string()) {
    PAWL_TRY(auto filled, fill_template(names, step.over, plan().text_mode));
    items = std::move(filled.value);
  } else if (expr::has_template(text)) {
    PAWL_TRY(auto filled, fill_template(names, step.over, false));
    items = std::move(filled.value);
    if (items.is_string()) {
      PAWL_TRY(items, Value::parse(items.as_string()));
    }
  } else if (script_programs().get(text).ok()) {
    PAWL_TRY(items, evaluate_expression(names, text));
  } else {
    PAWL_TRY(auto program, expr::JqProgram::compile(text));
    expr::Budget budget;
    auto given = program->run(names.all(), budget);
    PAWL_TRY_DO(names.charge(budget));
    PAWL_TRY(std::vector<Value> found, std::move(given));
    items = found.size() == 1 && found[0].is_array() ? std::move(found[0])
                                                     : Value(Value::Array(std::move(found)));
  }
  if (items.is_object()) items = members_of(items);
  if (!items.is_array())
    return Error{ErrorCode::InvalidContent,
                 "over must give a list, not " + items.json().substr(0, 80)};
  return items;
}

void ScriptFlow::begin_loop(const At& at) {
  const plan::Step& step = *at.step;
  auto noted = event_for<StepNoted>(at);
  noted.type = "loop_started";
  Value::Object data;
  if (step.loop_mode == plan::LoopMode::ForEach) {
    auto items = loop_items(at);
    if (!items.ok())
      return fail(
          at, step_error("EXPRESSION_ERROR", "its list cannot be had: " + items.error().message),
          true);
    size_t size = items->as_array().size();
    size_t bound = step.max_iterations == 0 ? kIterationsMax : step.max_iterations;
    if (size > bound && step.max_iterations == 0)
      return fail(at,
                  step_error("VALIDATION_ERROR",
                             "its list has more than " + std::to_string(kIterationsMax) + " items"),
                  false);
    if (size > bound) {
      items->as_array().resize(bound);
      data.set("items_left_out", static_cast<int64_t>(size - bound));
    }
    if (!json_fits(*items, output_max())) return fail_too_large(at, "its list");
    noted.items = items->json();
    // What is stored must be readable again: an expression can nest deeper than JSON is read.
    if (auto again = Value::parse(noted.items); !again.ok())
      return fail(
          at, step_error("EXPRESSION_ERROR", "its list cannot be kept: " + again.error().message),
          false);
    if (!has_room_for(noted.items.size())) return fail_no_room(at, noted.items.size());
    noted.count = static_cast<uint32_t>(items->as_array().size());
    data.set("items", static_cast<int64_t>(noted.count));
  }
  noted.data = Value(std::move(data)).json();
  frame_.emit(noted);
  around_loop(at);
}

// Whether a while or until loop enters another iteration; for_each asks its list.
bool ScriptFlow::loop_goes_on(const At& at, bool& failed) {
  const plan::Step& step = *at.step;
  uint32_t next = record(at).next;
  if (step.loop_mode == plan::LoopMode::ForEach) return next < record(at).count;
  if (next >= (step.max_iterations == 0 ? kIterationsMax : step.max_iterations)) return false;
  if (step.loop_mode == plan::LoopMode::Until && next == 0) return true;
  ScriptScope names = scope_for(at, step.expression);
  if (next > 0) names.inside(join_path(at.path, plan::iteration_name(next - 1)));
  names.with_iteration(step.loop_mode == plan::LoopMode::While ? next : next - 1);
  auto holds = test_expression(names, step.expression);
  if (!holds.ok()) {
    failed = true;
    fail(at,
         step_error("EXPRESSION_ERROR",
                    "its condition cannot be evaluated: " + holds.error().message),
         true);
    return false;
  }
  return *holds == (step.loop_mode == plan::LoopMode::While);
}

bool ScriptFlow::open_iteration(const At& at) {
  uint32_t next = record(at).next;
  std::string item = "null";
  if (at.step->loop_mode == plan::LoopMode::ForEach) {
    const StepRecord& now = record(at);
    if (!now.parsed_items) {
      frame_.meter().charge_parsed(now.items.size());
      now.parsed_items = std::make_shared<const Value>(stored_value(now.items));
    }
    if (now.parsed_items->is_array() && next < now.parsed_items->as_array().size())
      item = now.parsed_items->as_array()[next].json();
    if (!has_room_for(item.size())) {
      fail_no_room(at, item.size());
      return false;
    }
  }
  open_scope(&at, join_path(at.path, plan::iteration_name(next)), at.step->body, true, next, item);
  return true;
}

void ScriptFlow::around_loop(const At& at) {
  const StepRecord& now = record(at);
  if (!now.failed_scopes.empty()) {
    return fail(at, scope(now.failed_scopes.front())->error, true);
  }
  bool failed = false;
  bool each = at.step->loop_mode == plan::LoopMode::ForEach;
  uint32_t at_once = !each ? 1 : at.step->concurrency == 0 ? UINT32_MAX : at.step->concurrency;
  // One is always let in, or loops within loops could wait for each other.
  auto has_place = [&] {
    uint32_t open = record(at).open;
    return open < at_once &&
           (open == 0 || script().live.size() < state_.script_defaults().open_lists_max);
  };
  while (has_place() && !script().paused) {
    if (full()) return void(cut_short_ = true);
    if (!loop_goes_on(at, failed)) break;
    if (!open_iteration(at)) return;
  }
  if (failed || record(at).open > 0 || script().paused) return;
  if (each && record(at).next < record(at).count) return;
  finish_loop(at);
}

// Read for once and not kept: a loop may have had a hundred thousand of them.
std::string ScriptFlow::iteration_output(const At& at, uint32_t index) const {
  std::string path = join_path(at.path, plan::iteration_name(index));
  std::string output = "null";
  state_.each_scope(run(), path, [&](const Scope& inner) {
    if (inner.path == path) output = last_output(inner);
    return false;
  });
  return output;
}

// All of them in one walk, if nothing stands within them. Null if they are too large together.
std::optional<std::vector<std::string>> ScriptFlow::few_outputs(const At& at,
                                                                uint32_t count) const {
  constexpr uint32_t kFew = 2'000;
  const plan::List& body = plan().lists[at.step->body];
  bool flat = std::all_of(body.steps.begin(), body.steps.end(), [&](uint32_t place) {
    const plan::Step& step = plan().steps[place];
    return step.branches.empty() && step.body == plan::kNoList && step.compensate == plan::kNoList;
  });
  if (!flat || count > kFew) return std::vector<std::string>();
  std::vector<std::string> outputs(count, "null");
  size_t bytes = 0;
  state_.each_scope(run(), at.path + ".iter_", [&](const Scope& inner) {
    if (inner.owner != at.path || inner.index >= count) return true;
    bytes += last_bytes(inner);
    if (bytes > output_max()) return false;
    outputs[inner.index] = last_output(inner);
    return true;
  });
  if (bytes > output_max()) return std::nullopt;
  return outputs;
}

void ScriptFlow::finish_loop(const At& at) {
  constexpr uint64_t kUnitsPerIteration = 100;
  uint32_t count = record(at).next;
  MadeSoFar made(made_of(at.path));
  const size_t before = made.size();
  std::vector<std::string> few;
  if (before == 0) {
    auto walked = few_outputs(at, count);
    if (!walked) return fail_too_large(at, "what its iterations gave together");
    few = std::move(*walked);
  }
  for (auto i = static_cast<uint32_t>(before); i < count; ++i) {
    if (few.empty() && full() && made.size() > before) return keep_made(at.path, made.take_added());
    made.add(i < few.size() ? std::move(few[i]) : iteration_output(at, i));
    frame_.meter().charge(kUnitsPerIteration);
    frame_.meter().charge_written(made[i].size());
    if (made.bytes() + made.size() > output_max())
      return fail_too_large(at, "what its iterations gave together");
  }
  std::string output = "{\"iterations\":" + std::to_string(count) + ",\"results\":[";
  output.reserve(output.size() + made.bytes() + made.size() + 2);
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0) output += ',';
    output += made[i];
  }
  output += "]}";
  Value::Object data;
  data.set("iterations", static_cast<int64_t>(count));
  note(at, "loop_completed", data);
  complete(at, std::move(output));
}

// --- parallels

void ScriptFlow::begin_parallel(const At& at) {
  const plan::Step& step = *at.step;
  auto noted = event_for<StepNoted>(at);
  noted.type = "parallel_started";
  noted.count = static_cast<uint32_t>(step.branches.size());
  Value::Object data;
  data.set("mode", std::string(mode_name(step.parallel_mode)));
  data.set("branches", static_cast<int64_t>(noted.count));
  noted.data = Value(std::move(data)).json();
  frame_.emit(noted);
  for (uint32_t i = 0; i < step.branches.size(); ++i)
    open_scope(&at, join_path(at.path, plan::branch_name(i)), step.branches[i].list, false, i, "");
  if (step.branches.empty()) around_parallel(at);
}

void ScriptFlow::around_parallel(const At& at) {
  const plan::Step& step = *at.step;
  bool race = step.parallel_mode == plan::ParallelMode::Race;
  auto branches = static_cast<uint32_t>(step.branches.size());
  auto branch = [&](uint32_t i) { return scope(join_path(at.path, plan::branch_name(i))); };
  uint32_t winner = branches;
  bool any_won = record(at).open + record(at).failed_scopes.size() < branches;
  for (uint32_t i = 0; race && any_won && i < branches && winner == branches; ++i)
    if (const Scope* inner = branch(i); inner && inner->closed && !inner->failed) winner = i;
  if (race && winner < branches) {
    auto noted = event_for<StepNoted>(at);
    noted.type = "parallel_completed";
    noted.choice = std::to_string(winner);
    Value::Object data;
    data.set("mode", "race");
    data.set("winner", static_cast<int64_t>(winner));
    noted.data = Value(std::move(data)).json();
    for (uint32_t i = 0; i < branches; ++i)
      if (i != winner) stop_scope(join_path(at.path, plan::branch_name(i)), "race_lost");
    frame_.emit(noted);
    return complete(at, "{\"mode\":\"race\",\"winner\":" + std::to_string(winner) +
                            ",\"output\":" + last_output(*branch(winner)) + "}");
  }
  if (record(at).open > 0) return;
  if (!record(at).failed_scopes.empty()) {
    uint32_t first = branches;
    for (uint32_t i = 0; i < branches && first == branches; ++i)
      if (const Scope* inner = branch(i); inner != nullptr && inner->failed) first = i;
    return fail(at, branch(race ? scope(record(at).failed_scopes.front())->index : first)->error,
                true);
  }
  size_t bytes = branches;
  for (uint32_t i = 0; i < branches; ++i) {
    bytes += last_bytes(*branch(i));
    if (bytes > output_max() + 1) return fail_too_large(at, "what its branches gave together");
  }
  std::string output = R"({"mode":"all","branches":[)";
  output.reserve(output.size() + bytes + 2);
  for (uint32_t i = 0; i < branches; ++i) {
    if (i > 0) output += ',';
    output += last_output(*branch(i));
  }
  output += "]}";
  Value::Object data;
  data.set("mode", "all");
  data.set("branches", static_cast<int64_t>(branches));
  note(at, "parallel_completed", data);
  complete(at, std::move(output));
}

}  // namespace pawl
