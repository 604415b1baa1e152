#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/table_hash.h"

namespace pawl {
namespace {

// Published check values.
TEST(Hash, KnownAnswers) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hmac_sha256_hex("key", "The quick brown fox jumps over the lazy dog"),
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

// Bit by bit, as defined: the fast implementations take different paths by length.
uint32_t slow_crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

TEST(Hash, CrcOfEveryLengthAndInPieces) {
  std::string bytes;
  for (uint32_t i = 0; i < 2'500; ++i) bytes.push_back(static_cast<char>(i * 2654435761u >> 24));
  for (size_t length = 0; length <= bytes.size(); length += length < 40 ? 1 : 37) {
    const std::string_view part(bytes.data(), length);
    ASSERT_EQ(crc32c(part), slow_crc32c(part)) << length;
    const size_t half = length / 3;
    ASSERT_EQ(crc32c(part.substr(half), crc32c(part.substr(0, half))), crc32c(part)) << length;
  }
}

TEST(Hash, ConstantTimeCompareIsACompare) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secrets"));
}

TEST(Hash, SecretsDiffer) {
  EXPECT_EQ(random_secret(16).size(), 32u);
  EXPECT_NE(random_secret(16), random_secret(16));
}

// Outsiders cannot predict the slot of a key: neither from hash64 nor from another process.
TEST(TableHash, IsKeyedAndHoldsTogetherWhatIsEqual) {
  EXPECT_EQ(table_hash(std::string("order_id")), table_hash("order_id"));
  EXPECT_NE(table_hash("order_id"), hash64("order_id"));
  EXPECT_NE(table_hash("order_id"), std::hash<std::string_view>{}("order_id"));
  EXPECT_EQ(table_hash(0.0), table_hash(-0.0));
  EXPECT_NE(table_hash(1.0), table_hash(2.0));
}

}  // namespace
}  // namespace pawl
