// What CBOR is a value of a type, and what is refused; and values as JSON.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

struct CborReading {
  const char* hex;  // spaces do not count
  const char* result;
};

void expect_cbor(std::string_view type_json, std::initializer_list<CborReading> readings) {
  const Type type = type_of(type_json);
  for (const CborReading& reading : readings) {
    std::string hex(reading.hex);
    std::erase(hex, ' ');
    EXPECT_EQ(cbor_to_hex(type, hex), reading.result) << type_json << " " << reading.hex;
  }
}

constexpr const char* kHexOfUuid =
    "782430313839306135642d616339362d373734622d626363652d623330323039396138303537";
constexpr const char* kHexOfUuidUpper =
    "782430313839304135442d414339362d373734422d424343452d423330323039394138303537";

TEST(FromCbor, ScalarsKeepTheirNativeTypes) {
  constexpr const char* kInt = "value: expected an integer from -2^63 to 2^63-1";
  constexpr const char* kNat = "value: expected an integer from 0 to 2^64-1";
  constexpr const char* kBytes = "value: expected bytes (in JSON: text in base64 with padding)";
  expect_cbor(R"({"bool":{}})", {{"f5", "f5"},
                                 {"f4", "f4"},
                                 {"01", "value: expected true or false"},
                                 {"6474727565", "value: expected true or false"}});
  expect_cbor(R"({"int":{}})", {{"3b7fffffffffffffff", "3b7fffffffffffffff"},
                                {"3b8000000000000000", kInt},
                                {"1b8000000000000000", kInt},
                                {"1800", "00"},
                                {"6131", kInt},
                                {"f6", kInt}});
  expect_cbor(
      R"({"nat":{}})",
      {{"1bffffffffffffffff", "1bffffffffffffffff"}, {"20", kNat}, {"6131", kNat}, {"f5", kNat}});
  expect_cbor(
      R"({"time":{}})",
      {{"00", "00"},
       {"20", "value: expected a time: nanoseconds since 1970, an integer from 0 to 2^63-1"},
       {"1b8000000000000000",
        "value: expected a time: nanoseconds since 1970, an integer from 0 to 2^63-1"}});
  expect_cbor(R"({"duration":{}})", {{"20", "20"}});
  expect_cbor(
      R"({"bytes":{}})",
      {{"42ff00", "42ff00"}, {"5802ff00", "42ff00"}, {"6161", kBytes}, {"6441414141", kBytes}});
  expect_cbor(R"({"text":{}})", {{"6161", "6161"},
                                 {"4161", "value: expected text"},
                                 {"61ff", "CBOR: text that is not UTF-8 at byte 0"}});
  expect_cbor(R"({"unit":{}})", {{"f6", "f6"},
                                 {"a0", "value: expected null"},
                                 {"f7", "CBOR: neither false, true nor null at byte 0"}});
  expect_cbor(
      R"({"dec128":{}})",
      {{"662d31322e3530", "662d31322e3530"},
       {"622d30",
        "value: expected text with a decimal number of at most 34 digits, such as \"-12.50\""},
       {"01",
        "value: expected text with a decimal number of at most 34 digits, such as \"-12.50\""}});
  expect_cbor(R"({"uuid":{}})",
              {{kHexOfUuid, kHexOfUuid},
               {kHexOfUuidUpper, kHexOfUuid},
               {"50 01890a5dac96774bbcceb302099a8057",
                "value: expected a UUID, such as \"01890a5d-ac96-774b-bcce-b302099a8057\""}});
  expect_cbor(R"({"hash":{}})",
              {{"6161", "value: expected a hash: \"sha256:\" and 64 hex digits in lower case"}});
}

TEST(FromCbor, RecordsInAnyOrderBecomeCanonical) {
  expect_cbor(R"({"record":{"a":{"nat":{}},"bb":{"option":{"text":{}}}}})",
              {{"a2616101626262f6", "a2616101626262f6"},
               {"a2626262f6616101", "a2616101626262f6"},
               {"a1616101", "a2616101626262f6"},
               {"b80161611801", "a2616101626262f6"},
               {"a1 626262f6", "a: is missing"},
               {"a2 616101 6163f6", "c: there is no such field"},
               {"a2 616101 01f6", "value: a key of a record is no text"},
               {"a2 616101 616101", "CBOR: a duplicate key at byte 4"},
               {"a2616101 62626201", "bb: expected text"},
               {"a2616101626262f600", "CBOR: bytes follow the value at byte 8"},
               {"bf616101ff", "CBOR: an indefinite length at byte 0"},
               {"8101", "value: expected an object with the fields of a record"}});
}

TEST(FromCbor, VariantsHaveTwoSpellings) {
  constexpr const char* kVariant =
      R"(value: expected a variant: {"$tag": …, "$value": …} or {tag: …})";
  constexpr const char* kPaid = "a264247461676450616964662476616c756505";
  constexpr const char* kOpen = "a16424746167644f70656e";
  expect_cbor(R"({"variant":{"Paid":{"nat":{}},"Open":{"unit":{}}}})",
              {{kPaid, kPaid},
               {"a1 6450616964 05", kPaid},
               {"a2 662476616c7565 05 6424746167 6450616964", kPaid},
               {kOpen, kOpen},
               {"a1 644f70656e f6", kOpen},
               {"a2 6424746167 644f70656e 662476616c7565 f6", kOpen},
               {"a1 644f70656e 00", "Open: expected null"},
               {"a1 6424746167 6450616964", "Paid: the arm's value is missing"},
               {"a1 6424746167 00", kVariant},
               {"a1 662476616c7565 00", kVariant},
               {"a1 64476f6e65 f6", "value: there is no arm of this name"},
               {"a2 6450616964 05 644f70656e f6", kVariant},
               {"a1 01 05", kVariant},
               {"a0", kVariant},
               {"05", kVariant},
               {"644f70656e", kVariant}});
}

TEST(FromCbor, SetsAndMapsBecomeCanonical) {
  expect_cbor(R"({"set":{"nat":{}}})", {{"83020102", "820102"},
                                        {"820102", "820102"},
                                        {"8120", "0: expected an integer from 0 to 2^64-1"},
                                        {"a0", "value: expected a set, as a list"}});
  expect_cbor(R"({"list":{"nat":{}}})", {{"83020102", "83020102"},
                                         {"9801181801", "CBOR: bytes follow the value at byte 4"},
                                         {"98011818", "811818"}});
  expect_cbor(R"({"map":{"key":{"nat":{}},"value":{"text":{}}}})",
              {{"a2 0361 78 19010061 79",
                "a203617819010061"
                "79"},
               {"a2 190100 6179 03 6178",
                "a203617819010061"
                "79"},
               {"82 82 190100 6179 82 03 6178",
                "a203617819010061"
                "79"},
               {"82 82 03 6179 82 03 6178", "value: a key stands twice"},
               {"a1 6133 6178", "3: expected an integer from 0 to 2^64-1"},
               {"a1 03 00", "0: expected text"},
               {"81 81 03", "0: expected a key with a value"},
               {"00", "value: expected a map: an object, or a list of [key, value]"}});
  std::string twice = std::string("a2") + kHexOfUuid + "f6" + kHexOfUuidUpper +
                      "f6";  // one key once they are folded
  EXPECT_EQ(cbor_to_hex(type_of(R"({"map":{"key":{"uuid":{}},"value":{"unit":{}}}})"), twice),
            "value: a key stands twice");
}

TEST(ToJson, PrintsTheSugar) {
  constexpr std::tuple<const char*, const char*, const char*> kValues[] = {
      {R"({"nat":{}})", "1bffffffffffffffff", "18446744073709551615"},
      {R"({"int":{}})", "3b7fffffffffffffff", "-9223372036854775808"},
      {R"({"bytes":{}})", "44000102ff", R"("AAEC/w==")"},
      {R"({"text":{}})", "62220a", R"("\"\n")"},
      {R"({"unit":{}})", "f6", "null"},
      {R"({"record":{"bb":{"option":{"text":{}}},"a":{"bool":{}}}})", "a26161f5626262f6",
       R"({"a":true,"bb":null})"},
      {R"({"variant":{"Paid":{"record":{"cents":{"nat":{}}}},"Open":{"unit":{}}}})",
       "a264247461676450616964662476616c7565a16563656e747305",
       R"({"$tag":"Paid","$value":{"cents":5}})"},
      {R"({"variant":{"Paid":{"nat":{}},"Open":{"unit":{}}}})", "a16424746167644f70656e",
       R"({"$tag":"Open"})"},
      {R"({"list":{"set":{"bytes":{}}}})", "818241004101", R"([["AA==","AQ=="]])"},
      {R"({"map":{"key":{"text":{}},"value":{"bytes":{}}}})", "a161614100", R"({"a":"AA=="})"},
      {R"({"map":{"key":{"nat":{}},"value":{"text":{}}}})", "a20361781901006179",
       R"([[3,"x"],[256,"y"]])"},
      {R"({"map":{"key":{"int":{}},"value":{"text":{}}}})", "a0", "[]"},
      {R"({"map":{"key":{"text":{}},"value":{"text":{}}}})", "a0", "{}"},
  };
  for (const auto& [type, hex, json] : kValues) EXPECT_EQ(hex_to_json(type_of(type), hex), json);
}

// Bytes that are not of the type are a damaged disk: they are printed as they are, or as null.
TEST(ToJson, SurvivesBytesOfAnotherType) {
  const Type type = type_of(
      R"({"record":{"a":{"variant":{"A":{"list":{"map":{"key":{"nat":{}},"value":{"nat":{}}}}}}}}})");
  EXPECT_EQ(hex_to_json(type, "ff"), "null");
  EXPECT_EQ(hex_to_json(type, ""), "null");
  EXPECT_EQ(hex_to_json(type, "8101"), "[1]");
  EXPECT_EQ(hex_to_json(type, "a26161a1642474616700616205"), R"({"a":{"$tag":0},"b":5})");
  EXPECT_EQ(hex_to_json(type, "a1 6161a2642474616761 41662476616c7565 81 a1 6161 01"), "null");
  EXPECT_EQ(hex_to_json(type, "a16161a264247461676141662476616c756581a1616101"),
            R"({"a":{"$tag":"A","$value":[[["a",1]]]}})");
}

}  // namespace
}  // namespace pawl::worlds
