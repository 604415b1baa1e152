#include "expr/cel/parser.h"

#include <gtest/gtest.h>

#include "expr/testing/cel_eval.h"

namespace pawl::expr {
namespace {

std::string refusal(std::string_view source) {
  Result<Ast> ast = parse(source);
  return ast.ok() ? "accepted" : ast.error().message;
}

TEST(Parser, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(refusal("1 +"), "line 1, column 4: expected a value, found the end of the expression");
  EXPECT_EQ(refusal("a\n  ? b"),
            "line 2, column 6: expected ':' of the conditional, found the end of the expression");
  EXPECT_EQ(refusal("f(1, 2"),
            "line 1, column 7: expected ',' or ')', found the end of the expression");
  EXPECT_EQ(refusal("[1, 2"),
            "line 1, column 6: expected ',' or ']', found the end of the expression");
  EXPECT_EQ(refusal("{1 2}"), "line 1, column 4: expected ':' between key and value, found '2'");
  EXPECT_EQ(refusal("'é' @"), "line 1, column 5: unexpected character '@'");
  EXPECT_EQ(refusal("1 2"),
            "line 1, column 3: expected an operator or the end of the expression, found '2'");
  EXPECT_EQ(refusal("for + 1"),
            "line 1, column 1: expected a value, found the reserved word 'for'");
}

TEST(Parser, ErrorsCarryTheByteOffset) {
  const Result<Ast> ast = parse("'é' + ?");
  ASSERT_FALSE(ast.ok());
  EXPECT_EQ(ast.error().complaints.at(0).path, "1:7");
  EXPECT_EQ(ast.error().complaints.at(0).code, "offset:7");
}

TEST(Parser, PrecedenceAndAssociativity) {
  EXPECT_EQ(eval("2 + 3 * 4 - 10 / 5"), "12");
  EXPECT_EQ(eval("10 - 3 - 2"), "5");
  EXPECT_EQ(eval("1 < 2 == true"), "true");
  EXPECT_EQ(eval("true || false && false"), "true");
  EXPECT_EQ(eval("false ? 1 : true ? 2 : 3"), "2");
  EXPECT_EQ(eval("!false && !!true"), "true");
  EXPECT_EQ(eval("- -5"), "5");
}

TEST(Parser, IntegersAtTheEdges) {
  EXPECT_EQ(eval("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(eval("0xFF + 0x10"), "271");
  EXPECT_EQ(eval("18446744073709551615u"), "18446744073709551615u");
  for (const char* bad : {"9223372036854775808", "1 - 9223372036854775808", "18446744073709551616u",
                          "1e999", "0x", "12ab"}) {
    EXPECT_EQ(eval(bad).substr(0, 8), "refused:") << bad;
  }
}

TEST(Parser, Literals) {
  EXPECT_EQ(eval(R"('a\tb\x41\u00e9\U0001F600\101')"), "\"a\\x09bAé😀A\"");
  EXPECT_EQ(eval(R"(b'\xff\377A')"), "b\"\\xff\\xffA\"");
  EXPECT_EQ(eval(R"(r'\n' + R"\t")"), R"("\\n\\t")");
  EXPECT_EQ(eval("'''a\r\nb'''"), "\"a\\x0ab\"");
  EXPECT_EQ(eval("br'\\x'"), R"(b"\\x")");
  for (const char* bad : {"'a", "'a\nb'", R"('\q')", R"('\ud800')", R"(b'\u0041')", R"('\x4')",
                          R"('\400')", "'\xff'"}) {
    EXPECT_EQ(refusal(bad).substr(0, 5), "line ") << bad;
  }
}

TEST(Parser, CommentsAndTrailingCommas) {
  EXPECT_EQ(eval("[1, // one\n 2,]"), "[1, 2]");
  EXPECT_EQ(eval("{'a': 1,}"), "{\"a\": 1}");
}

TEST(Parser, QuotedFieldsAndReservedFieldNames) {
  EXPECT_EQ(eval_json("m.`content-type` + m.for", R"({"m":{"content-type":"x","for":"y"}})"),
            "\"xy\"");
  EXPECT_EQ(refusal("m.``").substr(0, 5), "line ");
}

TEST(Parser, MacrosCheckTheirArguments) {
  EXPECT_EQ(refusal("has(a)"),
            "line 1, column 5: has() expects a field selection such as has(a.b)");
  EXPECT_EQ(refusal("[1].map(a.b, 1)"),
            "line 1, column 10: map() expects a plain variable name here");
  EXPECT_EQ(refusal("[1].all(i, i, true)"),
            "line 1, column 12: all() expects two different variable names");
  EXPECT_EQ(refusal("cel.block(1, 2)"),
            "line 1, column 11: cel.block() expects a list literal as its first argument");
}

TEST(Parser, DepthSizeAndLengthAreBounded) {
  for (const std::string& hostile : {std::string(100000, '('), std::string(60000, '['),
                                     std::string(60000, '-') + "1", std::string(60000, '!') + "x",
                                     "1" +
                                         [] {
                                           std::string s;
                                           for (int i = 0; i < 20000; ++i) s += "+1";
                                           return s;
                                         }(),
                                     "a" +
                                         [] {
                                           std::string s;
                                           for (int i = 0; i < 20000; ++i) s += ".b";
                                           return s;
                                         }(),
                                     std::string(70000, 'a')}) {
    const Result<Ast> ast = parse(hostile);
    ASSERT_FALSE(ast.ok()) << hostile.substr(0, 10);
    EXPECT_EQ(ast.error().code, ErrorCode::TooLarge) << hostile.substr(0, 10);
  }
  EXPECT_TRUE(parse(std::string(100, '(') + "1" + std::string(100, ')')).ok());
}

TEST(Parser, LongLogicalChainsAreNotDeep) {
  std::string source = "false";
  for (int i = 0; i < 2000; ++i) source += " || false";
  EXPECT_EQ(eval(source + " || true"), "true");
}

}  // namespace
}  // namespace pawl::expr
