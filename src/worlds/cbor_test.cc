#include "worlds/cbor.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/testing/values.h"

namespace pawl::worlds::cbor {
namespace {

std::string canonical_hex(std::string_view hex) {
  const auto bytes = canonical(from_hex(hex));
  return bytes.ok() ? to_hex(*bytes) : bytes.error().message;
}

template <class Put, class Value>
std::string written(Put put, Value value) {
  std::string out;
  put(out, value);
  return to_hex(out);
}

std::string repeated(std::string_view hex, size_t times, std::string_view last = "") {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += hex;
  return out.append(last);
}

TEST(Cbor, IntegersHaveTheShortestHead) {
  constexpr std::pair<uint64_t, const char*> kNats[] = {{0, "00"},
                                                        {23, "17"},
                                                        {24, "1818"},
                                                        {255, "18ff"},
                                                        {256, "190100"},
                                                        {65535, "19ffff"},
                                                        {65536, "1a00010000"},
                                                        {4294967295, "1affffffff"},
                                                        {4294967296, "1b0000000100000000"},
                                                        {UINT64_MAX, "1bffffffffffffffff"}};
  for (const auto& [value, hex] : kNats) EXPECT_EQ(written(put_nat, value), hex);
  constexpr std::pair<int64_t, const char*> kInts[] = {
      {-1, "20"},       {-24, "37"},
      {-25, "3818"},    {-256, "38ff"},
      {-257, "390100"}, {INT64_MIN, "3b7fffffffffffffff"},
      {1, "01"},        {INT64_MAX, "1b7fffffffffffffff"}};
  for (const auto& [value, hex] : kInts) EXPECT_EQ(written(put_int, value), hex);
}

TEST(Cbor, MapsAreWrittenInTheOrderOfTheirKeysEncodings) {
  std::string out = "x";  // what stands before stays
  Map(out)
      .nat("bb", 1)
      .text("a", "t")
      .null("")
      .bytes("c", "z")
      .boolean("aa", true)
      .integer("b", -1)
      .end();
  EXPECT_EQ(to_hex(out),
            "78"
            "a6"
            "60f6"
            "61616174"
            "616220"
            "6163417a"
            "626161f5"
            "62626201");
}

TEST(Cbor, MapsHoldAnyNumberOfMembersAndMapsWithinThem) {
  for (const size_t size : {0, 1, 15, 16, 17, 23, 24, 255, 256, 1000}) {
    std::string out;
    Map outer(out);
    for (size_t i = size; i > 0; --i)
      Map(outer.value("k" + std::to_string(i))).nat("z", i).null("y").end();
    outer.end();
    const auto item = read(out);
    ASSERT_TRUE(item.ok()) << size;
    EXPECT_TRUE(is_canonical(out)) << size;
    EXPECT_EQ(item->items.size(), 2 * size);
    for (size_t i = 1; i <= size; ++i)
      EXPECT_EQ(item->find("k" + std::to_string(i))->find("z")->number, i);
  }
}

TEST(Cbor, ItemsAreWhatTheBytesSay) {
  const std::string bytes = from_hex(
      "87"
      "1818"
      "3bffffffffffffffff"
      "4200ff"
      "62c3a4"
      "80"
      "a10102"
      "f6");
  const auto item = read(bytes);
  ASSERT_TRUE(item.ok());
  const std::vector<Item>& items = item->items;
  ASSERT_EQ(items.size(), 7u);
  EXPECT_TRUE(items[0].kind == Kind::Nat && items[0].number == 24);
  EXPECT_TRUE(items[1].kind == Kind::Negative && items[1].number == UINT64_MAX);
  EXPECT_TRUE(items[2].is_bytes() && items[2].string == std::string_view("\0\xff", 2));
  EXPECT_TRUE(items[3].is_text() && items[3].string == "ä");
  EXPECT_TRUE(items[4].is_array() && items[4].items.empty());
  EXPECT_TRUE(items[5].is_map() && items[5].items[1].number == 2);
  EXPECT_TRUE(items[6].is_null());
}

TEST(Cbor, FindSeesTextKeysOnly) {
  const std::string bytes = from_hex(
      "a2"
      "416101"
      "616202");  // {h'61': 1, "b": 2}
  const auto item = read(bytes);
  ASSERT_TRUE(item.ok());
  EXPECT_EQ(item->find("a"), nullptr);
  EXPECT_EQ(item->find("b")->number, 2u);
  EXPECT_EQ(item->items[1].find("b"), nullptr);
}

TEST(Cbor, LongHeadsAndUnsortedKeysAreWrittenAgain) {
  constexpr std::pair<const char*, const char*> kSpellings[] = {
      {"1800", "00"},
      {"1b0000000000000018", "1818"},
      {"3800", "20"},
      {"5900026162", "426162"},
      {"7a000000016 1", "6161"},
      {"980100", "8100"},
      {"b90001 0102", "a10102"},
      {"a2616201616102", "a2616102616201"},
      {"a3 20f6 1803f6 00f6", "a300f603f620f6"},   // by encoding: 0, 3, -1
      {"a2 62626201 616102", "a261610262626201"},  // shorter first
      {"81a2 6162a2 0201 0100 616100", "81a2616100 6162a201000201"},
  };
  for (const auto& [given, wanted] : kSpellings) {
    std::string hex(given), expected(wanted);
    std::erase(hex, ' ');
    std::erase(expected, ' ');
    EXPECT_EQ(canonical_hex(hex), expected) << given;
    EXPECT_FALSE(is_canonical(from_hex(hex))) << given;
    EXPECT_TRUE(is_canonical(from_hex(expected))) << wanted;
    EXPECT_EQ(canonical_hex(expected), expected);
  }
}

TEST(Cbor, RefusesWhatIsNotOfTheContract) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"", "CBOR: the bytes end too early at byte 0"},
      {"0000", "CBOR: bytes follow the value at byte 1"},
      {"18", "CBOR: the bytes end too early at byte 0"},
      {"1b00000000000000", "CBOR: the bytes end too early at byte 0"},
      {"82 00", "CBOR: the bytes end too early at byte 0"},
      {"82 8100 19", "CBOR: the bytes end too early at byte 3"},
      {"6261", "CBOR: the bytes end too early at byte 0"},
      {"7bffffffffffffffff61", "CBOR: the bytes end too early at byte 0"},
      {"9bffffffffffffffff00", "CBOR: the bytes end too early at byte 0"},
      {"bb800000000000000000", "CBOR: the bytes end too early at byte 0"},
      {"1c", "CBOR: a reserved head at byte 0"},
      {"1f", "CBOR: an indefinite length at byte 0"},
      {"9fff", "CBOR: an indefinite length at byte 0"},
      {"bfff", "CBOR: an indefinite length at byte 0"},
      {"5f4100ff", "CBOR: an indefinite length at byte 0"},
      {"7f6161ff", "CBOR: an indefinite length at byte 0"},
      {"ff", "CBOR: neither false, true nor null at byte 0"},
      {"c000", "CBOR: a tag at byte 0"},
      {"d9d9f700", "CBOR: a tag at byte 0"},
      {"81c249010000000000000000", "CBOR: a tag at byte 1"},
      {"f7", "CBOR: neither false, true nor null at byte 0"},
      {"e0", "CBOR: neither false, true nor null at byte 0"},
      {"f814", "CBOR: neither false, true nor null at byte 0"},
      {"f90000", "CBOR: a floating-point number at byte 0"},
      {"fa3f800000", "CBOR: a floating-point number at byte 0"},
      {"fb3ff0000000000000", "CBOR: a floating-point number at byte 0"},
      {"61ff", "CBOR: text that is not UTF-8 at byte 0"},
      {"62c080", "CBOR: text that is not UTF-8 at byte 0"},
      {"63eda080", "CBOR: text that is not UTF-8 at byte 0"},
      {"a1 61ff 00", "CBOR: text that is not UTF-8 at byte 1"},
  };
  for (const auto& [given, message] : kRefused) {
    std::string hex(given);
    std::erase(hex, ' ');
    EXPECT_EQ(canonical_hex(hex), message) << given;
    const std::string bytes = from_hex(hex);
    EXPECT_FALSE(read(bytes).ok()) << given;
    EXPECT_FALSE(is_canonical(bytes)) << given;
  }
}

TEST(Cbor, RefusesDuplicateKeysHoweverTheyAreWritten) {
  for (std::string_view hex :
       {"a2 0100 0100", "a2 0100 180100", "a2 616100 78016100", "a3 616200 616100 616200",
        "a2 8101f6 811801f6", "a2 a201f602f6 00 a202f601f6 00", "81 a2 00f6 00f6"}) {
    std::string plain(hex);
    std::erase(plain, ' ');
    EXPECT_NE(canonical_hex(plain).find("a duplicate key"), std::string::npos) << hex;
  }
  std::string many = "b828";  // 40 members, the last as the first
  for (int i = 0; i < 39; ++i)
    many += "18" +
            std::string(i + 30 < 256 ? to_hex(std::string(1, static_cast<char>(100 - i))) : "") +
            "f6";
  EXPECT_EQ(canonical_hex(many + "1865f6").substr(0, 4), "b828");
  EXPECT_EQ(canonical_hex(many + "1864f6"), "CBOR: a duplicate key in the map at byte 2");
}

TEST(Cbor, ContainersNest64DeepAndNoDeeper) {
  EXPECT_EQ(canonical_hex(repeated("81", 64, "00")), repeated("81", 64, "00"));
  EXPECT_EQ(canonical_hex(repeated("81", 65, "00")), "CBOR: nested deeper than 64 at byte 64");
  EXPECT_EQ(canonical_hex(repeated("a100", 64, "00")), repeated("a100", 64, "00"));
  EXPECT_EQ(canonical_hex(repeated("a100", 65, "00")), "CBOR: nested deeper than 64 at byte 128");
  const std::string deepest(1'000'000, '\x81');
  EXPECT_FALSE(read(deepest).ok());
}

// Maps within keys of maps, each of which has to be encoded to be compared.
TEST(Cbor, MapsAsKeysOfMapsTakeNoMoreThanTheirSizeAndDepth) {
  const std::string inner = "01" + repeated("f6", 63);
  EXPECT_EQ(canonical_hex(repeated("a21800f6", 63) + inner), repeated("a200f6", 63) + inner);
}

TEST(Cbor, PrintsJsonWithoutASchema) {
  const auto json_of = [](std::string_view hex) {
    const std::string bytes = from_hex(hex);
    std::string out;
    append_json(out, *read(bytes));
    return out;
  };
  EXPECT_EQ(json_of("a36161f66162f5616383004100"
                    "6122"),
            R"({"a":null,"b":true,"c":[0,"AA==","\""]})");
  EXPECT_EQ(json_of("831bffffffffffffffff3b7fffffffffffffff3bffffffffffffffff"),
            "[18446744073709551615,-9223372036854775808,-18446744073709551616]");
  EXPECT_EQ(json_of("a200806161a0"), R"([[0,[]],["a",{}]])");
  EXPECT_EQ(json_of("82f4a0"), "[false,{}]");
}

}  // namespace
}  // namespace pawl::worlds::cbor
