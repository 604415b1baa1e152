#include "expr/exprlang/exprlang.h"

#include <gtest/gtest.h>

namespace pawl::expr {
namespace {

constexpr const char* kScope = R"({
  "inputs": {"threshold": 5, "name": "Ada"},
  "steps": {"fetch": {"output": [{"id": 1, "score": 3}, {"id": 2, "score": 7}, {"id": 3, "score": 9}]}},
  "list": [3, 1, 2], "words": ["b", "a", "b"], "n": 7, "none": null})";

std::string eval(std::string_view source, Budget budget = Budget()) {
  const auto program = ExprLang::compile(source);
  if (!program.ok()) return "refused: " + program.error().message;
  const auto result = (*program)->evaluate(*Value::parse(kScope), budget);
  return result.ok() ? result->json() : "error: " + result.error().message;
}

TEST(ExprLang, FiltersAStepsOutput) {
  EXPECT_EQ(eval("filter(steps['fetch'].output, {.score >= inputs.threshold})"),
            R"([{"id":2,"score":7},{"id":3,"score":9}])");
  EXPECT_EQ(eval("steps.fetch.output | filter(.score > 3) | map(.id) | sum()"), "5");
}

TEST(ExprLang, OperatorsBindAsWritten) {
  EXPECT_EQ(eval("1 + 2 * 3 ** 2 - 10 % 4"), "17");
  EXPECT_EQ(eval("2 ** 3 ** 2"), "512");
  EXPECT_EQ(eval("-2 ** 2"), "-4");
  EXPECT_EQ(eval("7 / 2"), "3.5");
  EXPECT_EQ(eval("6 / 2"), "3");
  EXPECT_EQ(eval("not true or 1 < 2 and 2 >= 2"), "true");
  EXPECT_EQ(eval("not (1 in [1]) || false"), "false");
  EXPECT_EQ(eval("1 not in [2, 3] && 'a' + \"b\" == 'ab'"), "true");
  EXPECT_EQ(eval("none ?? missing ?? 4 + 1"), "5");
  EXPECT_EQ(eval("n > 5 ? 'big' : 'small'"), R"("big")");
  EXPECT_EQ(eval("none != nil ? 1 : n == 7.0 ? 2 : 3"), "2");
  EXPECT_EQ(eval("false ?: true"), "true");
  EXPECT_EQ(eval("1..4"), "[1,2,3,4]");
  EXPECT_EQ(eval("3..1"), "[]");
  EXPECT_EQ(eval("0x1F + 1_000 + 1e3"), "2031.0");
}

TEST(ExprLang, Strings) {
  EXPECT_EQ(eval("'Ada' matches '^A' && inputs.name contains 'd' && inputs.name startsWith 'A' && "
                 "inputs.name endsWith 'a' && inputs.name not contains 'x'"),
            "true");
  EXPECT_EQ(eval("`raw\\n` + 'e\\u00e4\\n'"), "\"raw\\\\neä\\n\"");
  EXPECT_EQ(eval("[upper('aé'), lower('AB'), trim('  x '), trim('--x-', '-')]"),
            R"(["Aé","ab","x","x"])");
  EXPECT_EQ(eval("split('a,b,c', ',') | join('-')"), R"("a-b-c")");
  EXPECT_EQ(eval("split('äb', '')"), R"(["ä","b"])");
  EXPECT_EQ(eval("split('a,b,c', ',', 2)"), R"(["a","b,c"])");
  EXPECT_EQ(eval("[replace('aXbX', 'X', '-'), indexOf('äbc', 'c'), lastIndexOf('aba', 'a'), "
                 "indexOf('a', 'z')]"),
            R"(["a-b-",2,2,-1])");
  EXPECT_EQ(eval("[hasPrefix('abc', 'ab'), hasSuffix('abc', 'x'), trimPrefix('abc', 'a'), "
                 "trimSuffix('abc', 'c'), repeat('ab', 2)]"),
            R"([true,false,"bc","ab","abab"])");
  EXPECT_EQ(eval("'héllo'[1:3] + 'xyz'[-1:]"), R"("élz")");
}

TEST(ExprLang, Collections) {
  EXPECT_EQ(eval("[len(list), len('äö'), len(inputs)]"), "[3,2,2]");
  EXPECT_EQ(eval("[keys(inputs), values(inputs)]"), R"([["threshold","name"],[5,"Ada"]])");
  EXPECT_EQ(eval("[sort(list), sort(list, 'desc'), reverse(list), uniq(words)]"),
            R"([[1,2,3],[3,2,1],[2,1,3],["b","a"]])");
  EXPECT_EQ(eval("[first(list), last(list), first([]), take(list, 2), flatten([1, [2, [3]]])]"),
            "[3,2,null,[3,1],[1,2,3]]");
  EXPECT_EQ(eval("[min(list), max(1, 5, 3), mean(list), median([4, 1, 2, 3])]"), "[1,5,2,2.5]");
  EXPECT_EQ(eval("concat(list, [9]) == [3, 1, 2, 9]"), "true");
  EXPECT_EQ(eval("[list[-1], list[0:2], list[1:], list[:-1], list[5:9]]"),
            "[2,[3,1],[1,2],[3,1],[]]");
  EXPECT_EQ(eval("{a: 1, 'b c': [2], (inputs.name): 3}"), R"({"a":1,"b c":[2],"Ada":3})");
  EXPECT_EQ(eval("toPairs({a: 1}) | fromPairs()"), R"({"a":1})");
  EXPECT_EQ(eval("'threshold' in inputs && 'x' not in inputs && 3 in list && !(1 in none)"),
            "true");
}

TEST(ExprLang, Closures) {
  EXPECT_EQ(eval("[all(list, # > 0), any(list, {# > 2}), none(list, # > 3), one(list, # == 3)]"),
            "[true,true,true,true]");
  EXPECT_EQ(eval("[map(list, # * #index), count(list, # > 1), count([true, false, true])]"),
            "[[0,1,4],2,2]");
  EXPECT_EQ(eval("[find(list, # < 3), find(list, # > 9), findIndex(list, # < 3), "
                 "findLast(list, # < 3), findLastIndex(list, # < 3)]"),
            "[1,null,1,2,2]");
  EXPECT_EQ(eval("groupBy(steps.fetch.output, .score > 5) | keys()"), R"(["false","true"])");
  EXPECT_EQ(eval("countBy(words, #)"), R"({"b":2,"a":1})");
  EXPECT_EQ(eval("sortBy(steps.fetch.output, -.score) | map(.id)"), "[3,2,1]");
  EXPECT_EQ(eval("sortBy(steps.fetch.output, .score, 'desc')[0].id"), "3");
  EXPECT_EQ(
      eval("[sum(list), sum(list, # * 2), reduce(list, #acc + #), reduce(list, #acc * #, 2)]"),
      "[6,12,6,12]");
  EXPECT_EQ(eval("map(1..2, {let outer = #; map(1..2, # * outer)})"), "[[1,2],[2,4]]");
}

TEST(ExprLang, LetAndConversions) {
  EXPECT_EQ(eval("let x = 2; let y = x * 3; x + y"), "8");
  EXPECT_EQ(eval("[int('42'), int(3.9), int(-3.9), float(1), string(7), string({a: [1]})]"),
            R"([42,3,-3,1.0,"7","{\"a\":[1]}"])");
  EXPECT_EQ(eval("fromJSON(toJSON({a: [1, nil, 1.5]})).a"), "[1,null,1.5]");
  EXPECT_EQ(eval("[abs(-2), ceil(1.2), floor(-1.2), round(2.5)]"), "[2,2,-2,3]");
  EXPECT_EQ(eval("[type(1), type(nil), type({}), get(inputs, 'x'), get(list, -1)]"),
            R"(["int","nil","map",null,2])");
  EXPECT_EQ(eval("1 + /* two */ 2 // three"), "3");
}

TEST(ExprLang, MissingIsNil) {
  EXPECT_EQ(eval("missing"), "null");
  EXPECT_EQ(eval("inputs.missing"), "null");
  EXPECT_EQ(eval("missing?.a.b['c']"), "null");
  EXPECT_EQ(eval("inputs?.name"), R"("Ada")");
  EXPECT_EQ(eval("missing?.[0] ?? 'x'"), R"("x")");
  EXPECT_EQ(eval("$env['n'] + $env.n"), "14");
  EXPECT_EQ(eval("missing.a"), R"(error: line 1, column 8: cannot fetch "a" from nil)");
}

TEST(ExprLang, ErrorsSayWhere) {
  EXPECT_EQ(eval("1 +\n  'a'"), "error: line 1, column 3: arithmetic on number and string");
  EXPECT_EQ(eval("list[3]"),
            "error: line 1, column 5: index out of range: 3 (the array has 3 elements)");
  EXPECT_EQ(eval("9223372036854775807 + 1"), "error: line 1, column 21: integer overflow");
  EXPECT_EQ(eval("1 / 0"), "error: line 1, column 3: division by zero");
  EXPECT_EQ(eval("n ? 1 : 2"),
            "error: line 1, column 1: a condition must be a boolean, not number");
  EXPECT_EQ(eval("int('x')"), "error: line 1, column 1: int: the string is no number");
  EXPECT_EQ(eval("now()"), R"(refused: line 1, column 1: unknown function "now")");
  EXPECT_EQ(eval("1 +"), "refused: line 1, column 4: unexpected end");
  EXPECT_EQ(eval("len()"), "refused: line 1, column 1: wrong number of arguments for len");
  for (const char* broken :
       {"", "(", "[1", "{a}", "'open", "/* open", "a.", "1 2", "#", ".a", "let x = 1", "x | 3",
        "s matches '('", "a not b", "1 ? 2", "'\\q'", "0x", "a.b()", "\x01"}) {
    EXPECT_EQ(eval(broken).substr(0, 7), "refused") << broken;
  }
}

TEST(ExprLang, ALongTextOfShortOnesCostsItsBytes) {
  EXPECT_EQ(eval("len(repeat('x', 9000000))"), "9000000");
  EXPECT_EQ(eval("[repeat('abc', 5), repeat('abc', 0), repeat('', 9)]"),
            R"(["abcabcabcabcabc","",""])");
}

TEST(ExprLang, EverythingIsBounded) {
  EXPECT_EQ(eval("1..1000000000"), "error: the expression takes too many steps");
  EXPECT_EQ(eval("repeat('aaaaaaaaaa', 1000000000)"), "error: the expression builds too much data");
  EXPECT_EQ(eval("map(1..2000, map(1..2000, #))").substr(0, 6), "error:");
  EXPECT_EQ(eval("reduce(1..100, [#acc, #acc], 0)"), "error: the expression builds too much data");
  EXPECT_EQ(eval("reduce(1..5000, [#acc], 0)"), "error: the expression or its data nests too deep");
  EXPECT_EQ(eval(std::string(5000, '(')).substr(0, 7), "refused");
  EXPECT_EQ(eval(std::string(5000, '-') + "1").substr(0, 7), "refused");
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  EXPECT_EQ(eval(sum).substr(0, 7), "refused");
  EXPECT_EQ(eval("((1))", Budget(BudgetLimits{.steps_max = 0})),
            "error: the expression takes too many steps");
}

}  // namespace
}  // namespace pawl::expr
