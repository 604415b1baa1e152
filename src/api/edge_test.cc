// Checks before a handler sees a request (hosts, origins, keys), and /ready.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/host_name.h"
#include "api/testing/api_world.h"
#include "base/json.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

TEST(HostName, OnlyNamesThatNoStrangerCanOwn) {
  const std::vector<std::string> own = {"build-box", "pawl.corp.example"};
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "localhost.", "a.localhost", "a.b.localhost:1", "127.0.0.1",
        "10.1.2.3:80", "[::1]", "[::1]:8080", "[fe80::1]:1", "build-box", "Build-Box:8080",
        "pawl.corp.example.", "localhost:"})
    EXPECT_TRUE(is_own_host(host, own)) << host;
  for (const char* host : {"",
                           ".",
                           "evil",
                           "evil:8080",
                           "evil.example",
                           "localhost.evil.example",
                           "evillocalhost",
                           ".localhost",
                           "127.0.0.1.evil",
                           "127.1",
                           "1.2.3",
                           "0x7f.0.0.1",
                           "[evil]",
                           "[::1",
                           "[::1]evil",
                           "[::1]:x",
                           "localhost:80@evil",
                           "localhost:http",
                           "build-box.evil",
                           "corp.example",
                           "evil?.localhost",
                           "evil\\.localhost",
                           "a..localhost",
                           "localhost:65536",
                           "localhost:-1",
                           "::1"})
    EXPECT_FALSE(is_own_host(host, own)) << host;
}

std::string call_with_host(ApiWorld& world, const std::string& head) {
  http::LoopbackClient client(world.server->port());
  client.send(head + "\r\n");
  return http::status_of(client.read_response());
}

TEST(Access, WithoutKeysOnlyOwnNamesAreServed) {
  AppConfig config;
  config.local_names_only = true;
  config.host_names = {"mine"};
  ApiWorld world(config);
  EXPECT_EQ(call_with_host(world, "GET /v1/runs HTTP/1.1\r\nHost: evil\r\n"), "403");
  EXPECT_EQ(call_with_host(world, "GET /v1/runs HTTP/1.1\r\nHost:\r\n"), "403");
  EXPECT_EQ(call_with_host(world, "GET /v1/runs HTTP/1.1\r\nHost: mine:1\r\n"), "200");
  EXPECT_EQ(call_with_host(world, "GET /v1/runs HTTP/1.0\r\n"), "200");
  EXPECT_EQ(call_with_host(world, "GET http://evil/v1/runs HTTP/1.1\r\nHost: mine\r\n"), "403");
  EXPECT_EQ(call_with_host(world, "GET http://evil/v1/runs HTTP/1.0\r\n"), "400");
  EXPECT_EQ(call_with_host(world, "GET http://mine/v1/runs HTTP/1.1\r\nHost: evil\r\n"), "200");
  world.app->keys().add_fixed("k");
  EXPECT_EQ(
      call_with_host(world, "GET /v1/runs HTTP/1.1\r\nHost: evil\r\nAuthorization: Bearer k\r\n"),
      "200");
}

// A page of a named origin may call; all others are refused, and no origin may send cookies.
TEST(Cors, OnlyNamedOrigins) {
  AppConfig config;
  config.cors_origins = {"https://app.example"};
  ApiWorld world(config);
  world.app->keys().add_fixed("k");
  const std::string ours = "Origin: https://app.example\r\n";
  const std::string key = "Authorization: Bearer k\r\n";
  const std::string asked = "Access-Control-Request-Method: POST\r\n";
  const std::string preflight = world.call("OPTIONS", "/ojs/v1/jobs", "", ours + asked);
  EXPECT_EQ(http::status_of(preflight), "204");
  for (const char* expected :
       {"\r\nAccess-Control-Allow-Origin: https://app.example\r\n", "\r\nVary: Origin\r\n",
        "Authorization", "OJS-Version", "Idempotency-Key", "X-OJS-Tenant", "Last-Event-ID", "PATCH",
        "DELETE"})
    EXPECT_NE(preflight.find(expected), std::string::npos) << expected;
  EXPECT_EQ(preflight.find("Allow-Credentials"), std::string::npos);

  const std::string read = world.call("GET", "/ojs/v1/queues", "", ours + key);
  EXPECT_EQ(http::status_of(read), "200");
  EXPECT_NE(read.find("\r\nAccess-Control-Allow-Origin: https://app.example\r\n"),
            std::string::npos);
  EXPECT_NE(read.find("Access-Control-Expose-Headers: X-Request-Id, Retry-After"),
            std::string::npos);
  const std::string refused = world.call("POST", "/ojs/v1/jobs", "{}", ours);
  EXPECT_EQ(http::status_of(refused), "401");
  EXPECT_NE(refused.find("Access-Control-Allow-Origin"), std::string::npos) << "so that it is read";

  for (const char* other : {"https://evil.example", "http://app.example", "null",
                            "https://app.example:444", "https://app.example.evil"}) {
    const std::string from = "Origin: " + std::string(other) + "\r\n";
    const std::string asks = world.call("OPTIONS", "/ojs/v1/jobs", "", from + asked);
    EXPECT_EQ(http::status_of(asks), "405") << other;
    EXPECT_EQ(asks.find("Access-Control"), std::string::npos) << other;
    EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/queues", "", from + key)), "403") << other;
  }
}

TEST(Cors, NoneUnlessNamed) {
  ApiWorld world;
  const std::string answer = world.call("GET", "/ojs/v1/queues");
  EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
  EXPECT_EQ(answer.find("Origin"), std::string::npos);
}

// A slow sender is not admitted with a key that was revoked meanwhile.
TEST(Access, AKeyRevokedWhileTheBodyArrivesOpensNothing) {
  ApiWorld world;
  world.app->keys().add_fixed("root");
  const NewApiKey made = make_api_key("slow", *parse_scopes({"write"}), 0);
  world.app->keys().put(made.key);
  http::LoopbackClient client(world.server->port());
  const std::string body = R"({"type":"a.b","args":[]})";
  client.send("POST /ojs/v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
              std::string("Expect: 100-continue\r\nAuthorization: Bearer ") + made.text +
              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  world.app->keys().remove(made.key.id);
  client.send(body);
  EXPECT_EQ(http::status_of(client.read_response()), "401");
}

TEST(Access, PublicPagesTakeNoLargeBodies) {
  ApiWorld world;
  for (const char* path : {"/health", "/ready", "/ojs/manifest"}) {
    http::LoopbackClient client(world.server->port());
    client.send("GET " + std::string(path) +
                " HTTP/1.1\r\nHost: h\r\nContent-Length: 60000000\r\n\r\n");
    EXPECT_EQ(http::status_of(client.read_response()), "413") << path;
  }
}

// Revoking the last key does not open the server, not even after a restart.
TEST(Keys, AServerWhoseLastKeyWasRevokedStaysClosed) {
  auto disk = std::make_shared<MemoryDisk>();
  {
    ApiWorld world(disk);
    const std::string made = world.body("POST", "/v1/keys", R"({"name":"a","scopes":["admin"]})");
    const std::string key = "Authorization: Bearer " + text_of(made, "key") + "\r\n";
    EXPECT_EQ(http::status_of(world.call("DELETE", "/v1/keys/closed", "", key)), "404");
    EXPECT_EQ(http::status_of(world.call("DELETE", "/v1/keys/" + text_of(made, "id"), "", key)),
              "200");
  }
  ApiWorld world(disk);
  world.app->load();
  EXPECT_TRUE(world.app->keys().empty());
  EXPECT_TRUE(world.app->keys().needed());
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/keys")), "401");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/keys", "", "Authorization: Bearer \r\n")),
            "401");
  world.app->keys().add_fixed("root");
  const std::string root = "Authorization: Bearer root\r\n";
  EXPECT_EQ(world.body("GET", "/v1/keys", "", root).find("closed"), std::string::npos);
  EXPECT_EQ(http::status_of(world.call("DELETE", "/v1/keys/closed", "", root)), "404");
}

TEST(Schemas, AVersionWithZerosIsANumberInJson) {
  ApiWorld world;
  const std::string made =
      world.body("POST", "/ojs/v1/schemas", R"({"type":"a.b","version":"007","schema":{}})");
  EXPECT_NE(made.find("\"version\":7,"), std::string::npos) << made;
  for (const char* path : {"/ojs/v1/schemas", "/ojs/v1/schemas/a.b", "/ojs/v1/schemas/a.b/7",
                           "/ojs/v1/schemas/a.b/versions"})
    EXPECT_TRUE(json::parse(world.body("GET", path)).ok()) << path;
}

// A supervisor calls /ready to decide on a restart: it must answer when the engine does not.
TEST(Ready, SaysThatTheEngineHangsAndThatItWorksAgain) {
  AppConfig config;
  config.stuck_after_ms = 1'500;  // an idle engine takes a turn each second
  ApiWorld world(config);
  const std::string fresh = world.body("GET", "/ready");
  EXPECT_NE(fresh.find("\"status\":\"ready\""), std::string::npos) << fresh;
  EXPECT_NE(fresh.find("\"engine_turn_age_ms\":"), std::string::npos) << fresh;
  std::atomic<bool> released{false};
  auto hang = std::make_shared<TestTask>([&](Frame&, bool, std::string&) {
    while (!released) std::this_thread::yield();
    return std::optional<Parking>();
  });
  ASSERT_TRUE(world.engine->submit(hang).ok());
  std::string answer;
  do {
    answer = world.call("GET", "/ready");
  } while (http::status_of(answer) == "200");
  EXPECT_EQ(http::status_of(answer), "503");
  EXPECT_NE(answer.find("\"status\":\"stuck\""), std::string::npos) << answer;
  released = true;
  hang->wait();
  do {
    answer = world.call("GET", "/ready");
  } while (http::status_of(answer) != "200");
}

}  // namespace
}  // namespace pawl::api
