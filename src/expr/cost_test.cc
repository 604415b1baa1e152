// Every function must pay in proportion to its work. Each is called with a growing hostile input;
// the steps spent must grow at least as fast as the work, counted in bytes or elements. No clock is
// used: budget.h defines the cost of a step.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "expr/cel/functions.h"
#include "expr/cel/program.h"
#include "expr/exprlang/ast.h"
#include "expr/exprlang/exprlang.h"
#include "expr/jq/jq.h"
#include "expr/jq/machine.h"
#include "expr/schema/json_schema.h"

namespace pawl::expr {
namespace {

constexpr BudgetLimits kPlenty{.steps_max = 1ull << 40, .bytes_max = 1ull << 40};

struct Spent {
  uint64_t steps = 0;
  uint64_t bytes = 0;
  std::string failure;
};

Value text(size_t size) { return Value(std::string(size, 'a')); }
Value numbers(size_t size) {
  Value::Array list;
  for (size_t i = 0; i < size; ++i)
    list.push_back(Value(static_cast<int64_t>(i * 7919 % (size + 1))));
  return list;
}
Value words(size_t size) {
  Value::Array list;
  for (size_t i = 0; i < size; ++i) list.push_back(Value("word" + std::to_string(i * 7919 % size)));
  return list;
}
Value members(size_t size) {
  Value::Object object;
  for (size_t i = 0; i < size; ++i) object.set("name" + std::to_string(i), Value(1));
  return object;
}
Value pairs(size_t size) {
  Value::Array list;
  for (size_t i = 0; i < size; ++i)
    list.push_back(Value::Array{Value("name" + std::to_string(i)), Value(1)});
  return list;
}
Value lists(size_t size) {
  Value::Array list;
  for (size_t i = 0; i < size; ++i) list.push_back(Value::Array{Value(1)});
  return list;
}
Value digits(size_t size) { return Value(std::string(size, '1')); }
Value half_text(size_t size) { return Value(std::string(size / 2, 'a') + "b"); }
Value json_list(size_t size) {
  std::string json = "[1";
  while (json.size() + 3 < size) json += ",1";
  return Value(json + "]");
}
Value base64_text(size_t size) { return Value(std::string(size / 4 * 4, 'A')); }

using Input = Value (*)(size_t);

// `x` is the growing input, `y` the other one.
struct Case {
  std::string_view function;
  std::string expression;
  Input x;
  Input y = half_text;
  uint64_t per_step = 64;  // at most this many bytes or elements for a step
};

Spent run_cel(const Case& test, size_t size) {
  const Value x = test.x(size);
  const Value y = test.y(size);
  Variables variables;
  variables.json("x", x).json("y", y);
  Budget budget(kPlenty);
  auto program = Program::compile(test.expression, CompileOptions::workflow());
  if (!program.ok()) return {0, 0, program.error().message};
  auto result = (*program)->evaluate(variables, budget);
  return {budget.steps_spent(), budget.bytes_spent(), result.ok() ? "" : result.error().message};
}

Spent run_jq(const Case& test, size_t size) {
  const Value input = Value::Object{{"x", test.x(size)}, {"y", test.y(size)}};
  Budget budget(kPlenty);
  auto program = JqProgram::compile(test.expression);
  if (!program.ok()) return {0, 0, program.error().message};
  // Reading the input is paid too, in addition to the function's own cost.
  Budget reading(kPlenty);
  (void)JqProgram::compile("1").value()->run(input, reading);
  auto result = (*program)->run(input, budget);
  return {budget.steps_spent() - reading.steps_spent(), budget.bytes_spent(),
          result.ok() ? "" : result.error().message};
}

Spent run_lang(const Case& test, size_t size) {
  const Value scope = Value::Object{{"x", test.x(size)}, {"y", test.y(size)}};
  Budget budget(kPlenty);
  auto program = ExprLang::compile(test.expression);
  if (!program.ok()) return {0, 0, program.error().message};
  auto result = (*program)->evaluate(scope, budget);
  return {budget.steps_spent(), budget.bytes_spent(), result.ok() ? "" : result.error().message};
}

void check(const std::vector<Case>& cases, Spent (*run)(const Case&, size_t),
           const std::set<std::string, std::less<>>& known,
           const std::set<std::string, std::less<>>& of_fixed_cost) {
  constexpr size_t kSmall = 640;
  std::set<std::string, std::less<>> seen = of_fixed_cost;
  for (const Case& test : cases) {
    seen.insert(std::string(test.function));
    const Spent small = run(test, kSmall);
    const Spent large = run(test, 4 * kSmall);
    EXPECT_EQ(large.failure, "") << test.expression;
    EXPECT_GE(large.steps, small.steps + 3 * kSmall / test.per_step) << test.expression;
  }
  for (const std::string& name : known) EXPECT_TRUE(seen.contains(name)) << name << " is not tried";
}

TEST(Cost, EveryFunctionOfCel) {
  const std::vector<Case> cases = {
      {"contains", "x.contains(y)", text, half_text, 16},
      {"startsWith", "x.startsWith(y)", text},
      {"endsWith", "x.endsWith(y)", text},
      {"matches", "x.matches('b$')", text, half_text, 16},
      {"charAt", "x.charAt(3)", text, half_text, 16},
      {"indexOf", "x.indexOf(y)", text, half_text, 16},
      {"lastIndexOf", "x.lastIndexOf(y)", text, half_text, 16},
      {"lowerAscii", "x.lowerAscii()", text},
      {"upperAscii", "x.upperAscii()", text},
      {"replace", "x.replace(y, 'c')", text, half_text, 16},
      {"replace", "x.replace('a', 'bb')", text, half_text, 1},
      {"split", "x.split(y)", text, half_text, 16},
      {"split", "x.split('')", text, half_text, 1},
      {"substring", "x.substring(2, 5)", text, half_text, 16},
      {"trim", "x.trim()", text},
      {"join", "x.join(y)", words, half_text, 1},
      {"strings.quote", "strings.quote(x)", text, half_text, 16},
      {"reverse", "x.reverse()", text, half_text, 16},
      {"reverse", "x.reverse()", numbers, half_text, 1},
      {"format", "'%s'.format([x])", words, half_text, 1},
      {"format", "'%s'.format([x])", members, half_text, 1},
      {"format", "'%x'.format([x])", text, half_text, 16},
      {"base64.encode", "base64.encode(bytes(x))", text, half_text, 16},
      {"base64.decode", "base64.decode(x)", base64_text, half_text, 16},
      {"slice", "x.slice(0, x.size())", numbers, half_text, 1},
      {"flatten", "x.flatten()", lists, half_text, 1},
      {"distinct", "x.distinct()", numbers, half_text, 1},
      {"sort", "x.sort()", numbers, half_text, 1},
      {"sort", "x.sort()", words, half_text, 1},
      {"lists.range", "lists.range(x.size())", numbers, half_text, 1},
      {"sets.contains", "sets.contains(x, [-1])", numbers, half_text, 1},
      {"sets.equivalent", "sets.equivalent(x, x)", numbers, half_text, 1},
      {"sets.intersects", "sets.intersects(x, [-1])", numbers, half_text, 1},
      {"size", "size(x)", text},
      {"string", "string(bytes(x))", text, half_text, 16},
      {"bytes", "bytes(x)", text},
      {"double", "double(x)", [](size_t size) { return Value("0." + std::string(size, '1')); }},
      {"dyn", "dyn(x) == ''", text},
      {"type", "type(x)", text},
      {"math.greatest", "math.greatest(x)", numbers, half_text, 2},
      {"math.least", "math.least(x)", numbers, half_text, 2},
      {"isIP", "isIP(x)", digits},
      {"isCIDR", "isCIDR(x)", digits},
      {"==", "x == y", text, text},
      {"==", "x == y", numbers, numbers, 1},
      {"==", "x == y", members, members, 1},
      {"in", "-1 in x", numbers, half_text, 1},
      {"in", "x in y", text, members},
      {"+", "x + y", text, text},
      {"+", "x + x", numbers, half_text, 1},
      {"map", "x.map(e, e)", numbers, half_text, 1},
      {"all", "x.all(e, e >= 0)", numbers, half_text, 1},
      {"exists with errors", "x.exists(e, e.a) || true", numbers, half_text, 1},
      {"sortBy", "x.sortBy(e, e)", words, half_text, 1},
      {"transformMap", "x.transformMap(k, v, v)", members, half_text, 1},
      {"a result", "x", numbers, half_text, 2},
      {"a result", "{'a': x}", members, half_text, 1},
  };
  std::set<std::string, std::less<>> known;
  for (const auto family : {conversion_functions(), string_functions(), format_functions(),
                            math_functions(), time_functions(), list_functions(),
                            optional_functions(), network_functions(), encoder_functions()}) {
    for (const Function& function : family) known.insert(std::string(function.name));
  }
  // Functions that read a number, a time, an address or one element. Those that parse text refuse a
  // long one; the call has already paid for its length (Evaluator::call).
  std::set<std::string, std::less<>> fixed = {"bool",
                                              "int",
                                              "uint",
                                              "duration",
                                              "timestamp",
                                              "first",
                                              "last",
                                              "hasValue",
                                              "value",
                                              "cidr",
                                              "ip",
                                              "containsCIDR",
                                              "containsIP",
                                              "family",
                                              "masked",
                                              "prefixLength",
                                              "ip.isCanonical",
                                              "isGlobalUnicast",
                                              "isLinkLocalMulticast",
                                              "isLinkLocalUnicast",
                                              "isLoopback",
                                              "isUnspecified",
                                              "unwrapOpt"};
  for (const std::string& name : known) {
    const bool number = name.starts_with("math.") || name.starts_with("get");
    if (number || name.starts_with("optional.")) fixed.insert(name);
  }
  check(cases, run_cel, known, fixed);
}

TEST(Cost, EveryFunctionOfJq) {
  const std::vector<Case> cases = {
      {"length", ".x | length", text},
      {"utf8bytelength", ".x | utf8bytelength", text},
      {"keys", ".x | keys", members, half_text, 1},
      {"keys", ".x | keys", numbers, half_text, 4},
      {"keys_unsorted", ".x | keys_unsorted", members, half_text, 2},
      {"has", ".x as $x | {} | has($x)", text},
      {"contains", ".y as $y | .x | contains($y)", text, half_text, 16},
      {"contains", ".y as $y | .x | contains($y)", members, members, 1},
      {"contains", ".x | contains([-1])", numbers, half_text, 1},
      {"inside", ".y as $y | $y | inside($y)", text, half_text, 32},
      {"add", ".x | add", numbers, half_text, 1},
      {"add", ".x | add", words, half_text, 1},
      {"flatten", ".x | flatten", lists, half_text, 1},
      {"type", ".x | type", text},
      {"sort", ".x | sort", numbers, half_text, 1},
      {"sort", ".x | sort", words, half_text, 1},
      {"unique", ".x | unique", numbers, half_text, 1},
      {"group_by", ".x | group_by(.)", numbers, half_text, 1},
      {"min", ".x | min", numbers, half_text, 1},
      {"max", ".x | max", words, half_text, 1},
      {"reverse", ".x | reverse", numbers, half_text, 2},
      {"reverse", ".x | reverse", text, half_text, 16},
      {"to_entries", ".x | to_entries", members, half_text, 1},
      {"from_entries", ".x | to_entries | from_entries", members, half_text, 1},
      {"setpath", ".x as $x | {} | setpath([$x]; 1)", text},
      {"delpaths", ".x | delpaths([[0]])", numbers, half_text, 1},
      {"transpose", "[.x, .x] | transpose", numbers, half_text, 1},
      {"tostring", ".x | tostring", numbers, half_text, 1},
      {"tojson", ".x | tojson", text, half_text, 16},
      {"tojson", ".x | tojson", members, half_text, 1},
      {"fromjson", ".x | fromjson", json_list, half_text, 1},
      {"tonumber", ".x | tonumber",
       [](size_t size) { return Value("0." + std::string(size, '1')); }},
      {"error", ".x as $x | try error($x) catch 1", text},
      {"bsearch", ".x as $x | [$x] | bsearch($x)", text},
      {"startswith", ".y as $y | .x | startswith($y)", text},
      {"endswith", ".y as $y | .x | endswith($y)", text},
      {"ltrimstr", ".y as $y | .x | ltrimstr($y)", text},
      {"rtrimstr", ".y as $y | .x | rtrimstr($y)", text},
      {"trimstr", ".y as $y | .x | trimstr($y)", text},
      {"trim", ".x | trim", text},
      {"ltrim", ".x | ltrim", text},
      {"rtrim", ".x | rtrim", text},
      {"explode", ".x | explode", text, half_text, 1},
      {"implode", ".x | explode | implode", text, half_text, 1},
      {"split", ".y as $y | .x | split($y)", text, half_text, 16},
      {"split", ".x | split(\"\")", text, half_text, 1},
      {"split", ".x | split(\"b\"; null)", text, half_text, 16},
      {"join", ".x | join(\",\")", words, half_text, 1},
      {"ascii_downcase", ".x | ascii_downcase", text, half_text, 16},
      {"ascii_upcase", ".x | ascii_upcase", text, half_text, 16},
      {"indices", ".y as $y | .x | indices($y)", text, half_text, 16},
      {"indices", ".x | indices(\"a\")", text, half_text, 1},
      {"indices", ".x | indices(-1)", numbers, half_text, 1},
      {"index", ".x | index(\"b\")", text, half_text, 16},
      {"rindex", ".x | rindex(\"b\")", text, half_text, 16},
      {"_match", "[.x | match(\"b\")]", text, half_text, 16},
      {"test", ".x | test(\"b$\")", text, half_text, 16},
      {"capture", "[.x | capture(\"(?<a>b)\")]", text, half_text, 16},
      {"sub", ".x | sub(\"b\"; \"c\")", text, half_text, 16},
      {"gsub", ".x | gsub(\"b\"; \"c\")", text, half_text, 16},
      {"splits", "[.x | splits(\"b\")]", text, half_text, 16},
      {"strftime", ".x as $x | 0 | strftime($x)", text, half_text, 1},
      {"strptime", ".x as $x | try (\"1\" | strptime($x)) catch 1", text},
      {"toarray", ".x | toarray", text},
      {"not", ".x | not", text},
      {"@base64", ".x | @base64", text, half_text, 16},
      {"@base64d", ".x | @base64d", base64_text, half_text, 16},
      {"@base32", ".x | @base32", text, half_text, 16},
      {"@uri", ".x | @uri", text, half_text, 16},
      {"@html", ".x | @html", text, half_text, 16},
      {"@csv", "[.x] | @csv", text, half_text, 16},
      {"@sh", "[.x] | @sh", text, half_text, 16},
      {"*", "\"ab\" * (.x | length)", numbers, half_text, 64},
      {"/", ".y as $y | .x / $y", text, half_text, 16},
      {"-", ".x - [-1]", numbers, half_text, 1},
      {"+", ".x + .x", numbers, half_text, 4},
      {"==", ".x == .y", members, members, 1},
      {".[a:b]", ".x[1:5]", text, half_text, 16},
      {".[a:b]", ".x[1:]", numbers, half_text, 4},
      {"range", "[range(.x | length)]", numbers, half_text, 1},
      {"limit", "[limit(.x | length; repeat(1))]", numbers, half_text, 1},
      {"paths", "[.x | paths]", numbers, half_text, 1},
      {"walk", ".x | walk(.)", numbers, half_text, 1},
      {"to_value", ".x", numbers, half_text, 1},
  };
  std::set<std::string, std::less<>> known;
  for (const auto& family : {jq::core_natives(), jq::text_natives(), jq::regex_natives()})
    for (const jq::NativeEntry& native : family) known.insert(std::string(native.name));
  for (const jq::NativeEntry& native : jq::time_natives()) known.insert(std::string(native.name));
  check(cases, run_jq, known, {"gmtime", "mktime"});
}

TEST(Cost, EveryFunctionOfExprLang) {
  const std::vector<Case> cases = {
      {"len", "len(x)", text},
      {"keys", "keys(x)", members, half_text, 1},
      {"values", "values(x)", members, half_text, 1},
      {"toPairs", "toPairs(x)", members, half_text, 1},
      {"fromPairs", "fromPairs(x)", pairs, half_text, 1},
      {"sort", "sort(x)", words, half_text, 1},
      {"first", "first(x)", numbers, half_text, 4},
      {"last", "last(x)", numbers, half_text, 4},
      {"take", "take(x, len(x))", numbers, half_text, 1},
      {"flatten", "flatten(x)", lists, half_text, 1},
      {"uniq", "uniq(x)", numbers, half_text, 1},
      {"reverse", "reverse(x)", numbers, half_text, 1},
      {"concat", "concat(x, x)", numbers, half_text, 1},
      {"split", "split(x, y)", text, half_text, 16},
      {"split", "split(x, '')", text, half_text, 1},
      {"join", "join(x, ',')", words, half_text, 1},
      {"upper", "upper(x)", text, half_text, 16},
      {"lower", "lower(x)", text, half_text, 16},
      {"trim", "trim(x, y)", text, half_text, 16},
      {"trimPrefix", "trimPrefix(x, y)", text},
      {"trimSuffix", "trimSuffix(x, y)", text},
      {"hasPrefix", "hasPrefix(x, y)", text},
      {"hasSuffix", "hasSuffix(x, y)", text},
      {"indexOf", "indexOf(x, y)", text, half_text, 16},
      {"lastIndexOf", "lastIndexOf(x, y)", text, half_text, 16},
      {"replace", "replace(x, y, 'c')", text, half_text, 16},
      {"replace", "replace(x, 'a', 'bb')", text, half_text, 1},
      {"repeat", "repeat('ab', len(x))", text},
      {"string", "string(x)", numbers, half_text, 1},
      {"float", "float(x)", [](size_t size) { return Value("0." + std::string(size, '1')); }},
      {"toJSON", "toJSON(x)", members, half_text, 1},
      {"fromJSON", "fromJSON(x)", json_list, half_text, 1},
      {"min", "min(x)", numbers, half_text, 1},
      {"max", "max(x)", numbers, half_text, 1},
      {"mean", "mean(x)", numbers, half_text, 1},
      {"median", "median(x)", numbers, half_text, 1},
      {"get", "get({}, x)", text},
      {"type", "type(x)", text},
      {"contains", "x contains y", text, half_text, 16},
      {"matches", "x matches 'b$'", text, half_text, 16},
      {"startsWith", "x startsWith y", text},
      {"in", "-1 in x", numbers, half_text, 1},
      {"==", "x == y", members, members, 1},
      {"+", "x + y", text, text},
      {"..", "1..len(x)", numbers, half_text, 1},
      {"slice", "x[1:5]", text, half_text, 16},
      {"map", "map(x, # + 1)", numbers, half_text, 1},
      {"groupBy", "groupBy(x, string(#))", numbers, half_text, 1},
      {"sum", "sum(x)", numbers, half_text, 1},
      {"sortBy", "sortBy(x, #)", numbers, half_text, 1},
  };
  std::set<std::string, std::less<>> known;
  for (const lang::Function& function : lang::functions()) known.insert(std::string(function.name));
  check(cases, run_lang, known, {"int", "abs", "ceil", "floor", "round"});
}

uint64_t schema_steps(const std::string& schema, const Value& instance, size_t faults = 0) {
  Budget budget(kPlenty);
  auto compiled = JsonSchema::compile(Value::parse(schema).value());
  EXPECT_TRUE(compiled.ok()) << schema;
  EXPECT_EQ((*compiled)->check(instance, budget).size(), faults) << schema;
  return budget.steps_spent();
}

TEST(Cost, EveryKeywordOfASchemaThatLoops) {
  struct Keyword {
    std::string schema;
    Input instance;
    uint64_t per_step = 64;
    size_t faults = 0;
  };
  const Keyword keywords[] = {
      {R"({"pattern":"^a*$"})", text, 16},
      {R"({"minLength":1})", text},
      {R"({"format":"uri"})", text, 16, 1},
      {R"({"items":{"type":"integer"}})", numbers, 1},
      {R"({"uniqueItems":true})", words, 1},
      {R"({"contains":{"const":-1},"minContains":0})", numbers, 1},
      {R"({"additionalProperties":{"type":"integer"}})", members, 1},
      {R"({"propertyNames":{"pattern":"^n"}})", members, 1},
      {R"({"patternProperties":{"^n":true}})", members, 1},
      {R"({"unevaluatedProperties":true})", members, 1},
      {R"({"unevaluatedItems":true})", numbers, 1},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"items":{"type":"integer"}}}})", numbers, 1},
  };
  for (const Keyword& keyword : keywords) {
    const uint64_t small = schema_steps(keyword.schema, keyword.instance(1'000), keyword.faults);
    const uint64_t large = schema_steps(keyword.schema, keyword.instance(4'000), keyword.faults);
    EXPECT_GE(large, small + 3'000 / keyword.per_step) << keyword.schema;
  }
}

// Compiling is paid as well: by the size of the compiled program, also for failures.
TEST(Cost, RegularExpressionsArePaidByTheirProgram) {
  const auto steps = [](std::string_view pattern) {
    Budget budget(kPlenty);
    std::string error;
    (void)compile_regex(pattern, budget, error);
    return budget.steps_spent();
  };
  EXPECT_LT(steps("^[a-z]+$"), 2'000u);
  EXPECT_GT(steps("[^x]{600}"), 30'000u);
  EXPECT_GT(steps("\\pL{60}"), 60'000u);           // refused: too large
  EXPECT_GT(steps("\\pL\\pN\\pS?"), 9'000u);       // three classes of hundreds of ranges
  EXPECT_LT(steps(std::string(5'000, 'a')), 10u);  // refused by its length
  Budget little(BudgetLimits{.steps_max = 5'000});
  std::string error;
  EXPECT_EQ(compile_regex("\\pL\\pN\\pS?", little, error), nullptr);
  // The size after expanding repetitions is unknown in advance: with a small budget it is not
  // tried.
  Budget small(BudgetLimits{.steps_max = 10'000});
  EXPECT_EQ(compile_regex("a{2}", small, error), nullptr);
  EXPECT_EQ(small.exceeded(), Budget::Exceeded::Steps);
  Budget enough(BudgetLimits{.steps_max = 100'000});
  EXPECT_NE(compile_regex("a{2}", enough, error), nullptr);
  EXPECT_LT(enough.steps_spent(), 1'000u);
  EXPECT_EQ(little.exceeded(), Budget::Exceeded::Steps);
}

// Thousands of patterns in one text are refused before they are compiled, in every language.
TEST(Cost, CompilingIsBounded) {
  std::string cel = "true", lang = "true", schema = "{\"allOf\":[true";
  for (int i = 0; i < 1'000; ++i) {
    const std::string pattern = "[^x]{60" + std::to_string(i % 10) + "}";
    cel += " && a.matches('" + pattern + "')";
    lang += " && a matches '" + pattern + "'";
    schema += ",{\"pattern\":\"" + pattern + "\"}";
  }
  EXPECT_EQ(Program::compile(cel).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(ExprLang::compile(lang).error().code, ErrorCode::TooLarge);
  const auto compiled = JsonSchema::compile(Value::parse(schema + "]}").value());
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(compiled.error().complaints.size(), 1u);  // with the place
}

// A program costs the same whether a cache held it or not.
TEST(Cost, EvaluatingPaysForCompiling) {
  const auto program = Program::compile("'abc'.contains(x) || x.matches('[^x]{600}')").value();
  const Value x("abc");
  Variables variables;
  variables.json("x", x);
  Budget budget(kPlenty);
  ASSERT_TRUE(program->evaluate(variables, budget).ok());
  EXPECT_GT(program->compile_steps(), 30'000u);
  EXPECT_GT(budget.steps_spent(), 30'000u);  // the pattern, each time
}

}  // namespace
}  // namespace pawl::expr
