#include "front/placement.h"

#include <gtest/gtest.h>

#include "base/partition.h"
#include "http/answer_sink.h"

namespace pawl::front {
namespace {

constexpr uint16_t kMany = 64;
using Headers = std::vector<std::pair<std::string, std::string>>;

// "7", "7 as q" for the home of a queue, or "any".
std::string created(std::string_view path, const std::string& body, const Headers& headers = {}) {
  const api::Route route{"POST", path, api::Permission::Write, api::Routing::Create, nullptr};
  const http::Request request = http::make_request(
      {.method = "POST", .target = std::string(path), .headers = headers, .body = body});
  const CreatePlace place =
      place_to_create({route, request, {}, std::string(request.header("x-ojs-tenant"))}, kMany);
  if (!place.partition) return "any";
  return std::to_string(*place.partition) + (place.queue.empty() ? "" : " as " + place.queue);
}

std::string home(NameKind kind, std::string_view name, std::string_view tenant = "") {
  return std::to_string(home_of(kind, tenant, name, kMany));
}

TEST(Placement, JobsOfAQueueStayTogether) {
  const std::string of_mail = home(NameKind::Queue, "mail") + " as mail";
  EXPECT_EQ(created("/ojs/v1/jobs", R"({"type":"a","queue":"mail"})"), of_mail);
  EXPECT_EQ(created("/ojs/v1/jobs", R"({"type":"a","options":{"queue":"mail"}})"), of_mail);
  EXPECT_EQ(created("/ojs/v1/jobs", R"({"type":"a"})"),
            home(NameKind::Queue, "default") + " as default");
}

TEST(Placement, WhatMustBeExactDecidesBeforeTheQueue) {
  const std::string id = "01a1f609-c42c-7a2a-9577-22cac0f40021";
  const std::string named = R"({"type":"a","args":[],"id":")" + id + R"("})";
  EXPECT_EQ(created("/ojs/v1/jobs", named), "33");
  EXPECT_EQ(created("/ojs/v1/jobs", named, {{"Idempotency-Key", "k"}}),
            home(NameKind::IdempotencyKey, "k"));
  const std::string limited =
      R"({"type":"a","args":[],"options":{"rate_limit":{"key":"api","concurrency":1}}})";
  EXPECT_EQ(created("/ojs/v1/jobs", limited, {{"Idempotency-Key", "k"}}),
            home(NameKind::Limit, "api"));
}

// The home of a unique key must not depend on anything but what has to be unique.
TEST(Placement, EqualUniqueJobsMeet) {
  const auto unique = [](const std::string& priority) {
    return created("/ojs/v1/jobs", R"({"type":"a","args":[1],"priority":)" + priority +
                                       R"(,"options":{"unique":{"keys":["type","args"]}}})");
  };
  EXPECT_EQ(unique("1"), unique("2"));
  EXPECT_EQ(unique("1").find(" as "), std::string::npos);
}

TEST(Placement, ABatchGoesWhereItsFirstCertainJobMustBe) {
  EXPECT_EQ(created("/ojs/v1/jobs/batch", R"({"jobs":[{"type":"a","queue":"x"},{"type":"b"}]})"),
            home(NameKind::Queue, "x") + " as x");
  EXPECT_EQ(created("/ojs/v1/jobs/batch",
                    R"({"jobs":[{"type":"a","queue":"x"},
                        {"type":"b","id":"01a1f609-c42c-7a2a-9577-22cac0f40021"}]})"),
            "33");
}

TEST(Placement, RunsOfAStoredDefinitionMeetAtItsName) {
  EXPECT_EQ(created("/v1/runs", R"({"definition":"d"})"), home(NameKind::Definition, "d"));
  EXPECT_EQ(created("/v1/runs", R"({"definition":"d"})", {{"X-OJS-Tenant", "t"}}),
            home(NameKind::Definition, "d", "t"));
  EXPECT_EQ(created("/v1/runs", R"({"definition":{"steps":[]}})"), "any");
  EXPECT_EQ(created("/v1/runs", R"({"definition":"d","id":"order-7"})"),
            std::to_string(place_of_id("order-7", kMany)));
}

// A name that a client chose is found by everybody: the same place for its creation and each call.
TEST(Placement, ANamedWorkflowIsFoundByItsName) {
  const std::string place = created("/ojs/v1/workflows", R"({"id":"order-7","type":"chain"})");
  EXPECT_EQ(place, std::to_string(place_of_id("order-7", kMany)));
  EXPECT_NE(place_of_id("order-7", kMany), place_of_id("order-8", kMany));
}

TEST(Placement, WhatNobodyCanReadMayBeRefusedByAnybody) {
  EXPECT_EQ(created("/ojs/v1/jobs", "{"), "any");
  EXPECT_EQ(created("/ojs/v1/jobs", "[]"), "any");
}

}  // namespace
}  // namespace pawl::front
