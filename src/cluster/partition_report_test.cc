#include "cluster/partition_report.h"

#include <gtest/gtest.h>

namespace pawl::cluster {
namespace {

TEST(PartitionReports, ComeBackAsTheyWere) {
  const std::vector<PartitionReport> reports = {{0, PartitionStage::Serving, 17},
                                                {3, PartitionStage::Recovering, 0},
                                                {255, PartitionStage::HandingOver, UINT64_MAX}};
  EXPECT_EQ(write_reports(reports), "0 s 17,3 r 0,255 h 18446744073709551615");
  EXPECT_EQ(read_reports(write_reports(reports)), reports);
  EXPECT_TRUE(read_reports(write_reports({})).empty());
}

TEST(PartitionReports, WhatANewerNodeSaysIsLeftOut) {
  const std::vector<PartitionReport> understood = {{2, PartitionStage::Serving, 5}};
  EXPECT_EQ(read_reports("1 q 3,2 s 5,x s 1,70000 s 1,3 s,,"), understood);
}

}  // namespace
}  // namespace pawl::cluster
