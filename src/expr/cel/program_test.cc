#include "expr/cel/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expr/cel/show.h"
#include "expr/testing/cel_eval.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kRun =
    R"({"steps":{"fetch":{"status":200,"items":[1,2,3]}},"inputs":{"env":"prod","n":2.5}})";

TEST(Program, ReadsACallersJson) {
  EXPECT_EQ(eval_json("steps.fetch.status == 200 && inputs.env in ['prod','staging'] && "
                      "size(steps.fetch.items) > 2",
                      kRun),
            "true");
  EXPECT_EQ(eval_json("steps.fetch.items.filter(i, i > 1).map(i, i * 10)", kRun), "[20, 30]");
  EXPECT_EQ(eval_json("steps", kRun), "{\"fetch\": {\"status\": 200, \"items\": [1, 2, 3]}}");
}

TEST(Program, UnknownNamesAreListed) {
  EXPECT_EQ(eval_json("stepz.a", kRun),
            "error: line 1, column 1: unknown variable 'stepz'; there are: steps, inputs");
  EXPECT_EQ(eval_json("1 + inputs.envv", kRun),
            "error: line 1, column 5: no such key: 'envv'; there are: env, n");
  EXPECT_EQ(eval("frobnicate(1)"), "refused: line 1, column 1: unbound function 'frobnicate'");
  EXPECT_EQ(eval("'a'.size(1)").substr(0, 8), "refused:");
}

TEST(Program, ErrorsAreAbsorbedOnlyWhenTheOutcomeIsSettled) {
  EXPECT_EQ(eval_json("missing || true", "{}"), "true");
  EXPECT_EQ(eval_json("missing && false", "{}"), "false");
  EXPECT_EQ(eval_json("false || missing", "{}"),
            "error: line 1, column 10: unknown variable 'missing'");
  EXPECT_EQ(eval("1/0 == 1 || 'x' || 2 > 1"), "true");
  EXPECT_EQ(eval("1 || false").substr(0, 6), "error:");
  EXPECT_EQ(eval("[0, 2].exists(x, 4 / x == 2)"), "true");
  EXPECT_EQ(eval("[0, 2].all(x, 4 / x == 3)"), "false");
  EXPECT_EQ(eval("[0, 2].exists_one(x, 4 / x == 2)"), "error: line 1, column 24: divide by zero");
}

TEST(Program, MixedArithmeticIsOptIn) {
  EXPECT_EQ(eval("1 + 1.5"), "error: line 1, column 3: no such overload: _+_(int, double)");
  CompileOptions mixed;
  mixed.mixed_arithmetic = true;
  EXPECT_EQ(eval("1 + 1.5", Variables(), mixed), "2.5");
  EXPECT_EQ(eval("2u * 3 - 1", Variables(), mixed), "5");
  EXPECT_EQ(eval("7.5 % 2", Variables(), mixed), "1.5");
  EXPECT_EQ(eval("18446744073709551615u + 1", Variables(), mixed), "1.8446744073709552e+19");
  EXPECT_EQ(eval("'a' + 1", Variables(), mixed).substr(0, 6), "error:");
}

TEST(Program, StepsOutputIsTheStepUnlessItHasOne) {
  const CompileOptions workflow = CompileOptions::workflow();
  EXPECT_EQ(eval_json("steps.fetch.output.status", kRun, workflow), "200");
  EXPECT_EQ(eval_json("steps['fetch'].output.status", kRun, workflow), "200");
  EXPECT_EQ(eval_json("steps.a.output.b", R"({"steps":{"a":{"output":{"b":1},"b":2}}})", workflow),
            "1");
  EXPECT_EQ(eval_json("steps.fetch.output.status", kRun).substr(0, 6), "error:");
  EXPECT_EQ(eval_json("steps.fetch.items.output", kRun, workflow).substr(0, 6), "error:");
}

TEST(Program, DottedNamesAndContainers) {
  Variables variables;
  variables.set("a.b", Val::string("long"))
      .set("a", Val::integer(1))
      .set("space.x", Val::integer(2))
      .set("x", Val::integer(3));
  CompileOptions options;
  options.container = "space.inner";
  EXPECT_EQ(eval("a.b", variables), "\"long\"");
  EXPECT_EQ(eval("x", variables, options), "2");
  EXPECT_EQ(eval(".x", variables, options), "3");
  EXPECT_EQ(eval("[9].map(x, x + .x)", variables, options), "[12]");
}

TEST(Program, InnerScopesHideOuterOnes) {
  const Variables outer = Variables().set("x", Val::integer(1)).set("y", Val::integer(2));
  const Variables inner = Variables().set("x", Val::integer(10));
  EXPECT_EQ(eval("x + y", Layered(inner, outer)), "12");
  EXPECT_EQ(eval("z", Layered(inner, outer)),
            "error: line 1, column 1: unknown variable 'z'; there are: x, y");
}

TEST(Program, ConstantsAreFoldedAndErrorsKeptForRunTime) {
  EXPECT_EQ(eval("true || 1/0 > 1"), "true");
  EXPECT_EQ(eval("false && 1/0 > 1"), "false");
  EXPECT_EQ(eval("1/0"), "error: line 1, column 2: divide by zero");
  EXPECT_EQ(eval("'a'.matches('(')").substr(0, 8), "refused:");
}

TEST(Program, GuardsMustBeBool) {
  auto program = Program::compile("1 + 1").value();
  Budget budget;
  EXPECT_EQ(program->test(Variables(), budget).error().message,
            "line 1, column 1: expected the expression to be true or false, not int");
}

TEST(Program, NamesItsVariables) {
  const auto program = Program::compile("steps.a.b + inputs.x + [1].map(y, y + z)[0]").value();
  EXPECT_EQ(program->variables(), (std::vector<std::string>{"inputs", "steps", "z"}));
}

TEST(Program, BindAndBlock) {
  EXPECT_EQ(eval("cel.bind(x, 3, cel.bind(y, x * 2, x + y))"), "9");
  EXPECT_EQ(eval("cel.bind(x, 1/0, true)"), "true");
  EXPECT_EQ(eval("cel.block([2, cel.index(0) * 3], cel.index(1) + cel.index(0))"), "8");
  EXPECT_EQ(eval("cel.index(0)").substr(0, 8), "refused:");
}

TEST(Program, ResultsOutliveTheirInputs) {
  Val kept;
  {
    const Value document =
        *Value::parse(R"({"a":{"b":["long enough to be on the heap, surely"]}})");
    Variables variables;
    variables.json("doc", document);
    Budget budget;
    const auto program = Program::compile("[doc.a, optional.of(doc.a.b[0])]").value();
    kept = program->evaluate(variables, budget).value();
  }
  EXPECT_EQ(show(kept),
            "[{\"b\": [\"long enough to be on the heap, surely\"]}, optional.of(\"long enough to "
            "be on the heap, surely\")]");
}

// Each of these would run for ages or fill the memory without a budget.
TEST(Budget, HostileExpressionsEndEarly) {
  const std::string range = "lists.range(1000)";
  std::string doubling = "x";
  for (int i = 0; i < 40; ++i) doubling = fmt::format("cel.bind(x, x + x, {})", doubling);
  std::string sharing = "x";
  for (int i = 0; i < 60; ++i) sharing = fmt::format("cel.bind(x, [x, x], {})", sharing);
  sharing = fmt::format("cel.bind(x, [1], {})", sharing);
  for (const std::string& hostile : {
           fmt::format("{0}.all(a, {0}.all(b, {0}.all(c, true)))", range),
           fmt::format("cel.bind(x, 'abcdefgh', {})", doubling),
           fmt::format("cel.bind(x, ['abcdefgh'], {})", doubling),
           fmt::format("{0} == {0}", sharing),
           sharing,
           fmt::format("'%s'.format([{}])", sharing),
           std::string("lists.range(9223372036854775807)"),
           fmt::format("{0}.map(a, {0}.map(b, {0}))", range),
           fmt::format("{}.map(a, 'x'.matches('(a?){{500}}' + string(a))).size()", range),
           fmt::format("{}.map(a, big)", range),
           fmt::format("{0}.all(a, {0}.all(b, long <= long))", range),
           fmt::format("{0}.all(a, {0}.all(b, !(long in {{'x': 1, 'y': 2}})))", range),
           fmt::format("{0}.all(a, {0}.all(b, !isIP(long)))", range),
           fmt::format("{0}.map(a, long).sort() == []", range),
       }) {
    Value big = Value::Array(2000, Value("0123456789012345678901234567890123456789"));
    Variables variables;
    variables.json("big", big).set("long", Val::string(std::string(1 << 20, 'a')));
    EXPECT_EQ(eval(hostile, variables).substr(0, 6), "spent:") << hostile.substr(0, 100);
  }
}

TEST(Budget, SpendingIsNotAbsorbed) {
  BudgetLimits few;
  few.steps_max = 50;
  EXPECT_EQ(eval("x.all(i, i < 0) || true",
                 Variables().set("x", Val::list(std::vector<Val>(100, Val::integer(-1)))), {}, few),
            "spent: the expression needs more than 50 steps");
}

TEST(Budget, IsSharedByEvaluations) {
  Budget budget(BudgetLimits{.steps_max = 10});
  const auto program = Program::compile("x + x").value();
  Variables variables;
  variables.set("x", Val::integer(1));
  int ran = 0;
  while (program->evaluate(variables, budget).ok()) ++ran;
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace pawl::expr
