// A step that runs its body once per item of a list, or while or until a condition is true.
#include <algorithm>
#include <optional>

#include "expr/jq/jq.h"
#include "journal/events.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/lists_step.h"
#include "kernel/scripts/made_so_far.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

constexpr uint32_t kIterationsMax = 1'000'000;

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

Result<Value> loop_items(const RunContext& run, const At& at) {
  const plan::Step& step = *at.step;
  std::string text = step.over.is_string() ? step.over.as_string() : step.over.json();
  ExpressionNames names = run.names_for(at, text);
  Value items;
  if (!step.over.is_string()) {
    PAWL_TRY(auto filled, fill_template(names, step.over, run.plan().text_mode));
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

// Whether a while or until loop enters another iteration; for_each uses its list.
bool wants_iteration(RunContext& run, const At& at, bool& failed) {
  const plan::Step& step = *at.step;
  uint32_t next = run.record(at).next;
  if (step.loop_mode == plan::LoopMode::ForEach) return next < run.record(at).count;
  if (next >= (step.max_iterations == 0 ? kIterationsMax : step.max_iterations)) return false;
  if (step.loop_mode == plan::LoopMode::Until && next == 0) return true;
  ExpressionNames names = run.names_for(at, step.expression);
  if (next > 0) names.inside(join_path(at.path, plan::iteration_name(next - 1)));
  names.with_iteration(step.loop_mode == plan::LoopMode::While ? next : next - 1);
  auto holds = test_expression(names, step.expression);
  if (!holds.ok()) {
    failed = true;
    fail_step(run, at,
              step_error("EXPRESSION_ERROR",
                         "its condition cannot be evaluated: " + holds.error().message),
              true);
    return false;
  }
  return *holds == (step.loop_mode == plan::LoopMode::While);
}

bool open_iteration(RunContext& run, const At& at) {
  uint32_t next = run.record(at).next;
  std::string item = "null";
  if (at.step->loop_mode == plan::LoopMode::ForEach) {
    const StepRecord& now = run.record(at);
    if (!now.parsed_items) {
      run.frame.meter().charge_parsed(now.items.size());
      now.parsed_items = std::make_shared<const Value>(stored_value(now.items));
    }
    if (now.parsed_items->is_array() && next < now.parsed_items->as_array().size())
      item = now.parsed_items->as_array()[next].json();
    if (!run.has_room_for(item.size())) {
      fail_no_room(run, at, item.size());
      return false;
    }
  }
  open_list(run, &at, join_path(at.path, plan::iteration_name(next)), at.step->body, true, next,
            item);
  return true;
}

// Read without keeping it in memory: a loop may have a hundred thousand iterations.
std::string iteration_output(const RunContext& run, const At& at, uint32_t index) {
  std::string path = join_path(at.path, plan::iteration_name(index));
  std::string output = "null";
  run.state.each_scope(run.entity(), path, [&](const Scope& inner) {
    if (inner.path == path) output = last_output(run, inner);
    return false;
  });
  return output;
}

// All of them in one scan, if they have no inner lists. Null if they are too large together.
std::optional<std::vector<std::string>> few_outputs(const RunContext& run, const At& at,
                                                    uint32_t count) {
  constexpr uint32_t kFew = 2'000;
  const plan::List& body = run.plan().lists[at.step->body];
  bool flat = std::all_of(body.steps.begin(), body.steps.end(), [&](uint32_t place) {
    const plan::Step& step = run.plan().steps[place];
    return step.branches.empty() && step.body == plan::kNoList && step.compensate == plan::kNoList;
  });
  if (!flat || count > kFew) return std::vector<std::string>();
  std::vector<std::string> outputs(count, "null");
  size_t bytes = 0;
  run.state.each_scope(run.entity(), at.path + ".iter_", [&](const Scope& inner) {
    if (inner.owner != at.path || inner.index >= count) return true;
    bytes += last_bytes(run, inner);
    if (bytes > run.output_max()) return false;
    outputs[inner.index] = last_output(run, inner);
    return true;
  });
  if (bytes > run.output_max()) return std::nullopt;
  return outputs;
}

void finish_loop(RunContext& run, const At& at) {
  constexpr uint64_t kUnitsPerIteration = 100;
  uint32_t count = run.record(at).next;
  MadeSoFar made(run.made_of(at.path));
  const size_t before = made.size();
  std::vector<std::string> few;
  if (before == 0) {
    auto walked = few_outputs(run, at, count);
    if (!walked) return fail_too_large(run, at, "what its iterations gave together");
    few = std::move(*walked);
  }
  for (auto i = static_cast<uint32_t>(before); i < count; ++i) {
    if (few.empty() && run.full() && made.size() > before)
      return run.keep_made(at.path, made.take_added());
    made.add(i < few.size() ? std::move(few[i]) : iteration_output(run, at, i));
    run.frame.meter().charge(kUnitsPerIteration);
    run.frame.meter().charge_written(made[i].size());
    if (made.bytes() + made.size() > run.output_max())
      return fail_too_large(run, at, "what its iterations gave together");
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
  run.note(at, "loop_completed", data);
  complete_step(run, at, std::move(output));
}

void enter_iterations(RunContext& run, const At& at) {
  const StepRecord& now = run.record(at);
  if (!now.failed_scopes.empty()) {
    return fail_step(run, at, run.scope(now.failed_scopes.front())->error, true);
  }
  bool failed = false;
  bool each = at.step->loop_mode == plan::LoopMode::ForEach;
  uint32_t at_once = !each ? 1 : at.step->concurrency == 0 ? UINT32_MAX : at.step->concurrency;
  // One iteration is always admitted, or nested loops could wait for each other.
  auto has_place = [&] {
    uint32_t open = run.record(at).open;
    return open < at_once &&
           (open == 0 || run.script().live.size() < run.state.script_defaults().open_lists_max);
  };
  while (has_place() && !run.script().paused) {
    if (run.full()) return void(run.cut_short = true);
    if (!wants_iteration(run, at, failed)) break;
    if (!open_iteration(run, at)) return;
  }
  if (failed || run.record(at).open > 0 || run.script().paused) return;
  if (each && run.record(at).next < run.record(at).count) return;
  finish_loop(run, at);
}

void begin_loop(RunContext& run, const At& at) {
  const plan::Step& step = *at.step;
  auto noted = run.event_for<StepNoted>(at);
  noted.type = "loop_started";
  Value::Object data;
  if (step.loop_mode == plan::LoopMode::ForEach) {
    auto items = loop_items(run, at);
    if (!items.ok())
      return fail_step(
          run, at,
          step_error("EXPRESSION_ERROR", "its list cannot be had: " + items.error().message), true);
    size_t size = items->as_array().size();
    size_t bound = step.max_iterations == 0 ? kIterationsMax : step.max_iterations;
    if (size > bound && step.max_iterations == 0)
      return fail_step(
          run, at,
          step_error("VALIDATION_ERROR",
                     "its list has more than " + std::to_string(kIterationsMax) + " items"),
          false);
    if (size > bound) {
      items->as_array().resize(bound);
      data.set("items_left_out", static_cast<int64_t>(size - bound));
    }
    if (!json_fits(*items, run.output_max())) return fail_too_large(run, at, "its list");
    noted.items = items->json();
    // The stored items must be readable again: an expression can nest deeper than the JSON parser
    // allows.
    if (auto again = Value::parse(noted.items); !again.ok())
      return fail_step(
          run, at,
          step_error("EXPRESSION_ERROR", "its list cannot be kept: " + again.error().message),
          false);
    if (!run.has_room_for(noted.items.size())) return fail_no_room(run, at, noted.items.size());
    noted.count = static_cast<uint32_t>(items->as_array().size());
    data.set("items", static_cast<int64_t>(noted.count));
  }
  noted.data = Value(std::move(data)).json();
  run.frame.emit(noted);
  enter_iterations(run, at);
}

class LoopKind final : public ListsKind {
 public:
  void child_ended(RunContext& run, const At& at) const override { enter_iterations(run, at); }

  uint32_t next_list(const RunContext& run, const At& at,
                     const std::set<std::string>& dropped) const override {
    uint32_t next = 0;
    run.state.each_scope(run.entity(), at.path + ".iter_", [&](const Scope& each) {
      if (each.owner == at.path && dropped.count(each.path) == 0)
        next = std::max(next, each.index + 1);
      return true;
    });
    return next;
  }

 private:
  void enter(RunContext& run, const At& at) const override { begin_loop(run, at); }
};

constexpr LoopKind kLoopKind;

}  // namespace

const StepKind& loop_kind() { return kLoopKind; }

}  // namespace pawl::scripts
