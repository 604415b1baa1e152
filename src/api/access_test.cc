// Who may call what: every route, without a key, with the wrong one, and with the right one.
#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

std::string filled_path(std::string_view pattern) {
  std::string path;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '{') {
      path += "x";
      at = pattern.find('}', at);
    } else {
      path.push_back(pattern[at]);
    }
  }
  return path;
}

std::string bearer_header(const std::string& key) {
  return "Authorization: Bearer " + key + "\r\n";
}

// A key with every scope that does not reach the given one.
uint32_t scopes_without(Permission scope) {
  switch (scope) {
    case Permission::Read:
      return *parse_scopes({"worker"});
    case Permission::Write:
      return *parse_scopes({"read", "worker", "operate"});
    case Permission::Worker:
      return *parse_scopes({"read", "write", "operate"});
    case Permission::Operate:
      return *parse_scopes({"read", "write", "worker"});
    case Permission::Admin:
      return *parse_scopes({"read", "write", "worker", "operate"});
    case Permission::Public:
      break;
  }
  return *parse_scopes({"read"});
}

TEST(Access, EveryRouteButThePublicOnesNeedsAKeyWithItsScope) {
  ApiWorld world;
  world.app->keys().add_fixed("root-key");
  std::map<Permission, std::string> lacking;
  for (Permission scope : {Permission::Read, Permission::Write, Permission::Worker,
                           Permission::Operate, Permission::Admin}) {
    NewApiKey made = make_api_key("lacking", scopes_without(scope), 0);
    world.app->keys().put(made.key);
    lacking[scope] = made.text;
  }
  for (const Route& route : world.app->router().routes()) {
    if (route.scope == Permission::Public) continue;
    std::string method(route.method);
    std::string path = filled_path(route.pattern);
    SCOPED_TRACE(method + " " + path);
    EXPECT_EQ(http::status_of(world.call(method, path, "{}")), "401");
    EXPECT_EQ(http::status_of(world.call(method, path, "{}", bearer_header("wrong"))), "401");
    EXPECT_EQ(http::status_of(world.call(method, path, "{}", bearer_header(lacking[route.scope]))),
              "403");
  }
}

TEST(Access, PublicRoutesNeedNone) {
  ApiWorld world;
  world.app->keys().add_fixed("root-key");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/health")), "200");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/manifest")), "200");
}

// RFC 9110: schemes are compared without case, and any number of blanks follows.
TEST(Access, TheSchemeOfAKeyIsReadAsHttpReadsIt) {
  ApiWorld world;
  world.app->keys().add_fixed("root-key");
  auto status = [&](const std::string& value) {
    return http::status_of(
        world.call("GET", "/ojs/v1/queues", "", "Authorization: " + value + "\r\n"));
  };
  for (const char* good : {"Bearer root-key", "bearer root-key", "BEARER root-key",
                           "bEARER    root-key", "Bearer root-key  "})
    EXPECT_EQ(status(good), "200") << good;
  for (const char* bad :
       {"", "Bearer", "Bearer ", "Bearerroot-key", "Bearer\troot-key", "root-key", "Basic root-key",
        "Bearer Root-Key", "Bearer root-key x", "Bearers root-key"})
    EXPECT_EQ(status(bad), "401") << bad;
  EXPECT_EQ(key_of("bearer   a b"), key_of("Bearer a b"));  // one lane for one key
}

TEST(Access, APageOfAnotherOriginIsRefused) {
  ApiWorld world;
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/queues", "", "Origin: http://evil\r\n")),
            "403");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/queues", "", "Origin: http://h\r\n")),
            "200");
}

TEST(Keys, AMadeKeyWorksUntilItIsRevokedAndItsSecretIsShownOnce) {
  ApiWorld world;
  std::string root = bearer_header("root-key");
  world.app->keys().add_fixed("root-key");
  std::string made = world.body("POST", "/v1/keys", R"({"name":"ci","scopes":["read"]})", root);
  std::string text = text_of(made, "key");
  std::string id = text_of(made, "id");
  ASSERT_NE(text, "");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/queues", "", bearer_header(text))), "200");
  EXPECT_EQ(http::status_of(world.call("POST", "/ojs/v1/queues/q/pause", "", bearer_header(text))),
            "403");

  std::string listed = world.body("GET", "/v1/keys", "", root);
  EXPECT_NE(listed.find(id), std::string::npos);
  EXPECT_EQ(listed.find(text), std::string::npos);
  EXPECT_EQ(listed.find("hash"), std::string::npos);

  EXPECT_EQ(http::status_of(world.call("DELETE", "/v1/keys/" + id, "", root)), "200");
  EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/queues", "", bearer_header(text))), "401");
  EXPECT_EQ(http::status_of(world.call("DELETE", "/v1/keys/" + id, "", root)), "404");
}

TEST(Keys, SurviveARestart) {
  auto disk = std::make_shared<MemoryDisk>();
  std::string text;
  {
    ApiWorld world(disk);
    text = text_of(world.body("POST", "/v1/keys", R"({"name":"a","scopes":["admin"]})"), "key");
  }
  ApiWorld world(disk);
  world.app->load();
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/keys")), "401");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/keys", "", bearer_header(text))), "200");
}

TEST(Keys, RefuseUnknownScopesAndMembers) {
  ApiWorld world;
  for (const char* body : {R"({"name":"a","scopes":["root"]})", R"({"name":"a","scopes":[]})",
                           R"({"scopes":["read"]})", R"({"name":"a","scopes":["read"],"ttl":1})"})
    EXPECT_EQ(http::status_of(world.call("POST", "/v1/keys", body)), "422") << body;
}

}  // namespace
}  // namespace pawl::api
