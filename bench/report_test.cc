#include "report.h"

#include <gtest/gtest.h>

namespace pawl::bench {
namespace {

std::string line_of(const std::string& text, std::string_view name) {
  const size_t at = text.find("\n" + std::string(name) + " ");
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(Report, AFigureIsJudgedOnTheRightSideOfItsBound) {
  EXPECT_TRUE((Figure{"x", 10, Target{Target::Side::AtLeast, 10}}.met()));
  EXPECT_FALSE((Figure{"x", 9, Target{Target::Side::AtLeast, 10}}.met()));
  EXPECT_TRUE((Figure{"x", 10, Target{Target::Side::AtMost, 10}}.met()));
  EXPECT_FALSE((Figure{"x", 11, Target{Target::Side::AtMost, 10}}.met()));
  EXPECT_FALSE((Figure{"x", 10, Target{Target::Side::Below, 10}}.met()));
}

TEST(Report, ARowYieldsItsRatesAndAnUncountedFsyncIsADash) {
  Report report;
  report.add_with_cpu_target(Row{"push", 5000, 2.0, Usage{0.5, 0.1, 1 << 20, 2 << 20, {}}}, 20'000);
  const std::string text = report.text();
  EXPECT_NE(line_of(text, "push").find("2.0        -"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "push.jobs_per_s").find(" 2500"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "push.jobs_per_server_cpu_s").substr(38),
            "         10000   target >= 20000      FAIL");
  EXPECT_NE(report.json().find("\"fsyncs\":null"), std::string::npos);
}

// A run too short for one tick of CPU has no rate per CPU-second; it must not print infinity.
TEST(Report, NoCpuIsNoRate) {
  EXPECT_EQ((Row{"idle", 10, 0, {}}.jobs_per_server_cpu_second()), 0);
  EXPECT_EQ((Row{"idle", 10, 0, {}}.jobs_per_second()), 0);
}

}  // namespace
}  // namespace pawl::bench
