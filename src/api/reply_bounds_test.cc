// For any stored data, one reply has a bounded size, marks omitted values, and another call gives
// them.
#include <gtest/gtest.h>

#include <set>

#include "api/paging.h"
#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"
#include "wire/reply_room.h"

namespace pawl::api {
namespace {

constexpr size_t kMiB = 1u << 20;

std::string big(size_t mib) { return '"' + std::string(mib * kMiB, 'x') + '"'; }

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string push_big(ApiWorld& world, size_t mib, const std::string& options = "") {
  return text_of(world.body("POST", "/ojs/v1/jobs",
                            R"({"type":"a.big","args":[)" + big(mib) +
                                R"(],"options":{"queue":"q")" + options + "}}"),
                 "id");
}

std::string fetch_one(ApiWorld& world) {
  return text_of(world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w"})"),
                 "id");
}

void ack_with(ApiWorld& world, const std::string& job, const std::string& result) {
  ASSERT_EQ(http::status_of(world.call(
                "POST", "/ojs/v1/workers/ack",
                R"({"job_id":")" + job + R"(","worker_id":"w","result":)" + result + "}")),
            "200");
}

// Follows the cursor from page to page. The values of "name" on all of them, in order; `largest` is
// the size of the largest page.
std::vector<std::string> walk(ApiWorld& world, const std::string& path, const std::string& name,
                              size_t& largest, size_t pages_max = 50) {
  std::vector<std::string> found;
  std::string cursor;
  const char join = path.find('?') == path.npos ? '?' : '&';
  for (size_t page = 0; page < pages_max; ++page) {
    std::string body =
        world.body("GET", path + (cursor.empty() ? "" : join + ("cursor=" + cursor)));
    largest = std::max(largest, body.size());
    const std::string mark = "\"" + name + "\":\"";
    for (size_t at = body.find(mark); at != body.npos; at = body.find(mark, at + 1))
      found.push_back(
          body.substr(at + mark.size(), body.find('"', at + mark.size()) - at - mark.size()));
    cursor = text_of(body, "next_cursor");
    if (cursor.empty()) return found;
  }
  ADD_FAILURE() << "the cursor leads to no end";
  return found;
}

size_t distinct(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size();
}

TEST(ReplyBounds, APageOfJobsEndsAfterSomeMegabytesAndItsCursorLeadsOn) {
  ApiWorld world;
  const std::string dies = R"(,"retry":{"max_attempts":1,"on_exhaustion":"dead_letter"})";
  for (int i = 0; i < 7; ++i) push_big(world, 2, dies);
  for (const char* path : {"/ojs/v1/jobs?limit=1000", "/ojs/v1/admin/jobs?limit=1000"}) {
    size_t largest = 0;
    std::vector<std::string> ids = walk(world, path, "id", largest);
    EXPECT_EQ(ids.size(), 7u) << path;
    EXPECT_EQ(distinct(ids), 7u) << path;
    EXPECT_LT(largest, kPageBytesMax + 3 * kMiB) << path;
  }
  for (int i = 0; i < 7; ++i)
    world.body("POST", "/ojs/v1/jobs/" + fetch_one(world) + "/nack",
               R"({"error":{"code":"boom","message":"m"}})");
  for (const char* path :
       {"/ojs/v1/dead-letter?limit=1000", "/ojs/v1/admin/dead-letter?limit=1000"}) {
    size_t largest = 0;
    std::vector<std::string> ids = walk(world, path, "id", largest);
    EXPECT_EQ(distinct(ids), 7u) << path;
    EXPECT_LT(largest, kPageBytesMax + 3 * kMiB) << path;
  }
}

TEST(ReplyBounds, AnEntryLargerThanAPageIsAPageOfItsOwn) {
  ApiWorld world;
  std::string first = push_big(world, 6);
  world.advance(5);
  std::string second = push_big(world, 6);
  std::string page = world.body("GET", "/ojs/v1/jobs");
  EXPECT_EQ(count_of(page, "\"id\":"), 1u);
  EXPECT_EQ(text_of(page, "id"), second);
  EXPECT_EQ(text_of(page, "next_cursor"), first);
}

// Jobs that do not match are read too.
TEST(ReplyBounds, AListLooksAtSoManyBytesOfJobsOnly) {
  ApiWorld world;
  for (int i = 0; i < 4; ++i) push_big(world, 12);
  std::string page = world.body("GET", "/ojs/v1/jobs?type=other");
  EXPECT_EQ(page.substr(0, 10), R"({"jobs":[])");
  std::string cursor = text_of(page, "next_cursor");
  ASSERT_NE(cursor, "");
  EXPECT_EQ(text_of(world.body("GET", "/ojs/v1/jobs?type=other&cursor=" + cursor), "next_cursor"),
            "");
}

TEST(ReplyBounds, ResultsOfManyJobsBeyondTheRoomAreMarked) {
  ApiWorld world;
  std::string ids;
  for (int i = 0; i < 5; ++i) {
    std::string id = push(world, "a.b", "q");
    ack_with(world, fetch_one(world), big(5));
    ids += (ids.empty() ? "\"" : ",\"") + id + '"';
  }
  std::string body = world.body("POST", "/ojs/v1/jobs/results", R"({"ids":[)" + ids + "]}");
  EXPECT_LT(body.size(), kReplyBytesMax + kMiB);
  EXPECT_EQ(count_of(body, R"("result":"xxx)"), 3u);
  EXPECT_EQ(count_of(body, R"("result":null,"result_omitted":true)"), 2u);
  EXPECT_EQ(count_of(body, R"("state":"completed")"), 5u);
}

TEST(ReplyBounds, AWorkflowShowsItsJobsInPartsAndALargeResultOnce) {
  ApiWorld world;
  std::string jobs;
  for (int i = 0; i < 7; ++i)
    jobs += std::string(i == 0 ? "" : ",") + R"({"type":"m","args":[],"options":{"queue":"q"}})";
  std::string created =
      world.body("POST", "/ojs/v1/workflows", R"({"type":"group","jobs":[)" + jobs + "]}");
  std::string path = "/ojs/v1/workflows/" + text_of(created, "id");
  // Small results are rendered twice.
  EXPECT_EQ(count_of(created, R"("state":"pending")"), 2 * 7u);
  for (int i = 0; i < 7; ++i) ack_with(world, fetch_one(world), big(5));
  size_t results = 0;
  size_t largest = 0;
  std::string cursor = "0";
  while (!cursor.empty()) {
    std::string body = world.body("GET", path + "?cursor=" + cursor);
    largest = std::max(largest, body.size());
    size_t shown = count_of(body, R"("result":"xxx)");
    // Omitted from the copies: as a step, and both at the top level.
    EXPECT_EQ(count_of(body, R"("result":null,"result_omitted":true)"), 3 * shown);
    results += shown;
    EXPECT_EQ(count_of(body, R"("jobs_completed":7)"), 2u);
    cursor = text_of(body, "next_cursor");
  }
  EXPECT_EQ(results, 7u);
  EXPECT_LT(largest, kReplyBytesMax + kMiB);
  // In the form of /v1, too.
  std::string run = world.body("GET", "/v1/runs/" + text_of(created, "id"));
  EXPECT_EQ(count_of(run, R"("output":"xxx)"), 3u);
  EXPECT_EQ(text_of(run, "next_cursor"), "3");
}

// A run that waits for signals s0, s1, …: each payload is the output of the step of that name.
std::string waiting_run(ApiWorld& world, size_t signals) {
  std::string steps;
  for (size_t i = 0; i < signals; ++i)
    steps += (i == 0 ? "" : ",") + (R"({"id":"s)" + std::to_string(i) + R"(","type":"wait",)") +
             R"("config":{"signal":"s)" + std::to_string(i) + R"("}})";
  return text_of(
      world.body("POST", "/v1/runs", R"({"definition":{"name":"d","steps":[)" + steps + "]}}"),
      "id");
}

TEST(ReplyBounds, ARunLeavesOutOutputsAndVariablesThatOtherCallsGive) {
  ApiWorld world;
  std::string run = waiting_run(world, 5);
  std::string path = "/v1/runs/" + run;
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(http::status_of(world.call(
                  "POST", path + "/signals",
                  R"({"type":"s)" + std::to_string(i) + R"(","payload":)" + big(5) + "}")),
              "200");
  std::string body = world.body("GET", path);
  EXPECT_LT(body.size(), kReplyBytesMax + kMiB);
  EXPECT_EQ(count_of(body, "xxxx\""), 3u);
  EXPECT_EQ(count_of(body, R"("output":null,"output_omitted":true)"), 1u);
  EXPECT_EQ(count_of(body, R"("status":"completed")"), 4u);
  for (int i = 0; i < 4; ++i) {
    std::string step = world.body("GET", path + "/steps/s" + std::to_string(i));
    EXPECT_EQ(count_of(step, "xxxx\""), 1u);
    EXPECT_EQ(step.substr(0, 29), R"({"step":{"status":"completed")");
  }
  EXPECT_EQ(http::status_of(world.call("GET", path + "/steps/nobody")), "404");
  for (const char* name : {"a", "b", "c", "d"})
    world.body("POST", path + "/signals",
               R"({"type":"data","payload":{")" + std::string(name) + "\":" + big(5) + "}}");
  body = world.body("GET", path + "?fields=context,status");
  EXPECT_EQ(count_of(body, "xxxx\""), 3u);
  EXPECT_EQ(count_of(body, R"("context_omitted":["d"])"), 1u);
  EXPECT_EQ(count_of(world.body("GET", path + "/context/d"), R"({"name":"d","value":"xxx)"), 1u);
  EXPECT_EQ(http::status_of(world.call("GET", path + "/context/e")), "404");
  EXPECT_LT(world.body("GET", path + "?format=pace").size(), 6 * kMiB);
  EXPECT_EQ(http::status_of(world.call("GET", path + "/steps/s0", "", "X-OJS-Tenant: other\r\n")),
            "404");
}

TEST(ReplyBounds, DecisionsWithLargeContextsComeInParts) {
  ApiWorld world;
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(http::status_of(world.call(
                  "POST", "/v1/runs",
                  R"({"definition":{"name":"d","steps":[{"id":"q","type":"reasoning","config":)"
                  R"({"prompt_context":"?","data_inject":{"a":"inputs.b"}}}]},"inputs":{"b":)" +
                      big(3) + "}}")),
              "201");
  for (int i = 0; i < 12; ++i) world.advance(1000);  // assembling each decision takes a turn
  size_t largest = 0;
  std::vector<std::string> runs = walk(world, "/v1/decisions?limit=1000", "run_id", largest);
  EXPECT_EQ(distinct(runs), 12u);
  EXPECT_EQ(runs.size(), 12u);
  EXPECT_LT(largest, kPageBytesMax + 4 * kMiB);
  // None matches: the walk is bounded nevertheless, and continues from its end.
  std::string none = world.body("GET", "/v1/decisions?status=resolved");
  EXPECT_EQ(none.substr(0, 15), R"({"decisions":[])");
  ASSERT_NE(text_of(none, "next_cursor"), "");
  EXPECT_EQ(none.find("\"total\""), none.npos);
  size_t read = 0;
  EXPECT_EQ(walk(world, "/v1/decisions?status=resolved", "run_id", read).size(), 0u);
}

TEST(ReplyBounds, AListOfDefinitionsReadsTheirTextsOnce) {
  auto disk = std::make_shared<MemoryDisk>();
  {
    ApiWorld world(disk);
    for (int i = 0; i < 12; ++i)
      ASSERT_EQ(http::status_of(world.call(
                    "POST", "/v1/definitions",
                    R"({"name":"d)" + std::to_string(i) +
                        R"(","description":"its text is large","definition":{"steps":[{"id":"a",)"
                        R"("action":"workflow.log","params":{"message":)" +
                        big(3) + "}}]}}")),
                "201");
    EXPECT_EQ(text_of(world.body("GET", "/v1/definitions"), "next_cursor"), "");
  }
  ApiWorld world(disk);
  size_t largest = 0;
  std::string first = world.body("GET", "/v1/definitions");
  EXPECT_NE(text_of(first, "next_cursor"), "");  // 32 MiB were read
  EXPECT_EQ(distinct(walk(world, "/v1/definitions", "name", largest)), 12u);
  std::string second = world.body("GET", "/v1/definitions");
  EXPECT_EQ(count_of(second, R"("description":"its text is large")"), 12u);
  EXPECT_EQ(text_of(second, "next_cursor"), "");
  EXPECT_NE(second.find(R"("total":12)"), second.npos);
  // A new version is shown at once.
  world.body("POST", "/v1/definitions",
             R"({"name":"d0","description":"new","definition":{"steps":[{"id":"a",)"
             R"("action":"workflow.log","params":{"message":"m"}}]}})");
  EXPECT_EQ(count_of(world.body("GET", "/v1/definitions"),
                     R"("name":"d0","version":"v2","description":"new")"),
            1u);
}

TEST(ReplyBounds, APictureHasSoManyArrowsAtMost) {
  ApiWorld world;
  std::string steps;
  for (int i = 0; i < 330; ++i) {
    std::string on;
    for (int k = 0; k < i; ++k) on += (k == 0 ? "\"s" : ",\"s") + std::to_string(k) + '"';
    steps += (i == 0 ? "" : ",") + (R"({"id":"s)" + std::to_string(i)) +
             R"(","action":"workflow.log","params":{"message":"m"},"depends_on":[)" + on + "]}";
  }
  ASSERT_EQ(
      http::status_of(world.call("POST", "/v1/definitions",
                                 R"({"name":"dense","definition":{"steps":[)" + steps + "]}}")),
      "201");
  const std::string path = "/v1/definitions/dense/diagram?format=";
  EXPECT_EQ(http::status_of(world.call("GET", path + "svg")), "422");
  EXPECT_EQ(http::status_of(world.call("GET", path + "mermaid")), "422");
  EXPECT_EQ(http::status_of(world.call("GET", path + "ascii")), "200");
}

}  // namespace
}  // namespace pawl::api
