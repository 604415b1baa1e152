// A program whose code takes long to compile is given up, not waited for.
#include "worldhost/timed_judge.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

struct SetClock final : Clock {
  int64_t now_ms() override { return now; }
  int64_t now = 1'000;
};

// Takes its time for every module.
class SlowCompiler final : public worlds::ModuleHost {
 public:
  explicit SlowCompiler(SetClock& clock) : clock_(clock) {}
  Result<std::vector<Complaint>> judge(std::string_view, worlds::Entry, uint32_t) override {
    ++judged;
    clock_.now += 25'000;
    return std::vector<Complaint>();
  }
  worlds::ModuleCall call(std::string_view, worlds::LoadCode, worlds::Entry, std::string_view,
                          const worlds::ModuleLimits&) override {
    return {};
  }

  int judged = 0;

 private:
  SetClock& clock_;
};

TEST(TimedJudge, BeginsNoModuleWhenItsTimeIsUp) {
  SetClock clock;
  SlowCompiler compiler(clock);
  TimedJudge judge(compiler, clock);
  for (const std::string_view code : {"a", "b", "c"})
    EXPECT_TRUE(judge.judge(code, worlds::Entry::Step, 1).ok());
  const auto last = judge.judge("d", worlds::Entry::Step, 1);
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(compiler.judged, 3);
}

TEST(TimedJudge, JudgesAModuleOnce) {
  SetClock clock;
  SlowCompiler compiler(clock);
  TimedJudge judge(compiler, clock);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(judge.judge("a", worlds::Entry::Step, 1).ok());
  EXPECT_EQ(compiler.judged, 1);
  EXPECT_TRUE(judge.judge("a", worlds::Entry::Run, 1).ok());
  EXPECT_EQ(compiler.judged, 2);
}

}  // namespace
}  // namespace pawl
