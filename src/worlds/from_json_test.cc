// What JSON is a value of a type, and what is refused, with its place.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

struct Reading {
  const char* json;
  const char* result;  // hex, or the refusal
};

void expect_readings(std::string_view type_json, std::initializer_list<Reading> readings,
                     Lens lens = Lens::Sugar) {
  const Type type = type_of(type_json);
  for (const Reading& reading : readings)
    EXPECT_EQ(json_to_hex(type, reading.json, lens), reading.result)
        << type_json << " " << reading.json;
}

std::string text_hex(std::string_view text) {
  std::string out;
  cbor::put_text(out, text);
  return to_hex(out);
}

TEST(FromJson, Bool) {
  expect_readings(R"({"bool":{}})", {{"true", "f5"}, {"false", "f4"}});
  for (const char* bad : {"0", "1", "null", R"("true")", "[]", "{}"})
    expect_readings(R"({"bool":{}})", {{bad, "value: expected true or false"}});
}

TEST(FromJson, IntegersAreExactLiteralsInTheirRange) {
  constexpr const char* kInt = "value: expected an integer from -2^63 to 2^63-1";
  constexpr const char* kNat = "value: expected an integer from 0 to 2^64-1";
  expect_readings(R"({"int":{}})", {{"9223372036854775807", "1b7fffffffffffffff"},
                                    {"-9223372036854775808", "3b7fffffffffffffff"},
                                    {"9007199254740993", "1b0020000000000001"},
                                    {"-0", "00"},
                                    {"9223372036854775808", kInt},
                                    {"-9223372036854775809", kInt},
                                    {"-18446744073709551616", kInt},
                                    {"1.0", kInt},
                                    {"1e3", kInt},
                                    {"\"1\"", kInt},
                                    {"true", kInt},
                                    {"null", kInt}});
  expect_readings(R"({"nat":{}})", {{"0", "00"},
                                    {"18446744073709551615", "1bffffffffffffffff"},
                                    {"18446744073709551616", kNat},
                                    {"100000000000000000000000000000", kNat},
                                    {"-1", kNat},
                                    {"0.0", kNat},
                                    {"\"0\"", kNat}});
}

TEST(FromJson, TimesAreNeverNegativeDurationsMayBe) {
  expect_readings(
      R"({"time":{}})",
      {{"9223372036854775807", "1b7fffffffffffffff"},
       {"9223372036854775808",
        "value: expected a time: nanoseconds since 1970, an integer from 0 to 2^63-1"},
       {"-1", "value: expected a time: nanoseconds since 1970, an integer from 0 to 2^63-1"}});
  expect_readings(
      R"({"duration":{}})",
      {{"-1", "20"},
       {"9223372036854775808",
        "value: expected a duration: nanoseconds, an integer from -2^63 to 2^63-1"},
       {R"("1s")", "value: expected a duration: nanoseconds, an integer from -2^63 to 2^63-1"}});
}

TEST(FromJson, Dec128IsKeptAsWritten) {
  const Type type = type_of(R"({"dec128":{}})");
  for (const std::string text :
       {"0", "1", "-1", "-12.50", "0.00", "-0.01", "1000000000000000000000000000000000",
        "1.234567890123456789012345678901234", "-9999999999999999999999999999999999"})
    EXPECT_EQ(json_to_hex(type, "\"" + text + "\""), text_hex(text));
  for (const std::string text :
       {"", "-", "+1", "01", "1.", ".5", "-0", "-0.00", "1e3", "1 ", " 1", "1,5", "0x1", "NaN",
        "--1", "1.2.3", "10000000000000000000000000000000000",
        "1.2345678901234567890123456789012345"})
    EXPECT_EQ(json_to_hex(type, "\"" + text + "\""),
              "value: expected text with a decimal number of at most 34 digits, such as \"-12.50\"")
        << text;
  EXPECT_NE(json_to_hex(type, "1"), "6131");
}

TEST(FromJson, BytesAreCanonicalBase64) {
  constexpr const char* kBytes = "value: expected bytes (in JSON: text in base64 with padding)";
  expect_readings(
      R"({"bytes":{}})",
      {{R"("")", "40"}, {R"("AAEC/w==")", "44000102ff"}, {R"("AAEC\/w\u003d=")", "44000102ff"}});
  for (const char* bad :
       {R"("AAEC/w")", R"("AAEC/x==")", R"("AAEC_w==")", R"("A A=")", R"("hello")", "[]", "null"})
    expect_readings(R"({"bytes":{}})", {{bad, kBytes}});
}

TEST(FromJson, TextIsDecoded) {
  expect_readings(R"({"text":{}})", {{R"("")", "60"},
                                     {R"("\u00e4\n\"")", "64c3a40a22"},
                                     {R"("\ud83d\ude00")", "64f09f9880"},
                                     {R"("a\u0000b")", "63610062"},
                                     {"7", "value: expected text"},
                                     {"null", "value: expected text"}});
}

TEST(FromJson, HashesHaveOneForm) {
  const std::string hash = "sha256:" + sha256_hex("");
  const Type type = type_of(R"({"hash":{}})");
  EXPECT_EQ(json_to_hex(type, "\"" + hash + "\""), text_hex(hash));
  for (const std::string& bad :
       {hash.substr(7), hash + "0", "sha256:" + std::string(64, 'A'), std::string()})
    EXPECT_EQ(json_to_hex(type, "\"" + bad + "\""),
              "value: expected a hash: \"sha256:\" and 64 hex digits in lower case");
}

TEST(FromJson, UuidsAreFoldedToLowerCase) {
  const Type type = type_of(R"({"uuid":{}})");
  const std::string folded = text_hex("01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(json_to_hex(type, R"("01890a5d-ac96-774b-bcce-b302099a8057")"), folded);
  EXPECT_EQ(json_to_hex(type, R"("01890A5D-AC96-774B-BCCE-B302099A8057")"), folded);
  for (const char* bad :
       {R"("01890a5dac96774bbcceb302099a8057")", R"("{01890a5d-ac96-774b-bcce-b302099a8057}")",
        R"("01890a5d-ac96-774b-bcce-b302099a805g")", R"("01890a5d-ac96-774b-bcce_b302099a8057")",
        R"("")"})
    EXPECT_EQ(json_to_hex(type, bad),
              "value: expected a UUID, such as \"01890a5d-ac96-774b-bcce-b302099a8057\"")
        << bad;
}

TEST(FromJson, UnitIsNull) {
  expect_readings(
      R"({"unit":{}})",
      {{"null", "f6"}, {"{}", "value: expected null"}, {"false", "value: expected null"}});
}

TEST(FromJson, RecordsHaveAllTheirFieldsAndNoOthers) {
  expect_readings(R"({"record":{"a":{"nat":{}},"b":{"option":{"record":{"c":{"bool":{}}}}}}})",
                  {{R"({"a":1})",
                    "a2616101"
                    "6162f6"},
                   {R"({"b":null,"a":1})",
                    "a2616101"
                    "6162f6"},
                   {R"({"b":{"c":true},"\u0061":1})",
                    "a2616101"
                    "6162a16163f5"},
                   {R"({"b":null})", "a: is missing"},
                   {R"({"a":1,"d":null})", "d: there is no such field"},
                   {R"({"a":1,"\u0061":1})", "a: stands twice"},
                   {R"({"a":1,"b":{}})", "b.c: is missing"},
                   {R"({"a":1,"b":{"c":1}})", "b.c: expected true or false"},
                   {R"({"a":null})", "a: expected an integer from 0 to 2^64-1"},
                   {R"([1])", "value: expected an object with the fields of a record"}});
  expect_readings(R"({"record":{}})",
                  {{"{}", "a0"},
                   {R"({"a":1})", "a: there is no such field"},
                   {"null", "value: expected an object with the fields of a record"}});
}

TEST(FromJson, VariantsHaveTwoSpellings) {
  constexpr const char* kVariant =
      R"(value: expected a variant: {"$tag": …, "$value": …} or {tag: …})";
  constexpr const char* kPaid = "a264247461676450616964662476616c756505";
  constexpr const char* kOpen = "a16424746167644f70656e";
  expect_readings(
      R"({"variant":{"Paid":{"nat":{}},"Open":{"unit":{}},"Maybe":{"option":{"nat":{}}}}})",
      {{R"({"Paid":5})", kPaid},
       {R"({"$tag":"Paid","$value":5})", kPaid},
       {R"({"$value":5,"$tag":"Paid"})", kPaid},
       {R"({"\u0050aid":5})", kPaid},
       {R"({"$tag":"\u0050aid","$value":5})", kPaid},
       {R"({"Open":null})", kOpen},
       {R"({"$tag":"Open"})", kOpen},
       {R"({"$tag":"Open","$value":null})", kOpen},
       {R"({"Maybe":null})", "a26424746167654d61796265662476616c7565f6"},
       {R"({"Paid":"5"})", "Paid: expected an integer from 0 to 2^64-1"},
       {R"({"$tag":"Paid"})", "Paid: the arm's value is missing"},
       {R"({"Open":{}})", "Open: expected null"},
       {R"({"$tag":"Open","$value":0})", "Open: expected null"},
       {R"({"Gone":null})", "value: there is no arm of this name"},
       {R"({"$tag":"Gone"})", "value: there is no arm of this name"},
       {R"({"$tag":5})", "value: $tag must be text"},
       {R"({"Paid":5,"Open":null})", kVariant},
       {R"({"Paid":5,"Paid":5})", kVariant},
       {R"({"Paid":5,"$value":5})", kVariant},
       {R"({"$tag":"Paid","Paid":5})", kVariant},
       {R"({"$tag":"Paid","$tag":"Paid"})", kVariant},
       {R"({"$tag":"Paid","$value":5,"x":1})", kVariant},
       {R"({"$value":5})", kVariant},
       {"{}", kVariant},
       {R"("Open")", kVariant},
       {"5", kVariant}});
}

TEST(FromJson, ListsKeepTheirOrderSetsDoNot) {
  expect_readings(R"({"list":{"nat":{}}})", {{"[]", "80"},
                                             {"[2,1,2]", "83020102"},
                                             {"[1,-1]", "1: expected an integer from 0 to 2^64-1"},
                                             {"{}", "value: expected a list"}});
  expect_readings(R"({"set":{"int":{}}})",
                  {{"[]", "80"},
                   {"[2,1,2]", "820102"},
                   {"[-1,24,0]", "8300181820"},
                   {"[true]", "0: expected an integer from -2^63 to 2^63-1"},
                   {"7", "value: expected a set, as a list"}});
  expect_readings(R"({"set":{"set":{"text":{}}}})",
                  {{R"([["b","a"],["a","b","a"],[]])", "82808261616162"}});
  // Equal once they are canonical.
  expect_readings(R"({"set":{"variant":{"A":{"unit":{}}}}})",
                  {{R"([{"A":null},{"$tag":"A"}])", "81a164247461676141"}});
}

TEST(FromJson, SetsOfAnySizeAreOrdered) {
  std::string json = "[", expected = "99012c";
  for (int i = 299; i >= 0; --i)
    json += std::to_string(i) + "," + std::to_string(i) + (i > 0 ? "," : "]");
  std::string numbers;
  for (uint64_t i = 0; i < 300; ++i) cbor::put_nat(numbers, i);
  EXPECT_EQ(json_to_hex(type_of(R"({"set":{"nat":{}}})"), json), expected + to_hex(numbers));
}

TEST(FromJson, MapsAreObjectsOrPairs) {
  constexpr const char* kMap = "value: expected a map: an object, or a list of [key, value]";
  expect_readings(R"({"map":{"key":{"text":{}},"value":{"nat":{}}}})",
                  {{R"({"bb":1,"a":2})", "a261610262626201"},
                   {R"([["bb",1],["a",2]])", "a261610262626201"},
                   {"{}", "a0"},
                   {"[]", "a0"},
                   {R"({"a":1,"\u0061":2})", "value: a key stands twice"},
                   {R"([["a",1],["a",1]])", "value: a key stands twice"},
                   {R"({"a":-1})", "a: expected an integer from 0 to 2^64-1"},
                   {R"([["a",1],["b",-1]])", "1: expected an integer from 0 to 2^64-1"},
                   {R"([["a"]])", "0: expected a key with a value"},
                   {R"([["a",1,2]])", "0: expected a key with a value"},
                   {R"(["a",1])", "0: expected a key with a value"},
                   {R"([[1,1]])", "0: expected text"},
                   {"null", kMap}});
  expect_readings(
      R"({"map":{"key":{"nat":{}},"value":{"nat":{}}}})",
      {{"[[256,0],[3,1]]", "a2030119010000"},
       {"[[3,0],[3,1]]", "value: a key stands twice"},
       {R"([["3",0]])", "0: expected an integer from 0 to 2^64-1"},
       {R"({"3":0})", "value: expected a map, as a list of [key, value]: its keys are integers"},
       {"{}", "a0"}});
  expect_readings(R"({"map":{"key":{"int":{}},"value":{"unit":{}}}})",
                  {{"[[-1,null],[0,null]]", "a200f620f6"}});
  expect_readings(
      R"({"map":{"key":{"uuid":{}},"value":{"unit":{}}}})",
      {{R"({"01890a5d-ac96-774b-bcce-b302099a8057":null,"01890A5D-AC96-774B-BCCE-B302099A8057":null})",
        "value: a key stands twice"},
       {R"({"x":null})",
        "x: as a key: expected a UUID, such as \"01890a5d-ac96-774b-bcce-b302099a8057\""}});
}

TEST(FromJson, OptionsAreNullOrTheValue) {
  expect_readings(R"({"list":{"option":{"nat":{}}}})",
                  {{"[null,0]", "82f600"}, {"[[]]", "0: expected an integer from 0 to 2^64-1"}});
  const Type type =
      type_of(R"({"record":{"a":{"ref":"x/O@1"}}})", R"({"x/O@1":{"option":{"nat":{}}}})");
  EXPECT_EQ(json_to_hex(type, "{}"), "a16161f6");
}

TEST(FromJson, TaggedScalarsNameTheirType) {
  const auto tagged = [](std::string_view type, std::initializer_list<Reading> readings) {
    expect_readings(type, readings, Lens::Tagged);
  };
  tagged(R"({"nat":{}})", {{R"({"nat":42})", "182a"},
                           {R"({"int":42})", R"(value: expected {"nat": …})"},
                           {"42", R"(value: expected {"nat": …})"},
                           {R"({"nat":42,"int":42})", R"(value: expected {"nat": …})"},
                           {R"({"nat":"42"})", "value: expected an integer from 0 to 2^64-1"}});
  tagged(R"({"text":{}})",
         {{R"({"text":"a"})", "6161"}, {R"("a")", R"(value: expected {"text": …})"}});
  tagged(R"({"bytes":{}})", {{R"({"bytes":"AA=="})", "4100"}});
  tagged(R"({"bool":{}})", {{R"({"bool":true})", "f5"}});
  tagged(R"({"unit":{}})", {{R"({"unit":{}})", "f6"},
                            {R"({"unit":null})", R"(value: expected {"unit": {}})"},
                            {"null", R"(value: expected {"unit": …})"}});
}

TEST(FromJson, TaggedContainersHoldTaggedValues) {
  const auto tagged = [](std::string_view type, std::initializer_list<Reading> readings) {
    expect_readings(type, readings, Lens::Tagged);
  };
  tagged(R"({"record":{"a":{"nat":{}},"b":{"option":{"text":{}}}}})",
         {{R"({"record":{"a":{"nat":1},"b":{"null":{}}}})", "a26161016162f6"},
          {R"({"record":{"a":{"nat":1},"b":{"text":"x"}}})", "a261610161626178"},
          {R"({"record":{"a":{"nat":1}}})", "a26161016162f6"},
          {R"({"record":{"a":1}})", R"(a: expected {"nat": …})"},
          {R"({"record":{"a":{"nat":1},"b":null}})", R"(b: expected {"text": …})"},
          {R"({"a":{"nat":1}})", R"(value: expected {"record": …})"}});
  tagged(R"({"variant":{"Paid":{"nat":{}},"Open":{"unit":{}}}})",
         {{R"({"variant":{"tag":"Paid","value":{"nat":5}}})",
           "a264247461676450616964662476616c756505"},
          {R"({"variant":{"tag":"Open"}})", "a16424746167644f70656e"},
          {R"({"variant":{"value":{"unit":{}},"tag":"Open"}})", "a16424746167644f70656e"},
          {R"({"variant":{"tag":"Open","value":null}})", R"(Open: expected {"unit": …})"},
          {R"({"variant":{"tag":"Paid"}})", "Paid: the arm's value is missing"},
          {R"({"variant":{"tag":"Gone"}})", "value: there is no arm of this name"},
          {R"({"variant":{"tag":"Open","more":1}})",
           R"(value: expected {"variant": {"tag": tag, "value": …}})"},
          {R"({"variant":{"tag":"Open","tag":"Open"}})",
           R"(value: expected {"variant": {"tag": tag, "value": …}})"},
          {R"({"variant":"Open"})", R"(value: expected {"variant": {"tag": tag, "value": …}})"},
          {R"({"Open":{"unit":{}}})", R"(value: expected {"variant": …})"}});
  tagged(R"({"list":{"nat":{}}})", {{R"({"list":[{"nat":2},{"nat":1}]})", "820201"},
                                    {R"({"set":[]})", R"(value: expected {"list": …})"},
                                    {R"({"list":[1]})", R"(0: expected {"nat": …})"}});
  tagged(R"({"set":{"nat":{}}})", {{R"({"set":[{"nat":2},{"nat":1},{"nat":2}]})", "820102"}});
  tagged(
      R"({"map":{"key":{"text":{}},"value":{"nat":{}}}})",
      {{R"({"map":[{"key":{"text":"b"},"value":{"nat":1}},{"value":{"nat":2},"key":{"text":"a"}}]})",
        "a2616102616201"},
       {R"({"map":[{"key":{"text":"b"},"value":{"nat":1}},{"key":{"text":"b"},"value":{"nat":1}}]})",
        "value: a key stands twice"},
       {R"({"map":[{"key":{"text":"b"}}]})", "0: expected a key with a value"},
       {R"({"map":[{"key":{"text":"b"},"value":{"nat":1},"x":1}]})",
        "0: expected a key with a value"},
       {R"({"map":{"b":{"nat":1}}})",
        "value: expected a map: an object, or a list of [key, value]"}});
  tagged(R"({"option":{"nat":{}}})", {{R"({"null":{}})", "f6"},
                                      {R"({"nat":1})", "01"},
                                      {R"({"option":null})", R"(value: expected {"nat": …})"},
                                      {"null", R"(value: expected {"nat": …})"}});
}

TEST(FromJson, NamesThePlaceOfWhatIsWrong) {
  expect_readings(
      R"({"record":{"orders":{"list":{"variant":{"Paid":{"map":{"key":{"text":{}},"value":{"record":{"cents":{"nat":{}}}}}}}}}}})",
      {{R"({"orders":[{"Paid":{}},{"Paid":{"a b":{"cents":1.5}}}]})",
        "orders.1.Paid.a b.cents: expected an integer from 0 to 2^64-1"}});
  const std::string key(100, 'k');
  EXPECT_EQ(json_to_hex(type_of(R"({"map":{"key":{"text":{}},"value":{"nat":{}}}})"),
                        "{\"" + key + "\":true}"),
            key.substr(0, 64) + ": expected an integer from 0 to 2^64-1");
}

// Ten bytes of JSON for each record of a thousand fields that may be left out.
TEST(FromJson, AValueIsAtMost16MiBHoweverSmallItsText) {
  std::string type = R"({"list":{"record":{)";
  for (int i = 0; i < 1000; ++i)
    type +=
        (i > 0 ? "," : "") + std::string("\"f") + std::to_string(i) + R"(":{"option":{"nat":{}}})";
  std::string json = "[{}";
  for (int i = 0; i < 10'000; ++i) json += ",{}";
  EXPECT_NE(json_to_hex(type_of(type + "}}}"), json + "]").find("the value is too large"),
            std::string::npos);
  EXPECT_EQ(cbor_to_hex(type_of(type + "}}}"), "81a0").substr(0, 6), "81b903");
}

TEST(FromPlainJson, TakesWhatCborHas) {
  const auto plain = [](std::string_view json) {
    const auto doc = json::parse(json);
    if (!doc.ok()) return doc.error().message;
    const auto bytes = from_plain_json(doc->root());
    return bytes.ok() ? to_hex(*bytes) : bytes.error().message;
  };
  EXPECT_EQ(plain(R"({"b":[1,-1,null,true,false],"a":"\u00e4","aa":{}})"),
            "a3616162c3a4616285"
            "0120f6f5f4"
            "626161a0");
  EXPECT_EQ(plain("[18446744073709551615,-18446744073709551616]"),
            "821bffffffffffffffff3bffffffffffffffff");
  for (std::string_view bad :
       {"18446744073709551616", "-18446744073709551617", "1.0", "1e2", "0.5", "-1.0"})
    EXPECT_EQ(plain(bad), "value: expected an integer from -2^64 to 2^64-1") << bad;
  EXPECT_EQ(plain(R"({"a":[{"b":1.5}]})"), "a.0.b: expected an integer from -2^64 to 2^64-1");
  EXPECT_EQ(plain(R"({"a":{"b":1,"\u0062":2}})"), "a: a member stands twice");
  const std::string deep(64, '[');
  EXPECT_EQ(plain(deep + std::string(64, ']')).size(), 128u);
  EXPECT_NE(plain("[" + deep + std::string(65, ']')).find("nested deeper than 64"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::worlds
