// Lists of a server with several partitions look as those of one.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "front/testing/front_world.h"

namespace pawl::front {
namespace {

// Jobs in all partitions, in an order that none of them has alone; newest first.
std::vector<std::string> push_mixed(FrontWorld& world, size_t count) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i)
    ids.push_back(world.push_to(static_cast<uint16_t>((i * i + i / 3) % world.partitions())));
  std::reverse(ids.begin(), ids.end());
  return ids;
}

std::string number_at(const std::string& body, std::initializer_list<std::string_view> path) {
  auto doc = json::parse(body);
  if (!doc.ok()) return "no JSON: " + body;
  std::optional<json::View> at = doc->root();
  for (std::string_view name : path)
    if (at) at = at->find(name);
  return at ? std::string(at->raw()) : "nothing";
}

TEST(FrontLists, EveryJobIsShownOnceWhateverTheLimit) {
  FrontWorld world;
  const std::vector<std::string> ids = push_mixed(world, 23);
  for (size_t limit = 1; limit <= 25; ++limit)
    EXPECT_EQ(page_through(world, "/ojs/v1/jobs", "jobs", limit).ids, ids) << limit;
  EXPECT_EQ(page_through(world, "/ojs/v1/jobs", "jobs", 10).pages,
            (std::vector<size_t>{10, 10, 3}));
}

TEST(FrontLists, JobsThatComeMeanwhileHideNone) {
  FrontWorld world;
  const std::vector<std::string> ids = push_mixed(world, 12);
  const auto push_more = [&](size_t page) {
    if (page < 5) world.push_to(static_cast<uint16_t>(page % world.partitions()));
  };
  EXPECT_EQ(page_through(world, "/ojs/v1/jobs", "jobs", 3, "id", push_more).ids, ids);
}

TEST(FrontLists, APageByNumberIsCutOutOfTheWhole) {
  FrontWorld world;
  const std::vector<std::string> ids = push_mixed(world, 10);
  const std::string page = world.body("GET", "/ojs/v1/jobs?page=2&per_page=4");
  auto doc = json::parse(page);
  std::vector<std::string> shown;
  doc->root().find("jobs")->each_element(
      [&](json::View job) { shown.push_back(job.find("id")->string()); });
  EXPECT_EQ(shown, std::vector<std::string>(ids.begin() + 4, ids.begin() + 8));
  EXPECT_EQ(number_at(page, {"pagination", "page"}), "2");
  EXPECT_EQ(number_at(page, {"pagination", "offset"}), "4");
  EXPECT_EQ(number_at(page, {"pagination", "per_page"}), "4");
  EXPECT_EQ(number_at(page, {"pagination", "total"}), "10");
  EXPECT_EQ(number_at(page, {"pagination", "has_more"}), "true");
  EXPECT_EQ(world.told("GET", "/ojs/v1/jobs?offset=20000").substr(0, 3), "400");
}

TEST(FrontLists, AQueueOfSeveralPartitionsIsOne) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k, "a.b", "shared");
  world.push_to(1, "a.b", "alone");
  const Paged queues = page_through(world, "/ojs/v1/queues", "queues", 1, "name");
  EXPECT_EQ(queues.ids, (std::vector<std::string>{"alone", "shared"}));
  const std::string list = world.body("GET", "/ojs/v1/queues");
  EXPECT_EQ(number_at(list, {"pagination", "total"}), "2");
  EXPECT_EQ(number_at(world.body("GET", "/ojs/v1/queues/shared"), {"queue", "available"}), "3");
  EXPECT_EQ(number_at(world.body("GET", "/ojs/v1/queues/alone"), {"queue", "depth"}), "1");
  const std::string stats = world.body("GET", "/ojs/v1/admin/stats");
  EXPECT_EQ(number_at(stats, {"queues"}), "2");
  EXPECT_EQ(number_at(stats, {"depth"}), "4");
  EXPECT_EQ(number_at(stats, {"jobs", "available"}), "4");
}

}  // namespace
}  // namespace pawl::front
