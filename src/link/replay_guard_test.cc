#include "link/replay_guard.h"

#include <gtest/gtest.h>

namespace pawl::link {
namespace {

TEST(ReplayGuard, EachCounterOnceInAnyOrder) {
  ReplayGuard guard;
  for (const uint64_t counter : {5, 3, 4, 1, 100'000, 99'999}) {
    EXPECT_TRUE(guard.take("a", counter)) << counter;
  }
  for (const uint64_t counter : {5, 3, 4, 1, 100'000, 99'999}) {
    EXPECT_FALSE(guard.take("a", counter)) << counter;
  }
  EXPECT_TRUE(guard.take("b", 5));  // another process counts by itself
}

TEST(ReplayGuard, WhatIsBehindTheWindowCannotBeTold) {
  constexpr uint64_t kLast = 10 * ReplayGuard::kWindow;
  ReplayGuard guard;
  EXPECT_TRUE(guard.take("a", kLast));
  EXPECT_FALSE(guard.take("a", kLast - ReplayGuard::kWindow));
  EXPECT_TRUE(guard.take("a", kLast - ReplayGuard::kWindow + 1));
  EXPECT_TRUE(guard.take("a", kLast + 1));
  EXPECT_FALSE(guard.take("a", kLast - ReplayGuard::kWindow + 1));
  EXPECT_FALSE(guard.take("a", kLast));
}

// A process that others have crowded out is not forgotten: it could not be told from its replay.
TEST(ReplayGuard, AForgottenSenderIsRefused) {
  ReplayGuard guard;
  EXPECT_TRUE(guard.take("old", 1));
  EXPECT_TRUE(guard.take("busy", 1));
  for (size_t i = 0; i + 1 < ReplayGuard::kHeardMax; ++i) {
    EXPECT_TRUE(guard.take("n" + std::to_string(i), 1));
    EXPECT_TRUE(guard.take("busy", i + 2));
  }
  EXPECT_FALSE(guard.take("old", 2));
  EXPECT_TRUE(guard.take("busy", 1'000'000));
}

}  // namespace
}  // namespace pawl::link
