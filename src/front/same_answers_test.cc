// A server with several partitions answers as one with a single partition does, to which the same
// has happened.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "base/value.h"
#include "front/testing/front_world.h"

namespace pawl::front {
namespace {

class BothWorlds {
 public:
  BothWorlds() : one_(config()) {
    one_.app->load();
    many_.clock.now = one_.clock.now.load();
  }

  void call(const std::string& method, const std::string& path, const std::string& body = "",
            const std::string& headers = "") {
    const std::string a = one_.call(method, path, body, headers);
    const std::string b = many_.call(method, path, body, headers);
    EXPECT_EQ(http::status_of(a), http::status_of(b)) << method << " " << path << "\n" << a << b;
  }
  void push(uint16_t partition, const std::string& type, const std::string& queue,
            const std::string& more = "", const std::string& headers = "") {
    wait(1);
    ids.push_back(many_.id_in(partition));
    call("POST", "/ojs/v1/jobs",
         R"({"id":")" + ids.back() + R"(","type":")" + type +
             R"(","args":[1],"options":{"queue":")" + queue + "\"" + more + "}}",
         headers);
  }
  void wait(int64_t ms) {
    one_.advance(ms);
    many_.advance(ms);
  }
  void expect_same(const std::string& path, const std::string& headers = "",
                   const std::string& method = "GET", const std::string& body = "") {
    const std::string lines = headers + "X-Request-ID: same\r\n";
    const std::string a = one_.call(method, path, body, lines);
    const std::string b = many_.call(method, path, body, lines);
    EXPECT_EQ(http::status_of(a), http::status_of(b)) << path;
    const auto one = Value::parse(http::body_of(a));
    const auto many = Value::parse(http::body_of(b));
    ASSERT_TRUE(one.ok() && many.ok()) << path << "\n" << a << "\n" << b;
    EXPECT_TRUE(*one == *many) << path << "\none:  " << http::body_of(a)
                               << "\nmany: " << http::body_of(b);
  }

  std::vector<std::string> ids;

 private:
  static api::AppConfig config() {
    api::AppConfig config;
    config.node_name = "here";
    return config;
  }

  api::ApiWorld one_;
  FrontWorld many_{4};
};

constexpr const char* kTenant = "X-OJS-Tenant: acme\r\n";

// Jobs of two tenants in all states, in queues that several partitions share.
void live(BothWorlds& both) {
  for (int i = 0; i < 12; ++i)
    both.push(static_cast<uint16_t>(i % 4), i % 2 == 0 ? "mail.send" : "mail.read",
              i % 3 == 0 ? "alpha" : "beta", i == 2 ? R"(,"priority":3)" : "");
  for (int i = 0; i < 3; ++i)
    both.push(static_cast<uint16_t>(i), "t", "gamma", R"(,"retry":{"max_attempts":1})", kTenant);
  both.push(1, "late", "beta", R"(,"scheduled_at":"2099-01-01T00:00:00Z")");
  both.wait(1'000);
  both.call("POST", "/ojs/v1/workers/fetch",
            R"({"queues":["alpha"],"worker_id":"w1","count":10,"hostname":"h"})");
  both.call("POST", "/ojs/v1/workers/fetch", R"({"queues":["gamma"],"worker_id":"w2","count":10})",
            kTenant);
  both.wait(2'000);
  both.call("POST", "/ojs/v1/workers/ack", R"({"job_id":")" + both.ids[0] + R"("})");
  both.call("POST", "/ojs/v1/workers/ack",
            R"({"job_id":")" + both.ids[3] + R"(","result":{"a":1}})");
  for (size_t i = 12; i < 14; ++i)
    both.call("POST", "/ojs/v1/workers/nack",
              R"({"job_id":")" + both.ids[i] + R"(","error":{"code":"E)" + std::to_string(i) +
                  R"(","message":"no"}})",
              kTenant);
  both.call("POST", "/ojs/v1/admin/jobs/" + both.ids[1] + "/cancel");
  both.call("PUT", "/ojs/v1/queues/beta/config", R"({"max_size":1000})");
  both.call("POST", "/ojs/v1/queues/beta/pause");
  both.wait(500);
}

TEST(SameAnswers, ListsAndPages) {
  BothWorlds both;
  live(both);
  for (const char* path : {"/ojs/v1/jobs",
                           "/ojs/v1/jobs?limit=5",
                           "/ojs/v1/jobs?state=available&limit=100",
                           "/ojs/v1/jobs?type=mail.*",
                           "/ojs/v1/admin/jobs?page=2&per_page=3",
                           "/ojs/v1/admin/jobs?offset=7&limit=4",
                           "/ojs/v1/admin/tenants/acme/jobs",
                           "/ojs/v1/jobs?limit=0",
                           "/ojs/v1/jobs?cursor=x",
                           "/ojs/v1/dead-letter",
                           "/ojs/v1/dead-letter?limit=1",
                           "/ojs/v1/admin/dead-letter?page=2&per_page=1",
                           "/ojs/v1/queues",
                           "/ojs/v1/admin/queues?limit=100",
                           "/ojs/v1/queues?cursor=616c706861",
                           "/ojs/v1/rate-limits",
                           "/ojs/v1/admin/tenants",
                           "/ojs/v1/workflows",
                           "/v1/runs",
                           "/v1/decisions",
                           "/v1/worlds",
                           "/ojs/v1/admin/workers",
                           "/ojs/v1/admin/workers?limit=1"}) {
    both.expect_same(path);
    both.expect_same(path, kTenant);
  }
}

TEST(SameAnswers, ThingsOfWhichSeveralPartitionsHaveAPart) {
  BothWorlds both;
  live(both);
  for (const char* path : {"/ojs/v1/queues/alpha",
                           "/ojs/v1/queues/beta/stats",
                           "/ojs/v1/queues/none",
                           "/ojs/v1/queues/Bad",
                           "/ojs/v1/queues/beta/priority-stats",
                           "/ojs/v1/queues/none/priority-stats",
                           "/ojs/v1/admin/queues/beta",
                           "/ojs/v1/admin/queues/alpha",
                           "/ojs/v1/admin/stats",
                           "/ojs/v1/admin/stats?queue=beta",
                           "/ojs/v1/admin/stats/history?period=1m",
                           "/ojs/v1/admin/stats/history?period=x",
                           "/ojs/v1/admin/tenants/acme",
                           "/ojs/v1/admin/tenants/none",
                           "/ojs/v1/admin/tenants/none/stats",
                           "/ojs/v1/admin/scheduling/stats",
                           "/ojs/v1/dead-letter/stats",
                           "/ojs/v1/admin/dead-letter/stats",
                           "/ojs/v1/workers/w1/health",
                           "/ojs/v1/admin/workers/w2",
                           "/ojs/v1/admin/workers/w3",
                           "/ojs/manifest",
                           "/health"}) {
    both.expect_same(path);
    both.expect_same(path, kTenant);
  }
  both.expect_same("/ojs/v1/queues/alpha/stats", "OJS-Version: 1.0\r\n");
  both.expect_same("/ojs/v1/admin/stats", "Accept: application/openjobspec+json\r\n");
}

TEST(SameAnswers, CallsThatChangeMany) {
  BothWorlds both;
  live(both);
  const std::string some = R"({"confirm":true,"ids":[")" + both.ids[7] + "\",\"" + both.ids[4] +
                           "\",\"" + both.ids[5] + "\"]}";
  for (const auto& [path, body] : std::initializer_list<std::pair<const char*, std::string>>{
           {"/ojs/v1/admin/jobs/bulk/cancel", some},
           {"/ojs/v1/admin/jobs/bulk/delete", some},
           {"/ojs/v1/admin/jobs/bulk/delete", R"({"ids":[]})"},
           {"/ojs/v1/jobs/bulk/cancel", R"({"filter":{}})"},
           {"/ojs/v1/jobs/bulk/cancel", R"({"filter":{"type":"mail.read"}})"},
           {"/ojs/v1/dead-letter/retry", R"({"confirm":true})"},
           {"/ojs/v1/queues/beta/purge", ""},
           {"/ojs/v1/admin/workers/w1/quiet", ""},
           {"/ojs/v1/admin/workers/w9/quiet", ""},
           {"/ojs/v1/admin/workers/directive", R"({"directive":"terminate"})"},
           {"/ojs/v1/admin/workers/directive", R"({"directive":"x"})"}}) {
    both.expect_same(path, "", "POST", body);
  }
  both.expect_same("/ojs/v1/queues/alpha", "", "DELETE");
  both.expect_same("/ojs/v1/queues/none", "", "DELETE");
  both.expect_same("/ojs/v1/queues/beta", "", "DELETE");
  both.expect_same("/ojs/v1/admin/workers/w1", "", "DELETE");
  both.expect_same("/ojs/v1/queues");
  both.expect_same("/ojs/v1/jobs?limit=100");
  both.expect_same("/ojs/v1/admin/stats");
}

}  // namespace
}  // namespace pawl::front
