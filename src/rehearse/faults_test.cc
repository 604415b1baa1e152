// Rehearsals in which the engine crashes.
#include <gtest/gtest.h>

#include <set>

#include "rehearse/testing/cases.h"

namespace pawl::rehearse {
namespace {

constexpr const char* kOrder = R"(
workflow:
  steps:
    - {id: charge, action: http.post, params: {url: "http://pay"}, retry: {max: 2, delay: 10s}}
    - {id: approve, type: reasoning, depends_on: [charge], config: {prompt_context: ok, options: ["yes", "no"]}}
    - {id: paid, type: wait, depends_on: [charge], config: {signal: paid}}
    - id: each
      type: map
      depends_on: [approve, paid]
      config: {over: "[1, 2, 3]", body: [{id: pack, action: http.get, params: {url: "http://x/${{ loop.item }}"}}]}
  outputs: {packed: steps.each.iterations, charge: steps.charge.body}
cases:
  - mocks:
      charge: [{error: EXECUTION_ERROR, takes: 1s}, {result: {body: c1}, takes: 3s}]
      pack: {result: {body: ok}, takes: 2s}
    events:
      - {at: 2d, decide: {step: approve, choice: "yes"}}
      - {at: 3d, signal: {name: paid}}
    expect:
      outputs: {packed: 3, charge: c1}
      calls: {charge: 2, pack: 3}
      elapsed: 3d2s
)";

SuiteOptions seeds(uint64_t count, uint64_t first = 1, bool strict = false) {
  SuiteOptions options;
  options.seeds = count;
  options.first_seed = first;
  options.strict = strict;
  return options;
}

TEST(Faults, AWholeOrderEndsAsExpectedHoweverOftenTheEngineDies) {
  CaseResult result = first_case(kOrder, seeds(200, 1, true));
  EXPECT_EQ(verdict(result), "passed");
  EXPECT_GT(result.crashes, 200u);
  ASSERT_EQ(result.twice.size(), 2u);
  EXPECT_EQ(result.twice[0].step, "charge");
  EXPECT_EQ(result.twice[0].twice, Twice::Keyed);
  EXPECT_TRUE(result.twice[0].key);
  EXPECT_EQ(result.twice[1].step, "each.*.pack");
  EXPECT_GT(result.twice[1].doubled, 0u);
}

std::string told(const Rehearsed& run) {
  std::string out = run.status + " " + run.outputs.json() + "\n";
  for (const std::string& fault : run.faults) out += fault + "\n";
  for (const std::string& line : timeline_lines(run)) out += line + "\n";
  return out;
}

TEST(Faults, TheSameSeedTellsTheSameStory) {
  TestFile file = valid(kOrder);
  std::set<std::string> stories;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FaultPlan plan{seed, 1};
    std::string once = told(rehearse(file, file.cases[0], plan));
    EXPECT_EQ(once, told(rehearse(file, file.cases[0], plan)));
    stories.insert(once);
  }
  EXPECT_GT(stories.size(), 15u);
}

// With as many seeds as calls, every call is made twice in some seed: not by luck.
TEST(Faults, AnUnsafeMockIsFound) {
  std::string text = R"(
workflow: {steps: [{id: pay, action: http.post, params: {url: "http://pay"}}]}
cases: [{mocks: {pay: {result: {body: 1}, unsafe: true}}, expect: {status: completed}}]
)";
  CaseResult lax = first_case(text, seeds(1));
  EXPECT_TRUE(lax.passed);
  EXPECT_TRUE(lax.unsafe);
  EXPECT_EQ(verdict(text, seeds(1, 1, true)),
            "step 'pay' (http.post) is not idempotent, and 1 of 1 calls were made twice");
}

TEST(Faults, ActionsThatAreNotIdempotentAreKnown) {
  std::string text = R"(
workflow: {steps: [{id: a, action: ACTION, params: PARAMS}]}
cases: [{mocks: {a: {result: {}SAID}}, expect: {status: completed}}]
)";
  auto found = [&](std::string action, std::string params, std::string said = "") {
    std::string one = text;
    one.replace(one.find("ACTION"), 6, action);
    one.replace(one.find("PARAMS"), 6, params);
    one.replace(one.find("SAID"), 4, said);
    return first_case(one, seeds(2)).unsafe;
  };
  EXPECT_TRUE(found("shell.exec", "{command: ls}"));
  EXPECT_TRUE(found("fs.append", "{path: a, content: b}"));
  EXPECT_FALSE(found("shell.exec", "{command: ls}", ", unsafe: false"));
  EXPECT_FALSE(found("fs.write", "{path: a, content: b}"));
  EXPECT_FALSE(found("http.post", "{url: 'http://x'}"));
}

// A service that answers differently when called again: the expectation breaks in some seed, which
// is reported.
TEST(Faults, AServiceThatIsNotIdempotentBreaksTheExpectation) {
  CaseResult result = first_case(R"(
workflow:
  steps: [{id: pay, action: http.post, params: {url: "http://pay"}}]
  outputs: {payments: steps.pay.body.payments}
cases: [{mocks: {pay: {result: {body: {payments: "${{ execution }}"}}}}, expect: {outputs: {payments: 1}}}]
)",
                                 seeds(3, 40));
  EXPECT_FALSE(result.passed);
  ASSERT_FALSE(result.failed_seeds.empty());
  EXPECT_EQ(result.failed_seeds[0].seed, 40u);
  EXPECT_EQ(result.failed_seeds[0].differences.at(0).path, "outputs.payments");
  EXPECT_NE(result.failed_seeds[0].run.faults.at(0).find("the engine dies"), std::string::npos);
}

TEST(Faults, WhatFailsInFairWeatherIsNotRunThroughStorms) {
  CaseResult result = first_case(R"(
workflow: {steps: [{id: a, action: crypto.uuid}]}
cases: [{expect: {status: failed}}]
)",
                                 seeds(10));
  EXPECT_EQ(result.seeds_run, 0u);
  EXPECT_EQ(verdict(result), "status: wanted failed, got completed");
}

}  // namespace
}  // namespace pawl::rehearse
