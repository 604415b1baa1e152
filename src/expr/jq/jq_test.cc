#include "expr/jq/jq.h"

#include <gtest/gtest.h>

namespace pawl::expr {
namespace {

// The outputs, separated by blanks.
std::string run(std::string_view source, std::string_view input = "null", Budget budget = Budget(),
                std::string_view variables = "{}") {
  const auto program = JqProgram::compile(source);
  if (!program.ok()) return "refused: " + program.error().message;
  const auto outputs = (*program)->run(*Value::parse(input), budget, *Value::parse(variables));
  if (!outputs.ok()) return "error: " + outputs.error().message;
  std::string out;
  for (const Value& value : *outputs) out += (out.empty() ? "" : " ") + value.json();
  return out;
}

struct JqCase {
  const char* source;
  const char* input;
  const char* outputs;
};
void expect_all_jq(std::initializer_list<JqCase> cases) {
  for (const JqCase& each : cases)
    EXPECT_EQ(run(each.source, each.input), each.outputs) << each.source;
}

TEST(Jq, PathsAndIteration) {
  expect_all_jq({
      {".a.b, .\"a\"[\"b\"], .a.[\"b\"]", R"({"a":{"b":2}})", "2 2 2"},
      {".[], .[1:3], .[-1], .[9], .[:-2]", "[1,2,3]", "1 2 3 [2,3] 3 null [1]"},
      {".[2:4]", R"("äbcdef")", R"("cd")"},
      {".a?, (.[0]? // \"none\")", R"({"b":1})", R"(null "none")"},
      {"[..|numbers]", R"([[1],{"a":2}])", "[1,2]"},
      {".[\"a\",\"b\"]", R"({"a":1,"b":2})", "1 2"},
      {"[paths]", R"({"a":[1]})", R"([["a"],["a",0]])"},
      {"path(.a[0:2][0]?), path(first(.x,.y)), path(getpath([\"p\",1]))", "null",
       R"(["a",{"start":0,"end":2},0] ["x"] ["p",1])"},
  });
}

TEST(Jq, LiteralsAndConstruction) {
  expect_all_jq({
      {"{a:1,b:(2,3)}, {(\"k\"):1|.+1, \"x y\":2}", "null",
       R"({"a":1,"b":2} {"a":1,"b":3} {"k":2,"x y":2})"},
      {"{a,\"b\",$__x}", R"({"a":1,"b":2})", R"(error: line 1, column 8: $__x is not defined)"},
      {"\"a\\(1,2)b\\(\"c\\(3)\")\"", "null", R"("a1bc3" "a2bc3")"},
      {"\"\\u00e9\\ud83d\\ude00\\n\" | length", "null", "3"},
      {"[], [1,[2]], {}, true, null, \"\", 1e3, .5", "null",
       R"([] [1,[2]] {} true null "" 1000.0 0.5)"},
      {"9007199254740993 + 0, 9223372036854775807 + 1", "null",
       "9007199254740993 9223372036854775808.0"},
  });
}

TEST(Jq, OperatorsAndOrder) {
  expect_all_jq({
      {"(1,2)+(10,20), 7/2, 6/2, -7%3, \"ab\"*2, \"a,b\"/\",\"", "null",
       R"(11 12 21 22 3.5 3 -1 "abab" ["a","b"])"},
      {"[1,2,1]-[1], {a:{b:1}}*{a:{c:2}}, {a:1}+{b:2}, null+1", "null",
       R"([2] {"a":{"b":1,"c":2}} {"a":1,"b":2} 1)"},
      {"sort", R"([{"b":1},{"a":2},[1],"b","a",2,1.5,true,false,null])",
       R"([null,false,true,1.5,2,"a","b",[1],{"a":2},{"b":1}])"},
      {"1 == 1.0, \"a\" < \"b\", [1,2] < [1,3], nan < nan, nan == nan", "null",
       "true true true true false"},
      {"(false,null,1) // 42, (empty // 2), (error(\"x\") // 3)", "null", "1 2 3"},
      {"true and (true,false), (null or 1), (1|not)", "null", "true false true false"},
      {"1 + 2 * 3 - -4, (1 as $x | $x + 1)", "null", "11 2"},
      {"try (1/0) catch ., try ({}+1) catch .", "null",
       R"("number (1) and number (0) cannot be divided because the divisor is zero" "object ({}) and number (1) cannot be added")"},
  });
}

TEST(Jq, ControlFlow) {
  expect_all_jq({
      {"if . > 1 then \"big\" elif . == 1 then \"one\" else \"small\" end, if false then 9 end",
       "1", R"("one" 1)"},
      {"[.[] | try if . > 1 then error({v:.}) else . end catch .v]", "[1,2]", "[1,2]"},
      {"try error catch ., [.[]?], (try error(\"\\(1)\") catch .)", R"("x")", R"("x" [] "1")"},
      {"[label $out | .[] | if . > 2 then break $out else . end]", "[1,2,3,1]", "[1,2]"},
      {"reduce .[] as [$a,$b] (0; . + $a * $b)", "[[1,2],[3,4]]", "14"},
      {"[foreach .[] as $x (0; . + $x; [$x,.])], [foreach .[] as $x (0; . + $x)]", "[1,2]",
       "[[1,1],[2,3]] [1,3]"},
      {". as {a:$x, $b, c:[$d]} | [$x,$b,$d]", R"({"a":1,"b":2,"c":[3]})", "[1,2,3]"},
      {"[.[] as [$a] ?// $a | $a]", "[[1],2]", "[1,2]"},
      {"def f(g; $n): [g, $n]; f(.+1; 1,2)", "5", "[6,1] [6,2]"},
      {"def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; fac", "15", "1307674368000"},
      {"def f: def g: 3; g * 2; f, ([limit(3; range(10))]), first(range(5;9)), [limit(0; 1)]",
       "null", "6 [0,1,2] 5 []"},
      {"[until(. > 100; . * 2)], [while(. < 5; . + 1)], [limit(4; repeat(. * 2))]", "1",
       "[128] [1,2,3,4] [1,2,4,8]"},
      {"(try error(\"a\") catch .) as $e | $e, isempty(empty), ([.[]] | any), (all)",
       "[true,false]", R"("a" true true false)"},
  });
}

// A try does not catch an error of a later filter.
TEST(Jq, TryDoesNotCatchWhatHappensToItsOutputs) {
  EXPECT_EQ(run("(try 1 catch 2) | error(\"later\")"), "error: line 1, column 19: later");
  EXPECT_EQ(run(".[]? | error(\"later\")", "[1]"), "error: line 1, column 8: later");
  EXPECT_EQ(run("(1 // 2) | error(\"later\")"), "error: line 1, column 12: later");
}

TEST(Jq, Assignment) {
  expect_all_jq({
      {".a = 1, (.b |= . + 1), (.b += 2), (.c //= 3), (.a,.b) = 0", R"({"b":2})",
       R"({"b":2,"a":1} {"b":3} {"b":4} {"b":2,"c":3} {"b":0,"a":0})"},
      {".[] -= 1, .[0] *= 3, .[1] /= 2, .[1] %= 2", "[2,4]", "[1,3] [6,4] [2,2] [2,0]"},
      {".[1:2] = [\"x\",\"y\"], (.[0:2] |= map(. * 10)), (.[] |= empty)", "[1,2,3]",
       R"([1,"x","y",3] [10,20,3] [])"},
      {".a.b[1].c = 1", "null", R"({"a":{"b":[null,{"c":1}]}})"},
      {"del(.[1,2]), del(.[] | select(. > 1)), del(.[1:])", "[1,2,3]", "[1] [1] [1]"},
      {"del(.a.b, .c), delpaths([[\"a\"],[\"a\",\"b\"]]), to_entries[0].key, pick(.a.b)",
       R"({"a":{"b":1,"d":2},"c":3})", R"({"a":{"d":2}} {"c":3} "a" {"a":{"b":1}})"},
      {"map_values(. + 1), with_entries(.value += 1), (.. |= .)", R"({"a":1})",
       R"({"a":2} {"a":2} {"a":1})"},
      {"try (.a = 1) catch ., try (path(1)) catch .", "[]",
       R"~("Cannot index array with \"a\"" "Invalid path expression with result number (1)")~"},
  });
}

TEST(Jq, Collections) {
  expect_all_jq({
      {"keys, length, has(\"a\"), ([.[]] | add), to_entries", R"({"b":1,"a":2})",
       R"(["a","b"] 2 true 3 [{"key":"b","value":1},{"key":"a","value":2}])"},
      {"from_entries", R"([{"key":"a","value":1},{"name":"b","value":null},{"k":1,"v":3}])",
       R"({"a":1,"b":null,"1":3})"},
      {"group_by(.a) | map(length), (.[0] | add | .a)", R"([{"a":2},{"a":1},{"a":2}])", "[1,2] 1"},
      {"sort_by(.a, -.b), unique_by(.a), min_by(.b), max_by(.b)",
       R"([{"a":1,"b":1},{"a":0,"b":3},{"a":1,"b":2}])",
       R"([{"a":0,"b":3},{"a":1,"b":2},{"a":1,"b":1}] [{"a":0,"b":3},{"a":1,"b":1}] {"a":1,"b":1} {"a":0,"b":3})"},
      {"flatten, flatten(1), reverse, unique, min, max, (map(tostring) | join(\"-\"))",
       "[3,[1,[1]],3]",
       R"([3,1,1,3] [3,1,[1],3] [3,[1,[1]],3] [3,[1,[1]]] 3 [1,[1]] "3-[1,[1]]-3")"},
      {"transpose, combinations, (.[0] | index(1), inside([1,2,3])), bsearch([5])", "[[1,2],[3]]",
       "[[1,3],[2,null]] [1,3] [2,3] 0 true -3"},
      {"walk(if type == \"number\" then . + 1 else . end), [tostream], fromstream(tostream)",
       R"([1,{"a":2}])", R"([2,{"a":3}] [[[0],1],[[1,"a"],2],[[1,"a"]],[[1]]] [1,{"a":2}])"},
      {"contains([\"ba\"]), any(. == \"bar\"), IN([\"bar\"]), INDEX(.)", R"(["bar"])",
       R"(true true true {"bar":"bar"})"},
  });
}

TEST(Jq, Strings) {
  expect_all_jq({
      {"startswith(\"a\"), ltrimstr(\"a\"), rtrimstr(\"c\"), ascii_upcase, explode, "
       "(explode|implode)",
       R"("abc")", R"(true "bc" "ab" "ABC" [97,98,99] "abc")"},
      {"split(\", \"), [splits(\",\\\\s*\")], indices(\",\"), test(\"B\";\"i\")", R"("a, b,c")",
       R"(["a","b,c"] ["a","b","c"] [1,4] true)"},
      {"[match(\"(?<x>a)|b\"; \"g\") | [.offset, .string, .captures[0].name, "
       ".captures[0].string]]",
       R"("éab")", R"([[1,"a","x","a"],[2,"b","x",null]])"},
      {"capture(\"(?<y>\\\\d+)-(?<m>\\\\d+)\"), [scan(\"\\\\d\")], sub(\"(?<d>\\\\d)\"; "
       "\"<\\(.d)>\"), "
       "gsub(\"\\\\d\"; \"x\", \"y\")",
       R"("20-5")", R"({"y":"20","m":"5"} ["2","0","5"] "<2>0-5" "xx-x" "yy-y")"},
      {"gsub(\"\"; \"-\"), trim, @text, @json, @sh, tojson, (tojson|fromjson)", R"(" é")",
       R"("- -é-" "é" " é" "\" é\"" "' é'" "\" é\"" " é")"},
      {"@csv, @tsv, @html \"<\\(.[1])>\", @uri \"\\(.[1])\", (@base64|.,@base64d), @base32",
       R"([1,"a\"b&",null])",
       R"("1,\"a\"\"b&\"," "1\ta\"b&\t" "<a&quot;b&amp;>" "a%22b%26" "WzEsImFcImImIixudWxsXQ==" "[1,\"a\\\"b&\",null]" "LMYSYITBLQRGEJRCFRXHK3DMLU======")"},
      {"todate, (todate|fromdate), (gmtime|mktime), strftime(\"%A %d %B %Y %j\")", "1425599621",
       R"("2015-03-05T23:53:41Z" 1425599621 1425599621 "Thursday 05 March 2015 064")"},
      {"strftime(\"%c|%D %R %I%p %u %s%%\"), (try strftime(\"%Q\") catch \"no\")", "1425599621",
       R"("Thu Mar  5 23:53:41 2015|03/05/15 23:53 11PM 4 1425599621%" "no")"},
      {"(strptime(\"%A, %d %b %Y %T\") | mktime), (try strptime(\"%Y\") catch \"no\")",
       R"("Thursday, 05 Mar 2015 23:53:41")", R"(1425599621 "no")"},
      {"[.[] | tonumber? // \"bad\"], (.[1] | ascii_downcase)", R"(["12","X","1.5"])",
       R"([12,"bad",1.5] "x")"},
  });
}

TEST(Jq, Numbers) {
  expect_all_jq({
      {"floor, ceil, round, sqrt, pow(.; 2), abs, (infinite|isinfinite), (nan|isnan), log2", "2.25",
       "2 3 2 1.5 5.0625 2.25 true true 1.1699250014423124"},
      {"[range(3)], [range(5;0;-2)], [range(0,1;3,4)], toarray", "1",
       "[0,1,2] [5,3,1] [0,1,2,0,1,2,3,1,2,1,2,3] [1]"},
      {"infinite, -infinite, nan", "null", "1.7976931348623157e+308 -1.7976931348623157e+308 null"},
  });
}

TEST(Jq, NothingOutsideIsReachable) {
  EXPECT_EQ(run("env, $ENV, env.PATH"), "{} null null");
  for (const char* source : {"input", "inputs", "now", "halt", "input_filename", "localtime",
                             "import \"a\" as a; .", "include \"a\"; .", "$__loc__", "a::b"}) {
    EXPECT_EQ(run(source).substr(0, 7), "refused") << source;
  }
  EXPECT_EQ(run("$a + $b", "null", Budget(), R"({"a":1,"b":2})"), "3");
}

TEST(Jq, ErrorsSayWhere) {
  EXPECT_EQ(run(".a |\n  .b.c", R"({"a":1})"),
            R"(error: line 2, column 3: Cannot index number with "b")");
  EXPECT_EQ(run("map(.x)", "[1]"), R"(error: line 1, column 5: Cannot index number with "x")");
  EXPECT_EQ(run("foo(1)"), "refused: line 1, column 1: foo/1 is not defined");
  EXPECT_EQ(run("\"a\\(1 +)\""), "refused: line 1, column 8: unexpected end");
  EXPECT_EQ(run("break $x"), "refused: line 1, column 1: there is no label $x");
  EXPECT_EQ(run("error({a:1})"), R"(error: line 1, column 1: (not a string): {"a":1})");
  for (const char* broken : {"",
                             ".[",
                             "{a:",
                             "(1",
                             "1 +",
                             "| 1",
                             "if 1 then",
                             "def f: 1",
                             ". as",
                             "\"open",
                             "@nope",
                             "1 == 2 == 3",
                             "reduce . as $x",
                             "}",
                             "\"\\q\"",
                             ". as [$a",
                             "try",
                             "%",
                             "\x01",
                             "{(1)}"}) {
    EXPECT_EQ(run(broken).substr(0, 7), "refused") << broken;
  }
}

// A result of nine megabytes is within the bound of a step's output, however it is made.
TEST(Jq, ALongTextOfShortOnesCostsItsBytes) {
  EXPECT_EQ(run("\"x\" * 9000000 | length"), "9000000");
  EXPECT_EQ(run("\"abc\" * 5, \"abc\" * 1.5, \"\" * 9"), R"("abcabcabcabcabc" "abc" "")");
}

TEST(Jq, EverythingIsBounded) {
  const char* steps = "error: the jq expression takes too many steps";
  const char* bytes = "error: the jq expression builds too much data";
  const char* depth = "error: the jq expression or its data nests too deep";
  EXPECT_EQ(run("[repeat(1)] | length").substr(0, 28), std::string(steps).substr(0, 28));
  EXPECT_EQ(run("def f: f; f"), steps);
  EXPECT_EQ(run("def f: 1 + f; f"), depth);
  EXPECT_EQ(run("def f(x): f(x | 1); f(.)"), depth);
  EXPECT_EQ(run("try repeat(.) catch 1"), steps);
  EXPECT_EQ(run("last(range(infinite))"), steps);
  EXPECT_EQ(run("\"x\" * 1e12"), bytes);
  EXPECT_EQ(run(".[1e8] = 1"), bytes);
  EXPECT_EQ(run("reduce range(100) as $i (0; [., .])"), bytes);
  EXPECT_EQ(run("reduce range(5000) as $i (0; [.])"), depth);
  EXPECT_EQ(run("path(reduce range(5000) as $i (.; .a))"), depth);
  EXPECT_EQ(run("until(false; . + \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\")", "\"\"")
                .substr(0, 6),
            "error:");
  EXPECT_EQ(run(std::string(5000, '[')).substr(0, 7), "refused");
  EXPECT_EQ(run(std::string(5000, '-') + "1").substr(0, 7), "refused");
  std::string chain = "1";
  for (int i = 0; i < 5000; ++i) chain += "+1";
  EXPECT_EQ(run(chain).substr(0, 7), "refused");
}

TEST(Jq, LoopsInTailPositionNeedNoDepth) {
  EXPECT_EQ(run("def r: if . < 50000 then . + 1 | r else . end; 0 | r"), "50000");
  EXPECT_EQ(run("reduce range(20000) as $i ([]; . + [$i]) | length"), "20000");
  EXPECT_EQ(run("reduce range(20000) as $i ({}; .[\"k\\($i % 7)\"] += 1) | .k3"), "2857");
  EXPECT_EQ(run("[range(5000)] | map_values(. + 1) | add"), "12502500");
}

}  // namespace
}  // namespace pawl::expr
