#include "base/hash.h"

#include <gtest/gtest.h>

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

TEST(Hash, ConstantTimeCompareIsACompare) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secrets"));
}

TEST(Hash, SecretsDiffer) {
  EXPECT_EQ(random_secret(16).size(), 32u);
  EXPECT_NE(random_secret(16), random_secret(16));
}

}  // namespace
}  // namespace pawl
