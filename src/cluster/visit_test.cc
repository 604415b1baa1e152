#include "cluster/visit.h"

#include <gtest/gtest.h>

#include "store/testing/postgres_server.h"

namespace pawl::cluster {
namespace {

// Who does not beat is taken for dead by those that wait, and loses the partition.
TEST(VisitOfACommand, BeatsWhileItHoldsThePartitions) {
  PostgresBacking backing;
  const std::string url = backing.options().url;
  {
    auto visit = Visit::begin(url, "verify", 2);
    ASSERT_TRUE(visit.ok()) << visit.error().message;
    EXPECT_EQ(backing.ask("SELECT string_agg(owner, ',') FROM pawl_partition"), "verify,verify");
    EXPECT_EQ(backing.ask("SELECT draining::text FROM pawl_node"), "true")
        << "balance counts no visit";
    const auto beat = [&] { return backing.ask("SELECT beat::text FROM pawl_node"); };
    const std::string first = beat();
    while (beat() == first) std::this_thread::yield();
    EXPECT_EQ(Visit::begin(url, "other", 0).error().code, ErrorCode::Unavailable);
  }
  EXPECT_EQ(backing.ask("SELECT count(owner)::text FROM pawl_partition"), "0");
  EXPECT_EQ(backing.ask("SELECT name FROM pawl_node"), "");
}

}  // namespace
}  // namespace pawl::cluster
