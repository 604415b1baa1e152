#include "link/warnings.h"

#include <gtest/gtest.h>

namespace pawl::link {
namespace {

TEST(Warnings, EachTextOnceWithItsNumber) {
  Warnings warnings;
  for (const char* text : {"a", "b", "a", "c", "a"}) warnings.add(text);
  EXPECT_EQ(warnings.list(), (std::vector<std::string>{"a (3 times)", "c", "b"}));
}

TEST(Warnings, TheLatestAreKept) {
  Warnings warnings;
  for (size_t i = 0; i < Warnings::kMax + 5; ++i) warnings.add("w" + std::to_string(i));
  EXPECT_EQ(warnings.list().size(), Warnings::kMax);
  EXPECT_EQ(warnings.list().front(), "w36");
  EXPECT_EQ(warnings.list().back(), "w5");
}

TEST(Warnings, OldOnesAreLeftOut) {
  Warnings warnings(std::chrono::seconds(-1));
  warnings.add("a");
  EXPECT_TRUE(warnings.list().empty());
}

}  // namespace
}  // namespace pawl::link
