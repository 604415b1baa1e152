// A worker whose reply was lost calls again with the same Idempotency-Key: the call counts once,
// and leased jobs are in the second reply as well.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

const char kKey[] = "Idempotency-Key: k\r\n";

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string fetched_by(ApiWorld& world, const std::string& headers = "") {
  return world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w"})",
                    headers);
}

std::string job_state(ApiWorld& world, const std::string& job) {
  return text_of(world.body("GET", "/ojs/v1/jobs/" + job), "state");
}

// Repeats a call: the same answer, marked as repeated. With another body: refused.
std::string repeated(ApiWorld& world, const std::string& path, const std::string& body) {
  std::string first = world.call("POST", path, body, kKey);
  EXPECT_EQ(http::status_of(first), "200") << first;
  EXPECT_FALSE(says(first, "Idempotency-Replayed")) << first;
  std::string second = world.call("POST", path, body, kKey);
  EXPECT_TRUE(says(second, "Idempotency-Replayed: true")) << second;
  EXPECT_EQ(http::body_of(second), http::body_of(first));
  EXPECT_EQ(http::status_of(world.call("POST", path, body + " ", kKey)), "422");
  return http::body_of(first);
}

TEST(WorkerCalls, AcksRepeatTheirAnswer) {
  ApiWorld world;
  std::string one = push(world), two = push(world), three = push(world);
  for (int i = 0; i < 3; ++i) fetched_by(world);
  repeated(world, "/ojs/v1/workers/ack", R"({"job_id":")" + one + R"("})");
  std::string many = R"({"acks":[{"job_id":")" + two + R"("},{"job_id":")" + three + R"("}]})";
  std::string other_key = "Idempotency-Key: many\r\n";
  std::string first = world.body("POST", "/ojs/v1/workers/ack", many, other_key);
  EXPECT_TRUE(says(first, R"("acknowledged":true)")) << first;
  EXPECT_EQ(world.body("POST", "/ojs/v1/workers/ack", many, other_key), first);
  EXPECT_EQ(http::status_of(world.call("POST", "/ojs/v1/workers/ack", many + " ", other_key)),
            "422");
}

TEST(WorkerCalls, FetchesRepeatTheJobsTheyGave) {
  ApiWorld world;
  std::string one = push(world), two = push(world), three = push(world);
  std::string fetched =
      repeated(world, "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w"})");
  EXPECT_TRUE(says(fetched, one)) << fetched;
  std::string next = repeated(world, "/ojs/v1/workers/ack",
                              R"({"job_id":")" + one + R"(","fetch":{"queues":["q"]}})");
  EXPECT_TRUE(says(next, two)) << next;
  EXPECT_EQ(job_state(world, one) + " " + job_state(world, two) + " " + job_state(world, three),
            "completed active available");
}

// While the fetch waits, a repeated call reports only the ack. Afterwards it names the job.
TEST(WorkerCalls, AFetchThatWaitedRepeatsTheJobItGot) {
  ApiWorld world;
  std::string one = push(world);
  fetched_by(world);
  const std::string ack = R"({"job_id":")" + one + R"(","fetch":{"queues":["q"],"wait_ms":60000}})";
  http::LoopbackClient waiting(world.server->port());
  waiting.send("POST /ojs/v1/workers/ack HTTP/1.1\r\nHost: h\r\n" + std::string(kKey) +
               "Content-Length: " + std::to_string(ack.size()) + "\r\n\r\n" + ack);
  while (job_state(world, one) != "completed") {
  }
  std::string meanwhile = world.body("POST", "/ojs/v1/workers/ack", ack, kKey);
  EXPECT_TRUE(says(meanwhile, R"("acknowledged":true)") && says(meanwhile, R"("jobs":[])"))
      << meanwhile;
  std::string two = push(world);
  std::string given = http::body_of(waiting.read_response());
  EXPECT_TRUE(says(given, R"("acknowledged":true)") && says(given, two)) << given;
  push(world);
  EXPECT_EQ(world.body("POST", "/ojs/v1/workers/ack", ack, kKey), given);
}

// A refused call is not kept: the same call may succeed later.
TEST(WorkerCalls, ARefusedAckIsNotKept) {
  ApiWorld world;
  std::string one = push(world);
  const std::string ack = R"({"job_id":")" + one + R"(","fetch":{"queues":["q"]}})";
  EXPECT_EQ(http::status_of(world.call("POST", "/ojs/v1/workers/ack", ack, kKey)), "409");
  fetched_by(world);
  EXPECT_EQ(http::status_of(world.call("POST", "/ojs/v1/workers/ack", ack, kKey)), "200");
}

}  // namespace
}  // namespace pawl::api
