// Runs in the form of /v1, and the waits that explain reports for unfinished ones.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "base/json.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

std::string create(ApiWorld& world, const std::string& body, const std::string& headers = "") {
  return text_of(world.body("POST", "/ojs/v1/workflows", body, headers), "id");
}

// "step reason until? | … ; next step after …": the text a person reads, without changing times.
std::string story(ApiWorld& world, const std::string& path) {
  std::string text = world.body("GET", path);
  auto doc = json::parse(text);
  std::string out = doc->root().find("status")->string() + ":";
  auto member = [](json::View object, const char* name) {
    auto value = object.find(name);
    return value ? value->is_string() ? value->string() : std::string(value->raw()) : "";
  };
  doc->root().find("waiting_for")->each_element([&](json::View wait) {
    std::string step = member(wait, "step_id");
    out += " " + (step.empty() ? "" : step + "=") + member(wait, "reason");
    if (!member(wait, "until").empty()) out += "(until)";
    if (!member(wait, "worker_id").empty()) out += "(" + member(wait, "worker_id") + ")";
    if (!member(wait, "key").empty()) out += "(" + member(wait, "key") + ")";
    if (!member(wait, "jobs_ahead").empty()) out += "#" + member(wait, "jobs_ahead");
  });
  doc->root().find("next")->each_element([&](json::View next) {
    out += " | " + member(next, "step_id") + " " + member(next, "type") + " after " +
           member(next, "after");
  });
  return out;
}

std::string job(const std::string& type, const std::string& options) {
  return R"({"type":")" + type + R"(","args":[],"options":{)" + options + "}}";
}

std::string explained_job(ApiWorld& world, const std::string& options) {
  std::string id = text_of(world.body("POST", "/ojs/v1/jobs", job("a.b", options)), "id");
  return story(world, "/v1/jobs/" + id + "/explain");
}

void fetch(ApiWorld& world, const std::string& queue, const std::string& worker = "w1") {
  world.body("POST", "/ojs/v1/workers/fetch",
             R"({"queues":[")" + queue + R"("],"worker_id":")" + worker + R"("})");
}

TEST(ExplainJob, NamesEveryKindOfWait) {
  ApiWorld world;
  EXPECT_EQ(explained_job(world, R"("queue":"q")"), "available: worker#0");
  EXPECT_EQ(explained_job(world, R"("queue":"q")"), "available: worker#1");
  EXPECT_EQ(explained_job(world, R"("queue":"q","priority":5)"), "available: worker#0");
  EXPECT_EQ(explained_job(world, R"("queue":"q","delay_until":"+PT1H")"),
            "scheduled: scheduled(until)");
  world.body("POST", "/ojs/v1/queues/held/pause");
  EXPECT_EQ(explained_job(world, R"("queue":"held")"), "available: queue_paused#0");
}

TEST(ExplainJob, LimitsAndActivation) {
  ApiWorld world;
  std::string one = R"("queue":"l","rate_limit":{"key":"one","concurrency":1})";
  EXPECT_EQ(explained_job(world, one), "available: worker#0");
  fetch(world, "l");
  EXPECT_EQ(explained_job(world, one), "available: concurrency(one)#0");
  std::string slow =
      R"("queue":"r","rate_limit":{"key":"slow","rate":{"limit":1,"period":"PT1M"}})";
  EXPECT_EQ(explained_job(world, slow), "available: worker#0");
  fetch(world, "r");
  EXPECT_EQ(explained_job(world, slow), "available: rate_limit(until)(slow)#0");
  world.advance(60'001);
  EXPECT_EQ(explained_job(world, slow), "available: worker#1");
  EXPECT_EQ(explained_job(world, R"("pending":true)"), "pending: activation");
}

TEST(ExplainJob, WorkersAndLeases) {
  ApiWorld world;
  std::string id = push(world, "a.b", "q");
  std::string path = "/v1/jobs/" + id + "/explain";
  EXPECT_NE(world.body("GET", path).find("none has asked since the server started"),
            std::string::npos);
  fetch(world, "q");
  EXPECT_EQ(story(world, path), "active: lease(until)(w1)");
  std::string second = push(world, "a.b", "q");
  EXPECT_NE(world.body("GET", "/v1/jobs/" + second + "/explain").find("workers are there"),
            std::string::npos);
  world.body("POST", "/ojs/v1/jobs/" + id + "/nack", R"({"error":{"code":"x","message":"no"}})");
  EXPECT_EQ(story(world, path), "retryable: retry(until)");
  world.body("DELETE", "/ojs/v1/jobs/" + id);
  EXPECT_EQ(story(world, path), "cancelled:");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/jobs/nobody/explain")), "404");
}

TEST(ExplainRun, AChainWaitsForItsStepAndShowsTheNext) {
  ApiWorld world;
  std::string id = create(world, R"({"type":"chain","steps":[{"type":"a.one","args":[]},)"
                                 R"({"type":"a.two","args":[]}]})");
  EXPECT_EQ(story(world, "/v1/runs/" + id + "/explain"), "active: 0=worker#0 | 1 a.two after 0");
  fetch(world, "default");
  EXPECT_EQ(story(world, "/v1/runs/" + id + "/explain"),
            "active: 0=lease(until)(w1) | 1 a.two after 0");
  world.body("DELETE", "/ojs/v1/workflows/" + id);
  EXPECT_EQ(story(world, "/v1/runs/" + id + "/explain"), "cancelled:");
}

TEST(ExplainRun, NestedRunsAndDagsByTheirPath) {
  ApiWorld world;
  std::string id = create(
      world, R"({"steps":[{"name":"build","type":"group","jobs":[{"type":"a.x","args":[]},)"
             R"({"type":"chain","steps":[{"type":"a.y","args":[]},{"type":"a.z","args":[]}]}]},)"
             R"({"name":"ship","type":"a.ship","args":[],"depends_on":["build"]}]})");
  EXPECT_EQ(story(world, "/v1/runs/" + id + "/explain"),
            "active: build.0=worker#0 build.1.0=worker#1 | build.1.1 a.z after build.1.0 | ship "
            "a.ship after build");
}

TEST(ExplainRun, ABatchWaitsForItsCallbacks) {
  ApiWorld world;
  std::string id = create(world, R"({"type":"batch","jobs":[{"type":"a.x","args":[]}],)"
                                 R"("callbacks":{"on_complete":{"type":"a.done","args":[]}}})");
  std::string job =
      text_of(world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["default"]})"), "id");
  world.body("POST", "/ojs/v1/jobs/" + job + "/ack", "{}");
  EXPECT_EQ(story(world, "/v1/runs/" + id + "/explain"), "active: on_complete=worker#0");
}

TEST(ExplainRun, ALargeRunIsToldInPart) {
  ApiWorld world;
  std::string jobs;
  for (int i = 0; i < 250; ++i)
    jobs += std::string(i == 0 ? "" : ",") + R"({"type":"a.x","args":[]})";
  std::string id = create(world, R"({"type":"group","jobs":[)" + jobs + "]}");
  std::string text = world.body("GET", "/v1/runs/" + id + "/explain");
  EXPECT_NE(text.find(R"("waiting_total":250)"), std::string::npos);
  size_t shown = 0;
  for (size_t at = 0; (at = text.find("step_id", at)) != std::string::npos; ++at) ++shown;
  EXPECT_EQ(shown, 100u);
}

TEST(Runs, GetAndList) {
  ApiWorld world;
  std::string id =
      create(world, R"({"type":"chain","name":"order","steps":[{"type":"a.one","args":[]},)"
                    R"({"type":"a.two","args":[]},{"type":"a.three","args":[]}]})");
  world.advance(5);
  std::string other = create(world, R"({"type":"group","jobs":[{"type":"a.x","args":[]}]})",
                             "X-OJS-Tenant: acme\r\n");
  std::string run = world.body("GET", "/v1/runs/" + id);
  EXPECT_EQ(run.substr(0, run.find("\"created_at\"")),
            R"({"run":{"id":")" + id +
                R"(","kind":"chain","name":"order","status":"active","progress":0,"counts":)"
                R"({"total":3,"completed":0,"failed":0,"cancelled":0,"jobs":3},)");
  EXPECT_NE(run.find(R"("1":{"index":1,"status":"pending","type":"a.two"})"), std::string::npos)
      << run;
  EXPECT_NE(run.find(R"("current_steps":["0"])"), std::string::npos) << run;
  std::string part = world.body("GET", "/v1/runs/" + id + "?limit=1&cursor=1");
  EXPECT_NE(part.find(R"("steps":{"1":)"), std::string::npos) << part;
  EXPECT_EQ(text_of(part, "next_cursor"), "2");

  std::string first = world.body("GET", "/v1/runs?limit=1");
  EXPECT_EQ(text_of(first, "id"), other);
  EXPECT_EQ(
      text_of(world.body("GET", "/v1/runs?limit=1&cursor=" + text_of(first, "next_cursor")), "id"),
      id);
  EXPECT_EQ(text_of(world.body("GET", "/v1/runs?kind=chain&status=active"), "id"), id);
  EXPECT_EQ(world.body("GET", "/v1/runs?status=failed"), R"({"runs":[]})");
  EXPECT_EQ(text_of(world.body("GET", "/v1/runs", "", "X-OJS-Tenant: acme\r\n"), "id"), other);
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/runs/" + id, "", "X-OJS-Tenant: acme\r\n")),
            "404");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/runs?cursor=x")), "400");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/runs/" + id + "?cursor=x")), "400");
}

TEST(Runs, FieldsChooseWhatIsShown) {
  ApiWorld world;
  std::string id = create(world, R"({"type":"chain","name":"order","steps":[)"
                                 R"({"type":"a.one","args":[]},{"type":"a.two","args":[]}]})");
  std::string kept = R"({"id":")" + id + R"(","status":"active"})";
  EXPECT_EQ(world.body("GET", "/v1/runs/" + id + "?fields=status"), R"({"run":)" + kept + "}");
  EXPECT_EQ(world.body("GET", "/v1/runs?fields=status,unheard_of"), R"({"runs":[)" + kept + "]}");
  EXPECT_EQ(world.body("GET", "/v1/runs/" + id + "?fields="), world.body("GET", "/v1/runs/" + id));
  // next_cursor is there whatever fields were chosen.
  EXPECT_EQ(world.body("GET", "/v1/runs/" + id + "?limit=1&fields=current_steps"),
            R"({"run":{"id":")" + id + R"(","current_steps":["0"],"next_cursor":"1"}})");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/runs/none?fields=id")), "404");
  EXPECT_EQ(text_of(world.body("GET", "/v1/runs/" + id + "/explain?fields=id"), "status"),
            "active");
}

// --- calls that change a run

std::string status_word(ApiWorld& world, const std::string& id) {
  return text_of(world.body("GET", "/v1/runs/" + id), "status");
}

TEST(CancelRun, SaysWhyAndWhen) {
  ApiWorld world;
  std::string id =
      create(world, R"({"type":"chain","id":"order-7","steps":[{"type":"a.one","args":[]},)"
                    R"({"type":"a.two","args":[]}]})");
  std::string path = "/v1/runs/" + id;
  EXPECT_EQ(http::status_of(world.call("POST", path + "/cancel", R"({"reason":7})")), "422");
  EXPECT_EQ(http::status_of(world.call("POST", path + "/cancel",
                                       R"({"reason":")" + std::string(1025, 'x') + "\"}")),
            "422");
  EXPECT_EQ(http::status_of(world.call("POST", path + "/cancel", "", "X-OJS-Tenant: acme\r\n")),
            "404");
  EXPECT_EQ(status_word(world, id), "active");
  world.advance(1500);
  std::string cancelled = world.body("POST", path + "/cancel", R"({"reason":"out of stock"})");
  EXPECT_EQ(text_of(cancelled, "status"), "cancelled");
  EXPECT_NE(cancelled.find(R"("reason":"out of stock")"), std::string::npos) << cancelled;
  EXPECT_EQ(http::status_of(world.call("POST", path + "/cancel")), "409");
  EXPECT_EQ(http::status_of(world.call("POST", path + "/retry")), "409");
  EXPECT_EQ(http::status_of(world.call("POST", "/v1/runs/order-8/cancel")), "404");

  std::string told = world.body("GET", path + "/explain");
  EXPECT_EQ(told.substr(0, told.find("\"at\"")),
            R"({"id":"order-7","status":"cancelled","ended":{"status":"cancelled",)");
  EXPECT_NE(told.find(R"("after_ms":1500,"reason":"out of stock"},"waiting_for":[])"),
            std::string::npos)
      << told;
}

TEST(CancelRun, WithoutABodyIsByRequest) {
  ApiWorld world;
  std::string id = create(world, R"({"type":"group","jobs":[{"type":"a.x","args":[]}]})");
  std::string cancelled = world.body("POST", "/v1/runs/" + id + "/cancel");
  EXPECT_NE(cancelled.find(R"("reason":"cancelled by request")"), std::string::npos) << cancelled;
}

TEST(RetryRun, GoesOnFromWhatFailed) {
  ApiWorld world;
  std::string id = create(world, R"({"type":"chain","steps":[{"type":"a.one","args":[],)"
                                 R"("options":{"retry":{"max_attempts":1}}}]})");
  auto take = [&] {
    return text_of(world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["default"]})"), "id");
  };
  std::string path = "/v1/runs/" + id;
  EXPECT_EQ(http::status_of(world.call("POST", path + "/retry")), "409");
  std::string job = take();
  world.body("POST", "/ojs/v1/workers/nack",
             R"({"job_id":")" + job + R"(","error":{"code":"boom","message":"no"}})");
  std::string told = world.body("GET", path + "/explain");
  EXPECT_NE(told.find(R"("reason":"step 0 failed")"), std::string::npos) << told;
  told = world.body("GET", "/v1/jobs/" + job + "/explain");
  EXPECT_NE(told.find(R"("ended":{"status":"discarded")"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("code":"boom")"), std::string::npos) << told;
  EXPECT_EQ(text_of(world.body("POST", path + "/retry", R"({"reason":"again"})"), "status"),
            "active");
  told = world.body("GET", path + "/explain");
  EXPECT_EQ(told.find("ended"), std::string::npos) << told;
  world.body("POST", "/ojs/v1/jobs/" + take() + "/ack", "{}");
  EXPECT_EQ(status_word(world, id), "completed");
}

// A workflow's events are exactly the stream's events that name it, in order.
TEST(WorkflowEvents, OfOneWorkflow) {
  ApiWorld world;
  std::string id =
      create(world, R"({"type":"chain","id":"order-7","steps":[{"type":"a.one","args":[]}]})");
  create(world, R"({"type":"group","jobs":[{"type":"a.x","args":[]}]})");
  std::string job =
      text_of(world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["default"]})"), "id");
  world.body("POST", "/ojs/v1/jobs/" + job + "/ack", "{}");
  auto types = [&](const std::string& path) {
    std::string text = world.body("GET", path);
    auto doc = json::parse(text);
    std::string all;
    if (auto events = doc->root().find("events"))
      events->each_element([&](json::View event) {
        all += (all.empty() ? "" : " ") + event.find("type")->string().substr(9);
      });
    return all;
  };
  EXPECT_EQ(id, "order-7");
  EXPECT_EQ(types("/ojs/v1/workflows/order-7/events"), "created started step_completed completed");
  EXPECT_EQ(types("/ojs/v1/events?workflow_id=order-7&types=workflow.completed"), "completed");
  EXPECT_EQ(types("/ojs/v1/events?types=workflow.created"), "created created");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/workflows/order-8/events")), "404");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/workflows/order-7/events", "",
                                       "X-OJS-Tenant: acme\r\n")),
            "404");
}

// Events are read from the journal, without the state that maps ids chosen by clients.
TEST(Runs, EventsNameTheRunByItsClientsId) {
  ApiWorld world;
  std::string steps = R"([{"id":"s","type":"wait","config":{"signal":"go"}}])";
  std::string made =
      world.body("POST", "/v1/runs", R"({"id":"my run/1","definition":{"steps":)" + steps + "}}");
  EXPECT_EQ(text_of(made, "id"), "my run/1") << made;
  std::string named = R"("run_id":"my run/1")";
  std::string unnamed = R"("run_id":"0)";
  std::string told = world.body("GET", "/v1/runs/my%20run%2F1/events");
  EXPECT_NE(told.find(R"("type":"step_started",)" + named), std::string::npos) << told;
  EXPECT_EQ(told.find(unnamed), std::string::npos) << told;
  std::string all = world.body("GET", "/v1/events", "", "Accept: application/json\r\n");
  EXPECT_NE(all.find(R"("type":"workflow_started",)" + named), std::string::npos) << all;
  EXPECT_EQ(all.find(unnamed), std::string::npos) << all;
}

// Definitions may be nested deeper than other bodies; a run of one can be extended all the same.
TEST(ExtendRun, TakesARunWhoseDefinitionIsNestedDeeply) {
  ApiWorld world;
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const std::string definition =
      R"({"name":"deep","steps":[{"id":"w","type":"wait","config":{"duration":"1h"}},)"
      R"({"id":"log","depends_on":["w"],"action":"workflow.log","params":{"message":"m","data":)" +
      deep + "}}]}";
  ASSERT_EQ(http::status_of(world.call("POST", "/v1/definitions", definition)), "201");
  const std::string run = text_of(world.body("POST", "/v1/runs", R"({"definition":"deep"})"), "id");
  EXPECT_EQ(http::status_of(world.call("POST", "/v1/runs/" + run + "/extend",
                                       R"({"steps":[{"id":"more","action":"workflow.log",)"
                                       R"("params":{"message":"m"}}]})")),
            "200");
}

}  // namespace
}  // namespace pawl::api
