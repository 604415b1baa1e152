// Calls that change many jobs, queues or workers of a server with several partitions.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "front/testing/front_world.h"

namespace pawl::front {
namespace {

std::string member_of(const std::string& body, std::string_view name) {
  auto doc = json::parse(body);
  auto found = doc.ok() ? doc->root().find(name) : std::nullopt;
  return found ? std::string(found->raw()) : "nothing";
}

std::string items_of(const std::string& body) {
  auto doc = json::parse(body);
  std::string text;
  doc->root().find("items")->each_element([&](json::View item) {
    text += std::string(item.find("index")->raw()) + " " + item.find("job_id")->string() + " " +
            item.find("status")->string() + "\n";
  });
  return text;
}

std::string ids_body(const std::vector<std::string>& ids) {
  std::string text = R"({"confirm":true,"ids":[)";
  for (const std::string& id : ids) text += "\"" + id + "\",";
  text.back() = ']';
  return text + "}";
}

TEST(FrontBulk, NamedJobsAreReportedInTheOrderOfTheRequest) {
  FrontWorld world;
  const std::string c = world.push_to(2), a = world.push_to(0), b = world.push_to(1);
  const std::string gone = world.id_in(1);
  const std::string body =
      world.body("POST", "/ojs/v1/admin/jobs/bulk/cancel", ids_body({b, gone, c, a}));
  EXPECT_EQ(member_of(body, "matched"), "4");
  EXPECT_EQ(member_of(body, "cancelled"), "3");
  EXPECT_EQ(member_of(body, "failed"), "1");
  EXPECT_EQ(items_of(body), "0 " + b + " cancelled\n1 " + gone + " skipped\n2 " + c +
                                " cancelled\n3 " + a + " cancelled\n");
  EXPECT_EQ(member_of(body, "errors"),
            R"([{"job_id":")" + gone + R"(","error":"job )" + gone + R"( not found"}])");
  EXPECT_EQ(member_of(body, "partitions_failed"), "nothing");
}

TEST(FrontBulk, AFilterIsForAllPartitions) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k, "a.b", k == 1 ? "other" : "q");
  const std::string body = world.body("POST", "/ojs/v1/admin/jobs/bulk/cancel",
                                      R"({"confirm":true,"filter":{"queue":"q"}})");
  EXPECT_EQ(member_of(body, "succeeded"), "2");
  EXPECT_EQ(member_of(world.body("GET", "/ojs/v1/jobs?state=cancelled"), "total"), "2");
}

TEST(FrontBulk, ABadIdRefusesTheWholeCall) {
  FrontWorld world;
  const std::string job = world.push_to(2);
  EXPECT_EQ(world.told("POST", "/ojs/v1/admin/jobs/bulk/cancel", ids_body({job, "x"})).substr(0, 3),
            "400");
  EXPECT_EQ(world.told("POST", "/ojs/v1/admin/jobs/bulk/cancel", ids_body({job})).substr(0, 3),
            "200");
}

TEST(FrontBulk, APurgedQueueIsEmptyEverywhere) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k);
  EXPECT_EQ(member_of(world.body("POST", "/ojs/v1/queues/q/purge"), "purged"), "3");
  EXPECT_NE(world.body("GET", "/ojs/v1/queues/q").find("\"depth\":0"), std::string::npos);
}

TEST(FrontBulk, AQueueIsRemovedOnceNoPartitionHoldsJobsOfIt) {
  FrontWorld world;
  world.push_to(1);
  world.push_to(2);
  const std::string refused = world.told("DELETE", "/ojs/v1/queues/q");
  EXPECT_EQ(refused.substr(0, 3), "409");
  EXPECT_NE(refused.find("queue q holds 2 unfinished jobs"), std::string::npos) << refused;
  EXPECT_NE(world.body("GET", "/ojs/v1/queues").find("\"name\":\"q\""), std::string::npos);
  world.call("POST", "/ojs/v1/queues/q/purge");
  EXPECT_EQ(world.told("DELETE", "/ojs/v1/queues/q"),
            R"(200 {"deleted":true,"name":"q","queue":"q"})");
  EXPECT_EQ(world.body("GET", "/ojs/v1/queues").find("\"name\":\"q\""), std::string::npos);
  EXPECT_EQ(world.told("DELETE", "/ojs/v1/queues/q").substr(0, 3), "404");
  world.push_to(2);
  EXPECT_NE(world.body("GET", "/ojs/v1/queues").find("\"name\":\"q\""), std::string::npos);
}

std::string fetch(FrontWorld& world, const std::string& worker, int count) {
  return world.body(
      "POST", "/ojs/v1/workers/fetch",
      R"({"queues":["q"],"worker_id":")" + worker + R"(","count":)" + std::to_string(count) + "}");
}

TEST(FrontWorkers, AWorkerIsOneWhereverItsJobsAre) {
  FrontWorld world;
  std::string ids;
  for (uint16_t k = 0; k < 3; ++k) ids += (k > 0 ? ",\"" : "\"") + world.push_to(k) + "\"";
  fetch(world, "w1", 3);
  world.call("POST", "/ojs/v1/workers/heartbeat",
             R"({"worker_id":"w1","active_jobs":[)" + ids + "]}");
  const std::string list = world.body("GET", "/ojs/v1/admin/workers");
  EXPECT_EQ(member_of(list, "summary"), R"({"total":1,"running":1,"quiet":0,"stale":0})");
  EXPECT_NE(list.find(R"("active_jobs":3,"jobs_fetched":3)"), std::string::npos) << list;
  EXPECT_EQ(member_of(world.body("GET", "/ojs/v1/workers/w1/health"), "status"), "\"healthy\"");
  EXPECT_EQ(member_of(world.body("POST", "/ojs/v1/admin/workers/w1/quiet"), "directive"),
            "\"quiet\"");
  EXPECT_EQ(world.told("POST", "/ojs/v1/admin/workers/directive", R"({"directive":"resume"})"),
            R"(200 {"directive":"resume","workers":1})");
  EXPECT_EQ(world.told("GET", "/ojs/v1/admin/workers/w2").substr(0, 3), "404");
  EXPECT_EQ(member_of(world.body("GET", "/ojs/v1/admin/stats"), "workers"), "1");
}

TEST(FrontWorkers, ABeatExtendsItsJobsInAllPartitions) {
  FrontWorld world;
  std::vector<std::string> jobs;
  for (uint16_t k = 0; k < 3; ++k) jobs.push_back(world.push_to(k));
  fetch(world, "w1", 3);
  const std::string body = world.body("POST", "/ojs/v1/workers/beat",
                                      R"({"worker_id":"w1","active_jobs":7,"active_job_ids":[")" +
                                          jobs[0] + "\",\"" + jobs[1] + "\",\"" + jobs[2] + "\"]}");
  EXPECT_EQ(member_of(body, "acknowledged"), "true");
  EXPECT_EQ(member_of(body, "jobs_extended"),
            "[\"" + jobs[0] + "\",\"" + jobs[1] + "\",\"" + jobs[2] + "\"]");
  EXPECT_EQ(member_of(world.body("GET", "/ojs/v1/workers/w1/health"), "active_jobs"), "7");
}

TEST(FrontWorkers, AGoneWorkersJobsAreFreeInAllPartitions) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k);
  fetch(world, "w1", 3);
  EXPECT_EQ(world.told("DELETE", "/ojs/v1/admin/workers/w1").substr(0, 3), "409");
  world.advance(61'000);
  const std::string body = world.body("DELETE", "/ojs/v1/admin/workers/w1");
  EXPECT_EQ(member_of(body, "jobs_requeued"), "3") << body;
  EXPECT_EQ(world.told("GET", "/ojs/v1/admin/workers/w1").substr(0, 3), "404");
  const std::string again = fetch(world, "w2", 3);
  EXPECT_EQ(std::count(again.begin(), again.end(), '{') > 3, true) << again;
  EXPECT_NE(world.body("GET", "/ojs/v1/queues/q").find("\"active\":3"), std::string::npos);
}

}  // namespace
}  // namespace pawl::front
