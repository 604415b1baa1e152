#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "base/time.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

// One unanswered step: its runs stay active.
constexpr const char* kSlow =
    R"({"name":"slow","definition":{"name":"slow","steps":[
        {"id":"w","type":"wait","config":{"duration":"1h"}}]}})";

std::string schedule_status(const std::string& reply) { return reply.substr(9, 3); }

struct ScheduleWorld : ApiWorld {
  using ApiWorld::ApiWorld;
  ScheduleWorld() { body("POST", "/v1/definitions", kSlow); }
  std::string put(const std::string& schedule) { return call("POST", "/v1/schedules", schedule); }
  std::string get(const std::string& name) { return body("GET", "/v1/schedules/" + name); }
};

TEST(Schedules, StartRunsOfADefinitionAtTheirTimes) {
  ScheduleWorld world;
  std::string made =
      world.put(R"({"name":"s","definition":"slow","every":"1m","overlap":"allow"})");
  EXPECT_EQ(schedule_status(made), "201") << made;
  EXPECT_NE(made.find("Location: /v1/schedules/s"), std::string::npos) << made;
  EXPECT_NE(text_of(made, "next_at"), "");
  world.advance(59'000);
  EXPECT_EQ(text_of(world.get("s"), "last_run_id"), "");
  world.advance(1'000);
  std::string first = text_of(world.get("s"), "last_run_id");
  ASSERT_NE(first, "");
  EXPECT_EQ(text_of(world.get("s"), "last_status"), "active");
  std::string run = world.body("GET", "/v1/runs/" + first);
  EXPECT_EQ(text_of(run, "definition"), "slow") << run;
  world.advance(60'000);
  EXPECT_NE(text_of(world.get("s"), "last_run_id"), first);
}

TEST(Schedules, SkipAndQueueLookAtTheLastRun) {
  ScheduleWorld world;
  world.put(R"({"name":"skip","definition":"slow","every":"1m"})");
  world.put(R"({"name":"queue","definition":"slow","every":"1m","overlap":"queue"})");
  world.advance(60'000);
  std::string skipped = text_of(world.get("skip"), "last_run_id");
  std::string queued = text_of(world.get("queue"), "last_run_id");
  world.advance(60'000);
  world.advance(60'000);
  EXPECT_EQ(text_of(world.get("skip"), "last_run_id"), skipped);
  EXPECT_EQ(text_of(world.get("queue"), "last_run_id"), queued);
  EXPECT_EQ(text_of(world.get("skip"), "waiting_since"), "");
  EXPECT_NE(text_of(world.get("queue"), "waiting_since"), "");
  // The end of the previous one starts exactly one.
  for (const std::string& id : {skipped, queued})
    world.body("POST", "/v1/runs/" + id + "/cancel", "{}");
  world.advance(0);
  EXPECT_EQ(text_of(world.get("skip"), "last_run_id"), skipped);
  EXPECT_EQ(text_of(world.get("skip"), "last_status"), "cancelled");
  std::string after = world.get("queue");
  EXPECT_NE(text_of(after, "last_run_id"), queued);
  EXPECT_EQ(text_of(after, "last_status"), "active");
  EXPECT_EQ(text_of(after, "waiting_since"), "");
}

TEST(Schedules, OneTimeComesOnceAndSurvivesARestart) {
  auto disk = std::make_shared<MemoryDisk>();
  std::string at;
  {
    ApiWorld world(disk);
    world.body("POST", "/v1/definitions", kSlow);
    at = format_rfc3339_ms(world.clock.now + 86'400'000);
    std::string made = world.call("POST", "/v1/schedules",
                                  R"({"name":"once","definition":"slow","at":")" + at + R"("})");
    EXPECT_EQ(schedule_status(made), "201") << made;
  }
  ApiWorld world(disk);
  EXPECT_EQ(text_of(world.body("GET", "/v1/schedules/once"), "next_at"), at);
  world.advance(3 * 86'400'000);
  std::string fired = world.body("GET", "/v1/schedules/once");
  EXPECT_NE(text_of(fired, "last_run_id"), "") << fired;
  EXPECT_EQ(text_of(fired, "next_at"), "");
  std::string late = world.call("POST", "/v1/schedules",
                                R"({"name":"late","definition":"slow","at":")" + at + R"("})");
  EXPECT_EQ(schedule_status(late), "422") << late;
}

TEST(Schedules, AFiringThatCannotStartSaysWhy) {
  ScheduleWorld world;
  world.put(R"({"name":"s","definition":"slow","every":"1m"})");
  world.body("DELETE", "/v1/definitions/slow");
  world.advance(60'000);
  std::string shown = world.get("s");
  EXPECT_EQ(text_of(shown, "last_error"), "definition 'slow' not found") << shown;
  EXPECT_NE(text_of(shown, "next_at"), "");
}

TEST(Schedules, PauseResumeTriggerDelete) {
  ScheduleWorld world;
  world.put(R"({"name":"s","definition":"slow","every":"1m"})");
  EXPECT_NE(world.body("POST", "/v1/schedules/s/pause").find("\"paused\":true"), std::string::npos);
  world.advance(600'000);
  EXPECT_EQ(text_of(world.get("s"), "last_run_id"), "");
  std::string triggered = world.call("POST", "/v1/schedules/s/trigger");
  EXPECT_EQ(schedule_status(triggered), "201") << triggered;
  EXPECT_EQ(text_of(world.get("s"), "last_run_id"), text_of(triggered, "run_id"));
  world.body("POST", "/v1/schedules/s/resume");
  EXPECT_NE(text_of(world.get("s"), "next_at"), "");
  EXPECT_EQ(schedule_status(world.call("DELETE", "/v1/schedules/s")), "200");
  for (const char* path : {"/v1/schedules/s/pause", "/v1/schedules/s/trigger"})
    EXPECT_EQ(schedule_status(world.call("POST", path)), "404");
  EXPECT_EQ(schedule_status(world.call("GET", "/v1/schedules/s")), "404");
}

TEST(Schedules, StartJobsToo) {
  ScheduleWorld world;
  std::string made = world.put(
      R"({"name":"s","job":{"type":"a.b","args":[1],"options":{"queue":"q"}},"every":"1m"})");
  EXPECT_EQ(schedule_status(made), "201") << made;
  world.advance(60'000);
  std::string shown = world.get("s");
  EXPECT_EQ(text_of(shown, "last_status"), "available") << shown;
  std::string job = world.body("GET", "/ojs/v1/jobs/" + text_of(shown, "last_job_id"));
  EXPECT_EQ(text_of(job, "type"), "a.b") << job;
}

TEST(Schedules, RefusesWhatMeansNothing) {
  ScheduleWorld world;
  for (const char* wrong :
       {R"({"definition":"slow","every":"1m"})", R"({"name":"s","every":"1m"})",
        R"({"name":"s","definition":"slow"})",
        R"({"name":"s","definition":"slow","every":"1m","cron":"* * * * *"})",
        R"({"name":"s","definition":"slow","job":{"type":"a","args":[]},"every":"1m"})",
        R"({"name":"s","definition":"slow","every":"1ms"})",
        R"({"name":"s","definition":"slow","cron":"99 * * * *"})",
        R"({"name":"s","definition":"slow","cron":"* * * * *","timezone":"Mars/Base"})",
        R"({"name":"s","definition":"slow","every":"1m","overlap":"maybe"})",
        R"({"name":"s","definition":"slow","every":"1m","jitter":"-1s"})",
        R"({"name":"s","definition":"slow","every":"1m","colour":"red"})",
        R"({"name":"s","definition":"nobody","every":"1m"})",
        R"({"name":"s\u0002","definition":"slow","every":"1m"})",
        R"({"name":"s","definition":"slow","at":"tomorrow"})",
        R"({"name":"s","definition":"slow","every":"1m","inputs":[1]})"})
    EXPECT_EQ(schedule_status(world.put(wrong)), "422") << wrong;
  EXPECT_NE(world.body("GET", "/v1/schedules").find("\"schedules\":[]"), std::string::npos);
}

TEST(Schedules, AreNotCronsAndCronsAreNotSchedules) {
  ScheduleWorld world;
  world.put(R"({"name":"same","definition":"slow","every":"1m"})");
  std::string cron = world.body(
      "POST", "/ojs/v1/cron",
      R"({"name":"same","expression":"0 0 * * *","job_template":{"type":"a.b","args":[]}})");
  EXPECT_EQ(text_of(cron, "expression"), "0 0 * * *") << cron;
  EXPECT_EQ(text_of(world.get("same"), "definition"), "slow");
  EXPECT_EQ(world.body("GET", "/ojs/v1/cron").find("slow"), std::string::npos);
  EXPECT_EQ(world.body("GET", "/v1/schedules").find("a.b"), std::string::npos);
  EXPECT_EQ(schedule_status(world.call("GET", "/ojs/v1/cron/%02same")), "404");
}

TEST(Schedules, ADefinitionBringsItsTriggersAlong) {
  ScheduleWorld world;
  auto put = [&](const std::string& triggers, const std::string& step) {
    return world.call("POST", "/v1/definitions",
                      R"({"name":"d","definition":{"name":"d","steps":[{"id":")" + step +
                          R"(","type":"wait","config":{"duration":"1h"}}],"triggers":)" + triggers +
                          "}}");
  };
  std::string made = put(R"([{"cron":"0 3 * * *"},{"every":"1m","inputs":{"x":1}}])", "a");
  EXPECT_EQ(schedule_status(made), "201") << made;
  EXPECT_EQ(text_of(world.get("d%2Ftrigger_0"), "cron"), "0 3 * * *");
  world.advance(60'000);
  EXPECT_NE(text_of(world.get("d%2Ftrigger_1"), "last_run_id"), "");
  EXPECT_EQ(schedule_status(world.put(R"({"name":"d/trigger_0","definition":"d","every":"1m"})")),
            "409");
  world.body("POST", "/v1/schedules/d%2Ftrigger_0/pause");
  put(R"([{"cron":"0 4 * * *"}])", "b");
  std::string kept = world.get("d%2Ftrigger_0");
  EXPECT_EQ(text_of(kept, "cron"), "0 4 * * *");
  EXPECT_NE(kept.find("\"paused\":true"), std::string::npos) << kept;
  EXPECT_EQ(schedule_status(world.call("GET", "/v1/schedules/d%2Ftrigger_1")), "404");
  EXPECT_EQ(schedule_status(put(R"([{"cron":"never"}])", "c")), "422");
  EXPECT_EQ(schedule_status(world.call("DELETE", "/v1/definitions/d?force=true")), "200");
  EXPECT_EQ(schedule_status(world.call("GET", "/v1/schedules/d%2Ftrigger_0")), "404");
}

TEST(Schedules, AreListedInPages) {
  ScheduleWorld world;
  for (const char* name : {"a", "b", "c"})
    world.put(std::string(R"({"name":")") + name + R"(","definition":"slow","every":"1m"})");
  std::string first = world.body("GET", "/v1/schedules?limit=2");
  std::string cursor = text_of(first, "next_cursor");
  ASSERT_NE(cursor, "");
  std::string rest = world.body("GET", "/v1/schedules?limit=2&cursor=" + cursor);
  EXPECT_NE(rest.find("\"name\":\"c\""), std::string::npos) << rest;
  EXPECT_EQ(rest.find("\"name\":\"b\""), std::string::npos) << rest;
}

TEST(Admission, WaitingIsExplained) {
  ScheduleWorld world;
  world.body("POST", "/v1/definitions",
             R"({"name":"one","definition":{"name":"one","max_concurrent":1,"steps":[
                 {"id":"w","type":"wait","config":{"duration":"1h"}}]}})");
  std::string ids[3];
  for (std::string& id : ids)
    id = text_of(world.body("POST", "/v1/runs", R"({"definition":"one"})"), "id");
  EXPECT_EQ(text_of(world.body("GET", "/v1/runs/" + ids[2]), "status"), "pending");
  std::string why = world.body("GET", "/v1/runs/" + ids[2] + "/explain");
  EXPECT_NE(why.find("waiting for its turn, 1 ahead: 1 of the 1 runs that 'one' may have"),
            std::string::npos)
      << why;
  world.body("POST", "/v1/runs/" + ids[0] + "/cancel", "{}");
  world.advance(0);
  EXPECT_EQ(text_of(world.body("GET", "/v1/runs/" + ids[1]), "status"), "active");
}

}  // namespace
}  // namespace pawl::api
