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
    clock_.now += 25'000;
    return std::vector<Complaint>();
  }
  worlds::ModuleCall call(std::string_view, worlds::LoadCode, worlds::Entry, std::string_view,
                          const worlds::ModuleLimits&) override {
    return {};
  }

 private:
  SetClock& clock_;
};

TEST(TimedJudge, BeginsNoModuleWhenItsTimeIsUp) {
  SetClock clock;
  SlowCompiler compiler(clock);
  TimedJudge judge(compiler, clock);
  int judged = 0;
  Result<std::vector<Complaint>> last = judge.judge("", worlds::Entry::Step, 1);
  for (; last.ok() && judged < 1'000; ++judged) last = judge.judge("", worlds::Entry::Step, 1);
  EXPECT_EQ(judged, 3);
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace pawl
