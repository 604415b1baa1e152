// Lists of jobs, bulk operations and the dead letter list, over a real server.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

bool list_has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string list_status(ApiWorld& world, const std::string& method, const std::string& path,
                        const std::string& body = "", const std::string& headers = "") {
  return http::status_of(world.call(method, path, body, headers));
}

// A job that has used up its attempts.
std::string dead(ApiWorld& world, const std::string& queue = "q", const std::string& headers = "") {
  std::string id =
      text_of(world.body("POST", "/ojs/v1/jobs",
                         R"({"type":"a.dead","args":[],"options":{"queue":")" + queue +
                             R"(","retry":{"max_attempts":1,"on_exhaustion":"dead_letter"}}})",
                         headers),
              "id");
  world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":[")" + queue + R"("]})", headers);
  world.body("POST", "/ojs/v1/jobs/" + id + "/nack", R"({"error":{"code":"boom","message":"m"}})",
             headers);
  return id;
}

TEST(JobLists, NewestFirstFilteredAndPaged) {
  ApiWorld world;
  std::string a = push(world, "a.one", "q");
  world.advance(5);
  std::string b = push(world, "a.two", "q");
  world.advance(5);
  std::string c = push(world, "b.one", "other");
  std::string all = world.body("GET", "/ojs/v1/jobs");
  EXPECT_LT(all.find(c), all.find(b));
  EXPECT_LT(all.find(b), all.find(a));
  std::string first = world.body("GET", "/ojs/v1/admin/jobs?limit=1");
  EXPECT_TRUE(list_has(first, c) && !list_has(first, b + "\",\"type")) << first;
  std::string second =
      world.body("GET", "/ojs/v1/admin/jobs?limit=1&cursor=" + text_of(first, "next_cursor"));
  EXPECT_TRUE(list_has(second, "\"id\":\"" + b)) << second;
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/jobs?type=a.*"), R"("total":2)"));
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/jobs?queue=other&state=available,active"),
                       R"("total":1)"));
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/jobs?state=completed"), R"("jobs":[])"));
  for (const char* query : {"state=odd", "since=then", "cursor=x"})
    EXPECT_EQ(list_status(world, "GET", "/ojs/v1/jobs?" + std::string(query)), "400") << query;
}

TEST(JobLists, ATenantSeesItsOwnJobsOnly) {
  ApiWorld world;
  std::string theirs = push(world, "a.b", "q", "X-OJS-Tenant: acme\r\n");
  EXPECT_TRUE(
      list_has(world.body("GET", "/ojs/v1/jobs", "", "X-OJS-Tenant: other\r\n"), R"("jobs":[])"));
  EXPECT_EQ(
      list_status(world, "GET", "/ojs/v1/admin/jobs/" + theirs, "", "X-OJS-Tenant: other\r\n"),
      "404");
  EXPECT_EQ(list_status(world, "GET", "/ojs/v1/admin/jobs/" + theirs, "", "X-OJS-Tenant: acme\r\n"),
            "200");
}

TEST(BulkJobs, NeedAConfirmationAndAnAim) {
  ApiWorld world;
  for (const char* body : {"", "{}", R"({"confirm":false,"filter":{}})", R"({"confirm":true})",
                           R"({"confirm":true,"filter":{"state":"odd"}})",
                           R"({"confirm":true,"ids":["x"]})", R"({"confirm":"yes","filter":{}})"})
    EXPECT_EQ(list_status(world, "POST", "/ojs/v1/admin/jobs/bulk/cancel", body), "400") << body;
}

TEST(BulkJobs, ActOnWhatTheFilterNamesAndReportTheRest) {
  ApiWorld world;
  std::string a = push(world, "a.b", "q");
  push(world, "a.b", "other");
  std::string report = world.body("POST", "/ojs/v1/admin/jobs/bulk/cancel",
                                  R"({"confirm":true,"filter":{"queue":"q"}})");
  EXPECT_TRUE(list_has(report, R"("action":"cancel","matched":1,"succeeded":1,"failed":0)"))
      << report;
  report = world.body("POST", "/ojs/v1/admin/jobs/bulk/retry",
                      R"({"confirm":true,"ids":[")" + a + R"("]})");
  EXPECT_TRUE(list_has(report, R"("succeeded":0,"failed":1)") && list_has(report, "not discarded"))
      << report;
  report = world.body("POST", "/ojs/v1/admin/jobs/bulk/delete", R"({"confirm":true,"filter":{}})");
  EXPECT_TRUE(list_has(report, R"("deleted":1)")) << report;
  EXPECT_EQ(list_status(world, "GET", "/ojs/v1/jobs/" + a), "404");
}

// A filter that ignores unknown members would act on unintended jobs.
TEST(BulkJobs, RefuseWhatTheyCannotFilterBy) {
  ApiWorld world;
  push(world, "a.b", "q");
  for (const char* body :
       {R"({"filter":{"zzz":1}})", R"({"filter":{"queue":"q","tpye":"x"}})",
        R"({"filter":{"queue":null}})", R"({"filter":{"queue":""}})", R"({"filter":{"state":[]}})",
        R"({"filter":{"queue":"q","meta":{}}})", R"({"filter":{"queue":"q","meta":"k"}})",
        R"({"filter":{"queue":"q","priority":"3"}})", R"({"filter":{"type":["a.b","c.d"]}})",
        R"({"filter":{"state":"active","states":["available"]}})", R"({"filter":{},"ids":[]})",
        R"({"filter":{"queue":"q"},"type":"c.d"})", R"({"filter":{"queue":"q"},"dry_run":true})"}) {
    for (const char* path : {"/ojs/v1/jobs/bulk/", "/ojs/v1/admin/jobs/bulk/"}) {
      for (const char* act : {"cancel", "retry", "delete"}) {
        std::string confirmed = R"({"confirm":true,)" + std::string(body).substr(1);
        EXPECT_EQ(list_status(world, "POST", std::string(path) + act, confirmed), "400")
            << path << act << " " << body;
      }
    }
  }
  std::string refusal = world.body("POST", "/ojs/v1/jobs/bulk/cancel",
                                   R"({"filter":{"queue":"q","tpye":"x","state":"odd"}})");
  EXPECT_TRUE(list_has(refusal, R"("path":"$.filter.tpye","code":"unknown_field")")) << refusal;
  refusal = world.body("POST", "/ojs/v1/jobs/bulk/cancel", R"({"filter":{"state":"odd"}})");
  EXPECT_TRUE(list_has(refusal, R"("path":"$.filter.state")")) << refusal;
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/queues/q/purge", R"({"tpye":"x"})"), "400");
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/queues/q/purge", R"({"queue":"other"})"), "400");
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/admin/dead-letter/retry",
                        R"({"confirm":true,"queu":"q"})"),
            "400");
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/jobs/bulk/cancel", R"({"filter":{"tenant":"b"}})",
                        "X-OJS-Tenant: a\r\n"),
            "400");
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/queues/q"), R"("depth":1)"));
}

TEST(BulkJobs, FilterByPriorityAndMeta) {
  ApiWorld world;
  auto make = [&](const std::string& members) {
    return text_of(
        world.body("POST", "/ojs/v1/jobs", R"({"type":"a.b","args":[],)" + members + "}"), "id");
  };
  std::string urgent = make(R"("priority":3,"meta":{"k":"v","n":1,"deep":{"a":[1]}})");
  std::string plain = make(R"("meta":{"k":"w","n":1.0})");
  auto cancels = [&](const std::string& filter) {
    std::string report = world.body("POST", "/ojs/v1/jobs/bulk/cancel",
                                    R"({"filter":{"queue":"default",)" + filter + "}}");
    return (list_has(report, urgent) ? "urgent " : "") +
           std::string(list_has(report, plain) ? "plain" : "");
  };
  EXPECT_EQ(cancels(R"("meta":{"k":"none"})"), "");
  EXPECT_EQ(cancels(R"("meta":{"other":null})"), "");
  EXPECT_EQ(cancels(R"("meta":{"k":"v"},"priority":0)"), "");
  EXPECT_EQ(cancels(R"("meta":{"n":1},"priority":3)"), "urgent ");
  EXPECT_EQ(cancels(R"("meta":{"n":1})"), "plain");
  EXPECT_TRUE(list_has(world.body("POST", "/ojs/v1/jobs/bulk/delete",
                                  R"({"filter":{"meta":{"deep":{"a":[1]},"k":"v"}}})"),
                       R"("deleted":1)"));
}

// More jobs than one slice reads: the sweep continues until it has seen all.
TEST(BulkJobs, PurgeGoesThroughAllSlices) {
  ApiWorld world;
  std::string jobs;
  for (int i = 0; i < 2500; ++i)
    jobs += (i == 0 ? "" : ",") + std::string(R"({"type":"a","args":[],"options":{"queue":"q"}})");
  ASSERT_EQ(list_status(world, "POST", "/ojs/v1/jobs/batch", R"({"jobs":[)" + jobs + "]}"), "201");
  push(world, "a.b", "other");
  std::string report = world.body("POST", "/ojs/v1/admin/queues/q/purge");
  EXPECT_TRUE(list_has(report, R"("purged":2500)")) << report;
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/queues/q"), R"("depth":0)"));
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/queues/other"), R"("depth":1)"));
  EXPECT_EQ(
      list_status(world, "DELETE", "/ojs/v1/admin/queues/q/jobs", R"({"states":["cancelled"]})"),
      "400");
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/admin/queues/q/purge", R"({"states":["active"]})"),
            "400");
}

TEST(DeadLetter, ListsRevivesAndDeletes) {
  ApiWorld world;
  std::string a = dead(world);
  world.advance(5);
  std::string b = dead(world);
  std::string list = world.body("GET", "/ojs/v1/dead-letter?queue=q");
  EXPECT_TRUE(list_has(list, a) && list_has(list, b) && list_has(list, R"("total":2)")) << list;
  EXPECT_TRUE(list_has(list, R"("code":"boom")"));
  std::string page = world.body("GET", "/ojs/v1/admin/dead-letter?per_page=1&page=2");
  EXPECT_TRUE(list_has(page, R"("page":2)") && list_has(page, b) && !list_has(page, a)) << page;
  std::string revived = world.body("POST", "/ojs/v1/dead-letter/" + a + "/retry");
  EXPECT_TRUE(list_has(revived, R"("state":"available")") && list_has(revived, R"("attempt":0)"))
      << revived;
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/dead-letter/" + a + "/retry"), "404");
  EXPECT_EQ(list_status(world, "DELETE", "/ojs/v1/admin/dead-letter/" + b), "204");
  EXPECT_EQ(list_status(world, "DELETE", "/ojs/v1/dead-letter/" + b), "404");
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/dead-letter/stats"), R"("total":0)"));
}

TEST(DeadLetter, BulkOperationsStayInTheTenant) {
  ApiWorld world;
  std::string acme = "X-OJS-Tenant: acme\r\n";
  std::string mine = dead(world, "q", acme);
  std::string other = dead(world, "q", "X-OJS-Tenant: other\r\n");
  EXPECT_EQ(list_status(world, "GET", "/ojs/v1/dead-letter/" + other, "", acme), "404");
  EXPECT_EQ(list_status(world, "POST", "/ojs/v1/admin/dead-letter/retry", "{}", acme), "400");
  std::string report =
      world.body("POST", "/ojs/v1/admin/dead-letter/retry", R"({"confirm":true})", acme);
  EXPECT_TRUE(list_has(report, R"("retried":1)")) << report;
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/jobs/" + mine), R"("state":"available")"));
  EXPECT_TRUE(list_has(world.body("GET", "/ojs/v1/jobs/" + other), R"("state":"discarded")"));
}

}  // namespace
}  // namespace pawl::api
