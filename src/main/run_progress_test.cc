#include "main/run_progress.h"

#include <gtest/gtest.h>

#include "plan/definition.h"

namespace pawl {
namespace {

constexpr const char* kScript = R"(
name: x
steps:
  - {id: fetch, action: http.get, params: {url: "http://x"}}
  - id: each
    type: loop
    depends_on: [fetch]
    config: {over: [1, 2], body: [{id: note, action: workflow.log, params: {message: m}}]}
  - {id: ask, type: reasoning, depends_on: [each], config: {prompt_context: q}}
)";

class Progress : public ::testing::Test {
 protected:
  Progress() : read_(plan::read_definition(kScript)), progress_(id(1), *read_.script) {}

  static RunId id(uint64_t n) { return RunId(Uuid::v7(1, n, n, 0)); }

  template <class Event>
  static Event about(const RunId& run, std::string step) {
    Event event;
    event.run = run;
    event.step = std::move(step);
    return event;
  }
  template <class... Events>
  std::string take(int64_t at_ms, const Events&... events) {
    journal::RecordWriter record(++number_);
    record.begin_frame(at_ms);
    (record.add(events), ...);
    record.end_frame();
    auto lines = progress_.take(number_, record.finish());
    EXPECT_TRUE(lines.ok());
    std::string all;
    for (const std::string& line : *lines) all += line + "\n";
    return all;
  }
  StepStarted started(std::string step, std::string type, uint32_t effect = 0, RunId run = id(1)) {
    auto event = about<StepStarted>(run, std::move(step));
    event.type = std::move(type);
    event.attempt = 1;
    event.effect = effect;
    return event;
  }
  StepEnded ended(std::string step, StepState state, StepError error = {}) {
    auto event = about<StepEnded>(id(1), std::move(step));
    event.state = state;
    event.error = std::move(error);
    return event;
  }
  ScriptMoved moved(ScriptStatus to, RunId run = id(1)) {
    ScriptMoved event;
    event.run = run;
    event.to = to;
    return event;
  }
  std::string picture(int64_t now_ms, size_t rows = 40) {
    std::string all;
    for (const std::string& row : progress_.draw({now_ms, rows, 100, 0, false})) all += row + "\n";
    return all;
  }

  plan::ReadResult read_;
  RunProgress progress_;
  uint64_t number_ = 0;
};

TEST_F(Progress, StepsAreShownFromTheStartAndTimedWhileTheyRun) {
  EXPECT_EQ(take(1000, started("fetch", "action", 1)), "started    fetch: http.get\n");
  EXPECT_EQ(picture(3500),
            "⠋ fetch                        http.get         2 s\n"
            "○ each                         loop\n"
            "○ ask                          reasoning\n");
  EXPECT_EQ(take(1120, ended("fetch", StepState::Failed, {"HTTP_ERROR", "gone", "", ""})),
            "failed     fetch: 120 ms, HTTP_ERROR: gone\n");
  EXPECT_EQ(picture(9000).substr(0, picture(9000).find('\n')),
            "✘ fetch                        http.get         120 ms   HTTP_ERROR: gone");
}

TEST_F(Progress, SubStepsStandBelowTheirStepAndSayWhatTheySay) {
  auto says = about<StepNoted>(id(1), "each.iter_0.note");
  says.type = "workflow_log";
  says.data = R"({"message":"one\u001b[2J"})";
  EXPECT_EQ(take(1, started("each", "loop"), started("each.iter_0.note", "action"), says,
                 ended("each.iter_0.note", StepState::Completed)),
            "started    each: loop\nstarted    each.iter_0.note: workflow.log\n"
            "says       each.iter_0.note: one?[2J\ncompleted  each.iter_0.note: 0 ms\n");
  EXPECT_NE(picture(1).find("\n  ✔ iter_0.note"), std::string::npos) << picture(1);
  EXPECT_NE(picture(1).find("says one?[2J"), std::string::npos) << picture(1);
}

TEST_F(Progress, OnlyAQuestionIsStuckAndItEndsWithItsStep) {
  take(1, moved(ScriptStatus::Active), started("fetch", "action", 1), started("ask", "reasoning"));
  auto waits = about<StepSuspended>(id(1), "ask");
  waits.decision = "d1";
  take(2, waits);
  EXPECT_EQ(progress_.questions().at("ask").decision, "d1");
  EXPECT_FALSE(progress_.stuck());  // fetch is at work
  take(3, ended("fetch", StepState::Completed), moved(ScriptStatus::Suspended));
  EXPECT_TRUE(progress_.stuck());
  take(4, moved(ScriptStatus::Active), ended("ask", StepState::Completed),
       moved(ScriptStatus::Completed));
  EXPECT_TRUE(progress_.questions().empty());
  EXPECT_TRUE(progress_.ended());
  EXPECT_FALSE(progress_.stuck());
}

TEST_F(Progress, AChildRunStandsBelowTheStepThatStartedItAndOthersAreNoBusiness) {
  ScriptCreated child;
  child.run = id(2);
  child.parent = {id(1), place_of_effect(7)};
  take(1, started("fetch", "subworkflow", 7), child, started("inner", "action", 1, id(2)),
       started("stranger", "action", 1, id(3)));
  EXPECT_NE(picture(1).find("\n  ⠋ inner"), std::string::npos) << picture(1);
  EXPECT_EQ(picture(1).find("stranger"), std::string::npos);
  take(2, moved(ScriptStatus::Failed, id(2)));
  EXPECT_FALSE(progress_.ended());
}

TEST_F(Progress, ManyIterationsAreFoldedAndThePictureFits) {
  take(1, started("each", "loop"));
  for (int i = 0; i < 5000; ++i) {
    std::string step = "each.iter_" + std::to_string(i) + ".note";
    take(1, started(step, "action"), ended(step, StepState::Completed));
  }
  EXPECT_NE(picture(1, 200).find("… 4900 more, over"), std::string::npos);
  take(1, started("each.iter_5000.note", "action"));
  std::vector<std::string> rows = progress_.draw({1, 10, 100, 0, false});
  ASSERT_EQ(rows.size(), 5u);  // too many to show: what is at work
  EXPECT_EQ(rows[2], "  … 5000 more, over");
  EXPECT_EQ(rows[3].rfind("  ⠋ iter_5000.note", 0), 0u) << rows[3];
  rows = progress_.draw({1, 4, 100, 0, false});  // the steps alone
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NE(rows[1].find("5000 over, 1 at work"), std::string::npos) << rows[1];
  rows = progress_.draw({1, 2, 100, 0, false});
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1], "… 2 more steps");
}

TEST_F(Progress, JobsThatWereAskedForAreHandedOut) {
  take(1, started("fetch", "agent", 4));
  std::vector<AskedJob> jobs = progress_.take_jobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].effect, 4u);
  EXPECT_TRUE(progress_.take_jobs().empty());
}

TEST_F(Progress, ARecordThatIsNoneIsRefused) {
  EXPECT_FALSE(progress_.take(1, "PJ nonsense").ok());
}

}  // namespace
}  // namespace pawl
