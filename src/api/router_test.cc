#include "api/router.h"

#include <gtest/gtest.h>

#include <set>

#include "api/routes.h"

namespace pawl::api {
namespace {

void nothing(App&, Call&&) {}

// "pattern param param", "takes METHOD, METHOD" or "no such path".
std::string way(const Router& router, std::string_view method, std::string_view path) {
  std::vector<std::string> params;
  std::string others;
  const Route* route = router.find(method, path, params, others);
  if (route == nullptr) return others.empty() ? "no such path" : "takes " + others;
  std::string text(route->pattern);
  for (const std::string& param : params) text += " " + param;
  return text;
}

Router small_router() {
  Router router;
  router.add({"GET", "/a", Permission::Read, Routing::Here, nothing});
  router.add({"GET", "/a/{id}", Permission::Read, Routing::Here, nothing});
  router.add({"POST", "/a/batch", Permission::Write, Routing::Here, nothing});
  router.add({"GET", "/a/{id}/versions", Permission::Read, Routing::Here, nothing});
  router.add({"GET", "/a/{id}/{version}", Permission::Read, Routing::Here, nothing});
  router.add({"GET", "/a/batch/log", Permission::Read, Routing::Here, nothing});
  return router;
}

TEST(Router, PicksTheMostLiteralPattern) {
  Router router = small_router();
  EXPECT_EQ(way(router, "GET", "/a"), "/a");
  EXPECT_EQ(way(router, "GET", "/a/"), "/a");
  EXPECT_EQ(way(router, "GET", "/a/7"), "/a/{id} 7");
  EXPECT_EQ(way(router, "POST", "/a/batch"), "/a/batch");
  EXPECT_EQ(way(router, "GET", "/a/7/versions"), "/a/{id}/versions 7");
  EXPECT_EQ(way(router, "GET", "/a/7/3"), "/a/{id}/{version} 7 3");
}

// A literal without a route must not hide the parameter beside it.
TEST(Router, DeadEndBehindALiteralFallsBackToTheParameter) {
  EXPECT_EQ(way(small_router(), "GET", "/a/batch/versions"), "/a/{id}/versions batch");
}

TEST(Router, DecodesParametersAndRefusesWhatCannotBeDecoded) {
  Router router = small_router();
  EXPECT_EQ(way(router, "GET", "/a/x%2Fy%20z"), "/a/{id} x/y z");
  EXPECT_EQ(way(router, "GET", "/a/%zz"), "no such path");
  EXPECT_EQ(way(router, "GET", "/a/%00"), "no such path");
}

TEST(Router, TellsAWrongMethodFromAnUnknownPath) {
  Router router = small_router();
  EXPECT_EQ(way(router, "DELETE", "/a/7"), "takes GET, HEAD");
  EXPECT_EQ(way(router, "GET", "/b"), "no such path");
  EXPECT_EQ(way(router, "GET", "/a/7/3/1"), "no such path");
  EXPECT_EQ(way(router, "HEAD", "/a/7"), "/a/{id} 7");
}

// Two routes for one method and pattern would make the second unreachable.
TEST(Routes, AreEachListedOnce) {
  Router router;
  add_all_routes(router);
  std::set<std::string> seen;
  for (const Route& route : router.routes()) {
    std::string name;
    for (char c : std::string(route.method) + " " + std::string(route.pattern)) name.push_back(c);
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
  EXPECT_GT(seen.size(), 80u);
}

}  // namespace
}  // namespace pawl::api
