#include "cli/cbor_text.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

TEST(CborText, ReadsLikeTheJsonThatOneWouldType) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"1901f4", "500"},
      {"3b7fffffffffffffff", "-9223372036854775808"},
      {"3bffffffffffffffff", "-18446744073709551616"},
      {"1bffffffffffffffff", "18446744073709551615"},
      {"a36161016163f5626262f6", R"({"a":1,"c":true,"bb":null})"},
      {"8361616162626161", R"(["a","b","aa"])"},
      {"a20361781901006179", R"({3:"x",256:"y"})"},
      {"44000102ff", "h'000102ff'"},
      {"a264247461676450616964662476616c7565a16563656e7473191068", R"({"Paid":{"cents":4200}})"},
      {"a16424746167644f70656e", R"({"Open":null})"},
      {"81a264247461676144662476616c7565662d31322e3530", R"([{"D":"-12.50"}])"}};
  for (const auto& [hex, text] : kPairs) EXPECT_EQ(cbor_text(from_hex(hex)), text) << hex;
}

TEST(CborText, AMapThatOnlyLooksLikeAVariantStaysAMap) {
  EXPECT_EQ(cbor_text(from_hex("a2642474616701662476616c756502")), R"({"$tag":1,"$value":2})");
  EXPECT_EQ(cbor_text(from_hex("a264247461676141617a02")), R"({"$tag":"A","z":2})");
}

TEST(CborText, OtherBytesAreShownAsBytes) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"", "h''"},
      {"ff", "h'ff'"},
      {"fb3ff0000000000000", "h'fb3ff0000000000000'"},  // a float
      {"c100", "h'c100'"},                              // a tag
      {"6161ff", "h'6161ff'"},                          // trailing bytes
      {"61ff", "h'61ff'"},                              // no UTF-8
      {"9b00000000ffffffff", "h'9b00000000ffffffff'"},  // far fewer elements than it says
      {"5bffffffffffffffff", "h'5bffffffffffffffff'"}};
  for (const auto& [hex, text] : kPairs) EXPECT_EQ(cbor_text(from_hex(hex)), text) << hex;
  std::string deep = cbor_text(std::string(200, '\x81'));  // nested past the bound
  EXPECT_EQ(deep.substr(0, 6), "h'8181");
  std::string
      forked;  // 60 variants in each other, with a wrong byte inside: read once, not 2^60 times
  for (int i = 0; i < 60; ++i) forked += from_hex("a264247461676141662476616c7565");
  EXPECT_EQ(cbor_text(forked + "\xff", 100'000).substr(0, 6), "h'a264");
}

TEST(CborText, LongValuesAreCut) {
  std::string list = from_hex("98c8");  // 200 numbers
  for (int i = 0; i < 200; ++i) list += '\x01';
  EXPECT_EQ(cbor_text(list, 10), "[1,1,1,1,1,…]");
  std::string word = from_hex("7864") + std::string(100, 'x');
  EXPECT_EQ(cbor_text(word, 5), "\"xxxxx\"…");
  EXPECT_EQ(cbor_text(from_hex("62c3a4"), 1), "\"\"…") << "no half of a character";
}

TEST(CborKeyText, TextHasNoQuotes) {
  EXPECT_EQ(cbor_key_text(from_hex("636f2d31")), "o-1");
  EXPECT_EQ(cbor_key_text(from_hex("07")), "7");
  EXPECT_EQ(cbor_key_text(from_hex("63612262")), R"("a\"b")") << "or where it would begin and end";
}

}  // namespace
}  // namespace pawl::cli
