#include "expr/text_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pawl::expr {
namespace {

std::string places(std::string_view text, std::string_view part) {
  std::string story;
  Places all(text, part);
  for (size_t at = all.next(); at != kNoPlace; at = all.next()) story += std::to_string(at) + " ";
  return story;
}

TEST(TextSearch, FindsTheFirstTheLastAndAll) {
  EXPECT_EQ(find_part("banana", "ana"), 1u);
  EXPECT_EQ(find_part("banana", "ana", 2), 3u);
  EXPECT_EQ(find_part("banana", "ana", 4), kNoPlace);
  EXPECT_EQ(find_part("banana", ""), 0u);
  EXPECT_EQ(find_part("banana", "", 6), 6u);
  EXPECT_EQ(find_part("banana", "", 7), kNoPlace);
  EXPECT_EQ(find_last_part("banana", "ana"), 3u);
  EXPECT_EQ(find_last_part("banana", "ana", 2), 1u);
  EXPECT_EQ(find_last_part("banana", "bananas"), kNoPlace);
  EXPECT_EQ(find_last_part("banana", "", 2), 2u);
  EXPECT_EQ(places("banana", "ana"), "1 3 ");
  EXPECT_EQ(places("aaaa", "aa"), "0 1 2 ");
  EXPECT_EQ(places("abc", "abcd"), "");
}

// The same answers as the search of the standard library, on texts of few letters.
TEST(TextSearch, AgreesWithTheNaiveSearch) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 40, 'a');
    std::string part(1 + random() % 6, 'a');
    for (char& c : text) c = "ab"[random() % 2];
    for (char& c : part) c = "ab"[random() % 2];
    ASSERT_EQ(find_part(text, part), text.find(part)) << text << " " << part;
    const size_t from = random() % 45;
    ASSERT_EQ(find_part(text, part, from), text.find(part, from)) << text << " " << part;
    ASSERT_EQ(find_last_part(text, part, from), text.rfind(part, from)) << text << " " << part;
    std::string naive;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
      naive += std::to_string(at) + " ";
    ASSERT_EQ(places(text, part), naive) << text << " " << part;
  }
}

// A naive search would take about 10^13 steps here.
TEST(TextSearch, HostileTextsTakeLinearTime) {
  const std::string text(8 << 20, 'a');
  const std::string half(4 << 20, 'a');
  EXPECT_EQ(find_part(text, half + "b"), kNoPlace);
  EXPECT_EQ(find_part(text, "b" + half), kNoPlace);
  EXPECT_EQ(find_part(text, half.substr(0, 2 << 20) + "b" + half.substr(0, 2 << 20)), kNoPlace);
  EXPECT_EQ(find_last_part(text, "b" + half), kNoPlace);
  EXPECT_EQ(find_last_part(text, half + "b"), kNoPlace);
  Places all(text, half);
  size_t count = 0;
  while (all.next() != kNoPlace) ++count;
  EXPECT_EQ(count, (4u << 20) + 1);
}

}  // namespace
}  // namespace pawl::expr
