// Queues, their settings, rate limits, workers and figures, over a real server.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

bool queue_has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string queue_status(ApiWorld& world, const std::string& method, const std::string& path,
                         const std::string& body = "", const std::string& headers = "") {
  return http::status_of(world.call(method, path, body, headers));
}

const std::string kAcme = "X-OJS-Tenant: acme\r\n";

TEST(Queues, AnUnknownQueueReadsAsZerosAndABadNameIsRefused) {
  ApiWorld world;
  std::string stats = world.body("GET", "/ojs/v1/queues/nobody/stats");
  EXPECT_TRUE(queue_has(stats, R"("queue":{"name":"nobody")")) << stats;
  EXPECT_TRUE(queue_has(stats, R"("available":0,"active":0)")) << stats;
  EXPECT_TRUE(queue_has(stats, R"("stats":{"queue":"nobody")")) << stats;
  EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/queues/UPPER"), "400");
}

TEST(Queues, PauseHidesJobsUntilResume) {
  ApiWorld world;
  push(world);
  EXPECT_TRUE(queue_has(world.body("POST", "/ojs/v1/queues/q/pause"), R"("paused":true)"));
  std::string fetch = R"({"queues":["q"]})";
  EXPECT_EQ(world.body("POST", "/ojs/v1/workers/fetch", fetch), R"({"jobs":[]})");
  std::string resumed = world.body("POST", "/ojs/v1/admin/queues/q/resume");
  EXPECT_TRUE(queue_has(resumed, R"("name":"q","paused":false)")) << resumed;
  EXPECT_TRUE(queue_has(world.body("POST", "/ojs/v1/workers/fetch", fetch), R"("state":"active")"));
}

TEST(Queues, ATenantSeesAndPausesItsOwnOnly) {
  ApiWorld world;
  push(world, "a.b", "q");
  push(world, "a.b", "q", kAcme);
  world.body("POST", "/ojs/v1/queues/q/pause", "", kAcme);
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/queues/q"), R"("paused":false)"));
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/queues/q", "", kAcme), R"("paused":true)"));
  std::string own = world.body("GET", "/ojs/v1/queues", "", kAcme);
  EXPECT_TRUE(queue_has(own, R"("total":1)")) << own;
  std::string all = world.body("GET", "/ojs/v1/admin/queues");
  EXPECT_TRUE(queue_has(all, R"("total":2)") && queue_has(all, R"("tenant_id":"acme")")) << all;
}

TEST(Queues, TheListIsPagedByCursor) {
  ApiWorld world;
  for (const char* queue : {"a", "b", "c"}) push(world, "x.y", queue);
  std::string first = world.body("GET", "/ojs/v1/queues?limit=2");
  EXPECT_TRUE(queue_has(first, R"("name":"a")") && queue_has(first, R"("name":"b")") &&
              !queue_has(first, R"("name":"c")"));
  std::string rest =
      world.body("GET", "/ojs/v1/queues?limit=2&cursor=" + text_of(first, "next_cursor"));
  EXPECT_TRUE(queue_has(rest, R"("name":"c")") && !queue_has(rest, R"("name":"b")")) << rest;
  EXPECT_TRUE(queue_has(rest, R"("has_more":false)"));
  for (const char* query : {"limit=0", "limit=x", "cursor=zz", "offset=-1", "page=0"})
    EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/queues?" + std::string(query)), "400") << query;
}

TEST(QueueConfig, AFullQueueRefusesAndSaysHowFullItIs) {
  ApiWorld world;
  std::string config = world.body("PUT", "/ojs/v1/admin/queues/q/config",
                                  R"({"backpressure":{"max_depth":1,"warning_threshold":0.5}})");
  EXPECT_TRUE(queue_has(config, R"("max_depth":1)") &&
              queue_has(config, R"("warning_threshold":0.5)"))
      << config;
  std::string job = R"({"type":"a","args":[],"options":{"queue":"q"}})";
  EXPECT_TRUE(queue_has(world.call("POST", "/ojs/v1/jobs", job), "X-OJS-Queue-Pressure: 1.00"));
  std::string refused = world.call("POST", "/ojs/v1/jobs", job, "Idempotency-Key: k\r\n");
  EXPECT_EQ(http::status_of(refused), "429");
  EXPECT_TRUE(queue_has(refused, "QUEUE_FULL") && queue_has(refused, "Retry-After: ")) << refused;
  EXPECT_TRUE(queue_has(refused, "X-OJS-Queue-Depth: 1") &&
              queue_has(refused, "X-OJS-Queue-Bound: 1"));
  // A refusal is not stored under the key: the same call succeeds once there is room.
  world.body("PUT", "/ojs/v1/admin/queues/q/config", R"({"backpressure":null})");
  EXPECT_EQ(queue_status(world, "POST", "/ojs/v1/jobs", job, "Idempotency-Key: k\r\n"), "201");
}

TEST(QueueConfig, RefusesWhatItWouldNotHonour) {
  ApiWorld world;
  for (const char* body : {R"({"backpressure":{"strategy":"drop_oldest"}})",
                           R"({"backpressure":{"max_size_bytes":1}})", R"({"concurrency":3})",
                           R"({"backpressure":{"max_depth":-1}})", R"({"backpressure":7})",
                           R"({"backpressure":{"warning_threshold":2}})", R"({"paused":"no"})",
                           R"({"rate_limit":{"limit":5,"period":"PT1H"}})"})
    EXPECT_EQ(queue_status(world, "PUT", "/ojs/v1/admin/queues/q/config", body), "422") << body;
}

TEST(RateLimits, ShowWhatIsTakenAndCanBeOverridden) {
  ApiWorld world;
  EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/rate-limits/k"), "404");
  world.body(
      "POST", "/ojs/v1/jobs",
      R"({"type":"a","args":[],"options":{"queue":"q","rate_limit":{"key":"k","concurrency":2}}})");
  world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"]})");
  std::string limit = world.body("GET", "/ojs/v1/rate-limits/k");
  EXPECT_TRUE(queue_has(limit, R"("concurrency":{"active":1,"limit":2,"available":1})")) << limit;
  limit = world.body("PUT", "/ojs/v1/rate-limits/k", R"({"rate":{"limit":3,"period":"PT1M"}})");
  EXPECT_TRUE(queue_has(limit, R"("rate":{"limit":3,"period":"PT1M")")) << limit;
  EXPECT_EQ(queue_status(world, "PUT", "/ojs/v1/rate-limits/k", "{}"), "422");
  EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/rate-limits/k", "", kAcme), "404");
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/rate-limits"), R"("total":1)"));
}

TEST(Workers, TheOperatorsWordStandsUntilTakenBack) {
  ApiWorld world;
  EXPECT_EQ(queue_status(world, "POST", "/ojs/v1/admin/workers/w/quiet"), "404");
  std::string running = R"({"worker_id":"w","state":"running"})";
  EXPECT_TRUE(queue_has(world.body("POST", "/ojs/v1/workers/beat", running),
                        R"("acknowledged":true,"state":"running")"));
  world.body("POST", "/ojs/v1/admin/workers/w/quiet");
  EXPECT_TRUE(queue_has(world.body("POST", "/ojs/v1/workers/beat", running), R"("state":"quiet")"));
  push(world);
  std::string fetch = R"({"queues":["q"],"worker_id":"w"})";
  EXPECT_EQ(world.body("POST", "/ojs/v1/workers/fetch", fetch), R"({"jobs":[]})");
  world.body("POST", "/ojs/v1/admin/workers/w/resume");
  EXPECT_TRUE(queue_has(world.body("POST", "/ojs/v1/workers/fetch", fetch), R"("state":"active")"));
}

// A job that leaves its worker unfit for others says so itself, whatever it calls the reason.
TEST(Workers, AJobMayAskTheWorkerThatHoldsItToStop) {
  const auto told = [](const std::string& meta) {
    ApiWorld world;
    world.body("POST", "/ojs/v1/jobs", R"({"type":"t","args":[],"queue":"q","meta":)" + meta + "}");
    const std::string leased =
        world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w"})");
    const std::string id = leased.substr(leased.find(R"("id":")") + 6, 36);
    const std::string beat = world.body("POST", "/ojs/v1/workers/heartbeat",
                                        R"({"worker_id":"w","active_jobs":[")" + id + R"("]})");
    return beat.substr(0, beat.find(','));
  };
  EXPECT_EQ(told(R"({"deploy_directive":"quiet"})"), R"({"state":"quiet")");
  EXPECT_EQ(told(R"({"a":1,"leak_directive":"terminate"})"), R"({"state":"terminate")");
  EXPECT_EQ(told(R"({"deploy_directive":"dance"})"), R"({"state":"running")");
  EXPECT_EQ(told(R"({"directive":"quiet","x":{"deploy_directive":"quiet"}})"),
            R"({"state":"running")");
}

TEST(Workers, ADrainingWorkerGetsNothingAndSaysSo) {
  ApiWorld world;
  push(world);
  world.body("POST", "/ojs/v1/workers/beat",
             R"({"worker_id":"w","state":"drain","active_jobs":0})");
  EXPECT_EQ(world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w"})"),
            R"({"jobs":[]})");
  std::string health = world.body("GET", "/ojs/v1/workers/w/health");
  EXPECT_TRUE(queue_has(health, R"("status":"degraded")") &&
              queue_has(health, R"("state":"drain")"))
      << health;
  EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/workers/nobody/health"), "404");
  EXPECT_EQ(
      queue_status(world, "POST", "/ojs/v1/workers/beat", R"({"worker_id":"w","state":"odd"})"),
      "400");
  std::string list = world.body("GET", "/ojs/v1/admin/workers");
  EXPECT_TRUE(queue_has(list, R"("summary":{"total":1,"running":0,"quiet":1,"stale":0})")) << list;
}

TEST(Workers, ABeatRenewsTheLeasesItNames) {
  ApiWorld world;
  std::string id = push(world);
  world.body("POST", "/ojs/v1/workers/fetch",
             R"({"queues":["q"],"worker_id":"w","visibility_timeout_ms":1000})");
  std::string beat = R"({"worker_id":"w","active_jobs":[")" + id + R"("]})";
  EXPECT_TRUE(
      queue_has(world.body("POST", "/ojs/v1/workers/beat", beat), R"("jobs_extended":[")" + id));
  world.advance(2000);
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/jobs/" + id), R"("state":"active")"));
}

TEST(AdminStats, CountJobsByStateAndTenant) {
  ApiWorld world;
  push(world);
  push(world, "a.b", "q", kAcme);
  std::string stats = world.body("GET", "/ojs/v1/admin/stats");
  EXPECT_TRUE(queue_has(stats, R"("queues":2)") && queue_has(stats, R"("jobs":{"available":2)"))
      << stats;
  std::string tenant = world.body("GET", "/ojs/v1/admin/tenants/acme/stats");
  EXPECT_TRUE(queue_has(tenant, R"("tenant_id":"acme",)") && queue_has(tenant, R"("total_jobs":1)"))
      << tenant;
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/admin/tenants"), R"("total":1)"));
  EXPECT_EQ(queue_status(world, "GET", "/ojs/v1/admin/tenants/other/stats", "", kAcme), "404");
  EXPECT_TRUE(queue_has(world.body("GET", "/ojs/v1/admin/scheduling/stats"), R"("stats":{)"));
}

TEST(QueueConfig, SaysWhereItsJobsLive) {
  ApiWorld world;
  const std::string path = "/ojs/v1/admin/queues/q/config";
  EXPECT_EQ(world.body("GET", path).find("partition"), std::string::npos);
  EXPECT_EQ(text_of(world.body("PUT", path, R"({"partition":"pinned"})"), "partition"), "pinned");
  EXPECT_EQ(text_of(world.body("PUT", path, R"({"partition":"spread"})"), "partition"), "spread");
  EXPECT_EQ(text_of(world.body("GET", path), "partition"), "spread");
  EXPECT_NE(world.call("PUT", path, R"({"partition":"home"})").find("422"), std::string::npos);
  EXPECT_EQ(text_of(world.body("GET", path), "partition"), "spread");
}

}  // namespace
}  // namespace pawl::api
