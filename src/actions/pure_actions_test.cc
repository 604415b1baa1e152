#include "actions/pure_actions.h"

#include <gtest/gtest.h>

#include <set>

#include "actions/testing/action_world.h"
#include "base/uuid.h"

namespace pawl::actions {
namespace {

std::string told(const std::string& name, const std::string& params,
                 const std::string& scope = "null") {
  ActionRequest request;
  request.name = name;
  request.params = json(params);
  request.names = json(scope);
  Status good = check_params(*find_action(name), request.params);
  if (!good.ok()) return "VALIDATION_ERROR";
  return story(find_pure_action(name)(request));
}

TEST(Crypto, DigestsAreTheKnownOnes) {
  EXPECT_EQ(told("crypto.hash", R"({"data":"abc"})"),
            R"({"hash":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",)"
            R"("algorithm":"sha256"})");
  EXPECT_EQ(told("crypto.hash", R"({"data":"abc","algorithm":"md5"})"),
            R"({"hash":"900150983cd24fb0d6963f7d28e17f72","algorithm":"md5"})");
  EXPECT_EQ(told("crypto.hash", R"({"data":"abc","algorithm":"sha1"})"),
            R"({"hash":"a9993e364706816aba3e25717850c26c9cd0d89d","algorithm":"sha1"})");
  EXPECT_EQ(told("crypto.hash", R"({"data":5})"), told("crypto.hash", R"({"data":"5"})"));
  EXPECT_EQ(told("crypto.hash", R"({"data":{"a":[1]}})"),
            told("crypto.hash", R"({"data":"{\"a\":[1]}"})"));
  EXPECT_EQ(told("crypto.hash", R"({"data":"abc","algorithm":"crc"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("crypto.hmac", R"({"data":"what do ya want for nothing?","key":"Jefe"})"),
            R"({"hmac":"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",)"
            R"("algorithm":"sha256"})");
  EXPECT_EQ(told("crypto.hmac", R"({"data":"x"})"), "VALIDATION_ERROR");
}

TEST(Crypto, UuidsAreRandomAndVersionFour) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    std::string text = find_pure_action("crypto.uuid")({}).output.find("uuid")->as_string();
    EXPECT_TRUE(Uuid::parse(text).has_value()) << text;
    EXPECT_EQ(text[14], '4');
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
    seen.insert(text);
  }
  EXPECT_EQ(seen.size(), 100u);
}

// The outcome of an action with this many steps.
std::string told_within(uint64_t steps, const std::string& name, Value::Object params) {
  ActionRequest request;
  request.name = name;
  request.params = Value(std::move(params));
  expr::Budget budget(expr::BudgetLimits{.steps_max = steps});
  ActionOutcome outcome = find_pure_action(name)(request, budget);
  return outcome.ok ? "ok" : outcome.code;
}

// Each pays for its work in proportion: a million bytes are more than ten thousand steps of it.
TEST(PureActions, AllPayForWhatTheyCost) {
  const std::string a(1'000'000, 'a'), half(500'000, 'a');
  Value::Array many;
  for (int i = 0; i < 20'000; ++i) many.push_back(Value(i));
  const std::pair<std::string, Value::Object> calls[] = {
      {"crypto.hash", {{"data", a}}},
      {"crypto.hmac", {{"data", a}, {"key", "k"}}},
      {"assert.equals", {{"expected", a}, {"actual", a}}},
      {"assert.contains", {{"haystack", a}, {"needle", half + "b"}}},
      {"assert.contains", {{"haystack", many}, {"needle", half}}},
      {"assert.matches", {{"value", a}, {"pattern", "b$"}}},
      {"assert.matches", {{"value", ""}, {"pattern", "[^x]{600}"}}},
      {"assert.schema", {{"data", many}, {"schema", Value::parse(R"({"items":true})").value()}}},
      {"assert.schema",
       {{"data", 1}, {"schema", Value::parse(R"({"pattern":"[^x]{600}"})").value()}}},
      {"expr.eval", {{"data", a}, {"expression", "data contains 'b'"}}},
      {"jq", {{"data", a}, {"expression", "contains(\"b\")"}}},
      {"workflow.log", {{"message", a}}},
  };
  for (const auto& [name, params] : calls)
    EXPECT_EQ(told_within(10'000, name, params), "NON_RETRYABLE") << name;
  EXPECT_EQ(told_within(10'000, "assert.contains", {{"haystack", "abc"}, {"needle", "b"}}), "ok");
}

// Hostile assertions end: the search is linear, and the pattern is paid before it is tried.
TEST(PureActions, HostileAssertionsAreRefusedOrEnd) {
  const std::string text(9'000'000, 'a');
  EXPECT_EQ(told_within(2'000'000, "assert.contains",
                        {{"haystack", text}, {"needle", text.substr(0, 4'500'000) + "b"}}),
            "ASSERTION_FAILED");
  EXPECT_EQ(
      told_within(1'000'000, "assert.matches", {{"value", text}, {"pattern", "(a|b)*a(a|b){12}c"}}),
      "NON_RETRYABLE");
}

TEST(Assert, EqualsComparesDeeplyAndScalarsAsText) {
  const std::string pass = R"({"pass":true})", fail = "ASSERTION_FAILED";
  EXPECT_EQ(told("assert.equals", R"({"expected":{"a":[1,2.0]},"actual":{"a":[1.0,2]}})"), pass);
  EXPECT_EQ(told("assert.equals", R"({"expected":"200","actual":200})"), pass);
  EXPECT_EQ(told("assert.equals", R"({"expected":200.0,"actual":"200"})"), pass);
  EXPECT_EQ(told("assert.equals", R"({"expected":true,"actual":"true"})"), pass);
  EXPECT_EQ(told("assert.equals", R"({"expected":null,"actual":null})"), pass);
  EXPECT_EQ(told("assert.equals", R"({"expected":null,"actual":"null"})"), fail);
  EXPECT_EQ(told("assert.equals", R"({"expected":"[1]","actual":[1]})"), fail);
  EXPECT_EQ(told("assert.equals", R"({"expected":["1"],"actual":[1]})"), fail);
  EXPECT_EQ(told("assert.equals", R"({"expected":1,"actual":true})"), fail);
  ActionRequest request;
  request.params = json(R"({"expected":1,"actual":2,"message":"mine"})");
  ActionOutcome outcome = find_pure_action("assert.equals")(request);
  EXPECT_EQ(outcome.message + outcome.details.json(), R"(mine{"expected":1,"actual":2})");
}

TEST(Assert, ContainsMatchesAndSchema) {
  const std::string pass = R"({"pass":true})", fail = "ASSERTION_FAILED";
  EXPECT_EQ(told("assert.contains", R"({"haystack":"abc 12","needle":12})"), pass);
  EXPECT_EQ(told("assert.contains", R"({"haystack":[1,{"a":2}],"needle":{"a":2.0}})"), pass);
  EXPECT_EQ(told("assert.contains", R"({"haystack":[1],"needle":2})"), fail);
  EXPECT_EQ(told("assert.contains", R"({"haystack":{"a":1},"needle":"a"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("assert.matches", R"({"value":"ab-123-c","pattern":"[0-9]+"})"),
            R"({"pass":true,"matches":"123"})");
  EXPECT_EQ(told("assert.matches", R"({"value":"ab","pattern":"^b"})"), fail);
  EXPECT_EQ(told("assert.matches", R"j({"value":"ab","pattern":"("})j"), "VALIDATION_ERROR");
  EXPECT_EQ(
      told("assert.schema", R"({"data":{"n":1},"schema":{"properties":{"n":{"type":"integer"}}}})"),
      pass);
  EXPECT_EQ(told("assert.schema", R"({"data":{},"schema":{"required":["n"]}})"), fail);
  EXPECT_EQ(told("assert.schema", R"({"data":{},"schema":{"type":"nonsense"}})"),
            "VALIDATION_ERROR");
}

TEST(Expressions, SeeDataInputsAndSteps) {
  const std::string scope = R"({"inputs":{"limit":2,"data":"hidden"},"steps":{"a":{"n":3}}})";
  EXPECT_EQ(
      told("expr.eval", R"({"expression":"steps['a'].n > limit && inputs.limit == 2"})", scope),
      R"({"result":true})");
  EXPECT_EQ(told("expr.eval", R"j({"expression":"len(data)","data":[1,2]})j", scope),
            R"({"result":2})");
  EXPECT_EQ(told("expr.eval", R"({"expression":"1 +"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("expr.eval", R"({"expression":""})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("jq", R"({"expression":".[] | .a","data":[{"a":1},{"a":2}]})"),
            R"({"result":1,"results":[1,2]})");
  EXPECT_EQ(told("jq", R"({"expression":".steps.a.n"})", scope), R"({"result":3,"results":[3]})");
  EXPECT_EQ(told("jq", R"({"expression":"empty","data":1})"), R"({"result":null,"results":[]})");
  EXPECT_EQ(told("jq", R"({"expression":".a","data":1})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("jq", R"j({"expression":"last(repeat(1))","data":1})j"), "NON_RETRYABLE");
}

TEST(Workflow, LogAndFail) {
  EXPECT_EQ(told("workflow.log", R"({"message":"m","level":"warn","data":{"a":1},"extra":2})"),
            R"({"logged":true})");
  EXPECT_EQ(told("workflow.log", R"({"message":"m","level":"loud"})"), "VALIDATION_ERROR");
  ActionRequest request;
  request.params = json(R"({"reason":"no"})");
  const ActionOutcome outcome = find_pure_action("workflow.fail")(request);
  EXPECT_EQ(story(outcome) + outcome.message, "NON_RETRYABLEno");
}

}  // namespace
}  // namespace pawl::actions
