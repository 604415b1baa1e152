#include <gtest/gtest.h>

#include "expr/cel/compare.h"
#include "expr/cel/convert.h"
#include "expr/testing/cel_eval.h"

namespace pawl::expr {
namespace {

TEST(Compare, NumbersByValueAcrossTypes) {
  EXPECT_EQ(eval("1 == 1u && 1u == 1.0 && 1 == 1.0 && 2 > 1.5 && 1u < 2 && -1 < 0u"), "true");
  EXPECT_EQ(eval("9007199254740993 == 9007199254740993u"), "true");
  EXPECT_EQ(eval("0.0 / 0.0 == 0.0 / 0.0"), "false");
  EXPECT_EQ(eval("0.0 / 0.0 < 1 || 0.0 / 0.0 >= 1"), "false");
  EXPECT_EQ(eval("9223372036854775807 < 1e300 && -9223372036854775808 > -1e300"), "true");
}

TEST(Compare, DifferentKindsAreUnequalButNotOrdered) {
  EXPECT_EQ(eval("1 == '1'"), "false");
  EXPECT_EQ(eval("null == 0"), "false");
  EXPECT_EQ(eval("1 < '1'"), "error: line 1, column 3: no such overload: _<_(int, string)");
  EXPECT_EQ(eval("[1] < [2]").substr(0, 6), "error:");
}

TEST(Compare, MapsIgnoreOrderAndKeyTypes) {
  EXPECT_EQ(eval("{1: 'a', 2: [1]} == {2u: [1.0], 1.0 == 1.0 ? 1 : 0: 'a'}"), "true");
  EXPECT_EQ(eval("{'a': 1} == {'a': 1, 'b': 2}"), "false");
  EXPECT_EQ(eval("1.0 in {1: true} && 2u in [1, 2]"), "true");
  EXPECT_EQ(eval("'1' in {1: true}"), "false");
}

TEST(Map, FindsKeysBeyondTheLinearSize) {
  EXPECT_EQ(
      eval("cel.bind(m, lists.range(200).transformMap(i, v, v * v), m[199] + m[7u] + m[3.0])"),
      "39659");
  EXPECT_EQ(eval("{1: 1, 1u: 2}"), "error: line 1, column 1: Failed with repeated key: 1");
  EXPECT_EQ(eval("{1.5: 1}"), "error: line 1, column 1: unsupported key type: double");
}

TEST(Lists, Indexing) {
  EXPECT_EQ(eval("[7, 8][1] + [7, 8][1u] + [7, 8][0.0]"), "23");
  EXPECT_EQ(eval("[7][1]"),
            "error: line 1, column 4: invalid_argument: index out of bounds: 1 of a list of 1");
  EXPECT_EQ(eval("[7][-1]").substr(0, 6), "error:");
  EXPECT_EQ(eval("[7]['0']").substr(0, 6), "error:");
  EXPECT_EQ(eval("[7][0.5]").substr(0, 6), "error:");
}

TEST(Optionals, ChainWithoutErrors) {
  const char* document = R"({"m":{"a":{"b":1},"n":null}})";
  EXPECT_EQ(eval_json("m.?a.b", document), "optional.of(1)");
  EXPECT_EQ(eval_json("m.?x.b.orValue(7)", document), "7");
  EXPECT_EQ(eval_json("m[?'a'].?b.hasValue() && !m.?x.hasValue() && !has(m.x)", document), "true");
  EXPECT_EQ(eval_json("[?m.?a.b, ?m.?q]", document), "[1]");
  EXPECT_EQ(eval_json("{?'k': m.?q, ?'l': m.?a.b}", document), "{\"l\": 1}");
  EXPECT_EQ(eval_json("m.?a.optMap(x, x.b + 1).orValue(0)", document), "2");
  EXPECT_EQ(eval_json("optional.of(1).or(1/0 == 1 ? optional.none() : optional.none())", document),
            "optional.of(1)");
  EXPECT_EQ(eval_json("[?1]", document).substr(0, 6), "error:");
  EXPECT_EQ(eval_json("optional.none().value()", document).substr(0, 6), "error:");
  EXPECT_EQ(eval_json("m.?n.x", document).substr(0, 6), "error:");
}

TEST(Arithmetic, OverflowIsAnError) {
  for (const char* overflow :
       {"9223372036854775807 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 2",
        "-(-9223372036854775807 - 1)", "0u - 1u", "-9223372036854775808 / -1",
        "-9223372036854775808 % -1", "1 / 0", "1u % 0u", "-1u", "1.5 % 1.0"}) {
    EXPECT_EQ(eval(overflow).substr(0, 6), "error:") << overflow;
  }
  EXPECT_EQ(eval("1.0 / 0.0"), "+Inf");
  EXPECT_EQ(eval("-7 / 2 * 10 + -7 % 2"), "-31");
}

std::string json_of(std::string_view source) {
  Budget budget;
  const Result<Value> json =
      to_json(Program::compile(source).value()->evaluate(Variables(), budget).value(), budget);
  return json.ok() ? json->json() : "error: " + json.error().message;
}

TEST(Convert, EveryKindHasAJsonForm) {
  EXPECT_EQ(json_of("[1, 2u, 1.5, true, null, 'x', b'hi', {'a': 1, 2: 3, true: 4}]"),
            R"([1,2,1.5,true,null,"x","aGk=",{"a":1,"2":3,"true":4}])");
  EXPECT_EQ(json_of("[timestamp('2026-01-02T03:04:05.6Z'), duration('90s'), int, optional.of(1), "
                    "optional.none(), ip('::1'), cidr('10.0.0.0/8')]"),
            R"(["2026-01-02T03:04:05.6Z","90s","int",1,null,"::1","10.0.0.0/8"])");
}

TEST(Convert, WhatJsonCannotSayIsAnError) {
  for (const char* source : {"0.0 / 0.0", "1.0 / 0.0", "18446744073709551615u", "{1: 1, '1': 2}"}) {
    EXPECT_EQ(json_of(source).substr(0, 6), "error:") << source;
  }
}

TEST(Convert, TextIsWhatAPersonWouldWrite) {
  const auto text = [](const Val& value) {
    Budget budget;
    return to_text(value, budget).value();
  };
  EXPECT_EQ(text(Val::real(1000000)), "1000000");
  EXPECT_EQ(text(Val::real(2.50)), "2.5");
  EXPECT_EQ(text(Val::real(1e21)), "1000000000000000000000");
  EXPECT_EQ(text(Val::string("as it is \"")), "as it is \"");
  EXPECT_EQ(text(Val::list({Val::string("a"), Val::real(1)})), "[\"a\",1.0]");
  EXPECT_EQ(text(Val::null()), "null");
}

TEST(Convert, SharedPartsAreCountedEachTime) {
  Val value = Val::list({Val::integer(1)});
  for (int i = 0; i < 60; ++i) value = Val::list({value, value});
  Budget budget;
  EXPECT_EQ(to_json(value, budget).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace pawl::expr
