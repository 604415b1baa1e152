#include "reply_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::bench {
namespace {

std::string ids(std::string_view body) {
  std::vector<ScannedJob> jobs;
  if (!scan_jobs(body, jobs)) return "malformed";
  std::string text;
  for (const ScannedJob& job : jobs) text.append(text.empty() ? "" : " ").append(job.id);
  return text;
}

// An ack of the wrong id would be a 404 at best: only a job's own id counts, wherever it stands.
TEST(ScanJobs, TakesTheJobsOwnIdOnly) {
  EXPECT_EQ(ids(R"({"jobs":[]})"), "");
  EXPECT_EQ(ids(R"({"jobs":[{"id":"a"},{"id":"b","n":1}]})"), "a b");
  EXPECT_EQ(ids(R"({"jobs":[{"workflow":{"id":"w"},"args":[{"id":"x"}],"id":"a"}]})"), "a");
  EXPECT_EQ(ids(R"({"id":"acked","job":{"id":"acked"},"jobs":[{"id":"next"}]})"), "next");
}

TEST(ScanJobs, StringsMayHoldBracketsQuotesAndBackslashes) {
  EXPECT_EQ(ids(R"({"jobs":[{"args":["}]\"{","\\"],"id":"a"},{"id":"b"}]})"), "a b");
}

TEST(ScanJobs, RefusesWhatIsNotAListOfJobs) {
  EXPECT_EQ(ids(""), "malformed");
  EXPECT_EQ(ids(R"({"error":{"code":"overloaded"}})"), "malformed");
  EXPECT_EQ(ids(R"({"jobs":[{"type":"no id"}]})"), "malformed");
  EXPECT_EQ(ids(R"({"jobs":[{"id":7}]})"), "malformed");
  EXPECT_EQ(ids(R"({"jobs":[1,2]})"), "malformed");
}

TEST(ScanJobs, EveryTruncationIsRefused) {
  const std::string whole = R"({"jobs":[{"args":["\"x"],"id":"a"},{"id":"b"}])";
  ASSERT_EQ(ids(whole), "a b");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    // A copy of the exact size lets the address sanitizer see a read past the end.
    EXPECT_EQ(ids(std::string(whole, 0, bytes)), "malformed") << bytes;
  }
}

TEST(Contains, FindsAtBothEndsAndNotBeyond) {
  const std::string filler(1000, 'x');
  EXPECT_TRUE(contains(filler + "\"count\":100}", "\"count\":100"));
  EXPECT_TRUE(contains("{\"count\":100," + filler, "\"count\":100"));
  EXPECT_FALSE(contains(filler + "\"count\":10", "\"count\":100"));
  EXPECT_FALSE(contains("", "x"));
}

TEST(CountOf, CountsWithoutOverlap) {
  EXPECT_EQ(count_of("aXaXa", "aXa"), 1);
  EXPECT_EQ(count_of("", "a"), 0);
  EXPECT_EQ(count_of("aaa", "a"), 3);
}

TEST(ScanMetric, TakesTheSampleNotTheHelpNorALongerName) {
  constexpr std::string_view kText =
      "# HELP fsyncs_total is fsyncs_total 99\nfsyncs_total_more 5\nfsyncs_total 17\n";
  EXPECT_EQ(scan_metric(kText, "fsyncs_total"), 17);
  EXPECT_EQ(scan_metric("fsyncs_total 1.2e+06\n", "fsyncs_total"), 1'200'000);
  EXPECT_EQ(scan_metric(kText, "absent"), std::nullopt);
  EXPECT_EQ(scan_metric("fsyncs_total x", "fsyncs_total"), std::nullopt);
}

}  // namespace
}  // namespace pawl::bench
