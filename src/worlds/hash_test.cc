#include "worlds/hash.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace pawl::worlds {
namespace {

constexpr const char* kHashOfNothing =
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(WorldHash, IsTheTextOfSha256) {
  EXPECT_EQ(hash_of_bytes(""), kHashOfNothing);
  EXPECT_EQ(hash_of_bytes("abc"), "sha256:" + sha256_hex("abc"));
  EXPECT_EQ(hash_of_bytes(std::string(100'000, 'x')),
            "sha256:" + sha256_hex(std::string(100'000, 'x')));
  EXPECT_EQ(to_hex(digest_of_bytes("abc")), sha256_hex("abc"));
}

TEST(WorldHash, OfAStructureIsNotThatOfItsBytes) {
  EXPECT_EQ(hash_of_structure("\xa0"), "sha256:" + sha256_hex("\xd9\xd9\xf7\xa0"));
  EXPECT_EQ(to_hex(digest_of_structure("\xa0")), sha256_hex("\xd9\xd9\xf7\xa0"));
  EXPECT_NE(hash_of_structure("\xa0"), hash_of_bytes("\xa0"));
}

TEST(WorldHash, TextAndBytesAreTwoSpellingsOfOne) {
  const std::string bytes = hash_bytes(kHashOfNothing);
  EXPECT_EQ(to_hex(bytes), sha256_hex(""));
  EXPECT_EQ(hash_text(bytes), kHashOfNothing);
}

TEST(WorldHash, HasOneFormOfText) {
  const std::string good = kHashOfNothing;
  EXPECT_TRUE(is_hash(good));
  std::string upper = good;
  upper[7] = 'E';
  std::string foreign = good;
  foreign[70] = 'g';
  for (const std::string& bad :
       {std::string(), good.substr(7), good.substr(0, 70), good + "0", "SHA256:" + good.substr(7),
        "sha512:" + good.substr(7), " " + good.substr(1), upper, foreign})
    EXPECT_FALSE(is_hash(bad)) << bad;
}

TEST(WorldHash, Sha512IsRaw) {
  EXPECT_EQ(to_hex(sha512("abc")),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

}  // namespace
}  // namespace pawl::worlds
