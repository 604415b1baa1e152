#include "expr/cel/cache.h"

#include <gtest/gtest.h>

#include <thread>

namespace pawl::expr {
namespace {

TEST(ProgramCache, ForgetsTheLeastRecentlyUsed) {
  ProgramCache cache(CompileOptions(), {.entries_max = 2});
  const auto one = cache.get("1").value();
  ASSERT_TRUE(cache.get("2").ok());
  EXPECT_EQ(cache.get("1").value(), one);
  ASSERT_TRUE(cache.get("3").ok());  // forgets 2
  EXPECT_EQ(cache.get("1").value(), one);
  EXPECT_EQ(cache.stats().entries, 2u);
  EXPECT_EQ(cache.stats().hits, 2u);
  ASSERT_TRUE(cache.get("2").ok());
  EXPECT_EQ(cache.stats().misses, 4u);
}

TEST(ProgramCache, AFloodDoesNotDriveOutWhatIsInUse) {
  ProgramCache cache(CompileOptions(), {.entries_max = 16});
  const auto used = cache.get("a + b").value();
  ASSERT_EQ(cache.get("a + b").value(), used);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(cache.get(std::to_string(i)).ok());
  EXPECT_EQ(cache.get("a + b").value(), used);
  EXPECT_EQ(cache.stats().entries, 16u);
}

TEST(ProgramCache, IsBoundedInBytes) {
  ProgramCache cache(CompileOptions(), {.entries_max = 1000, .bytes_max = 20000});
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(cache.get(std::to_string(i) + " + 1").ok());
  EXPECT_LE(cache.stats().bytes, 20000u);
  EXPECT_GT(cache.stats().entries, 0u);
}

TEST(ProgramCache, FailuresAreToldAndNotKept) {
  ProgramCache cache;
  EXPECT_FALSE(cache.get("1 +").ok());
  EXPECT_EQ(cache.stats().entries, 0u);
}

TEST(ProgramCache, ThreadsShareIt) {
  ProgramCache cache(CompileOptions(), {.entries_max = 8});
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Budget budget;
        const auto program = cache.get("x + " + std::to_string(i % 16)).value();
        right += program->evaluate(Variables().set("x", Val::integer(1)), budget)->as_int() ==
                 1 + i % 16;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 2000);
}

}  // namespace
}  // namespace pawl::expr
