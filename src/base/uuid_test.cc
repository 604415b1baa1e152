#include "base/uuid.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Uuid, TextAndBytesRoundTrip) {
  std::string text = "01965000-0000-7abc-8def-0123456789ab";
  auto id = Uuid::parse(text);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->text(), text);
  EXPECT_EQ(Uuid::from_bytes(id->bytes()), id);
  EXPECT_TRUE(id->is_v7());
  EXPECT_EQ(id->partition(), 0x89ab);
}

TEST(Uuid, RefusesEverythingElse) {
  for (std::string_view bad :
       {"", "01965000", "01965000-0000-7ABC-8def-0123456789ab",
        "01965000-0000-7abc-8def-0123456789abc", "01965000x0000-7abc-8def-0123456789ab",
        "g1965000-0000-7abc-8def-0123456789ab", "{1965000-0000-7abc-8def-0123456789ab}"})
    EXPECT_FALSE(Uuid::parse(bad)) << bad;
  EXPECT_FALSE(Uuid::parse("01965000-0000-4abc-8def-0123456789ab")->is_v7());
}

TEST(Uuid, NewerSortsAfterOlderInEveryForm) {
  Uuid older = Uuid::v7(1'700'000'000'000, ~0ULL, ~0ULL, 3);
  Uuid newer = Uuid::v7(1'700'000'000'001, 0, 0, 3);
  EXPECT_LT(older, newer);
  EXPECT_LT(older.text(), newer.text());
  EXPECT_LT(older.bytes(), newer.bytes());
  EXPECT_TRUE(older.is_v7() && newer.is_v7());
  EXPECT_EQ(older.partition(), 3);
  EXPECT_EQ(newer.unix_ms(), 1'700'000'000'001);
}

}  // namespace
}  // namespace pawl
