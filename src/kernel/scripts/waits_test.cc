// Runs of definitions that wait: for times, signals, people, pauses, other runs.
#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/testing/run_world.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class ScriptWaits : public ScriptStory {};
PAWL_TELL_TWICE(ScriptWaits);

// --- times

TEST_P(ScriptWaits, AWaitFiresOnceAndNotEarly) {
  EXPECT_EQ(world.begin("steps: [{id: w, type: wait, config: {duration: 30s}}]"), "active");
  EXPECT_EQ(world.wait(29'999), "active");
  EXPECT_EQ(world.wait(1), "completed");
  EXPECT_EQ(world.output("w"), R"({"waited":30000})");
  world.begin("steps: [{id: w, type: wait, config: {duration: '${{inputs.n}}s'}}]", R"({"n":2})");
  EXPECT_EQ(world.wait(2000), "completed");
  world.begin("steps: [{id: w, type: wait, config: {until: '2023-11-15T00:00:00Z'}}]");
  EXPECT_EQ(world.wait(1'700'006'400'000 - world.now_ms - 1), "active");
  EXPECT_EQ(world.wait(1), "completed");
  EXPECT_EQ(world.begin("steps: [{id: w, type: wait, config: {duration: '${{inputs.no}}'}}]"),
            "failed EXPRESSION_ERROR at w");
}

// --- signals

TEST_P(ScriptWaits, OneSignalReleasesOneWaitAndEarlyOnesAreKept) {
  world.begin(
      "steps:\n"
      "- {id: a, action: x}\n"
      "- {id: w, type: wait, depends_on: [a], config: {signal: go}}\n"
      "- {id: v, type: wait, depends_on: [w], config: {signal: go}}\n");
  EXPECT_EQ(world.signal("go", "", R"({"n":1})"), "active");
  EXPECT_EQ(world.signal("other"), "active");
  EXPECT_EQ(world.done("a"), "suspended waiting");
  EXPECT_EQ(world.output("w"), R"({"signal":"go","payload":{"n":1}})");
  EXPECT_EQ(world.step("v"), "suspended");
  EXPECT_EQ(world.signal("other"), "suspended waiting");
  EXPECT_EQ(world.signal("go"), "completed");
  EXPECT_EQ(world.signal("go"), "rejected conflict: Run r1 is completed and takes no signals");
}

TEST_P(ScriptWaits, ASignalThatComesTooLateFailsOrIsDoneWithout) {
  world.begin("steps: [{id: w, type: wait, config: {signal: go, timeout: 5s}}]");
  EXPECT_EQ(world.wait(5000), "failed TIMEOUT_ERROR at w");
  world.begin(
      "steps: [{id: w, type: wait, config: {signal: go, timeout: 5s, on_timeout: continue}}]");
  EXPECT_EQ(world.wait(4999), "suspended waiting");
  EXPECT_EQ(world.wait(1), "completed");
  EXPECT_EQ(world.output("w"), R"({"timed_out":true,"signal":"go"})");
}

TEST_P(ScriptWaits, DataSetsVariables) {
  world.begin(
      "steps: [{id: w, type: wait, config: {signal: go}}, {id: a, action: x, depends_on: [w], "
      "params: {k: '${{context.k}}'}}]");
  EXPECT_EQ(world.signal("data", "", R"({"k":[1]})"), "suspended waiting");
  EXPECT_EQ(world.signal("data", "", "[1]").substr(0, 8), "rejected");
  world.signal("go");
  EXPECT_EQ(world.params("a"), R"({"k":[1]})");
}

TEST_P(ScriptWaits, SignalsSkipRetryAndCancel) {
  world.begin(
      "steps: [{id: a, action: x, retry: {max: 1, delay: 1h}}, {id: b, action: x, depends_on: "
      "[a]}, "
      "{id: c, action: x, depends_on: [b]}]");
  world.fail("a");
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.signal("retry", "b").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("retry", "a"), "active");
  world.done("a");
  uint32_t effect = world.effect_of("b");
  EXPECT_EQ(world.signal("skip", "b"), "active");
  EXPECT_EQ(world.take_cancelled(), std::vector<uint32_t>{effect});
  EXPECT_EQ(world.asked(), "c");
  EXPECT_EQ(world.signal("skip", "nobody").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("cancel"), "cancelled");
  EXPECT_EQ(world.steps(), "a=completed b=skipped(skipped_by_signal) c=skipped(cancelled)");
}

// --- the end of a suspension is recorded, however short it is

TEST_P(ScriptWaits, ASignalThatEndsTheRunResumesItFirst) {
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  EXPECT_EQ(world.signal("go"), "completed");
  EXPECT_EQ(world.moves(), "active suspended(waiting) active(signal) completed");
  world.begin("steps: [{id: w, type: wait, config: {signal: go, timeout: 5s}}]");
  world.wait(5000);
  EXPECT_EQ(world.moves(), "active suspended(waiting) active(timer) failed");
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  EXPECT_EQ(world.signal("skip", "w"), "completed");
  EXPECT_EQ(world.moves(), "active suspended(waiting) active(signal) completed");
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  EXPECT_EQ(world.signal("cancel"), "cancelled");
  EXPECT_EQ(world.moves(), "active suspended(waiting) cancelled(cancelled by a signal)");
}

TEST_P(ScriptWaits, EachDecisionResumesARunThatTheNextOneSuspends) {
  world.begin(
      "steps: [{id: p, type: reasoning, config: {prompt_context: a}}, {id: q, type: reasoning, "
      "depends_on: [p], config: {prompt_context: b}}]");
  EXPECT_EQ(world.decide("p", "yes"), "suspended waiting");
  EXPECT_EQ(world.decide("q", "yes"), "completed");
  EXPECT_EQ(world.moves(),
            "active suspended(waiting) active(decision) suspended(waiting) active(decision) "
            "completed");
}

TEST_P(ScriptWaits, OneOfTwoDecisionsEndsNoSuspensionUnlessSomethingFollows) {
  world.begin(
      "steps: [{id: p, type: reasoning, config: {prompt_context: a}}, {id: q, type: reasoning, "
      "config: {prompt_context: b}}, {id: l, action: workflow.log, depends_on: [q], params: "
      "{message: m}}]");
  EXPECT_EQ(world.decide("q", "yes"), "suspended waiting");
  EXPECT_EQ(world.moves(),
            "active suspended(waiting) active(decision) suspended(waiting)");  // the log line
  EXPECT_EQ(world.decide("p", "yes"), "completed");
  world.begin(
      "steps: [{id: p, type: reasoning, config: {prompt_context: a}}, {id: q, type: reasoning, "
      "config: {prompt_context: b}}]");
  EXPECT_EQ(world.decide("q", "yes"), "suspended waiting");
  EXPECT_EQ(world.moves(), "active suspended(waiting)");
  EXPECT_EQ(world.decide("p", "yes"), "completed");
  EXPECT_EQ(world.moves(), "active suspended(waiting) active(decision) completed");
}

TEST_P(ScriptWaits, APausedRunIsNotResumedByAnAnswer) {
  world.begin(
      "steps: [{id: q, type: reasoning, config: {prompt_context: a}}, {id: b, action: x, "
      "depends_on: [q]}]");
  world.pause();
  EXPECT_EQ(world.decide("q", "yes"), "suspended waiting");
  EXPECT_EQ(world.moves(), "active suspended(waiting)");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.moves(), "active suspended(waiting) active");
}

TEST_P(ScriptWaits, TheRunAroundASuspendedOneIsResumedWithIt) {
  world.define("inner", "steps: [{id: q, type: reasoning, config: {prompt_context: a}}]", "v1");
  world.begin("steps: [{id: s, type: subworkflow, config: {definition: inner}}]");
  RunId outer = world.run_id();
  EXPECT_EQ(world.how(), "suspended waiting");
  RunId inner(child_id(world.run(), world.effect_of("s")));
  world.look_at(inner);
  EXPECT_EQ(world.decide("q", "yes"), "completed");
  EXPECT_EQ(world.moves(), "active suspended(waiting) active(decision) completed");
  world.look_at(outer);
  EXPECT_EQ(world.moves(), "active suspended(waiting) active completed");
}

// --- decisions

TEST_P(ScriptWaits, ADecisionIsAskedAnsweredAndSeen) {
  world.begin(
      "steps:\n"
      "- {id: a, action: x}\n"
      "- {id: q, type: reasoning, depends_on: [a], config: {prompt_context: 'Is ${{inputs.what}} "
      "good?', data_inject: {n: steps.a.output.n, none: steps.nobody.output.x, w: inputs.what}, "
      "options: [{id: yes, description: Y}, no], target_agent: boss}}\n"
      "- {id: b, action: x, depends_on: [q], params: {c: '${{steps.q.output.choice}}'}}\n",
      R"({"what":"it"})");
  EXPECT_EQ(world.done("a", R"({"n":7})"), "suspended waiting");
  Value context = Value::parse(world.notes("decision_requested")[0]).value();
  EXPECT_EQ(context.find("prompt_context")->json(), R"("Is it good?")");
  EXPECT_EQ(context.find("data")->json(), R"({"n":7,"none":null,"w":"it"})");
  EXPECT_EQ(world.decide("q", "maybe"),
            "rejected validation_error: 'maybe' is none of the options: yes, no");
  EXPECT_EQ(world.decide("q", "yes", "stranger").substr(0, 8), "rejected");
  std::string id = world.state().find_step(world.run(), "q")->decision;
  EXPECT_EQ(world.decide("q", "yes", "boss"), "active");
  EXPECT_EQ(world.params("b"), R"({"c":"yes"})");
  EXPECT_EQ(world.act([&](Frame& f) {
    return resolve_decision(f, id, {"no", "", "", ""});
  }),
            "rejected conflict: decision " + id + " is resolved already");
}

TEST_P(ScriptWaits, ADecisionNobodyTakesFallsBackOrFails) {
  world.begin(
      "steps: [{id: q, type: reasoning, config: {prompt_context: p, options: [y, n], timeout: 1m, "
      "fallback: n}}]");
  EXPECT_EQ(world.wait(59'999), "suspended waiting");
  EXPECT_EQ(world.wait(1), "completed");
  Value output = Value::parse(world.output("q")).value();
  EXPECT_EQ(output.find("choice")->json() + output.find("resolved_by")->json(), R"("n""system")");
  world.begin("steps: [{id: q, type: reasoning, config: {prompt_context: p, timeout: 1m}}]");
  EXPECT_EQ(world.wait(60'000), "failed TIMEOUT_ERROR at q");
}

// Upstream goes on past a question inside a list.
TEST_P(ScriptWaits, ANestedDecisionHoldsItsBranchOnly) {
  world.begin(
      "steps:\n"
      "- id: p\n"
      "  type: parallel\n"
      "  config:\n"
      "    branches:\n"
      "    - [{id: q, type: reasoning, config: {prompt_context: p}}, {id: after, action: x}]\n"
      "    - [{id: a, action: x}, {id: b, action: x}]\n");
  EXPECT_EQ(world.how(), "active");
  world.done("p.branch_1.a");
  EXPECT_EQ(world.done("p.branch_1.b"), "suspended waiting");
  EXPECT_EQ(world.signal("decision", "q", R"({"choice":"free"})"), "active");
  EXPECT_EQ(world.asked(), "p.branch_0.after");
  EXPECT_EQ(world.done("p.branch_0.after"), "completed");
}

TEST_P(ScriptWaits, ACancelledDecisionSkipsItsStep) {
  world.begin(
      "steps: [{id: q, type: reasoning, config: {prompt_context: p}}, {id: a, action: x, "
      "depends_on: [q]}]");
  EXPECT_EQ(world.signal("decision", "", R"({"no":1})").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("cancel", "q"), "active");
  EXPECT_EQ(world.step("q"), "skipped(decision_cancelled)");
  EXPECT_EQ(world.asked(), "a");
}

// --- pauses

TEST_P(ScriptWaits, PauseLetsWorkEndAndStartsNothing) {
  world.begin(
      "timeout: 10s\n"
      "steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a]}, {id: w, type: wait, "
      "config: "
      "{duration: 5s}}]");
  EXPECT_EQ(world.pause(), "active");
  EXPECT_EQ(world.done("a", "1"), "suspended paused");
  EXPECT_EQ(world.wait(60'000), "suspended paused");
  EXPECT_EQ(world.pause(), "suspended paused");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.asked(), "b");
  world.wait(0);
  EXPECT_EQ(world.step("w"), "completed");  // it was due during the pause
  EXPECT_EQ(world.wait(9'999), "active");   // a minute of pause does not count
  EXPECT_EQ(world.wait(1), "failed TIMEOUT_ERROR");
}

TEST_P(ScriptWaits, PauseNowStopsWorkAndBeginsItAgain) {
  world.begin("steps:\n- {id: l, type: loop, config: {over: [1, 2], body: [{id: b, action: x}]}}");
  world.done("l.iter_0.b", "1");
  uint32_t effect = world.effect_of("l.iter_1.b");
  EXPECT_EQ(world.pause(true), "suspended paused");
  EXPECT_EQ(world.take_cancelled(), std::vector<uint32_t>{effect});
  StepOutcome late;
  late.ok = true;
  EXPECT_EQ(world.answer_effect(effect, late), "suspended paused");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.asked(), "l.iter_1.b");
  EXPECT_NE(world.effect_of("l.iter_1.b"), effect);
  EXPECT_EQ(world.done("l.iter_1.b", "2"), "completed");
  EXPECT_EQ(world.output("l"), R"({"iterations":2,"results":[1,2]})");
}

TEST_P(ScriptWaits, APausedRunCanBeCancelled) {
  world.begin("steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a]}]");
  world.pause(true);
  EXPECT_EQ(world.cancel(), "cancelled");
  EXPECT_EQ(world.pause().substr(0, 8), "rejected");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "a");
}

// --- runs within runs

TEST_P(ScriptWaits, ASubworkflowGivesItsOutputOrItsError) {
  world.define("child", "outputs: {r: '${{steps.c.output}}'}\nsteps: [{id: c, action: x}]", "v1");
  const char* parent =
      "steps: [{id: s, type: subworkflow, config: {definition: child, inputs: {n: 1}}}]";
  world.begin(parent);
  RunId outer = world.run_id();
  RunId inner(child_id(world.run(), world.effect_of("s")));
  world.look_at(inner);
  EXPECT_EQ(world.script().inputs.str(), R"({"n":1})");
  EXPECT_EQ(world.done("c", "5"), "completed");
  world.look_at(outer);
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(world.output("s"), R"({"r":5})");

  world.begin(parent);
  outer = world.run_id();
  world.look_at(RunId(child_id(world.run(), world.effect_of("s"))));
  EXPECT_EQ(world.fail("c", "BROKEN"), "failed BROKEN at c");
  world.look_at(outer);
  EXPECT_EQ(world.how(), "failed BROKEN at c");

  world.begin(parent);
  inner = RunId(child_id(world.run(), world.effect_of("s")));
  EXPECT_EQ(world.cancel(), "cancelled");
  world.look_at(inner);
  EXPECT_EQ(world.how(), "cancelled");
  EXPECT_EQ(world.begin("steps: [{id: s, type: subworkflow, config: {definition: nobody}}]"),
            "failed NOT_FOUND at s");
}

// Ends of children that end at once must not accumulate on the stack.
TEST_P(ScriptWaits, AThousandChildrenThatAreOverAtOnce) {
  if (GetParam()) GTEST_SKIP() << "the same in memory";
  world.define("child", "steps: [{id: c, action: workflow.log, params: {message: m}}]", "v1");
  std::string items = "[0";
  for (int i = 1; i < 1000; ++i) items += "," + std::to_string(i);
  world.begin(
      "steps:\n- {id: l, type: loop, config: {over: inputs.items, body: [{id: s, type: "
      "subworkflow, "
      "config: {definition: child}}]}}",
      R"({"items":)" + items + "]}");
  for (int i = 0; i < 10 && world.how() == "active"; ++i) world.wait(1);
  EXPECT_EQ(world.how(), "completed");
}

TEST_P(ScriptWaits, RunsWithinRunsEndSomewhere) {
  world.define("self", "steps: [{id: s, type: subworkflow, config: {definition: self}}]", "v1");
  StartScript command;
  command.definition = "self";
  EXPECT_EQ(world.start(command), "failed VALIDATION_ERROR at s");
}

TEST_P(ScriptWaits, AVersionStaysWhatItWasForRunsThatBegan) {
  world.define("d", "steps: [{id: a, action: x}, {id: b, action: one, depends_on: [a]}]", "v1");
  StartScript command;
  command.definition = "d";
  world.start(command);
  world.define("d", "steps: [{id: a, action: x}, {id: b, action: two, depends_on: [a]}]", "v2");
  world.done("a");
  EXPECT_EQ(world.request("b")->action, "one");
  EXPECT_EQ(world.script().version, "v1");
  command.version = "v9";
  EXPECT_EQ(world.start(command), "rejected not_found: definition 'd' version 'v9' not found");
}

// --- inputs, secrets, values

TEST_P(ScriptWaits, InputsHaveDefaultsAndAreChecked) {
  const std::string definition =
      "inputs: {a: 1}\n"
      "input_schema: {type: object, required: [b], properties: {b: {type: string}}}\n"
      "steps: [{id: s, action: x, params: {a: '${{inputs.a}}', b: '${{inputs.b}}'}}]\n";
  world.begin(definition, R"({"b":"x"})");
  EXPECT_EQ(world.params("s"), R"({"a":1,"b":"x"})");
  EXPECT_EQ(world.begin(definition, R"({"b":5})").substr(0, 25), "rejected validation_error");
  EXPECT_EQ(world.begin(definition).substr(0, 25), "rejected validation_error");
}

TEST_P(ScriptWaits, SecretsReachActionsAndStandInNoHistory) {
  world.begin(
      "steps: [{id: a, action: x}, {id: s, action: x, depends_on: [a], params: {auth: 'Bearer "
      "${{secrets.TOKEN}}', data: '${{steps.a.output}}', none: '${{inputs.n}}'}}]",
      R"({"n":1})");
  // A template that came in as data is data.
  world.done("a", R"("${{secrets.TOKEN}}\",\"admin\":\"true")");
  EXPECT_EQ(world.params("s"),
            R"({"auth":"Bearer hunter2","data":"${{secrets.TOKEN}}\",\"admin\":\"true","none":1})");
  EXPECT_EQ(world.request("s")->secrets.size(), 1u);
  for (const std::string& record : world.journal())
    EXPECT_EQ(record.find("hunter2"), std::string::npos);
}

// Definitions that were stored before such uses were refused still exist.
TEST_P(ScriptWaits, AnActionThatCouldTellASecretDoesNotGetIt) {
  auto told = [&](const std::string& step) {
    EXPECT_NE(world.begin_stored(R"({"steps":[)" + step + "]}"), "completed");
    auto request = world.request("a");
    return request.ok() ? "given" : refusal_code(request.error());
  };
  auto with = [](const std::string& action, const std::string& params) {
    return R"({"id":"a","type":"action","action":")" + action + R"(","params":)" + params + "}";
  };
  EXPECT_EQ(told(with("http.get", R"({"headers":{"A":"x ${{ secrets.TOKEN }}"}})")), "given");
  for (const char* params :
       {R"({"headers":{"A":"${{ secrets.TOKEN + '' }}"}})", R"({"url":"${{ secrets.TOKEN[0] }}"})",
        R"({"body":"${{ size(secrets.TOKEN) }}"})", R"({"body":{"${{ secrets.TOKEN }}":1}})",
        R"({"timeout":"${{ secrets.TOKEN }}"})",
        R"({"auth":{"header_name":"${{secrets.TOKEN}}"}})"})
    EXPECT_EQ(told(with("http.get", params)), "SECRET_DENIED") << params;
  EXPECT_EQ(told(with("fs.write", R"({"path":"f","content":"${{ secrets.TOKEN }}"})")),
            "SECRET_DENIED");
  EXPECT_EQ(told(with("shell.exec", R"({"command":"c","args":["${{ secrets.TOKEN }}"]})")),
            "SECRET_DENIED");
  EXPECT_EQ(told(with("jq", R"({"expression":".","data":"${{ secrets.TOKEN }}"})")),
            "SECRET_DENIED");
  EXPECT_EQ(world.begin_stored(R"({"steps":[{"id":"j","type":"job",
                "config":{"type":"t","args":["${{ secrets.TOKEN }}"]}}]})"),
            "failed SECRET_DENIED at j");
  EXPECT_EQ(world.begin_stored(R"({"steps":[{"id":"l","type":"action","action":"workflow.log",
                "params":{"message":"${{secrets.TOKEN}}"}}]})"),
            "failed SECRET_DENIED at l");
  EXPECT_EQ(world.begin_stored(R"({"steps":[{"id":"a","type":"action","action":"x",
                "condition":"secrets.TOKEN != ''"}]})"),
            "failed EXPRESSION_ERROR at a");
}

TEST_P(ScriptWaits, AParameterThatCannotBeFilledInIsTheStepsError) {
  world.begin("steps: [{id: a, action: x, params: {v: '${{steps.none.output}}'}}]");
  EXPECT_FALSE(world.request("a").ok());
}

// --- more of it

TEST_P(ScriptWaits, ALiveRunCanBeExtended) {
  world.begin("steps: [{id: a, action: x}]");
  EXPECT_EQ(world.extend("steps: [{id: b, action: x}]"),
            "rejected validation_error: the steps there are must stay as they are");
  EXPECT_EQ(world.extend("steps: [{id: a, type: job, config: {type: t}}, {id: b, action: x}]"),
            "rejected validation_error: the steps there are must stay as they are");
  EXPECT_EQ(world.extend("steps: [{id: a, action: x}, {id: s, type: sequence, depends_on: [a], "
                         "config: {steps: [{id: b, action: x}]}}]"),
            "active");
  world.done("a");
  EXPECT_EQ(world.asked(), "s.seq.b");
  EXPECT_EQ(world.done("s.seq.b"), "completed");
  EXPECT_EQ(world.extend("steps: [{id: a, action: x}]").substr(0, 8), "rejected");
}

}  // namespace
}  // namespace pawl
