#include "base/value.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"

namespace pawl {
namespace {

std::string round_trip(std::string_view text) {
  Result<Value> value = Value::parse(text);
  return value.ok() ? value->json() : "error: " + value.error().message;
}

TEST(Value, PrintsWhatItReadsCompactAndInOrder) {
  EXPECT_EQ(round_trip(R"( {"z":1 , "a":[true,false,null], "s":"x\ty\u00e9"} )"),
            R"({"z":1,"a":[true,false,null],"s":"x\tyé"})");
}

TEST(Value, IntegersStayExactAndDoublesStayDoubles) {
  EXPECT_EQ(round_trip("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(round_trip("[1.0,1e2,-0.5,9223372036854775808,1e-400]"),
            "[1.0,100.0,-0.5,9223372036854775808.0,0.0]");
}

TEST(Value, RefusesWhatJsonDoesNotAllow) {
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "+1", ".5", "nul", "\"\x01\"", "\"\\x\"", "'a'",
        "[1] 2", "\"\xff\"", "\"\\ud800\"", "\"\\udc00\"", "1e999", "[1 2]"}) {
    EXPECT_FALSE(Value::parse(bad).ok()) << bad;
  }
}

TEST(Value, SurrogatePairsBecomeOneCharacter) {
  EXPECT_EQ(Value::parse(R"("\ud83d\ude00")")->as_string(), "\xF0\x9F\x98\x80");
}

TEST(Value, DepthIsBounded) {
  EXPECT_FALSE(Value::parse(std::string(1000000, '[')).ok());
  EXPECT_FALSE(Value::parse("[[1]]", {.depth_max = 1}).ok());
}

TEST(Value, TheLastOfDuplicateKeysCounts) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(Value, LargeObjectsKeepOrderAndFindEveryKey) {
  Value::Object object;
  for (int i = 0; i < 5000; ++i) object.set("key" + std::to_string(i), i);
  object.set("key7", "replaced");
  EXPECT_EQ(object.size(), 5000u);
  EXPECT_EQ(object.at(7).key, "key7");
  for (int i = 8; i < 5000; ++i) ASSERT_EQ(object.find("key" + std::to_string(i))->as_int(), i);
  EXPECT_TRUE(object.erase("key4000"));
  EXPECT_FALSE(object.contains("key4000"));
  EXPECT_EQ(object.find("key4999")->as_int(), 4999);
}

TEST(Value, EqualityIgnoresOrderAndNumberKind) {
  EXPECT_EQ(*Value::parse(R"({"a":1,"b":[2.0]})"), *Value::parse(R"({"b":[2],"a":1.0})"));
  EXPECT_FALSE(*Value::parse(R"({"a":1})") == *Value::parse(R"({"a":"1"})"));
}

// Everything a reader can learn of it, place by place.
std::string seen(json::View view) {
  std::string line = std::string(json::kind_name(view.kind())) + " " + std::to_string(view.size()) +
                     " " + std::string(view.raw()) + "\n";
  if (view.is_string()) line += view.string() + "\n";
  view.each_element([&](json::View element) { line += seen(element); });
  view.each_member([&](json::View key, json::View value) { line += seen(key) + seen(value); });
  return line;
}

Value random_value(uint64_t& seed, int depth) {
  auto below = [&](uint64_t bound) { return (seed = mix64(seed + 1)) % bound; };
  static const std::vector<std::string> kTexts = {"",
                                                  "plain",
                                                  "with \"quotes\"",
                                                  "\\",
                                                  "line\nfeed",
                                                  std::string("\0\x1f", 2),
                                                  "gr\xc3\xbc\xc3\x9f",
                                                  "\xf0\x9f\x90\xbe paw",
                                                  "a text that is longer than one machine word",
                                                  "\x7f"};
  switch (below(depth == 0 ? 5 : 7)) {
    case 0:
      return Value();
    case 1:
      return below(2) == 0;
    case 2:
      return static_cast<int64_t>(seed);
    case 3:
      return below(9) == 0 ? std::nan("") : static_cast<double>(seed) / 7e3;
    case 4:
      return kTexts[below(kTexts.size())];
    case 5: {
      Value::Array array;
      for (uint64_t i = below(4); i > 0; --i) array.push_back(random_value(seed, depth - 1));
      return array;
    }
    default: {
      Value::Object object;
      for (uint64_t i = below(4); i > 0; --i)
        object.set(kTexts[below(kTexts.size())], random_value(seed, depth - 1));
      return object;
    }
  }
}

TEST(ValueDoc, IsWhatTheParserMakesOfItsText) {
  for (uint64_t seed = 1; seed < 3'000; ++seed) {
    uint64_t dice = seed;
    Value value = random_value(dice, 5);
    ValueDoc written(value);
    ASSERT_EQ(written.text(), value.json());
    const std::string text = written.text();
    auto parsed = json::parse(text);
    ASSERT_TRUE(parsed.ok() && written.status().ok()) << text;
    ASSERT_EQ(seen(written.root()), seen(parsed->root())) << "seed " << seed;
  }
}

TEST(ValueDoc, RefusesWhatTheParserRefuses) {
  auto nested = [](int depth) {
    Value value(1);
    for (int i = 0; i < depth; ++i) value = Value::Array{value};
    return value;
  };
  for (const Value& value :
       {nested(64), nested(65), Value(Value::Array{Value("fine"), Value("ab\xff")}),
        Value(Value::Object{{"gr\xc3", 1}}), Value("\xed\xa0\x80"), Value("\xc3\xbc\xc3")}) {
    const std::string text = value.json();
    ValueDoc written(value);
    auto parsed = json::parse(text);
    ASSERT_EQ(written.status().ok(), parsed.ok()) << text;
    if (parsed.ok()) continue;
    EXPECT_EQ(written.status().error().message, parsed.error().message);
  }
}

}  // namespace
}  // namespace pawl
