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
    for (std::string_view key : {"a1", "a3", "a5", "b1"}) base_.put(key, "base");
  }

  EmptyTable nothing_;
  Overlay base_{nothing_};
  Overlay overlay_{static_cast<Table&>(base_)};
};

TEST_F(OverlayTest, WritesHideTheBaseAndLeaveItAsItIs) {
  overlay_.put("a1", "new");
  overlay_.put("a2", "new");
  overlay_.remove("a3");
  overlay_.remove("none");
  EXPECT_EQ(overlay_.get("a1"), "new");
  EXPECT_EQ(overlay_.get("a2"), "new");
  EXPECT_EQ(overlay_.get("a3"), std::nullopt);
  EXPECT_EQ(overlay_.get("a5"), "base");
  EXPECT_EQ(overlay_.get("a4"), std::nullopt);
  EXPECT_EQ(scanned(base_, ""), "a1=base a3=base a5=base b1=base ");
}

TEST_F(OverlayTest, ScansMergeBothInTheOrderOfKeys) {
  for (std::string_view key : {"a0", "a2", "a3", "a9", "c"}) overlay_.put(key, "new");
  overlay_.remove("a5");
  EXPECT_EQ(scanned(overlay_, ""), "a0=new a1=base a2=new a3=new a9=new b1=base c=new ");
  EXPECT_EQ(scanned(overlay_, "a"), "a0=new a1=base a2=new a3=new a9=new ");
  EXPECT_EQ(scanned(overlay_, "a", "a2"), "a2=new a3=new a9=new ");
  EXPECT_EQ(scanned(overlay_, "a", "a21"), "a3=new a9=new ");
  EXPECT_EQ(scanned(overlay_, "b", "a2"), "b1=base ");
  EXPECT_EQ(scanned(overlay_, "a", "b"), "");
  EXPECT_EQ(scanned(overlay_, "d"), "");
}

TEST_F(OverlayTest, ScansStopWhenTheyAreTold) {
  overlay_.put("a2", "new");
  overlay_.put("a9", "new");
  EXPECT_EQ(scanned(overlay_, "a", "", 1), "a1=base ");
  EXPECT_EQ(scanned(overlay_, "a", "", 2), "a1=base a2=new ");
  EXPECT_EQ(scanned(overlay_, "a", "", 4), "a1=base a2=new a3=base a5=base ");
}

TEST_F(OverlayTest, KeysMayHoldAnyBytes) {
  const std::string zero("a1\0", 3), high = "a1\xff";
  overlay_.put(zero, "zero");
  overlay_.put(high, "high");
  EXPECT_EQ(scanned(overlay_, "a1"), "a1=base " + zero + "=zero " + high + "=high ");
  EXPECT_EQ(scanned(overlay_, high), high + "=high ");
}

TEST_F(OverlayTest, VisitMayWriteWhatItSees) {
  overlay_.put("a2", std::string(100, 'x'));
  std::string seen;
  overlay_.scan("a", "", [&](std::string_view key, std::string_view value) {
    const std::string was(value);
    overlay_.remove(key);
    for (int i = 0; i < 50; ++i) overlay_.put("a0" + std::to_string(i), "behind");
    overlay_.put(std::string(key), "again");
    overlay_.remove("a5");
    EXPECT_EQ(value, was);
    EXPECT_EQ(overlay_.get(key), "again");
    seen.append(key).append(" ");
    return true;
  });
  EXPECT_EQ(seen, "a1 a2 a3 ");
}

TEST_F(OverlayTest, VisitMayScanAndClear) {
  size_t visits = 0;
  overlay_.put("a2", "new");
  overlay_.scan("a", "", [&](std::string_view, std::string_view) {
    ++visits;
    EXPECT_FALSE(scanned(overlay_, "").empty());
    (void)overlay_.take();
    return true;
  });
  EXPECT_EQ(visits, 3u);
  EXPECT_TRUE(overlay_.writes().empty());
}

TEST_F(OverlayTest, TakeGivesTheWritesOnce) {
  overlay_.put("x", "1");
  overlay_.remove("a1");
  const Overlay::Writes writes = overlay_.take();
  EXPECT_EQ(writes, (Overlay::Writes{{"a1", std::nullopt}, {"x", "1"}}));
  EXPECT_EQ(overlay_.get("a1"), "base");
}

}  // namespace
}  // namespace pawl::worlds
