#include "rehearse/judge.h"

#include <algorithm>

#include "actions/blotter.h"
#include "base/quote.h"
#include "expr/template/template.h"
#include "kernel/scripts/expression_names.h"
#include "rehearse/span.h"

namespace pawl::rehearse {
namespace {

Value step_value(const StepSeen& seen) {
  Value::Object made;
  made.set("status", seen.status);
  made.set("attempts", static_cast<int64_t>(seen.attempts));
  made.set("output", seen.output);
  if (!seen.error.is_null()) made.set("error", seen.error);
  if (!seen.reason.empty()) made.set("reason", seen.reason);
  return made;
}

void judge_status(const Case& given, const Rehearsed& run, std::vector<Difference>& into) {
  if (given.expect.status == run.status) return;
  std::string got = run.status.empty() ? "no run" : run.status;
  if (!run.error.is_null()) {
    const Value* step = run.error.find("step_id");
    got += " (" + run.error.find("code")->as_string() + ": " +
           run.error.find("message")->as_string() +
           (step == nullptr ? "" : ", in step '" + step->as_string() + "'") + ")";
  } else if (!run.reason.empty()) {
    got += " (" + run.reason + ")";
  }
  into.push_back({"status", given.expect.status, got});
}

void judge_steps(const Case& given, const Rehearsed& run, std::vector<Difference>& into) {
  for (const Value::Member& wanted : given.expect.steps) {
    Value as_object =
        wanted.value.is_object() ? wanted.value : Value(Value::Object{{"status", wanted.value}});
    bool seen_any = false;
    for (const StepSeen& seen : run.steps) {
      if (!names_step(wanted.key, seen.path)) continue;
      seen_any = true;
      Value got = step_value(seen);
      compare("steps." + seen.path, as_object, &got, Members::AtLeast, into);
    }
    if (seen_any) continue;
    Value never = Value::Object{{"status", "pending"}};
    std::vector<Difference> found;
    compare("steps." + wanted.key, as_object, &never, Members::AtLeast, found);
    for (Difference& difference : found)
      into.push_back({difference.path, difference.wanted, "the step was never reached"});
  }
}

bool is_about(const std::string& key, const Call& call) {
  return names_step(key, call.step) || key == call.action ||
         (!call.job_type.empty() && key == call.job_type);
}

void judge_calls(const Case& given, const Rehearsed& run, std::vector<Difference>& into) {
  for (const Value::Member& wanted : given.expect.calls) {
    Value::Array params;
    for (const Call& call : run.calls)
      if (is_about(wanted.key, call)) params.push_back(call.params);
    const Value* count = wanted.value.is_object() ? wanted.value.find("count") : &wanted.value;
    Value got(static_cast<int64_t>(params.size()));
    if (count != nullptr)
      compare("calls." + wanted.key + (wanted.value.is_object() ? ".count" : ""), *count, &got,
              Members::All, into);
    Value made(std::move(params));
    if (const Value* each = wanted.value.find("params"))
      compare("calls." + wanted.key + ".params", *each, &made, Members::AtLeast, into);
  }
}

// When the first attempt of the step began; -1 = never.
int64_t place_of(const std::string& key, const Rehearsed& run) {
  for (size_t i = 0; i < run.timeline.size(); ++i)
    if (!run.timeline[i].type.empty() && names_step(key, run.timeline[i].step))
      return static_cast<int64_t>(i);
  return -1;
}

void judge_order(const Case& given, const Rehearsed& run, std::vector<Difference>& into) {
  const std::vector<std::string>& order = given.expect.order;
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t place = place_of(order[i], run);
    if (place < 0) {
      into.push_back({"order[" + std::to_string(i) + "]", order[i], "it never began"});
    } else if (i > 0 && place < place_of(order[i - 1], run)) {
      into.push_back({"order[" + std::to_string(i) + "]", order[i] + " after " + order[i - 1],
                      order[i] + " began before " + order[i - 1]});
    }
  }
}

void judge_elapsed(const Case& given, const Rehearsed& run, bool under_faults,
                   std::vector<Difference>& into) {
  const Elapsed& wanted = given.expect.elapsed;
  std::string got = span_text(run.elapsed_ms);
  if (wanted.exactly_ms && !under_faults && *wanted.exactly_ms != run.elapsed_ms)
    into.push_back({"elapsed", span_text(*wanted.exactly_ms), got});
  if (wanted.at_least_ms && run.elapsed_ms < *wanted.at_least_ms)
    into.push_back({"elapsed", "at least " + span_text(*wanted.at_least_ms), got});
  if (wanted.at_most_ms && !under_faults && run.elapsed_ms > *wanted.at_most_ms)
    into.push_back({"elapsed", "at most " + span_text(*wanted.at_most_ms), got});
}

void judge_cel(const Case& given, const Rehearsed& run, std::vector<Difference>& into) {
  if (given.expect.cel.empty()) return;
  Value::Object steps, calls;
  for (const StepSeen& seen : run.steps) steps.set(seen.path, step_value(seen));
  for (const Call& call : run.calls) {
    Value& list = calls[call.step];
    if (!list.is_array()) list = Value::Array{};
    list.as_array().push_back(Value::Object{{"action", call.action},
                                            {"params", call.params},
                                            {"attempt", static_cast<int64_t>(call.attempt)},
                                            {"at_ms", call.at_ms}});
  }
  Value status(run.status), elapsed(run.elapsed_ms), inputs(given.inputs);
  Value step_values(std::move(steps)), call_values(std::move(calls));
  expr::Variables names;
  names.json("status", status)
      .json("outputs", run.outputs)
      .json("error", run.error)
      .json("steps", step_values)
      .json("calls", call_values)
      .json("inputs", inputs)
      .json("elapsed_ms", elapsed);
  for (size_t i = 0; i < given.expect.cel.size(); ++i) {
    const std::string& text = given.expect.cel[i];
    expr::Budget budget;
    auto program = script_programs().get(expr::unwrap_template(text));
    auto holds = program.ok() ? (*program)->test(names, budget) : Result<bool>(program.error());
    if (!holds.ok() || !*holds)
      into.push_back(
          {"cel[" + std::to_string(i) + "]", text, holds.ok() ? "false" : holds.error().message});
  }
}

// Calls are compared with secrets in plain text; they are masked here, since reports are stored and
// shown to others.
void blot_secrets(const Case& given, std::vector<Difference>& differences) {
  if (differences.empty() || given.secrets.empty()) return;
  std::vector<expr::Secret> secrets;
  for (const CaseSecret& secret : given.secrets) secrets.push_back({"", secret.value});
  const actions::Blotter blotter(secrets);
  for (Difference& each : differences) {
    each.wanted = blotter.message(each.wanted);
    each.got = blotter.message(each.got);
  }
}

}  // namespace

std::vector<Difference> judge(const Case& given, const Rehearsed& run, bool under_faults) {
  std::vector<Difference> found;
  if (run.given_up) return found;
  judge_status(given, run, found);
  if (given.expect.outputs)
    compare("outputs", *given.expect.outputs, &run.outputs, Members::All, found);
  if (given.expect.error)
    compare("error", *given.expect.error, run.error.is_null() ? nullptr : &run.error,
            Members::AtLeast, found);
  judge_steps(given, run, found);
  judge_calls(given, run, found);
  judge_order(given, run, found);
  judge_elapsed(given, run, under_faults, found);
  judge_cel(given, run, found);
  blot_secrets(given, found);
  return found;
}

}  // namespace pawl::rehearse
