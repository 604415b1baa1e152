#include "base/value.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pawl
