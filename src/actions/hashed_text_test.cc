#include "actions/hashed_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pawl::actions {
namespace {

// Wherever two texts begin to differ, and wherever they are compared from.
TEST(HashedText, FindsTheFirstDifference) {
  const std::string whole(1'000, 'a');
  const HashedText same(whole);
  for (size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 37) {
    std::string changed = whole;
    changed[at] = 'b';
    const HashedText other(changed);
    uint64_t steps = 0;
    EXPECT_EQ(HashedText::common_prefix(same, 0, other, 0, whole.size(), steps), at);
    const size_t from = at / 3;
    EXPECT_EQ(HashedText::common_prefix(same, 7, other, from, whole.size() - from - 7, steps),
              std::min(at - from, whole.size() - from - 7));
  }
}

TEST(HashedText, EndsWhereItIsTold) {
  const HashedText text(std::string(5'000, 'a'));
  for (size_t max : {0u, 1u, 31u, 32u, 33u, 63u, 64u, 65u, 96u, 1'000u, 4'990u}) {
    uint64_t steps = 0;
    EXPECT_EQ(HashedText::common_prefix(text, 0, text, 10, max, steps), max);
    EXPECT_LT(steps, 100u) << max;  // not one for each byte
  }
}

}  // namespace
}  // namespace pawl::actions
