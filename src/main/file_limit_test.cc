#include "main/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace pawl {
namespace {

TEST(FileLimit, TheSoftOneIsRaisedToTheHardOneAndTheOldOneIsTold) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(before.rlim_max, 256);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const FileLimit limit = raise_file_limit();
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(limit.before, low.rlim_cur);
  EXPECT_EQ(limit.now, after.rlim_cur);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 1u << 20));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(FileLimit, ConnectionsLeaveAReserveForTheServersOwnFiles) {
  EXPECT_EQ(connections_within(1u << 20, 10'000), 10'000u);
  EXPECT_EQ(connections_within(4'096, 10'000), 4'096u - 1'024u - 64u);
  EXPECT_EQ(connections_within(1'024, 10'000), 704u);
  EXPECT_EQ(connections_within(1'024, 100), 100u);
  EXPECT_EQ(connections_within(256, 10'000), 128u);
  EXPECT_EQ(connections_within(64, 10'000), 8u);
}

}  // namespace
}  // namespace pawl
