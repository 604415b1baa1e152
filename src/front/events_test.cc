// Events of a server with several partitions: lists and streams of all, and cursors into them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "front/event_cursor.h"
#include "front/testing/front_world.h"

namespace pawl::front {
namespace {

struct SseEvent {
  std::string id;
  std::string name;
  std::string job;
};

// A stream of events as its client reads it.
class StreamClient {
 public:
  StreamClient(FrontWorld& world, const std::string& path, const std::string& headers = "")
      : client_(world.http->port()) {
    client_.send("GET " + path + " HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n" + headers +
                 "\r\n");
    head_ = client_.read_until("\r\n\r\n");
    if (head_.find(" 200 ") != std::string::npos) client_.read_until(": pawl events\n\n");
  }

  const std::string& head() const { return head_; }
  SseEvent next() {
    while (true) {
      const std::string frame = client_.read_until("\n\n");
      if (frame.empty()) return {};
      const size_t id = frame.find("id: ");
      const size_t data = frame.find("data: ");
      if (id == std::string::npos || data == std::string::npos) continue;
      auto doc = json::parse(std::string_view(frame).substr(data + 6));
      const auto line = [&](size_t at) { return frame.substr(at, frame.find('\n', at) - at); };
      return {line(id + 4), line(frame.find("event: ") + 7),
              doc.ok() ? doc->root().find("subject")->string() : ""};
    }
  }
  std::vector<std::string> jobs(size_t count) {
    std::vector<std::string> found;
    for (size_t i = 0; i < count; ++i) {
      last_ = next();
      found.push_back(last_.job);
    }
    return found;
  }
  const std::string& last_id() const { return last_.id; }

 private:
  http::LoopbackClient client_;
  std::string head_;
  SseEvent last_;
};

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

constexpr const char* kPushes = "/ojs/v1/events?types=job.enqueued";

TEST(FrontEvents, AStreamHasTheEventsOfAllPartitions) {
  FrontWorld world;
  StreamClient stream(world, kPushes);
  std::vector<std::string> pushed;
  for (uint16_t k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i) pushed.push_back(world.push_to(k));
  EXPECT_EQ(sorted(stream.jobs(9)), sorted(pushed));
}

TEST(FrontEvents, AStreamGoesOnWhereverItWasCut) {
  FrontWorld world;
  std::vector<std::string> pushed;
  for (int i = 0; i < 12; ++i) pushed.push_back(world.push_to(static_cast<uint16_t>(i % 3)));
  for (size_t cut = 1; cut < pushed.size(); ++cut) {
    StreamClient first(world, std::string(kPushes) + "&after=0");
    std::vector<std::string> seen = first.jobs(cut);
    StreamClient second(world, kPushes, "Last-Event-ID: " + first.last_id() + "\r\n");
    for (std::string& job : second.jobs(pushed.size() - cut)) seen.push_back(job);
    EXPECT_EQ(sorted(seen), sorted(pushed)) << cut;
  }
}

// Nothing was sent yet of two partitions when the client left: they go on from where it began.
TEST(FrontEvents, WhatComesWhileNobodyReadsIsNotMissed) {
  FrontWorld world;
  std::string last;
  {
    StreamClient stream(world, kPushes);
    world.push_to(1);
    stream.jobs(1);
    last = stream.last_id();
  }
  const std::string a = world.push_to(0), b = world.push_to(2), c = world.push_to(1);
  StreamClient again(world, kPushes, "Last-Event-ID: " + last + "\r\n");
  EXPECT_EQ(sorted(again.jobs(3)), sorted({a, b, c}));
}

TEST(FrontEvents, APartitionThatIsHandedOverGoesOnInTheSameStream) {
  FrontWorld world;
  StreamClient stream(world, kPushes);
  std::vector<std::string> pushed, seen;
  for (int round = 0; round < 3; ++round) {
    for (uint16_t k = 0; k < 3; ++k) pushed.push_back(world.push_to(k));
    for (std::string& job : stream.jobs(3)) seen.push_back(job);
    const auto gone = static_cast<uint16_t>(round);
    world.give_up(gone);
    pushed.push_back(world.push_to(static_cast<uint16_t>((round + 1) % 3)));
    for (std::string& job : stream.jobs(1)) seen.push_back(job);
    world.take(gone);
    pushed.push_back(world.push_to(gone));
    for (std::string& job : stream.jobs(1)) seen.push_back(job);
  }
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(sorted(seen), sorted(pushed));
}

TEST(FrontEvents, AListPagesThroughAllOnce) {
  FrontWorld world;
  std::vector<std::string> pushed;
  for (int i = 0; i < 20; ++i) pushed.push_back(world.push_to(static_cast<uint16_t>(i * i % 3)));
  for (size_t limit : {1, 3, 7, 20, 100}) {
    std::vector<std::string> seen;
    std::string after = "0";
    bool more = true;
    while (more) {
      const std::string page =
          world.body("GET", std::string(kPushes) + "&stream=false&limit=" + std::to_string(limit) +
                                "&after=" + after);
      auto doc = json::parse(page);
      ASSERT_TRUE(doc.ok()) << page;
      doc->root().find("events")->each_element(
          [&](json::View event) { seen.push_back(event.find("subject")->string()); });
      after = doc->root().find("cursor")->string();
      more = doc->root().find("has_more")->is_true();
    }
    EXPECT_EQ(seen, pushed) << limit;  // each was pushed at a later time
  }
}

TEST(FrontEvents, TheNewestComeFirstOnPagesByNumber) {
  FrontWorld world;
  std::vector<std::string> pushed;
  for (int i = 0; i < 9; ++i) pushed.push_back(world.push_to(static_cast<uint16_t>(i % 3)));
  std::reverse(pushed.begin(), pushed.end());
  const std::string page = world.body("GET", std::string(kPushes) + "&page=2&per_page=4");
  auto doc = json::parse(page);
  ASSERT_TRUE(doc.ok()) << page;
  std::vector<std::string> seen;
  doc->root().find("items")->each_element(
      [&](json::View event) { seen.push_back(event.find("subject")->string()); });
  EXPECT_EQ(seen, std::vector<std::string>(pushed.begin() + 4, pushed.begin() + 8));
  const json::View end = *doc->root().find("pagination");
  EXPECT_EQ(end.raw(), R"({"total":9,"page":2,"per_page":4,"has_more":true})");
}

TEST(FrontEvents, ACursorOfAnotherServerIsRefused) {
  FrontWorld world;
  const std::string other = EventCursor{std::vector<EventPosition>(5)}.text();
  const std::string refused = world.told("GET", std::string(kPushes) + "&after=" + other);
  EXPECT_EQ(refused.substr(0, 3), "400");
  EXPECT_NE(refused.find("5 partitions, and this one has 3"), std::string::npos) << refused;
  EventCursor ahead{std::vector<EventPosition>(3)};
  ahead.positions[2].sequence = 1u << 30;
  EXPECT_EQ(
      StreamClient(world, std::string(kPushes) + "&after=" + ahead.text()).head().substr(0, 12),
      "HTTP/1.1 400");
  EXPECT_EQ(world.told("GET", std::string(kPushes) + "&after=17").substr(0, 3), "400");
  EXPECT_EQ(world.told("GET", std::string(kPushes) + "&after=v1.!!").substr(0, 3), "400");
}

TEST(FrontEvents, TheEventsOfOneJobTakeACursorOfAll) {
  FrontWorld world;
  const std::string job = world.push_to(2);
  const std::string list = world.body("GET", "/ojs/v1/events?stream=false&after=0");
  auto doc = json::parse(list);
  const std::string cursor = doc->root().find("cursor")->string();
  EXPECT_EQ(world.told("GET", "/ojs/v1/jobs/" + job + "/events?after=" + cursor).substr(0, 3),
            "200");
  EXPECT_EQ(world.told("POST", "/ojs/v1/admin/jobs/" + job + "/cancel").substr(0, 3), "200");
  StreamClient channel(world, "/ojs/v1/events/stream?channel=job:" + job + "&after=" + cursor);
  EXPECT_EQ(channel.next().name, "job.cancelled");
}

}  // namespace
}  // namespace pawl::front
