#include "plan/definition.h"

#include <gtest/gtest.h>

#include "plan/testing/script_story.h"

namespace pawl::plan {
namespace {

// The errors of a definition, one line each: path code, in the order they were found.
std::string complaints(const std::vector<Fault>& faults) {
  std::string out;
  for (const Fault& fault : faults) {
    if (!out.empty()) out += "; ";
    out += fault.path + " " + fault.code;
  }
  return out;
}

std::string errors_of(std::string_view text) { return complaints(read_definition(text).errors); }

// One step with these fields beside its id, in YAML flow.
std::string with_step(const std::string& fields) { return "steps: [{id: a, " + fields + "}]"; }

const Step& first_step(const ReadResult& result) {
  static const Step none;
  return result.valid() ? result.script->at(result.script->root, 0) : none;
}

struct Bad {
  std::string_view text;
  std::string_view errors;
};

TEST(Definition, RefusesWhatIsWrongWithThePlace) {
  const Bad cases[] = {
      {"{}", " required"},
      {"steps: []", "steps value"},
      {"steps: 5", "steps type"},
      {"[1, 2]", " type"},
      {"steps: [5]", "steps[0] type"},
      {"steps: [{action: x}]", "steps[0] required"},
      {"steps: [{id: a}]", "steps[0] required"},
      {"steps: [{id: 7, action: x}]", "steps[0].id type"},
      {"steps: [{id: a.b, action: x}]", "steps[0].id value"},
      {"steps: [{id: '', action: x}]", "steps[0].id value"},
      {"steps: [{id: a, action: x}, {id: a, action: x}]", "steps[1] duplicate"},
      {"steps: [{id: a, action: x, depends_on: [b]}]", "steps[0].depends_on[0] unknown_step"},
      {"steps: [{id: a, action: x, depends_on: [a]}]", "steps[0].depends_on[0] cycle"},
      {"steps: [{id: a, action: x}, {id: b, action: x, dependencies: [a, a]}]",
       "steps[1].dependencies[1] duplicate"},
      {"{steps: [{id: a, action: x}], tiemout: 5s}", ""},
      {"steps: [{id: a, action: x, depends_on: 5}]", "steps[0].depends_on type"},
      {"steps: [{id: a, action: x, type: acton}]", "steps[0].type value"},
      {"steps: [{id: a, action: x, id2: 5}]", "steps[0].id2 unknown_field"},
      {"steps: [{id: a, action: x, timeout: 5 minutes}]", "steps[0].timeout duration"},
      {"steps: [{id: a, action: x, timeout: -5}]", "steps[0].timeout duration"},
      {"steps: [{id: a, action: x, timeout: 1e300}]", "steps[0].timeout duration"},
      {"steps: [{id: a, action: x, condition: 'a ='}]", "steps[0].condition expression"},
      {"steps: [{id: a, action: x, condition: '${{a}} == 1'}]", "steps[0].condition expression"},
      {"steps: [{id: a, action: x, condition: 'nosuch(1)'}]", "steps[0].condition expression"},
      {"steps: [{id: a, action: x, retry: {max: -1}}]", "steps[0].retry.max value"},
      {"steps: [{id: a, action: x, retry: {max: 1001}}]", "steps[0].retry.max value"},
      {"steps: [{id: a, action: x, retry: {backoff: quick}}]", "steps[0].retry.backoff value"},
      {"steps: [{id: a, action: x, retry: {multiplier: 0.5}}]", "steps[0].retry.multiplier value"},
      {"steps: [{id: a, action: x, retry: {maximum: 3}}]", "steps[0].retry.maximum unknown_field"},
      {"steps: [{id: a, action: x, on_error: {strategy: shrug}}]",
       "steps[0].on_error.strategy value"},
      {"steps: [{id: a, action: x, on_error: {}}]", "steps[0].on_error required"},
      {"steps: [{id: a, action: x, on_error: {strategy: fallback_step}}]",
       "steps[0].on_error required"},
      {"steps: [{id: a, action: x, on_error: {strategy: fallback_step, fallback_step: b}}]",
       "steps[0].on_error unknown_step"},
      {"steps: [{id: a, action: x, on_error: {strategy: fallback_step, fallback_step: a}}]",
       "steps[0].on_error value"},
      {"steps: [{id: a, action: x, on_error: ignore, on_failure: skip}]",
       "steps[0].on_failure duplicate"},
      {"steps: [{id: a, action: x, trigger: never}]", "steps[0].trigger value"},
      {"steps: [{id: a, action: x, params: [1]}]", "steps[0].params type"},
      {"steps: [{id: a, action: x, params: {u: '${{ inputs.u'}}]", "steps[0].params.u template"},
      {"steps: [{id: a, action: x, params: {u: [1, {v: '${{ }}'}]}}]",
       "steps[0].params.u[1].v template"},
      {"steps: [{id: a, action: x, params: {u: '${{ 1 + }}'}}]", "steps[0].params.u expression"},
      {"steps: [{id: a, action: x, params: {}, parameters: {}}]", "steps[0].parameters duplicate"},
      {"steps: [{id: a, action: x, compensate: {action: y, compensate: {action: z}}}]",
       "steps[0].compensate.compensate value"},
      {"{steps: [{id: a, action: x}], on_complete: {id: a, action: y}}", ""},
      {"{\"steps\": [{\"id\": \"a\", \"action\": \"x\"}], \"on_complete\": {\"id\": \"a\", "
       "\"action\": \"y\"}}",
       "on_complete duplicate"},
  };
  for (const Bad& bad : cases) {
    // Text that begins with a brace is JSON.
    const std::string text(bad.text);
    if (bad.errors.empty()) {
      EXPECT_EQ(errors_of(text), " syntax") << text;
    } else {
      EXPECT_EQ(errors_of(text), bad.errors) << text;
    }
  }
}

TEST(Definition, RefusesWhatATypeOfStepLacks) {
  const Bad cases[] = {
      {"type: condition", "steps[0] required"},
      {"type: condition, config: {}", "steps[0] required; steps[0] required"},
      {"type: condition, config: {expression: 'true', branches: []}",
       "steps[0].config.branches type"},
      {"type: condition, config: {expression: 'true', branches: {a: [{id: b}]}}",
       "steps[0].config.branches.a[0] required"},
      {"type: loop, config: {over: inputs.x}", "steps[0] required"},
      {"type: loop, config: {over: inputs.x, body: []}", "steps[0] required"},
      {"type: loop, config: {body: [{id: b, action: x}]}", "steps[0] required"},
      {"type: loop, config: {mode: while, body: [{id: b, action: x}]}", "steps[0] required"},
      {"type: loop, config: {mode: sometimes, over: [1], body: [{id: b, action: x}]}",
       "steps[0].config.mode value"},
      {"type: loop, config: {over: '.items[', body: [{id: b, action: x}]}",
       "steps[0].config.over expression"},
      {"type: loop, config: {over: 5, body: [{id: b, action: x}]}", "steps[0].config.over type"},
      {"type: loop, config: {over: [1], max_iter: -1, body: [{id: b, action: x}]}",
       "steps[0].config.max_iter value"},
      {"type: parallel, config: {branches: []}", "steps[0].config.branches value"},
      {"type: parallel, config: {mode: any, branches: [[]]}", "steps[0].config.mode value"},
      {"type: wait, config: {}", "steps[0] required"},
      {"type: wait, config: {duration: ''}", "steps[0] required"},
      {"type: wait, config: {duration: soon}", "steps[0].config.duration duration"},
      {"type: wait, config: {until: tomorrow}", "steps[0].config.until value"},
      {"type: wait, config: {duration: 5s, signal: go}", "steps[0] value"},
      {"type: wait, config: {signal: go, on_timeout: shrug}", "steps[0].config.on_timeout value"},
      {"type: reasoning, config: {options: []}", "steps[0] required"},
      {"type: reasoning, config: {prompt_context: p, options: [a, a]}",
       "steps[0].config.options[1] duplicate"},
      {"type: reasoning, config: {prompt_context: p, options: [a], fallback: b}",
       "steps[0].config.fallback value"},
      {"type: reasoning, config: {prompt_context: p, options: [{name: a}]}",
       "steps[0].config.options[0].name unknown_field; steps[0].config.options[0] required"},
      {"type: decision", "steps[0] required"},
      {"type: decision, config: {timeout: 5s}", "steps[0] required"},
      {"type: job, config: {args: []}", "steps[0] required"},
      {"type: agent, config: {queue: q}", "steps[0] required"},
      {"type: chain, config: {jobs: []}", "steps[0] required"},
      {"type: group, config: {jobs: []}", "steps[0].config.jobs value"},
      {"type: batch, config: {jobs: [{args: []}]}", "steps[0].config.jobs[0] required"},
      {"type: batch, config: {type: chain, jobs: [{type: t}]}", "steps[0].config.type value"},
      {"type: map, config: {over: [1]}", "steps[0] required"},
      {"type: sequence, config: {}", "steps[0] required"},
      {"type: subworkflow, config: {}", "steps[0] required"},
      {"type: wait, action: x, config: {duration: 1s}", "steps[0].action unknown_field"},
      {"type: wait, duration: 1s, config: {duration: 1s}", "steps[0].duration unknown_field"},
  };
  for (const Bad& bad : cases)
    EXPECT_EQ(errors_of(with_step(std::string(bad.text))), bad.errors) << bad.text;
}

TEST(Definition, ReportsEverythingAtOnceWithLinesAndHints) {
  const ReadResult result = read_definition(
      "name: n\n"
      "steps:\n"
      "  - id: fetch\n"
      "    actoin: http.get\n"
      "  - id: keep\n"
      "    type: condtion\n"
      "    depends_on:\n"
      "      - fecth\n"
      "    timeout: '30'\n");
  ASSERT_EQ(complaints(result.errors),
            "steps[0].actoin unknown_field; steps[0] required; steps[1].type value; "
            "steps[1].timeout duration; steps[1].depends_on[0] unknown_step");
  EXPECT_EQ(result.errors[0].line, 4u);
  EXPECT_EQ(result.errors[0].hint, "did you mean 'action'?");
  EXPECT_EQ(result.errors[1].line, 3u);
  EXPECT_EQ(result.errors[2].line, 6u);
  EXPECT_EQ(result.errors[2].hint, "did you mean 'condition'?");
  EXPECT_EQ(result.errors[3].hint, "it needs a unit: '30s'");
  EXPECT_EQ(result.errors[4].line, 8u);
  EXPECT_EQ(result.errors[4].message, "Step 'keep' has invalid dependency 'fecth'");
  EXPECT_EQ(result.errors[4].hint, "did you mean 'fetch'?");
  EXPECT_EQ(result.script, nullptr);
  EXPECT_EQ(result.canonical, "");
}

TEST(Definition, JsonHasLinesToo) {
  const ReadResult result = read_definition("{\n\"steps\": [\n{\"id\": \"a\",\n\"action\": 5}]}");
  ASSERT_EQ(complaints(result.errors), "steps[0].action type");
  EXPECT_EQ(result.errors[0].line, 4u);
  const ReadResult broken = read_definition("{\n\"steps\": [\n}");
  ASSERT_EQ(complaints(broken.errors), " syntax");
  EXPECT_EQ(broken.errors[0].line, 3u);
}

TEST(Definition, NamesTheCycle) {
  const ReadResult result = read_definition(
      "steps: [{id: a, action: x, depends_on: [c]}, {id: b, action: x, depends_on: [a]}, "
      "{id: c, action: x, depends_on: [b]}]");
  ASSERT_EQ(complaints(result.errors), "steps[0] cycle");
  EXPECT_EQ(result.errors[0].message, "Workflow contains cycles: a -> c -> b -> a");
}

TEST(Definition, LenientReadingWarns) {
  const std::string text = "steps: [{id: a, action: x, colour: red}]\nextra: 1\n";
  EXPECT_EQ(errors_of(text), "extra unknown_field; steps[0].colour unknown_field");
  ReadOptions lenient;
  lenient.lenient = true;
  const ReadResult result = read_definition(text, lenient);
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(complaints(result.warnings), "extra unknown_field; steps[0].colour unknown_field");
}

TEST(Definition, UnknownActionsAreNamedWithTheNearest) {
  const std::vector<std::string> actions = {"http.get", "http.post", "workflow.log"};
  ReadOptions options;
  options.actions = &actions;
  const ReadResult result =
      read_definition("steps: [{id: a, action: htpt.get}, {id: b, action: http.post}]", options);
  ASSERT_EQ(complaints(result.errors), "steps[0].action unknown_action");
  EXPECT_EQ(result.errors[0].hint, "did you mean 'http.get'?");
}

TEST(Definition, Warnings) {
  const ReadResult result = read_definition(
      "timeout: 1m\n"
      "steps:\n"
      "  - {id: a-b, action: x, retry: {max: 11}}\n"
      "  - {id: q, type: reasoning, config: {prompt_context: p, timeout: 2m}}\n"
      "  - {id: n, action: x, condition: false}\n"
      "  - {id: m, action: x, condition: steps.a-b.ok}\n"
      "  - {id: o, action: x, params: {v: '${{ steps.zzz.output }}', w: '${{ steps.a-b.output "
      "}}'}}\n"
      "  - {id: l, type: loop, config: {over: '.items[]', body: {id: k, action: x}}}\n");
  EXPECT_EQ(complaints(result.errors), "");
  EXPECT_EQ(
      complaints(result.warnings),
      "steps[0].retry.max value; steps[1].config.timeout value; steps[2].condition unreachable; "
      "steps[3].condition unknown_step; "
      "steps[4].params.v unknown_step");
}

TEST(Definition, InnerListsRunInOrderAndTheTopDoesNot) {
  const ReadResult result = read_definition(
      "steps:\n"
      "  - id: s\n"
      "    type: sequence\n"
      "    config:\n"
      "      steps:\n"
      "        - {id: a, action: x, on_error: {strategy: fallback_step, fallback_step: b}}\n"
      "        - {id: b, action: x}\n"
      "        - {id: c, action: x}\n"
      "        - {id: d, action: x, depends_on: [a]}\n"
      "        - {id: e, action: x, depends_on: []}\n"
      "  - {id: t, action: x}\n");
  ASSERT_EQ(complaints(result.errors), "");
  const Script& script = *result.script;
  const uint32_t inner = script.at(script.root, 0).branches[0].list;
  EXPECT_TRUE(script.at(script.root, 1).depends_on.empty());
  EXPECT_TRUE(script.at(inner, 1).dormant);
  EXPECT_TRUE(script.at(inner, 1).depends_on.empty());
  EXPECT_EQ(script.at(inner, 0).fallback, 1u);
  EXPECT_EQ(script.at(inner, 2).depends_on, std::vector<uint32_t>{0});  // past the dormant one
  EXPECT_EQ(script.at(inner, 3).depends_on, std::vector<uint32_t>{0});
  EXPECT_EQ(script.at(inner, 4).depends_on, std::vector<uint32_t>{3});
  EXPECT_EQ(script.at(inner, 0).dependents, (std::vector<uint32_t>{2, 3}));
}

TEST(Definition, AFallbackIsASiblingAndSomebodyCallsIt) {
  EXPECT_EQ(errors_of("steps:\n"
                      "  - {id: top, action: x}\n"
                      "  - id: s\n"
                      "    type: sequence\n"
                      "    config: {steps: [{id: a, action: x, on_error: {strategy: fallback_step, "
                      "fallback_step: top}}]}\n"),
            "steps[1].config.steps[0].on_error unknown_step");
  EXPECT_EQ(
      errors_of("steps:\n"
                "  - {id: a, action: x, on_error: {strategy: fallback_step, fallback_step: b}}\n"
                "  - {id: b, action: x, on_error: {strategy: fallback_step, fallback_step: a}}\n"),
      "steps[0] cycle; steps[1] cycle");
}

struct Retry {
  std::string_view fields;
  RetryPolicy policy;
  OnError on_error;
};

TEST(Definition, RetryAndErrorsInBothDialects) {
  const Retry cases[] = {
      {"timeout: 1s", {}, OnError::Propagate},
      {"retry: {max: 3, delay: 1s}", {3, Backoff::Constant, 1000, 0, 2000}, OnError::Propagate},
      {"retry: {max: 3, backoff: none, delay: 1s}",
       {3, Backoff::None, 1000, 0, 2000},
       OnError::Propagate},
      {"retry: {max: 2, backoff: linear, delay: 500ms, max_delay: 1m}",
       {2, Backoff::Linear, 500, 60'000, 2000},
       OnError::Propagate},
      {"on_error: {strategy: retry}",
       {3, Backoff::Exponential, 1000, 60'000, 2000, true},
       OnError::Propagate},
      {"on_error: {strategy: retry}, retry: {max: 1}",
       {1, Backoff::None, 0, 0, 2000},
       OnError::Propagate},
      {"on_failure: retry",
       {2, Backoff::Exponential, 1000, 60'000, 2000, true},
       OnError::Propagate},
      {"retry_config: {}", {2, Backoff::Exponential, 1000, 60'000, 2000}, OnError::Propagate},
      {"retry_config: {max_attempts: 5, backoff_multiplier: 3, initial_delay: 0.5, max_delay: 9}",
       {4, Backoff::Exponential, 500, 9000, 3000},
       OnError::Propagate},
      {"on_failure: skip", {}, OnError::Skip},
      {"on_failure: fail", {}, OnError::Fail},
      {"on_failure: rollback", {}, OnError::Rollback},
      {"on_error: ignore", {}, OnError::Ignore},
      {"on_error: {strategy: fail_workflow, fallback_step: ''}", {}, OnError::Fail},
  };
  for (const Retry& expected : cases) {
    const ReadResult result =
        read_definition(with_step("action: x, " + std::string(expected.fields)));
    ASSERT_EQ(complaints(result.errors), "") << expected.fields;
    EXPECT_EQ(first_step(result).retry, expected.policy) << expected.fields;
    EXPECT_EQ(first_step(result).on_error, expected.on_error) << expected.fields;
  }
}

TEST(Definition, DurationsAreTextOrSeconds) {
  const std::pair<std::string_view, int64_t> cases[] = {
      {"30s", 30'000},     {"1h30m", 5'400'000},
      {"500ms", 500},      {"PT1M30S", 90'000},
      {"P1D", 86'400'000}, {"30", 30'000},
      {"0.25", 250},       {"1.5h", 5'400'000},
      {"''", 0},           {"0", 0},
  };
  for (const auto& [text, ms] : cases) {
    const ReadResult result =
        read_definition(with_step("action: x, timeout: " + std::string(text)));
    ASSERT_EQ(complaints(result.errors), "") << text;
    EXPECT_EQ(first_step(result).timeout_ms, ms) << text;
  }
}

TEST(Definition, TheDecisionOfTheSecondDialectIsThreeThings) {
  const std::pair<std::string_view, StepType> cases[] = {
      {"parameters: {condition: 'inputs.a > 1'}", StepType::Test},
      {"condition: 'inputs.a > 1'", StepType::Test},
      {"parameters: {condition: inputs.a, branches: {x: []}}", StepType::Condition},
      {"parameters: {options: [a, b]}", StepType::Decision},
      {"parameters: {prompt: what now}", StepType::Decision},
  };
  for (const auto& [fields, type] : cases) {
    const ReadResult result =
        read_definition(with_step("step_type: decision, " + std::string(fields)));
    ASSERT_EQ(complaints(result.errors), "") << fields;
    EXPECT_EQ(first_step(result).type, type) << fields;
    EXPECT_EQ(first_step(result).condition, "") << fields;
  }
}

TEST(Definition, ABranchMayBeEmpty) {
  const ReadResult result = read_definition(
      with_step("type: condition, config: {expression: inputs.a, branches: {'x': , 'y': []}}"));
  ASSERT_EQ(complaints(result.errors), "");
  ASSERT_EQ(first_step(result).branches.size(), 2u);
  EXPECT_TRUE(result.script->lists[first_step(result).branches[0].list].steps.empty());
}

TEST(Definition, AnAgentsTaskIsAJob) {
  const ReadResult result = read_definition(
      with_step("step_type: agent, parameters: {task_type: classify, params: {n: 1}}"));
  ASSERT_EQ(complaints(result.errors), "");
  EXPECT_EQ(first_step(result).type, StepType::Job);
  EXPECT_EQ(first_step(result).job_type, "classify");
  EXPECT_EQ(first_step(result).queue, "agents");
  EXPECT_EQ(first_step(result).params.json(), R"([{"n":1}])");
}

TEST(Definition, ExpressionsAreUnwrappedAndPathsBecomeCel) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"'${{ inputs.a == 1 }}'", "inputs.a == 1"},
      {"'inputs.a == 1'", "inputs.a == 1"},
      {"'${{ steps.fetch-data.output.ok }}'", "steps['fetch-data'].output.ok"},
      {"'${{ loop.item.done }}'", "iter.item.done"},
      {"'${{ steps.a.rows.0 }}'", "steps.a.rows[0]"},
      {"true", "true"},
      {"''", ""},
  };
  for (const auto& [text, cel] : cases) {
    const ReadResult result =
        read_definition(with_step("action: x, condition: " + std::string(text)));
    ASSERT_EQ(complaints(result.errors), "") << text;
    EXPECT_EQ(first_step(result).condition, cel) << text;
  }
}

TEST(Definition, OutputsAreExpressionsTemplatesOrThemselves) {
  const ReadResult result = read_definition(
      "steps: [{id: a, action: x}]\n"
      "outputs: {sum: steps.a.n + 1, text: 'n is ${{ steps.a.n }}', word: shipped, number: 5, "
      "list: [inputs.a]}\n");
  ASSERT_EQ(complaints(result.errors), "");
  std::string outputs;
  for (const Output& output : result.script->outputs) outputs += output.value.json() + " ";
  EXPECT_EQ(outputs, R"("${{ steps.a.n + 1 }}" "n is ${{ steps.a.n }}" "shipped" 5 ["inputs.a"] )");
}

TEST(Definition, CompensationsNeedNoIdsAndTryHard) {
  const ReadResult result = read_definition(
      with_step("action: x, rollback: [{action: y}, {id: z, action: y, retry: {max: 0}}]"));
  ASSERT_EQ(complaints(result.errors), "");
  const Script& script = *result.script;
  const uint32_t undo = first_step(result).compensate;
  ASSERT_NE(undo, kNoList);
  EXPECT_EQ(script.at(undo, 0).id, "undo");
  EXPECT_EQ(script.at(undo, 0).retry.max, 5u);
  EXPECT_EQ(script.at(undo, 1).retry.max, 0u);
  const auto again = compile_canonical(result.canonical);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(story(**again), story(script));
}

TEST(Definition, WorkflowIdNamesAndTheNameIsATitle) {
  const ReadResult result =
      read_definition("workflow_id: w\nname: The work\nsteps: [{id: a, action: x}]\n");
  ASSERT_TRUE(result.valid());
  EXPECT_EQ(result.script->name, "w");
  EXPECT_EQ(result.script->metadata.json(), R"({"title":"The work"})");
}

TEST(Definition, TheWholeWorkflowMayRollBack) {
  for (const std::string_view text :
       {"on_error: {strategy: rollback}", "on_failure: rollback", "on_error: rollback"}) {
    const ReadResult result = read_definition("steps: [{id: a, action: x}]\n" + std::string(text));
    ASSERT_EQ(complaints(result.errors), "") << text;
    EXPECT_EQ(result.script->on_failure, OnError::Rollback) << text;
    EXPECT_EQ(result.script->on_error, kNoList) << text;
  }
}

TEST(Definition, LimitsHold) {
  ReadOptions options;
  options.limits.steps_max = 3;
  std::string steps = "steps:\n";
  for (int i = 0; i < 5; ++i) steps += "  - {id: s" + std::to_string(i) + ", action: x}\n";
  EXPECT_EQ(complaints(read_definition(steps, options).errors), "steps[3] too_large");

  std::string inner = "{id: a, action: x}";
  for (int i = 0; i < 20; ++i) inner = "{id: a, type: sequence, config: {steps: [" + inner + "]}}";
  const ReadResult deep = read_definition("steps: [" + inner + "]");
  ASSERT_EQ(deep.errors.size(), 1u);
  EXPECT_EQ(deep.errors[0].code, "too_deep");

  inner = "{id: a, action: x}";
  for (int i = 0; i < 12; ++i)
    inner = "{id: " + std::string(180, 'a') + ", type: sequence, config: {steps: [" + inner + "]}}";
  const ReadResult long_path = read_definition("steps: [" + inner + "]");
  ASSERT_EQ(long_path.errors.size(), 1u);
  EXPECT_EQ(long_path.errors[0].code, "too_deep");

  options.limits.bytes_max = 10;
  EXPECT_EQ(complaints(read_definition(steps, options).errors), " too_large");
}

TEST(Definition, ManyFaultsAreCut) {
  std::string text = "steps:\n";
  for (int i = 0; i < 5000; ++i)
    text += "  - {id: s" + std::to_string(i) + ", action: x, depends_on: [t" + std::to_string(i) +
            "]}\n";
  const ReadResult result = read_definition(text);
  ASSERT_EQ(result.errors.size(), 201u);
  EXPECT_EQ(result.errors.back().code, "too_many");
}

TEST(Definition, ALongChainIsNoDeepRecursion) {
  std::string text = "steps:\n";
  for (int i = 9999; i >= 0; --i) {
    text += "  - {id: s" + std::to_string(i) + ", action: x";
    if (i > 0) text += ", depends_on: [s" + std::to_string(i - 1) + "]";
    text += "}\n";
  }
  const ReadResult result = read_definition(text);
  ASSERT_EQ(complaints(result.errors), "");
  EXPECT_EQ(result.script->steps.size(), 10'000u);
  EXPECT_TRUE(compile_canonical(result.canonical).ok());
}

TEST(Definition, CanonicalTextThatIsNoneIsCorrupt) {
  for (const std::string_view text : {"", "{", "[]", "{\"steps\":[{\"id\":\"a\"}]}"}) {
    const auto result = compile_canonical(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::Corrupt) << text;
  }
}

}  // namespace
}  // namespace pawl::plan
