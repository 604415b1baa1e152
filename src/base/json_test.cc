#include "base/json.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "base/plain_text.h"

namespace pawl::json {
namespace {

std::string refusal(std::string_view text, Limits limits = {}) {
  auto doc = parse(text, limits);
  return doc.ok() ? "accepted" : doc.error().message;
}

TEST(Json, KeepsTheExactTextOfEveryValue) {
  std::string text = R"( {"args": [1, 3.140, null, {"a":"\u00e9\n"}], "n": -0.0e+1 } )";
  auto doc = parse(text);
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ(doc->root().find("args")->raw(), R"([1, 3.140, null, {"a":"\u00e9\n"}])");
  EXPECT_EQ(doc->root().find("n")->raw(), "-0.0e+1");
  EXPECT_EQ(doc->root().size(), 2u);
  EXPECT_FALSE(doc->root().find("missing"));
}

TEST(Json, DecodesStrings) {
  auto doc = parse(R"(["plain", "\"\\\/\b\f\n\r\t", "\ud83d\ude00", "é"])");
  ASSERT_TRUE(doc.ok());
  std::vector<std::string> texts;
  doc->root().each_element([&](View v) { texts.push_back(v.string()); });
  EXPECT_EQ(texts, (std::vector<std::string>{"plain", "\"\\/\b\f\n\r\t", "😀", "é"}));
}

TEST(Json, IntegersAreExactOrNothing) {
  auto doc = parse("[9223372036854775807, 9223372036854775808, 1.0, 1e3, 1.5, -7]");
  ASSERT_TRUE(doc.ok());
  std::vector<std::optional<int64_t>> numbers;
  doc->root().each_element([&](View v) { numbers.push_back(v.as_int()); });
  EXPECT_EQ(numbers, (std::vector<std::optional<int64_t>>{INT64_MAX, std::nullopt, 1, 1000,
                                                          std::nullopt, -7}));
}

TEST(Json, TheLastOfTwoEqualKeysCounts) {
  auto doc = parse(R"({"a":1,"\u0061":2})");
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ(doc->root().find("a")->raw(), "2");
}

TEST(Json, RefusesWhatTheStandardRefuses) {
  for (std::string_view bad : {"",
                               " ",
                               "{",
                               "[1,]",
                               "{\"a\":}",
                               "{a:1}",
                               "01",
                               "1.",
                               ".5",
                               "+1",
                               "1e",
                               "nul",
                               "True",
                               "'a'",
                               "\"a",
                               "\"\t\"",
                               "\"\\x\"",
                               "\"\\u12\"",
                               "\"\\ud800\"",
                               "\"\\udc00\"",
                               "\"\xff\"",
                               "\"\xc0\xaf\"",
                               "\"\xed\xa0\x80\"",
                               "[1 2]",
                               "{\"a\" 1}",
                               "1 1",
                               "[]]",
                               "\"\\u-123\"",
                               "NaN",
                               "-"})
    EXPECT_NE(refusal(bad), "accepted") << bad;
}

TEST(Json, SaysWhereAndWhat) {
  EXPECT_EQ(refusal("{\"a\":tru}"), "JSON: unknown word at byte 5");
  EXPECT_EQ(refusal("[[[1]]]", {.depth_max = 2}), "JSON: nested deeper than 2 at byte 3");
  EXPECT_EQ(refusal("[1,2,3]", {.nodes_max = 3}), "JSON: too many values at byte 5");
}

TEST(Json, DeepNestingIsRefusedNotCrashed) {
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "accepted");
}

// Whatever text goes in through the writer comes out of the parser unchanged.
TEST(JsonWriter, QuotingRoundTrips) {
  std::string all;
  for (int c = 0; c < 128; ++c) all.push_back(static_cast<char>(c));
  all += "é😀";
  std::string out;
  Writer(out).begin_array().string(all).string("").end_array();
  auto doc = parse(out);
  ASSERT_TRUE(doc.ok()) << out;
  std::vector<std::string> texts;
  doc->root().each_element([&](View v) { texts.push_back(v.string()); });
  EXPECT_EQ(texts, (std::vector<std::string>{all, ""}));
}

// Eight bytes are checked at a time: a special byte is found at any position in a text of any
// length.
TEST(PlainText, EndsAtTheFirstSpecialByte) {
  for (int special = 0; special < 256; ++special) {
    const bool escaped = special < 0x20 || special == '"' || special == '\\';
    for (size_t size = 1; size <= 20; ++size) {
      for (size_t at = 0; at < size; ++at) {
        std::string text(size, 'x');
        text[at] = text[size - 1] = static_cast<char>(special);
        EXPECT_EQ(plain_length<HighBytes::Plain>(text), escaped ? at : size) << special;
        EXPECT_EQ(plain_length<HighBytes::Special>(text), escaped || special >= 0x80 ? at : size)
            << special;
      }
    }
  }
}

TEST(JsonWriter, PlacesCommas) {
  std::string out;
  Writer w(out);
  w.begin_object()
      .field("a", "x")
      .key("b")
      .begin_array()
      .integer(1)
      .boolean(true)
      .null()
      .end_array();
  w.key("c").begin_object().end_object().field_raw("d", "{\"e\":1}").key("t").time(0).end_object();
  EXPECT_EQ(out,
            R"({"a":"x","b":[1,true,null],"c":{},"d":{"e":1},"t":"1970-01-01T00:00:00.000Z"})");
}

}  // namespace
}  // namespace pawl::json
