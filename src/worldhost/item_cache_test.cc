#include "worldhost/item_cache.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string known(ItemCache& cache, std::string_view key) {
  const auto* value = cache.find(key);
  if (value == nullptr) return "unknown";
  return *value ? **value : "absent";
}

TEST(ItemCache, KnowsWhatIsThereAndWhatIsNot) {
  ItemCache cache(1 << 20);
  EXPECT_EQ(known(cache, "a"), "unknown");
  cache.put("a", "1");
  cache.put("b", std::nullopt);
  EXPECT_EQ(known(cache, "a"), "1");
  EXPECT_EQ(known(cache, "b"), "absent");
  cache.put("a", "2");
  EXPECT_EQ(known(cache, "a"), "2");
  cache.clear();
  EXPECT_EQ(known(cache, "a"), "unknown");
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ItemCache, DropsWhatWasNotUsedForLongest) {
  ItemCache cache(1000);
  for (std::string key : {"a", "b", "c"}) cache.put(key, std::string(200, 'x'));
  (void)known(cache, "a");
  cache.put("d", std::string(200, 'x'));
  cache.evict();
  EXPECT_EQ(known(cache, "a") + known(cache, "b"), std::string(200, 'x') + "unknown");
  EXPECT_LE(cache.bytes(), 1000u);
}

}  // namespace
}  // namespace pawl
