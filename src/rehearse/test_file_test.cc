#include "rehearse/test_file.h"

#include <gtest/gtest.h>

#include "rehearse/matcher.h"
#include "rehearse/skeleton.h"
#include "rehearse/span.h"
#include "rehearse/testing/cases.h"

namespace pawl::rehearse {
namespace {

const std::string kWorkflow = R"(workflow:
  steps:
    - {id: charge, action: http.post, params: {url: "http://x"}}
    - {id: approve, type: reasoning, config: {prompt_context: ok}}
)";

TEST(TestFile, UnknownKeysAreRefusedWithPathAndLine) {
  EXPECT_EQ(
      faults_of(kWorkflow + R"(casess: []
cases:
  - {name: a, expct: {}, expect: {state: completed, calls: {charge: {cont: 1}}}}
  - name: b
    mocks: {charge: {result: 1, take: 3s}}
    events: [{at: 1s, decide: {step: approve, choice: x, who: ann}}]
    expect: {}
defaults: {input: {}}
)"),
      "5 casess unknown_field; 7 cases[0].expct unknown_field; 12 defaults.input unknown_field; "
      "7 cases[0].expect.state unknown_field; 7 cases[0].expect.calls.charge.cont unknown_field; "
      "9 cases[1].mocks.charge.take unknown_field; 10 cases[1].events[0].decide.who unknown_field");
}

TEST(TestFile, StepsThatThereAreNotAreRefusedWithTheNearest) {
  TestFileRead read = read_test_file(kWorkflow + R"(cases:
  - mocks: {chrage: {result: 1}}
    expect: {steps: {aprove: completed}}
)",
                                     no_files());
  ASSERT_EQ(read.errors.size(), 2u);
  EXPECT_EQ(read.errors[0].path, "cases[0].mocks.chrage");
  EXPECT_EQ(read.errors[0].line, 6u);
  EXPECT_EQ(read.errors[0].hint, "did you mean 'charge'?");
  EXPECT_EQ(read.errors[1].hint, "did you mean 'approve'?");
}

TEST(TestFile, WhatCannotBeMeantIsRefused) {
  auto faults = [&](const std::string& one) {
    return faults_of(kWorkflow + "cases:\n  - " + one + "\n");
  };
  EXPECT_EQ(faults("{expect: {}, mocks: {approve: {result: 1}}}"),
            "6 cases[0].mocks.approve value");
  EXPECT_EQ(faults("{expect: {}, mocks: {charge: {}}}"), "6 cases[0].mocks.charge value");
  EXPECT_EQ(faults("{expect: {}, mocks: {charge: {result: 1, error: X}}}"),
            "6 cases[0].mocks.charge value");
  EXPECT_EQ(faults("{expect: {}, mocks: {charge: []}}"), "6 cases[0].mocks.charge required");
  EXPECT_EQ(faults("{expect: {}, mocks: {charge: {result: 1, when: '1 +'}}}"),
            "6 cases[0].mocks.charge.when expression");
  EXPECT_EQ(faults("{expect: {}, mocks: {charge: {result: 1, takes: soon}}}"),
            "6 cases[0].mocks.charge.takes duration");
  EXPECT_EQ(faults("{expect: {}, events: [{at: 1s}]}"), "6 cases[0].events[0] required");
  EXPECT_EQ(faults("{expect: {}, events: [{cancel: {}}]}"), "6 cases[0].events[0] required");
  EXPECT_EQ(faults("{expect: {}, events: [{at: 1s, after: charge, cancel: {}}]}"),
            "6 cases[0].events[0].at value");
  EXPECT_EQ(faults("{expect: {status: done}}"), "6 cases[0].expect.status value");
  EXPECT_EQ(faults("{expect: {outputs: {a: {$like: x}}}}"),
            "6 cases[0].expect.outputs.a.$like unknown_field");
  EXPECT_EQ(faults("{expect: {outputs: {a: {$matches: '('}}}}"),
            "6 cases[0].expect.outputs.a.$matches expression");
  EXPECT_EQ(faults("{expect: {}, real: [http.gett]}"), "6 cases[0].real[0] unknown_action");
  EXPECT_EQ(faults("{name: a}"), "6 cases[0] required");
  EXPECT_EQ(faults("{name: a, expect: {}}\n  - {name: a, expect: {}}"), "7 cases[1] duplicate");
}

TEST(TestFile, TheDefinitionMustBeThereAndValid) {
  EXPECT_EQ(faults_of("cases: [{expect: {}}]"), "1  required");
  EXPECT_EQ(faults_of("definition: gone.yaml\ncases: []"), "1 definition not_found");
  EXPECT_EQ(faults_of("workflow: {steps: [{id: a}]}\ncases: []"), "1 workflow required");
  EXPECT_EQ(faults_of("- 1\n"), "1  type");
  EXPECT_EQ(faults_of("a: [\n").substr(0, 2), "2 ");
}

TEST(TestFile, DefaultsStandBehindWhatACaseSays) {
  TestFile file = valid(kWorkflow + R"(defaults:
  inputs: {a: 1, b: 1}
  mocks: {charge: {result: usual}, http.get: {result: 1}}
cases:
  - inputs: {b: 2}
    mocks: {charge: {result: own}}
    expect: {}
)");
  const Case& one = file.cases[0];
  EXPECT_EQ(Value(one.inputs).json(), R"({"a":1,"b":2})");
  ASSERT_EQ(one.mocks.size(), 3u);
  EXPECT_EQ(one.mocks[0].answers[0].result, Value("own"));
  EXPECT_EQ(one.expect.status, "completed");
}

TEST(TestFile, KeysMeanSteps) {
  EXPECT_TRUE(names_step("call", "each.iter_2.call"));
  EXPECT_TRUE(names_step("each.*.call", "each.iter_2.call"));
  EXPECT_TRUE(names_step("each.iter_2.call", "each.iter_2.call"));
  EXPECT_FALSE(names_step("each.iter_1.call", "each.iter_2.call"));
  EXPECT_FALSE(names_step("each.call", "each.iter_2.call"));
  EXPECT_FALSE(names_step("all", "each.iter_2.call"));
}

std::string differences(const char* wanted, const char* got, Members members = Members::All) {
  Value have = Value::parse(got).value();
  std::vector<Difference> found;
  compare("x", Value::parse(wanted).value(), &have, members, found);
  std::string out;
  for (const Difference& each : found)
    out += (out.empty() ? "" : "; ") + each.path + " " + each.wanted + " / " + each.got;
  return out;
}

TEST(Matcher, TellsWhereValuesDiffer) {
  EXPECT_EQ(differences(R"({"a": 1, "b": [1, 2]})", R"({"b": [1, 2.0], "a": 1})"), "");
  EXPECT_EQ(differences(R"({"a": 1, "b": [1, 2]})", R"({"b": [1, 3, 4], "c": 5})"),
            "x.a 1 / nothing; x.b[1] 2 / 3; x.b[2] nothing / 4; x.c nothing / 5");
  EXPECT_EQ(differences(R"({"a": 1})", R"({"a": 1, "c": 5})", Members::AtLeast), "");
  EXPECT_EQ(differences(R"([{"$any": true}, {"$cel": "value > 3"}, {"$contains": "b"}])",
                        R"([null, 4, "abc"])"),
            "");
  EXPECT_EQ(differences(R"({"$cel": "value > 3"})", "2"), "x a value for which value > 3 / 2");
  EXPECT_EQ(differences(R"({"$contains": {"a": 1}})", R"({"a": 1, "b": 2})"), "");
  EXPECT_EQ(differences(R"({"$contains": {"a": {"$any": true}}})", R"([{"a": 9}])"), "");
  EXPECT_EQ(differences(R"({"$matches": "^a+$"})", R"("ab")"),
            R"(x text that matches "^a+$" / "ab")");
}

TEST(Span, IsExactAndReadsAsADuration) {
  EXPECT_EQ(span_text(0), "0s");
  EXPECT_EQ(span_text(250), "250ms");
  EXPECT_EQ(span_text(3250), "3.25s");
  EXPECT_EQ(span_text(5'400'000), "1h30m");
  EXPECT_EQ(span_text(2'592'000'001), "30d0.001s");
}

// The generated test file is valid, and passes.
TEST(Skeleton, IsATestThatPasses) {
  plan::ReadResult read = plan::read_definition(R"(
name: first
inputs: {n: 1}
input_schema: {type: object, required: [who], properties: {who: {enum: [ada, bob]}}}
steps:
  - {id: fetch, action: http.get, params: {url: "http://${{ inputs.host }}/${{ inputs.who }}"}}
  - {id: list, action: shell.exec, params: {command: ls}}
  - {id: ok, type: reasoning, depends_on: [fetch], config: {prompt_context: go, options: [go, stop]}}
  - {id: paid, type: wait, depends_on: [ok], config: {signal: paid}}
)");
  ASSERT_TRUE(read.valid());
  TestFileRead made = read_test_file(first_test_file(*read.script, "first.yaml"),
                                     [&](const std::string& path) -> Result<std::string> {
                                       EXPECT_EQ(path, "first.yaml");
                                       return read.canonical;
                                     });
  ASSERT_TRUE(made.valid()) << made.errors[0].path << made.errors[0].message;
  EXPECT_EQ(Value(made.file.cases[0].inputs).json(), R"({"n":1,"who":"ada","host":"x"})");
  EXPECT_EQ(verdict(run_case(made.file, made.file.cases[0], {})), "passed");
}

TEST(Report, HostileTextStaysInsideItsXml) {
  FileResult file{"a<b>.yaml", {}, {first_case(R"(
workflow: {steps: [{id: a, action: crypto.uuid}]}
cases: [{name: "x\u0007 \"<&>\"", expect: {status: failed}}]
)")}};
  std::string xml = junit_report({file});
  EXPECT_NE(
      xml.find(R"(<testcase name="x? &quot;&lt;&amp;&gt;&quot;" classname="a&lt;b&gt;.yaml")"),
      std::string::npos)
      << xml;
  EXPECT_TRUE(Value::parse(json_report({file})).ok());
}

}  // namespace
}  // namespace pawl::rehearse
