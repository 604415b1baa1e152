#include "options.h"

#include <gtest/gtest.h>

namespace pawl::bench {
namespace {

std::string complaint(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "pawl_bench");
  const Result<Options> options =
      parse_options(static_cast<int>(arguments.size()), arguments.data());
  return options.ok() ? "accepted" : options.error().message;
}

TEST(Options, EveryMistakeIsNamed) {
  EXPECT_EQ(complaint({}), "name a workload, or all");
  EXPECT_EQ(complaint({"pusch"}), "no workload is called pusch");
  EXPECT_EQ(complaint({"push", "--sconds", "1"}), "no flag is called --sconds");
  EXPECT_EQ(complaint({"push", "--seconds"}), "--seconds needs a value");
  EXPECT_EQ(complaint({"push", "--seconds", "0"}), "--seconds does not take 0");
  EXPECT_EQ(complaint({"push", "--rate", "10x"}), "--rate does not take 10x");
  EXPECT_EQ(complaint({"push", "--rate", "-1"}), "--rate does not take -1");
}

TEST(Options, FlagsAndWorkloadsMixInAnyOrder) {
  const char* const arguments[] = {"pawl_bench", "--rate",  "123",  "rate",
                                   "--pawl",     "/x/pawl", "push", "--json"};
  const Result<Options> options = parse_options(8, arguments);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->workloads, (std::vector<std::string>{"rate", "push"}));
  EXPECT_EQ(options->rate_jobs_per_second, 123);
  EXPECT_EQ(options->pawl, "/x/pawl");
  EXPECT_TRUE(options->json);
}

}  // namespace
}  // namespace pawl::bench
