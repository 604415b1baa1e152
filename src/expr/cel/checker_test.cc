#include "expr/cel/checker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expr/cel/parser.h"

namespace pawl::expr {
namespace {

std::string type_of(std::string_view source, const Declarations& declarations = {}) {
  const Ast ast = parse(source).value();
  const Result<Type> type = check(source, ast, declarations);
  return type.ok() ? type->text() : type.error().message;
}

TEST(Checker, DeducesTypes) {
  EXPECT_EQ(type_of("[1, 2].map(x, {'k': string(x)})"), "list<map<string, string>>");
  EXPECT_EQ(type_of("{1: [true]}.transformMap(k, v, k)"), "map<int, int>");
  EXPECT_EQ(type_of("[1, 'a']"), "list<dyn>");
  EXPECT_EQ(type_of("[]"), "list<dyn>");
  EXPECT_EQ(type_of("[[], [1]]"), "list<list<int>>");
  EXPECT_EQ(type_of("{'a': 1}.?b.orValue(2)"), "int");
  EXPECT_EQ(type_of("timestamp(0) - timestamp(1)"), "duration");
  EXPECT_EQ(type_of("math.greatest(1, 2)"), "int");
  EXPECT_EQ(type_of("math.greatest(1, 2.0)"), "dyn");
  EXPECT_EQ(type_of("cel.bind(x, [1u], x[0])"), "uint");
  EXPECT_EQ(type_of("[optional.of('a')].map(o, o.optMap(s, size(s)))"), "list<optional_type<int>>");
  EXPECT_EQ(type_of("type(1)"), "type<int>");
  EXPECT_EQ(type_of("[null, duration('1s')] + [timestamp(0) == null ? null : duration('1s')]"),
            "list<duration>");
}

TEST(Checker, ContradictionsAreFoundWithTheirPlace) {
  EXPECT_EQ(type_of("1 + 'a'"),
            "line 1, column 3: found no matching overload for '_+_' applied to '(int, string)'");
  EXPECT_EQ(type_of("true && 1"), "line 1, column 9: expected bool, found int");
  EXPECT_EQ(type_of("'a'.b"), "line 1, column 4: type 'string' does not support field selection");
  EXPECT_EQ(type_of("nope.x"), "line 1, column 1: undeclared reference to 'nope'");
  EXPECT_EQ(type_of("nope(1)"), "line 1, column 1: undeclared reference to function 'nope'");
  EXPECT_EQ(type_of("1.map(x, x)"),
            "line 1, column 1: expression of type 'int' cannot be the range of a comprehension");
  EXPECT_EQ(type_of("[1].filter(x, x)"), "line 1, column 15: expected bool, found int");
  EXPECT_EQ(type_of("{1.5: 1}"), "line 1, column 2: unsupported key type: double");
  EXPECT_EQ(type_of("1 == 'a'").substr(0, 7), "line 1,");
  EXPECT_EQ(type_of("math.least('a')").substr(0, 7), "line 1,");
}

TEST(Checker, UntypedInputsFitEverywhere) {
  const Declarations declarations = Declarations::workflow();
  EXPECT_EQ(type_of("steps.a.n + 1 > 2 && inputs.env in ['x']", declarations), "bool");
  EXPECT_EQ(type_of("1 + 1.5", declarations), "dyn");
  EXPECT_EQ(type_of("steps.items.map(i, i.x + 'a')", declarations), "list<string>");
  EXPECT_EQ(type_of("steps.a + 1 + true", declarations).substr(0, 7), "line 1,");
}

TEST(Checker, ReadsSignatures) {
  Declarations declarations;
  auto [name, overload] = parse_overload("list<A>:pick(A, int) optional_type<A>").value();
  declarations.functions[name].push_back(overload);
  EXPECT_EQ(type_of("['x'].pick('y', 1)", declarations), "optional_type<string>");
  EXPECT_EQ(type_of("['x'].pick(1, 1)", declarations).substr(0, 7), "line 1,");
  for (const char* bad :
       {"", "f", "f(", "f(int", "f(int) ", "f(<>) int", "f(list<int) int", "f(int,) int"}) {
    EXPECT_FALSE(parse_overload(bad).ok()) << bad;
  }
}

// Types that would double at every step, and many independent parameters, must not take for ever.
TEST(Checker, StaysSmallOnHostileTypes) {
  std::string source = "x";
  for (int i = 0; i < 60; ++i)
    source = fmt::format("cel.bind(x, {{true: [x, {{1: x}}]}}, {})", source);
  EXPECT_FALSE(type_of("cel.bind(x, 1, " + source + ")").empty());
  std::string many = "[1 == 1";
  for (int i = 0; i < 3000; ++i) many += ", [] == [{}]";
  EXPECT_EQ(type_of(many + "]"), "list<bool>");
}

}  // namespace
}  // namespace pawl::expr
