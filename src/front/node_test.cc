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
  EXPECT_NE(waits.find(R"("partitions_unserved":[1])"), std::string::npos) << waits;
  world.take(1);
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "200");
}

// As /v1/cluster tells it: a partition that is being recovered has an owner, and nobody serves it.
TEST(FrontNode, ItIsNotReadyWhileAPartitionIsRecovered) {
  FrontWorld world;
  cluster::ClusterView view;
  for (uint16_t k = 0; k < 3; ++k)
    view.partitions.push_back(
        {{.id = k, .epoch = 1, .node = "here"}, cluster::PartitionState::Serving});
  view.warnings = {"a batch was refused"};
  world.server.use_cluster({.view = [&view] { return view; }});
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "200");
  view.partitions[2].state = cluster::PartitionState::HandingOver;
  EXPECT_EQ(world.told("GET", "/ready").substr(0, 3), "200");
  view.partitions[0].state = cluster::PartitionState::Recovering;
  const std::string waits = world.told("GET", "/ready");
  EXPECT_EQ(waits.substr(0, 3), "503");
  EXPECT_NE(waits.find(R"("partitions_unserved":[0])"), std::string::npos) << waits;
  EXPECT_EQ(value_at(world.body("GET", "/v1/cluster"), {"warnings"}), R"(["a batch was refused"])");
}

TEST(FrontNode, FiguresOfTheNodeAreOnItsPage) {
  FrontWorld world;
  api::NodeFigures figures{.takeovers = 2, .fenced = 1, .recoveries = 3, .recovery_us = 1'500'000};
  figures.links.passed_on = 9;
  figures.links.forwards[1] = 4;
  figures.links.forwards.back() = 1;
  figures.links.forward_us = 2'000'000;
  figures.messages_unsettled = {{1, 7}};
  world.server.use_node_figures([&figures] { return figures; });
  const std::string page = world.body("GET", "/metrics");
  EXPECT_EQ(samples(page, "pawl_takeovers_total") + samples(page, "pawl_fenced_total") +
                samples(page, "pawl_forwarded_total"),
            "pawl_takeovers_total 2\npawl_fenced_total 1\npawl_forwarded_total 9\n");
  EXPECT_EQ(
      samples(page, "pawl_recovery_seconds_sum") + samples(page, "pawl_recovery_seconds_count"),
      "pawl_recovery_seconds_sum 1.5\npawl_recovery_seconds_count 3\n");
  EXPECT_EQ(samples(page, "pawl_messages_unsettled"),
            "pawl_messages_unsettled{partition=\"1\"} 7\n");
  EXPECT_NE(page.find("pawl_forward_seconds_bucket{le=\"0.00025\"} 0\n"
                      "pawl_forward_seconds_bucket{le=\"0.0005\"} 4\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("pawl_forward_seconds_bucket{le=\"+Inf\"} 5\npawl_forward_seconds_sum 2\n"
                      "pawl_forward_seconds_count 5\n"),
            std::string::npos)
      << page;
}

TEST(FrontNode, ASingleServerTellsEachPartitionsJournal) {
  FrontWorld world;
  world.push_to(2);
  const std::string shown = world.body("GET", "/v1/cluster");
  EXPECT_EQ(value_at(shown, {"nodes"}).find("[0,1,2]") != std::string::npos, true) << shown;
  for (uint16_t k = 0; k < 3; ++k)
    EXPECT_NE(shown.find(R"("state":"serving","journal_head":)" +
                         std::to_string(world.app(k).store().journal_last()) + "}"),
              std::string::npos)
        << shown;
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
