// Cron entries, checkpoints, progress, schemas and pools, over a real server.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "base/json.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string status(ApiWorld& world, const std::string& method, const std::string& path,
                   const std::string& body = "", const std::string& headers = "") {
  return http::status_of(world.call(method, path, body, headers));
}

const std::string kNightly =
    R"({"name":"nightly","expression":"0 3 * * *","job_template":{"type":"a.b","args":[1],"options":{"queue":"q"}}})";

TEST(Cron, BothSpellingsMakeTheSameEntry) {
  ApiWorld world;
  std::string nested = world.call("POST", "/ojs/v1/cron", kNightly);
  EXPECT_EQ(http::status_of(nested), "201");
  std::string flat = world.call(
      "POST", "/ojs/v1/cron",
      R"({"name":"nightly","cron":"0 3 * * *","type":"a.b","args":[1],"options":{"queue":"q"}})");
  EXPECT_EQ(http::status_of(flat), "200");
  EXPECT_EQ(http::body_of(nested), http::body_of(flat));
  EXPECT_TRUE(has(flat, R"("cron":{"name":"nightly")") &&
              has(flat, R"("cron_job":{"name":"nightly")"));
}

TEST(Cron, FiresAndNamesItselfInTheJob) {
  ApiWorld world;
  world.body("POST", "/ojs/v1/cron",
             R"({"name":"tick","cron":"@every 1m","type":"a.b","args":[],"queue":"q"})");
  world.advance(61'000);
  std::string jobs = world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"]})");
  EXPECT_TRUE(has(jobs, R"("cron_name":"tick")")) << jobs;
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/cron/tick"), R"("last_run_at":)"));
}

TEST(Cron, APausedEntryIsSilentButCanBeTriggered) {
  ApiWorld world;
  world.body("POST", "/ojs/v1/cron",
             R"({"name":"tick","cron":"@every 1m","type":"a.b","args":[],"queue":"q"})");
  EXPECT_TRUE(has(world.body("POST", "/ojs/v1/cron/tick/pause"), R"("enabled":false)"));
  world.advance(200'000);
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/jobs"), R"("jobs":[])"));
  EXPECT_TRUE(has(world.body("POST", "/ojs/v1/cron/tick/trigger"), R"("triggered":true)"));
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/jobs"), R"("total":1)"));
  EXPECT_TRUE(has(world.body("POST", "/ojs/v1/cron/tick/enable"), R"("next_run_at":)"));
}

TEST(Cron, RefusesWithAMessage) {
  ApiWorld world;
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"expression":"* * * * *","job_template":{"type":"a","args":[]}})", "400"},
      {R"({"name":"n","job_template":{"type":"a","args":[]}})", "400"},
      {R"({"name":"n","expression":"99 25 32 13 8","job_template":{"type":"a","args":[]}})", "422"},
      {R"({"name":"n","expression":"every day at noon","job_template":{"type":"a","args":[]}})",
       "422"},
      {R"({"name":"n","expression":"* * * * *","timezone":"Mars/Base","type":"a","args":[]})",
       "422"},
      {R"({"name":"n","expression":"* * * * *","overlap_policy":"odd","type":"a","args":[]})",
       "422"},
      {R"({"name":"n","expression":"* * * * *"})", "400"},
      {R"({"name":"n","expression":"* * * * *","job_template":[]})", "400"},
      {R"({"name":"n","expression":"* * * * *","job_template":{"type":"a","args":[],"options":{"delay_until":"+PT5S"}}})",
       "422"},
      {R"({"name":"n","expression":"* * * * *","type":"a","args":[],"id":"01965000-0000-7000-8000-000000000000"})",
       "422"},
  };
  for (const auto& [body, expected] : kCases) {
    std::string reply = world.call("POST", "/ojs/v1/cron", body);
    EXPECT_EQ(http::status_of(reply), expected) << body;
    EXPECT_TRUE(has(reply, R"("message":")")) << reply;
  }
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/cron"), R"("crons":[])"));
}

TEST(Cron, NamesBelongToTheirTenant) {
  ApiWorld world;
  std::string acme = "X-OJS-Tenant: acme\r\n";
  world.body("POST", "/ojs/v1/cron", kNightly, acme);
  EXPECT_EQ(status(world, "GET", "/ojs/v1/cron/nightly"), "404");
  EXPECT_EQ(status(world, "DELETE", "/ojs/v1/cron/nightly", "", "X-OJS-Tenant: other\r\n"), "404");
  EXPECT_EQ(status(world, "DELETE", "/ojs/v1/cron/nightly", "", acme), "200");
  EXPECT_EQ(status(world, "DELETE", "/ojs/v1/cron/nightly", "", acme), "404");
}

// A patch applies completely, in any spelling and at any place of the job.
TEST(Cron, APatchChangesAllThatItNames) {
  ApiWorld world;
  std::string path = "/ojs/v1/cron/nightly";
  world.body("POST", "/ojs/v1/cron",
             R"({"name":"nightly","cron":"0 3 * * *","type":"a.b","args":null,"queue":"q",)"
             R"("retry":{"max_attempts":9},"visibility_timeout_ms":77000})");
  auto job = [&](const std::string& patch) {
    std::string reply = world.body("PATCH", path, patch);
    auto doc = json::parse(reply);
    auto made = doc->root().find("job_template");
    EXPECT_TRUE(made) << reply;
    return made ? std::string(made->raw()) : "";
  };
  std::string now = job(R"({"queue":"q1","priority":4})");
  EXPECT_TRUE(has(now, R"("args":[])") && has(now, R"("queue":"q1")")) << now;
  EXPECT_TRUE(has(now, R"("priority":4)") && has(now, R"("max_attempts":9)") &&
              has(now, R"("visibility_timeout_ms":77000)"))
      << now;
  now = job(R"({"options":{"priority":6},"queue":"q3"})");
  EXPECT_TRUE(has(now, R"("priority":6)") && has(now, R"("queue":"q3")")) << now;
  now = job(R"({"job_template":{"type":"c.d","options":{"priority":7}},"args":[9],"queue":"q4"})");
  EXPECT_TRUE(has(now, R"("type":"c.d","args":[9])") && has(now, R"("queue":"q4")") &&
              has(now, R"("priority":7)"))
      << now;
  now = job(R"({"retry":{"max_attempts":2}})");
  EXPECT_TRUE(has(now, R"("max_attempts":2)") && !has(now, R"("max_attempts":9)")) << now;
  now = job(R"({"queue":null,"args":null})");
  EXPECT_TRUE(has(now, R"("queue":"default")") && has(now, R"("args":[])")) << now;
  world.body("POST", path + "/trigger");
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/jobs"), R"("type":"c.d","state":"available")"));
  for (const char* patch : {R"({"options":null,"queue":"q"})", R"({"job_template":7,"queue":"q"})",
                            R"({"options":7,"queue":"q"})"})
    EXPECT_EQ(status(world, "PATCH", path, patch), "400") << patch;
}

TEST(Checkpoints, CountAreDeletedAndStartAgain) {
  ApiWorld world;
  std::string id = push(world);
  std::string path = "/ojs/v1/jobs/" + id + "/checkpoint";
  EXPECT_EQ(status(world, "GET", path), "404");
  world.body("PUT", path, R"({"state":{"step":1}})");
  std::string saved = world.body("POST", path, R"({"state":{"step":2}})");
  EXPECT_TRUE(has(saved, R"("state":{"step":2},"sequence":2)")) << saved;
  EXPECT_EQ(world.body("GET", path), saved);
  EXPECT_TRUE(has(saved, R"("checkpoint":{"job_id":)"));
  EXPECT_EQ(status(world, "DELETE", path), "200");
  EXPECT_EQ(status(world, "DELETE", path), "200");
  EXPECT_TRUE(has(world.body("PUT", path, R"({"state":3})"), R"("sequence":1)"));
  EXPECT_EQ(status(world, "PUT", path, "{}"), "400");
  EXPECT_EQ(status(world, "PUT", path, R"({"state":")" + std::string(1 << 20, 'x') + R"("})"),
            "413");
}

TEST(Checkpoints, OfAFinishedJobCanBeReadButNotSaved) {
  ApiWorld world;
  std::string id = push(world);
  std::string path = "/ojs/v1/jobs/" + id + "/checkpoint";
  world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"]})");
  world.body("PUT", path, R"({"state":1})");
  EXPECT_EQ(status(world, "POST", "/ojs/v1/jobs/" + id + "/ack"), "200");
  EXPECT_EQ(status(world, "PUT", path, R"({"state":2})"), "409");
  EXPECT_TRUE(has(world.body("GET", path), R"("state":1)"));
}

// Members beside the state must be returned, also with the job that is fetched again.
TEST(Checkpoints, KeepWhatStandsBesideTheState) {
  ApiWorld world;
  std::string id = push(world);
  EXPECT_TRUE(
      has(world.body("GET", "/ojs/v1/checkpoints/" + id + "/resume"), R"("has_checkpoint":false)"));
  world.body("POST", "/ojs/v1/checkpoints/" + id,
             R"({"state":{"s":1},"step_index":4,"metadata":{"_replay_log":"[]"}})");
  std::string kept = R"("state":{"s":1},"step_index":4,"metadata":{"_replay_log":"[]"})";
  std::string resume = world.body("GET", "/ojs/v1/checkpoints/" + id + "/resume");
  EXPECT_TRUE(has(resume, R"("has_checkpoint":true)") && has(resume, kept)) << resume;
  EXPECT_TRUE(json::parse(resume).ok());
  std::string fetched = world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"]})");
  EXPECT_TRUE(has(fetched, kept)) << fetched;
}

TEST(Progress, IsClampedAndReadBack) {
  ApiWorld world;
  std::string id = push(world);
  std::string path = "/ojs/v1/jobs/" + id + "/progress";
  EXPECT_TRUE(has(world.body("GET", path), R"("progress":0)"));
  EXPECT_TRUE(has(world.body("PUT", path, R"({"progress":1.5})"), R"("progress":1,)"));
  EXPECT_TRUE(has(world.body("PUT", path, R"({"progress":-2})"), R"("progress":0,)"));
  world.body("POST", "/ojs/v1/workers/progress",
             R"({"job_id":")" + id + R"(","percentage":75,"message":"m","data":{"k":1}})");
  std::string read = world.body("GET", path);
  EXPECT_TRUE(has(read, R"("progress":0.75,"message":"m","data":{"k":1})")) << read;
  EXPECT_EQ(status(world, "PUT", path, "{}"), "400");
  EXPECT_EQ(status(world, "PUT", path, R"({"progress":"half"})"), "400");
  EXPECT_EQ(status(world, "PUT", path, R"({"progress":1})", "X-OJS-Tenant: acme\r\n"), "404");
}

TEST(Schemas, VersionsAreOrderedAsNumbersAndNeverChange) {
  ApiWorld world;
  std::string base = "/ojs/v1/admin/schemas/a.b";
  for (const char* version : {"/2", "/10", "/9.1.0"})
    EXPECT_EQ(status(world, "PUT", base + version, R"({"schema":{"type":"array"}})"), "201");
  EXPECT_EQ(status(world, "PUT", base + "/10", R"({"schema":{}})"), "409");
  EXPECT_EQ(status(world, "PUT", base + "/10.0.0", R"({"schema":{}})"), "409");
  EXPECT_TRUE(has(world.body("GET", base), R"("version":10,"schema":{"type":"array"})"));
  std::string versions = world.body("GET", base + "/versions");
  EXPECT_LT(versions.find(R"("version":10)"), versions.find(R"("version":"9.1.0")")) << versions;
  EXPECT_TRUE(has(world.body("POST", "/ojs/v1/schemas", R"({"job_type":"a.b","schema":true})"),
                  R"("version":11)"));
  EXPECT_EQ(status(world, "DELETE", base + "/11"), "200");
  EXPECT_EQ(status(world, "DELETE", base + "/11"), "404");
  EXPECT_EQ(status(world, "GET", base + "/11"), "404");
  EXPECT_EQ(status(world, "DELETE", base), "200");
  EXPECT_EQ(status(world, "GET", base), "404");
}

TEST(Schemas, RefuseWhatIsNoSchemaOrVersion) {
  ApiWorld world;
  EXPECT_EQ(status(world, "PUT", "/ojs/v1/admin/schemas/a.b/1", "{}"), "400");
  EXPECT_EQ(status(world, "PUT", "/ojs/v1/admin/schemas/a.b/1", R"({"schema":"text"})"), "400");
  EXPECT_EQ(status(world, "PUT", "/ojs/v1/admin/schemas/UPPER/1", R"({"schema":{}})"), "400");
  for (const char* version : {"x", "1.2", "1.2.3.4", "1.", "-1", "99999999999"})
    EXPECT_EQ(status(world, "PUT", "/ojs/v1/admin/schemas/a.b/" + std::string(version),
                     R"({"schema":{}})"),
              "400")
        << version;
}

TEST(Pools, ArePutReadListedAndDeleted) {
  ApiWorld world;
  std::string path = "/ojs/v1/admin/pools/main";
  std::string pool = R"({"strategy":"weighted","queues":{"a":{"weight":70}}})";
  std::string made = world.call("PUT", path, pool);
  EXPECT_EQ(http::status_of(made), "201");
  EXPECT_TRUE(
      has(made, R"({"pool":{"name":"main","strategy":"weighted","queues":{"a":{"weight":70}}}})"))
      << made;
  EXPECT_EQ(status(world, "PUT", path, pool), "200");
  EXPECT_TRUE(has(world.body("GET", "/ojs/v1/admin/pools"), R"("total":1)"));
  EXPECT_EQ(status(world, "PUT", path, R"({"name":"other"})"), "400");
  EXPECT_EQ(status(world, "DELETE", path), "200");
  EXPECT_EQ(status(world, "GET", path), "404");
}

}  // namespace
}  // namespace pawl::api
