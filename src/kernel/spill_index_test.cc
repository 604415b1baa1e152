#include "kernel/spill_index.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace pawl {
namespace {

// A disk with some of the entries, and a plain set as the reference.
struct IndexWorld {
  SpillIndex<int> index{8};
  std::set<int> truth;
  std::set<int> disk;       // rows
  std::set<int> unflushed;  // live entries without a row

  auto reader() {
    return [this](const std::optional<int>& after, size_t limit, auto&& emit) {
      size_t seen = 0;
      for (auto at = after ? disk.upper_bound(*after) : disk.begin();
           at != disk.end() && seen < limit; ++at, ++seen)
        emit(*at, truth.count(*at) == 1);
      return seen < limit;
    };
  }
  void insert(int key) {
    if (!truth.insert(key).second) return;
    index.insert(key);
    unflushed.insert(key);
  }
  void erase(int key) {
    if (truth.erase(key) == 0) return;
    index.erase(key);
    unflushed.erase(key);  // the row, if there is one, stays until the next flush
  }
  void flush() {
    disk = truth;
    for (int key : std::exchange(unflushed, {})) index.settled(key);
  }
  void shrink() {
    if (index.too_large()) index.shrink([&](int key) { return unflushed.count(key) == 0; });
  }
  std::vector<int> walk() {
    std::vector<int> keys;
    const int* at = index.front(reader());
    while (at != nullptr) {
      keys.push_back(*at);
      at = index.next_after(keys.back(), reader());
    }
    return keys;
  }
};

// With any spilling, flushing and reading back, the index agrees with a plain set.
TEST(SpillIndex, AgreesWithAPlainSet) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    IndexWorld world;
    uint64_t draws = seed * 1000;
    auto draw = [&](uint64_t bound) { return static_cast<int>(mix64(++draws) % bound); };
    if (seed % 3 == 0) {
      for (int i = 0; i < 50; ++i) world.disk.insert(draw(200));
      world.truth = world.disk;
      world.index.forget_all();
    }
    for (int step = 0; step < 200; ++step) {
      switch (draw(8)) {
        case 0:
          world.flush();
          break;
        case 1:
          world.shrink();
          break;
        case 2: {
          const int* front = world.index.front(world.reader());
          ASSERT_EQ(front == nullptr, world.truth.empty()) << "seed " << seed;
          if (front != nullptr) {
            ASSERT_EQ(*front, *world.truth.begin()) << "seed " << seed;
          }
          break;
        }
        case 3:
          world.erase(draw(200));
          break;
        case 4:
          if (!world.truth.empty()) world.erase(*world.truth.begin());
          break;
        default:
          world.insert(draw(200));
      }
    }
    EXPECT_EQ(world.walk(), std::vector<int>(world.truth.begin(), world.truth.end()))
        << "seed " << seed;
  }
}

TEST(SpillIndex, MemoryStaysBoundedWhileTheBacklogGrows) {
  IndexWorld world;
  for (int i = 0; i < 10'000; ++i) {
    world.insert(i);
    if (i % 16 == 0) world.flush();
    world.shrink();
  }
  EXPECT_LE(world.index.resident(), 8u + 16u);
  EXPECT_EQ(world.walk().size(), 10'000u);
}

}  // namespace
}  // namespace pawl
