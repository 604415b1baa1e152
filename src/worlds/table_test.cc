#include "worlds/table.h"

#include <gtest/gtest.h>

namespace pawl::worlds {
namespace {

std::string scanned(Table& table, std::string_view prefix, std::string_view from = "",
                    size_t most = 1000) {
  std::string out;
  table.scan(prefix, from, [&](std::string_view key, std::string_view value) {
    out.append(key).append("=").append(value).append(" ");
    return --most > 0;
  });
  return out;
}

class OverlayTest : public ::testing::Test {
 protected:
  OverlayTest() {
    for (std::string_view key : {"a1", "a3", "a5", "b1"}) base.put(key, "base");
  }

  EmptyTable nothing;
  Overlay base{nothing};
  Overlay overlay{static_cast<Table&>(base)};
};

TEST_F(OverlayTest, WritesHideTheBaseAndLeaveItAsItIs) {
  overlay.put("a1", "new");
  overlay.put("a2", "new");
  overlay.remove("a3");
  overlay.remove("none");
  EXPECT_EQ(overlay.get("a1"), "new");
  EXPECT_EQ(overlay.get("a2"), "new");
  EXPECT_EQ(overlay.get("a3"), std::nullopt);
  EXPECT_EQ(overlay.get("a5"), "base");
  EXPECT_EQ(overlay.get("a4"), std::nullopt);
  EXPECT_EQ(scanned(base, ""), "a1=base a3=base a5=base b1=base ");
}

TEST_F(OverlayTest, ScansMergeBothInTheOrderOfKeys) {
  for (std::string_view key : {"a0", "a2", "a3", "a9", "c"}) overlay.put(key, "new");
  overlay.remove("a5");
  EXPECT_EQ(scanned(overlay, ""), "a0=new a1=base a2=new a3=new a9=new b1=base c=new ");
  EXPECT_EQ(scanned(overlay, "a"), "a0=new a1=base a2=new a3=new a9=new ");
  EXPECT_EQ(scanned(overlay, "a", "a2"), "a2=new a3=new a9=new ");
  EXPECT_EQ(scanned(overlay, "a", "a21"), "a3=new a9=new ");
  EXPECT_EQ(scanned(overlay, "b", "a2"), "b1=base ");
  EXPECT_EQ(scanned(overlay, "a", "b"), "");
  EXPECT_EQ(scanned(overlay, "d"), "");
}

TEST_F(OverlayTest, ScansStopWhenTheyAreTold) {
  overlay.put("a2", "new");
  overlay.put("a9", "new");
  EXPECT_EQ(scanned(overlay, "a", "", 1), "a1=base ");
  EXPECT_EQ(scanned(overlay, "a", "", 2), "a1=base a2=new ");
  EXPECT_EQ(scanned(overlay, "a", "", 4), "a1=base a2=new a3=base a5=base ");
}

TEST_F(OverlayTest, KeysMayHoldAnyBytes) {
  const std::string zero("a1\0", 3), high = "a1\xff";
  overlay.put(zero, "zero");
  overlay.put(high, "high");
  EXPECT_EQ(scanned(overlay, "a1"), "a1=base " + zero + "=zero " + high + "=high ");
  EXPECT_EQ(scanned(overlay, high), high + "=high ");
}

TEST_F(OverlayTest, VisitMayWriteWhatItSees) {
  overlay.put("a2", std::string(100, 'x'));
  std::string seen;
  overlay.scan("a", "", [&](std::string_view key, std::string_view value) {
    const std::string was(value);
    overlay.remove(key);
    for (int i = 0; i < 50; ++i) overlay.put("a0" + std::to_string(i), "behind");
    overlay.put(std::string(key), "again");
    overlay.remove("a5");
    EXPECT_EQ(value, was);
    EXPECT_EQ(overlay.get(key), "again");
    seen.append(key).append(" ");
    return true;
  });
  EXPECT_EQ(seen, "a1 a2 a3 ");
}

TEST_F(OverlayTest, VisitMayScanAndClear) {
  size_t visits = 0;
  overlay.put("a2", "new");
  overlay.scan("a", "", [&](std::string_view, std::string_view) {
    ++visits;
    EXPECT_FALSE(scanned(overlay, "").empty());
    (void)overlay.take();
    return true;
  });
  EXPECT_EQ(visits, 3u);
  EXPECT_TRUE(overlay.writes().empty());
}

TEST_F(OverlayTest, TakeGivesTheWritesOnce) {
  overlay.put("x", "1");
  overlay.remove("a1");
  const Overlay::Writes writes = overlay.take();
  EXPECT_EQ(writes, (Overlay::Writes{{"a1", std::nullopt}, {"x", "1"}}));
  EXPECT_EQ(overlay.get("a1"), "base");
}

}  // namespace
}  // namespace pawl::worlds
