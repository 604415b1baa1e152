// Who may call what, endpoint by endpoint. The table is written by hand and not taken from the
// routes: a route that is missing, or that requires another scope, was never decided on.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

struct Entry {
  const char* method;
  const char* pattern;
};

// clang-format off
const std::map<Permission, std::vector<Entry>> kTable = {
    {Permission::Public, {
        {"GET", "/"}, {"GET", "/status/status.css"}, {"GET", "/status/status.js"},
        {"GET", "/health"}, {"GET", "/ready"}, {"GET", "/ojs/manifest"}, {"GET", "/ojs/v1/health"}}},
    {Permission::Read, {
        {"GET", "/v1/worlds"},
        {"GET", "/v1/worlds/{w}"},
        {"GET", "/v1/worlds/{w}/manifest"},
        {"GET", "/v1/worlds/{w}/defs"},
        {"GET", "/v1/worlds/{w}/blobs/{ref}"},
        {"GET", "/v1/worlds/{w}/journal"},
        {"GET", "/v1/worlds/{w}/effects"},
        {"GET", "/v1/worlds/{w}/adapters"},
        {"GET", "/v1/worlds/{w}/instances"},
        {"GET", "/v1/worlds/{w}/state/{module}"},
        {"GET", "/v1/worlds/{w}/state/{namespace}/{module}"},
        {"GET", "/v1/worlds/{w}/digest"},
        {"GET", "/v1/worlds/{w}/trace-summary"},
        {"GET", "/v1/worlds/{w}/trace"},
        {"GET", "/v1/worlds/{w}/trace/diagnose"},
        {"GET", "/v1/worlds/{w}/gov/list"},
        {"GET", "/v1/worlds/{w}/gov/get"},
        {"POST", "/v1/worlds/{w}/manifest/validate"},
        {"POST", "/v1/worlds/{w}/step-test"},
        {"GET", "/metrics"}, {"GET", "/v1/system"}, {"GET", "/v1/cluster"}, {"GET", "/v1/actions"}, {"GET", "/v1/events"},
        {"GET", "/v1/decisions"}, {"GET", "/v1/decisions/{id}"},
        {"GET", "/v1/definitions"}, {"GET", "/v1/definitions/schema"},
        {"POST", "/v1/definitions/validate"}, {"GET", "/v1/definitions/{name}"},
        {"GET", "/v1/definitions/{name}/diagram"},
        {"GET", "/v1/runs"}, {"GET", "/v1/runs/{id}"}, {"GET", "/v1/runs/{id}/events"},
        {"GET", "/v1/runs/{id}/explain"}, {"GET", "/v1/runs/{id}/diagram"},
        {"GET", "/v1/runs/{id}/steps/{step}"}, {"GET", "/v1/runs/{id}/context/{name}"},
        {"GET", "/v1/jobs/{id}/explain"}, {"GET", "/v1/schedules"}, {"GET", "/v1/schedules/{name}"},
        {"GET", "/ojs/v1/jobs"}, {"GET", "/ojs/v1/jobs/{id}"}, {"GET", "/ojs/v1/jobs/{id}/progress"},
        {"GET", "/ojs/v1/events/stream"}, {"GET", "/ojs/v1/jobs/{id}/events"},
        {"GET", "/ojs/v1/queues/{q}/events"}, {"GET", "/ojs/v1/jobs/{id}/progress/stream"},
        {"GET", "/ojs/v1/jobs/{id}/retries"}, {"GET", "/ojs/v1/jobs/{id}/result"}, {"POST", "/ojs/v1/jobs/results"},
        {"GET", "/ojs/v1/queues/{q}/priority-stats"}, {"GET", "/ojs/v1/workflows/{id}/progress"},
        {"GET", "/ojs/v1/crons"}, {"GET", "/ojs/v1/crons/{name}"},
        {"GET", "/ojs/v1/admin/stats/history"}, {"GET", "/ojs/v1/admin/tenants/{t}"},
        {"GET", "/ojs/v1/admin/tenants/{t}/jobs"},
        {"GET", "/ojs/v1/admin/system/health"}, {"GET", "/ojs/v1/admin/system/config"},
        {"GET", "/ojs/v1/admin/config"}, {"GET", "/ojs/v1/admin/system/maintenance"},
        {"GET", "/ojs/v1/admin/maintenance"},
        {"GET", "/ojs/v1/events"}, {"GET", "/ojs/v1/workflows"}, {"GET", "/ojs/v1/workflows/{id}"},
        {"GET", "/ojs/v1/workflows/{id}/events"}, {"GET", "/ojs/v1/workers/{id}/health"},
        {"GET", "/ojs/v1/queues"}, {"GET", "/ojs/v1/queues/{q}"}, {"GET", "/ojs/v1/queues/{q}/stats"},
        {"GET", "/ojs/v1/cron"}, {"GET", "/ojs/v1/cron/{name}"},
        {"GET", "/ojs/v1/dead-letter"}, {"GET", "/ojs/v1/dead-letter/stats"},
        {"GET", "/ojs/v1/dead-letter/{id}"},
        {"GET", "/ojs/v1/rate-limits"}, {"GET", "/ojs/v1/rate-limits/{key}"},
        {"GET", "/ojs/v1/schemas"}, {"GET", "/ojs/v1/schemas/{type}"},
        {"GET", "/ojs/v1/schemas/{type}/versions"}, {"GET", "/ojs/v1/schemas/{type}/{version}"},
        {"GET", "/ojs/v1/webhooks/subscriptions"}, {"GET", "/ojs/v1/webhooks/subscriptions/{id}"},
        {"GET", "/ojs/v1/admin/stats"}, {"GET", "/ojs/v1/admin/tenants"},
        {"GET", "/ojs/v1/admin/tenants/{t}/stats"}, {"GET", "/ojs/v1/admin/scheduling/stats"},
        {"GET", "/ojs/v1/admin/jobs"}, {"GET", "/ojs/v1/admin/jobs/{id}"},
        {"GET", "/ojs/v1/admin/queues"}, {"GET", "/ojs/v1/admin/queues/{q}"},
        {"GET", "/ojs/v1/admin/queues/{q}/config"}, {"GET", "/ojs/v1/queues/{q}/config"},
        {"GET", "/ojs/v1/admin/dead-letter"},
        {"GET", "/ojs/v1/admin/dead-letter/stats"}, {"GET", "/ojs/v1/admin/dead-letter/{id}"},
        {"GET", "/ojs/v1/admin/pools"}, {"GET", "/ojs/v1/admin/pools/{name}"},
        {"GET", "/ojs/v1/admin/workers"}, {"GET", "/ojs/v1/admin/workers/{id}"},
        {"GET", "/ojs/v1/admin/schemas"}, {"GET", "/ojs/v1/admin/schemas/{type}"},
        {"GET", "/ojs/v1/admin/schemas/{type}/versions"},
        {"GET", "/ojs/v1/admin/schemas/{type}/{version}"}}},
    {Permission::Write, {
        {"POST", "/v1/worlds/{w}/events"},
        {"POST", "/v1/worlds/{w}/blobs"},
        {"POST", "/v1/definitions"}, {"DELETE", "/v1/definitions/{name}"},
        {"POST", "/v1/runs"}, {"POST", "/v1/runs/{id}/signals"}, {"POST", "/v1/runs/{id}/cancel"},
        {"POST", "/v1/runs/{id}/retry"}, {"POST", "/v1/runs/{id}/extend"},
        {"POST", "/v1/decisions/{id}"}, {"POST", "/v1/schedules"}, {"DELETE", "/v1/schedules/{name}"},
        {"POST", "/v1/schedules/{name}/trigger"},
        {"PATCH", "/ojs/v1/jobs/{id}"}, {"POST", "/ojs/v1/jobs/bulk"},
        {"PATCH", "/ojs/v1/cron/{name}"}, {"PATCH", "/ojs/v1/crons/{name}"},
        {"DELETE", "/ojs/v1/crons/{name}"},
        {"POST", "/ojs/v1/jobs"}, {"POST", "/ojs/v1/jobs/batch"}, {"DELETE", "/ojs/v1/jobs/{id}"},
        {"POST", "/ojs/v1/jobs/{id}/cancel"}, {"POST", "/ojs/v1/jobs/{id}/activate"},
        {"POST", "/ojs/v1/workflows"}, {"DELETE", "/ojs/v1/workflows/{id}"},
        {"POST", "/ojs/v1/workflows/{id}/cancel"},
        {"POST", "/ojs/v1/cron"}, {"PUT", "/ojs/v1/cron/{name}"}, {"DELETE", "/ojs/v1/cron/{name}"},
        {"POST", "/ojs/v1/cron/{name}/trigger"}}},
    {Permission::Worker, {
        {"POST", "/v1/worlds/{w}/effects/lease"},
        {"POST", "/v1/worlds/{w}/receipts"},
        {"POST", "/ojs/v1/workers/fetch"}, {"POST", "/ojs/v1/workers/ack"},
        {"POST", "/ojs/v1/workers/nack"}, {"POST", "/ojs/v1/workers/heartbeat"},
        {"POST", "/ojs/v1/workers/beat"}, {"POST", "/ojs/v1/workers/progress"},
        {"POST", "/ojs/v1/jobs/{id}/ack"}, {"POST", "/ojs/v1/jobs/{id}/nack"},
        {"POST", "/ojs/v1/jobs/{id}/fail"},
        {"PUT", "/ojs/v1/jobs/{id}/progress"}, {"POST", "/ojs/v1/jobs/{id}/progress"},
        {"PUT", "/ojs/v1/jobs/{id}/checkpoint"}, {"POST", "/ojs/v1/jobs/{id}/checkpoint"},
        {"GET", "/ojs/v1/jobs/{id}/checkpoint"}, {"DELETE", "/ojs/v1/jobs/{id}/checkpoint"},
        {"PUT", "/ojs/v1/checkpoints/{id}"}, {"POST", "/ojs/v1/checkpoints/{id}"},
        {"GET", "/ojs/v1/checkpoints/{id}"}, {"DELETE", "/ojs/v1/checkpoints/{id}"},
        {"GET", "/ojs/v1/checkpoints/{id}/resume"},
        {"PUT", "/ojs/v1/ojs/v1/checkpoints/{id}"}, {"POST", "/ojs/v1/ojs/v1/checkpoints/{id}"},
        {"GET", "/ojs/v1/ojs/v1/checkpoints/{id}"}, {"DELETE", "/ojs/v1/ojs/v1/checkpoints/{id}"},
        {"GET", "/ojs/v1/ojs/v1/checkpoints/{id}/resume"}}},
    {Permission::Operate, {
        {"POST", "/v1/cluster/nodes/{id}/drain"}, {"POST", "/v1/cluster/nodes/{id}/undrain"},
        {"POST", "/v1/worlds"},
        {"POST", "/v1/worlds/{w}/clock"},
        {"POST", "/v1/worlds/{w}/system/effects"},
        {"POST", "/v1/worlds/{w}/snapshot"},
        {"POST", "/v1/worlds/{w}/replay"},
        {"POST", "/v1/worlds/{w}/gov/propose"},
        {"POST", "/v1/worlds/{w}/gov/shadow"},
        {"POST", "/v1/runs/{id}/pause"}, {"POST", "/v1/runs/{id}/resume"},
        {"POST", "/v1/runs/{id}/release"},
        {"POST", "/v1/schedules/{name}/pause"}, {"POST", "/v1/schedules/{name}/resume"},
        {"POST", "/ojs/v1/jobs/{id}/retry"}, {"POST", "/ojs/v1/workflows/{id}/retry"},
        {"POST", "/ojs/v1/queues/{q}/pause"}, {"POST", "/ojs/v1/queues/{q}/resume"},
        {"POST", "/ojs/v1/cron/{name}/pause"}, {"POST", "/ojs/v1/cron/{name}/resume"},
        {"POST", "/ojs/v1/cron/{name}/disable"}, {"POST", "/ojs/v1/cron/{name}/enable"},
        {"POST", "/ojs/v1/dead-letter/retry"}, {"POST", "/ojs/v1/dead-letter/{id}/retry"},
        {"DELETE", "/ojs/v1/dead-letter/{id}"}, {"PUT", "/ojs/v1/rate-limits/{key}"},
        {"POST", "/ojs/v1/schemas"}, {"DELETE", "/ojs/v1/schemas/{type}"}, {"DELETE", "/ojs/v1/schemas/{type}/{version}"},
        {"POST", "/ojs/v1/webhooks/subscriptions"}, {"PATCH", "/ojs/v1/webhooks/subscriptions/{id}"},
        {"PUT", "/ojs/v1/webhooks/subscriptions/{id}"},
        {"DELETE", "/ojs/v1/webhooks/subscriptions/{id}"},
        {"POST", "/ojs/v1/webhooks/subscriptions/{id}/test"},
        {"POST", "/ojs/v1/webhooks/subscriptions/{id}/rotate-secret"},
        {"POST", "/ojs/v1/jobs/bulk/retry"}, {"POST", "/ojs/v1/jobs/bulk/cancel"},
        {"POST", "/ojs/v1/queues"}, {"DELETE", "/ojs/v1/queues/{q}"},
        {"PATCH", "/ojs/v1/admin/jobs/{id}"}, {"DELETE", "/ojs/v1/admin/workers/{id}"},
        {"POST", "/ojs/v1/admin/workers/directive"},
        {"POST", "/ojs/v1/admin/system/maintenance"}, {"POST", "/ojs/v1/admin/maintenance"},
        {"POST", "/ojs/v1/admin/jobs/{id}/retry"}, {"POST", "/ojs/v1/admin/jobs/{id}/cancel"},
        {"POST", "/ojs/v1/admin/jobs/bulk/retry"}, {"POST", "/ojs/v1/admin/jobs/bulk/cancel"},
        {"POST", "/ojs/v1/admin/queues/{q}/pause"}, {"POST", "/ojs/v1/admin/queues/{q}/resume"},
        {"PUT", "/ojs/v1/admin/queues/{q}/config"}, {"PUT", "/ojs/v1/queues/{q}/config"},
        {"PATCH", "/ojs/v1/queues/{q}"}, {"PATCH", "/ojs/v1/admin/queues/{q}"},
        {"POST", "/ojs/v1/admin/dead-letter/retry"}, {"POST", "/ojs/v1/admin/dead-letter/bulk/retry"},
        {"POST", "/ojs/v1/admin/dead-letter/{id}/retry"},
        {"DELETE", "/ojs/v1/admin/dead-letter/{id}"},
        {"PUT", "/ojs/v1/admin/pools/{name}"}, {"DELETE", "/ojs/v1/admin/pools/{name}"},
        {"POST", "/ojs/v1/admin/workers/{id}/quiet"}, {"POST", "/ojs/v1/admin/workers/{id}/terminate"},
        {"POST", "/ojs/v1/admin/workers/{id}/resume"},
        {"POST", "/ojs/v1/admin/schemas"}, {"PUT", "/ojs/v1/admin/schemas/{type}"},
        {"POST", "/ojs/v1/admin/schemas/{type}"}, {"DELETE", "/ojs/v1/admin/schemas/{type}"},
        {"PUT", "/ojs/v1/admin/schemas/{type}/{version}"},
        {"DELETE", "/ojs/v1/admin/schemas/{type}/{version}"}}},
    {Permission::Admin, {
        {"DELETE", "/v1/worlds/{w}"},
        {"PUT", "/v1/worlds/{w}/adapters/{id}"},
        {"DELETE", "/v1/worlds/{w}/adapters/{id}"},
        {"POST", "/v1/worlds/{w}/gov/approve"},
        {"POST", "/v1/worlds/{w}/gov/reject"},
        {"POST", "/v1/worlds/{w}/gov/apply"},
        {"POST", "/v1/keys"}, {"GET", "/v1/keys"}, {"DELETE", "/v1/keys/{id}"},
        {"PUT", "/v1/secrets/{name}"}, {"GET", "/v1/secrets"}, {"DELETE", "/v1/secrets/{name}"},
        {"DELETE", "/ojs/v1/dead-letter"}, {"DELETE", "/ojs/v1/admin/dead-letter"},
        {"POST", "/ojs/v1/admin/dead-letter/bulk/delete"},
        {"POST", "/ojs/v1/jobs/bulk/delete"}, {"POST", "/ojs/v1/queues/{q}/purge"},
        {"POST", "/ojs/v1/admin/jobs/bulk/delete"}, {"POST", "/ojs/v1/admin/queues/{q}/purge"},
        {"DELETE", "/ojs/v1/admin/queues/{q}/jobs"}}},
};
// clang-format on

constexpr Permission kScopes[] = {Permission::Read, Permission::Write, Permission::Worker,
                                  Permission::Operate, Permission::Admin};

// The single scopes that allow an endpoint with scope `wanted`: listed by hand, not computed.
std::set<Permission> opened_by(Permission wanted) {
  switch (wanted) {
    case Permission::Public:
      return {Permission::Read, Permission::Write, Permission::Worker, Permission::Operate,
              Permission::Admin};
    case Permission::Read:
      return {Permission::Read, Permission::Write, Permission::Operate, Permission::Admin};
    case Permission::Write:
      return {Permission::Write, Permission::Admin};
    case Permission::Worker:
      return {Permission::Worker, Permission::Admin};
    case Permission::Operate:
      return {Permission::Operate, Permission::Admin};
    case Permission::Admin:
      return {Permission::Admin};
  }
  return {};
}

std::string path_of(std::string_view pattern) {
  std::string path;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      path.push_back(pattern[at]);
      continue;
    }
    path += "x";
    at = pattern.find('}', at);
  }
  return path;
}

std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

std::string key_with(ApiWorld& world, std::string_view name, uint32_t scopes) {
  NewApiKey made = make_api_key(name, scopes, 0);
  world.app->keys().put(made.key);
  return made.text;
}

bool is_let_in(const std::string& status) { return status != "401" && status != "403"; }

TEST(AccessTable, IsTheListOfRoutesAndOfTheirScopes) {
  ApiWorld world;
  std::map<std::string, std::string> expected;
  std::map<std::string, std::string> found;
  for (const auto& [scope, entries] : kTable)
    for (const Entry& entry : entries) {
      std::string name = std::string(entry.method) + " " + entry.pattern;
      EXPECT_TRUE(expected.emplace(name, scope_name(scope)).second) << name << " is there twice";
    }
  for (const Route& route : world.app->router().routes()) {
    std::string name = std::string(route.method) + " " + std::string(route.pattern);
    found[name] = scope_name(route.scope);
    EXPECT_EQ(expected.count(name), 1u) << name << " has no declared scope";
  }
  EXPECT_EQ(found, expected);
}

TEST(AccessTable, EveryEndpointRefusesNoKeyAndWrongKeys) {
  ApiWorld world;
  std::string real = key_with(world, "real", *parse_scopes({"admin"}));
  std::string wrong_secret = real.substr(0, real.size() - 1) + (real.back() == '0' ? '1' : '0');
  for (const auto& [scope, entries] : kTable) {
    for (const Entry& entry : entries) {
      std::string path = path_of(entry.pattern);
      SCOPED_TRACE(std::string(entry.method) + " " + path);
      std::vector<std::string> got;
      for (const std::string& header :
           {std::string(), bearer("wrong"), bearer(wrong_secret), bearer(real + "x"),
            bearer(real.substr(0, real.rfind('_'))), bearer(""),
            "Authorization: Basic " + real + "\r\n", "X-Api-Key: " + real + "\r\n"})
        got.push_back(http::status_of(world.call(entry.method, path, "{}", header)));
      // Public pages give the same answer with any key.
      std::string all = scope == Permission::Public ? "200" : "401";
      EXPECT_EQ(got, std::vector<std::string>(8, all));
      if (std::string_view(entry.method) == "GET") {
        http::LoopbackClient client(world.server->port());
        client.send("HEAD " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_EQ(http::status_of(client.read_until("\r\n\r\n")), all);
      }
    }
  }
}

TEST(AccessTable, EachSingleScopeOpensWhatItShouldAndNothingElse) {
  ApiWorld world;
  std::map<Permission, std::string> keys;
  for (Permission scope : kScopes)
    keys[scope] = key_with(world, "one", *parse_scopes({std::string(scope_name(scope))}));
  for (const auto& [wanted, entries] : kTable) {
    std::set<Permission> expected = opened_by(wanted);
    for (const Entry& entry : entries) {
      std::string path = path_of(entry.pattern);
      SCOPED_TRACE(std::string(entry.method) + " " + path);
      for (Permission held : kScopes) {
        std::string status =
            http::status_of(world.call(entry.method, path, "{}", bearer(keys[held])));
        if (expected.count(held) != 0) {
          EXPECT_TRUE(is_let_in(status)) << scope_name(held) << " got " << status;
        } else {
          EXPECT_EQ(status, "403") << scope_name(held);
        }
      }
    }
  }
}

// All other scopes together must not add up to the missing one.
TEST(AccessTable, EveryOtherScopeTogetherIsNotEnough) {
  ApiWorld world;
  for (const auto& [wanted, entries] : kTable) {
    if (wanted == Permission::Public) continue;
    std::vector<std::string> others;
    for (Permission scope : kScopes)
      if (opened_by(wanted).count(scope) == 0) others.emplace_back(scope_name(scope));
    std::string key = key_with(world, "others", *parse_scopes(others));
    for (const Entry& entry : entries)
      EXPECT_EQ(
          http::status_of(world.call(entry.method, path_of(entry.pattern), "{}", bearer(key))),
          "403")
          << entry.method << " " << entry.pattern;
  }
}

// Another spelling of a path is an unknown path, or is protected like the first.
TEST(AccessTable, NoSpellingOfAPathSlipsPastTheKey) {
  ApiWorld world;
  key_with(world, "real", *parse_scopes({"admin"}));
  for (const char* path :
       {"/v1/keys/", "//v1/keys", "/v1//keys", "/./v1/keys", "/v1/./keys", "/health/../v1/keys",
        "/v1/%6beys", "/V1/keys", "/v1/keys?x=/health", "/v1/keys;x", "/v1/keys%00", "/v1/keys%2f",
        "/v1/keys#/health", "http://h/v1/keys", "/status/../v1/keys", "/%2e/v1/keys"}) {
    std::string status = http::status_of(world.call("GET", path));
    EXPECT_TRUE(status == "401" || status == "404" || status == "400") << path << " " << status;
  }
}

// Without keys the machine's own users may do everything.
TEST(AccessTable, WithoutKeysEveryEndpointLetsIn) {
  for (const auto& [wanted, entries] : kTable) {
    ApiWorld world;  // a fresh one, since one of the calls makes a key
    for (const Entry& entry : entries) {
      if (std::string_view(entry.pattern) == "/v1/keys") continue;
      std::string status = http::status_of(world.call(entry.method, path_of(entry.pattern), "{}"));
      EXPECT_TRUE(is_let_in(status)) << entry.method << " " << entry.pattern << " " << status;
    }
  }
}

}  // namespace
}  // namespace pawl::api
