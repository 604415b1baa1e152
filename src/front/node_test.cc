// What a server with several partitions says about itself, and things whose id does not say where
// they are.
#include <gtest/gtest.h>

#include "base/json.h"
#include "front/merge_metrics.h"
#include "front/testing/front_world.h"

namespace pawl::front {
namespace {

std::string value_at(const std::string& body, std::initializer_list<std::string_view> path) {
  auto doc = json::parse(body);
  if (!doc.ok()) return "no JSON: " + body;
  std::optional<json::View> at = doc->root();
  for (std::string_view name : path)
    if (at) at = at->find(name);
  return at ? std::string(at->raw()) : "nothing";
}

// The samples of one name.
std::string samples(const std::string& page, const std::string& name) {
  std::string found;
  for (size_t at = 0; at < page.size();) {
    const size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    if (line.starts_with(name + " ") || line.starts_with(name + "{")) found += line + "\n";
    at = end + 1;
  }
  return found;
}

TEST(MergeMetrics, AmountsAddAgesDoNot) {
  const std::string help = "# HELP pawl_x Help.\n# TYPE pawl_x gauge\n";
  const std::string age =
      "# HELP pawl_y_age_seconds Age.\n# TYPE pawl_y_age_seconds gauge\npawl_y_age_seconds ";
  const std::string head = "# HELP pawl_journal_head H.\n# TYPE pawl_journal_head gauge\n";
  EXPECT_EQ(merge_metrics(
                {{0, help + "pawl_x{a=\"1\"} 2\n" + age + "0.5\n" + head + "pawl_journal_head 7\n"},
                 {3, help + "pawl_x{a=\"1\"} 3\npawl_x{a=\"2\"} 1\n" + age + "0.25\n" + head +
                         "pawl_journal_head 9\n"}}),
            help + "pawl_x{a=\"1\"} 5\npawl_x{a=\"2\"} 1\n" + age + "0.5\n" + head +
                "pawl_journal_head{partition=\"0\"} 7\npawl_journal_head{partition=\"3\"} 9\n");
}

TEST(FrontNode, FiguresAreThoseOfAllItsPartitions) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k);
  const std::string page = world.body("GET", "/metrics");
  EXPECT_EQ(samples(page, "pawl_queues"), "pawl_queues 1\n");
  EXPECT_EQ(samples(page, "pawl_jobs_pushed_total"), "pawl_jobs_pushed_total 3\n");
  EXPECT_NE(samples(page, "pawl_queue_jobs").find("state=\"available\"} 3\n"), std::string::npos)
      << page;
  EXPECT_EQ(samples(page, "pawl_partition_owned"),
            "pawl_partition_owned{partition=\"0\"} 1\npawl_partition_owned{partition=\"1\"} 1\n"
            "pawl_partition_owned{partition=\"2\"} 1\n");
  EXPECT_EQ(samples(page, "pawl_build_info"),
            "pawl_build_info{version=\"test\",store=\"memory\"} 1\n");
}

TEST(FrontNode, TheSystemCountsAllOfIt) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.push_to(k);
  const std::string body = world.body("GET", "/v1/system");
  EXPECT_EQ(value_at(body, {"jobs", "available"}), "3");
  EXPECT_EQ(value_at(body, {"counts", "queues"}), "1");
  EXPECT_EQ(value_at(body, {"counts", "jobs_resident"}), "3");
  EXPECT_EQ(value_at(body, {"counts", "connections"}), "1");
  EXPECT_EQ(value_at(body, {"version"}), "\"test\"");
  EXPECT_EQ(value_at(body, {"part_queues"}), "nothing");
}

TEST(FrontNode, ItIsReadyOnceEveryPartitionIsServed) {
  FrontWorld world;
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "200");
  world.give_up(1);
  const std::string waits = world.told("GET", "/ready");
  EXPECT_EQ(waits.substr(0, 3), "503");
  EXPECT_NE(waits.find(R"("partitions_without_owner":[1])"), std::string::npos) << waits;
  world.take(1);
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "200");
}

TEST(FrontNode, WithoutAPartitionItStillTellsOfItself) {
  FrontWorld world;
  for (uint16_t k = 0; k < 3; ++k) world.give_up(k);
  EXPECT_EQ(world.told("GET", "/health").substr(0, 3), "200");
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "503");
  EXPECT_EQ(world.told("GET", "/").substr(0, 3), "200");
  EXPECT_EQ(value_at(world.body("GET", "/v1/cluster"), {"partitions"}), "[]");
  EXPECT_EQ(samples(world.body("GET", "/metrics"), "pawl_http_connections"),
            "pawl_http_connections 1\n");
}

TEST(StrayIds, AThingIsFoundWhereverItIs) {
  FrontWorld world;
  const std::string id = world.id_in(0);
  const std::string job = R"({"id":")" + id + R"(","type":"a.b","args":[]})";
  ASSERT_NE(world.ask_partition(2, "POST", "/ojs/v1/jobs", job).find(id), std::string::npos);
  EXPECT_EQ(value_at(world.body("GET", "/ojs/v1/jobs/" + id), {"job", "id"}), "\"" + id + "\"");
  EXPECT_EQ(world.told("GET", "/v1/jobs/" + id + "/explain").substr(0, 3), "200");
  const std::string unknown = world.told("GET", "/ojs/v1/jobs/" + world.id_in(0));
  EXPECT_EQ(unknown.substr(0, 3), "404");
}

}  // namespace
}  // namespace pawl::front
