// Streams of partitions that a test writes, as one.
#include "front/stream_merge.h"

#include <gtest/gtest.h>

#include <condition_variable>

#include "api/event_stream.h"

namespace pawl::front {
namespace {

// A client that reads as far as the test lets it.
class TestClient final : public http::AnswerSink {
 public:
  void answer(http::Response&& response) override {
    std::lock_guard lock(mutex_);
    refusal_ = response.status;
    changed_.notify_all();
  }
  void begin_stream(http::Response&&) override {
    std::lock_guard lock(mutex_);
    begun_ = true;
  }
  bool write(std::string_view chunk) override {
    std::lock_guard lock(mutex_);
    if (gone_) return false;
    most_ = std::max(most_, unsent_ + chunk.size());
    unsent_ += reads_ ? 0 : chunk.size();
    read_ += chunk;
    changed_.notify_all();
    return true;
  }
  void end_stream() override {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  size_t unsent() const override {
    std::lock_guard lock(mutex_);
    return unsent_;
  }
  void on_disconnect(std::function<void()> callback) override { leave_ = std::move(callback); }

  void read_all() {
    std::lock_guard lock(mutex_);
    reads_ = true;
    unsent_ = 0;
  }
  void stop_reading() {
    std::lock_guard lock(mutex_);
    reads_ = false;
  }
  void leave() {
    {
      std::lock_guard lock(mutex_);
      gone_ = true;
    }
    leave_();
  }
  std::string wait_for(std::string_view text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_.find(text) != std::string::npos; });
    return read_;
  }
  int refusal() const { return refusal_; }
  bool begun() const { return begun_; }
  bool wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
    return ended_;
  }
  size_t most_unsent() const {
    std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string read_;
  size_t unsent_ = 0;
  size_t most_ = 0;
  bool reads_ = true;
  bool begun_ = false;
  bool ended_ = false;
  bool gone_ = false;
  int refusal_ = 0;
  std::function<void()> leave_;
};

struct MergedParts {
  struct Asked {
    std::optional<EventPosition> after;
    std::shared_ptr<http::AnswerSink> sink;
  };

  explicit MergedParts(uint16_t partitions, std::optional<EventCursor> after = {}) {
    merge = std::make_shared<StreamMerge>(
        alarm, client, partitions, after,
        [this](uint16_t k, const std::optional<EventPosition>& from,
               std::shared_ptr<http::AnswerSink> sink) {
          std::lock_guard lock(mutex);
          asked[k].push_back({from, std::move(sink)});
          changed.notify_all();
        },
        [this] { return goes_on.load(); });
    merge->start();
  }
  ~MergedParts() {
    merge->stop();
    alarm.stop();
  }
  // What the partition was asked for the nth time.
  Asked& part(uint16_t k, size_t nth = 0) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked[k].size() > nth; });
    return asked[k][nth];
  }
  void begin(uint16_t k, uint64_t at) {
    http::Response head = api::stream_head();
    head.body += api::position_comment({at});
    part(k).sink->begin_stream(std::move(head));
  }

  Alarm alarm;
  std::shared_ptr<TestClient> client = std::make_shared<TestClient>();
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint16_t, std::deque<Asked>> asked;  // guarded by mutex
  std::atomic<bool> goes_on{true};
  std::shared_ptr<StreamMerge> merge;
};

std::string sse(uint64_t at, const std::string& data) {
  return "id: " + std::to_string(at) + "\nevent: e\ndata: " + data + "\n\n";
}
std::string merged_sse(std::vector<EventPosition> at, const std::string& data) {
  return "id: " + EventCursor{std::move(at)}.text() + "\nevent: e\ndata: " + data + "\n\n";
}

TEST(StreamMerge, AnEventNamesWhereAllPartitionsAre) {
  MergedParts world(2);
  world.begin(0, 10);
  EXPECT_FALSE(world.client->begun());
  world.begin(1, 20);
  EXPECT_TRUE(world.client->begun());
  world.part(1).sink->write(sse(21, "a"));
  world.client->wait_for(merged_sse({{10}, {21}}, "a"));
  world.part(0).sink->write(sse(11, "b"));
  world.client->wait_for(merged_sse({{11}, {21}}, "b"));
}

TEST(StreamMerge, EventsArePassedOnWhole) {
  MergedParts world(2);
  world.begin(0, 0);
  world.begin(1, 0);
  const std::string large = sse(5, std::string(300'000, 'x')) + sse(6, "end");
  for (size_t at = 0; at < large.size(); at += 1'000) {
    world.part(0).sink->write(std::string_view(large).substr(at, 1'000));
    if (at == 50'000) world.part(1).sink->write(sse(1, "between"));
  }
  const std::string all = world.client->wait_for(merged_sse({{6}, {1}}, "end"));
  EXPECT_EQ(all, merged_sse({{0}, {1}}, "between") +
                     merged_sse({{5}, {1}}, std::string(300'000, 'x')) +
                     merged_sse({{6}, {1}}, "end"));
}

TEST(StreamMerge, APartGoesOnBehindItsLastWholeEvent) {
  MergedParts world(2, EventCursor{{{3}, {4}}});
  EXPECT_EQ(world.part(0).after->text(), "3");
  world.begin(0, 3);
  world.begin(1, 4);
  auto first = world.part(0).sink;
  first->write(sse(7, "whole") + "id: 8\nevent: e\ndata: ha");
  first->end_stream();
  EXPECT_EQ(world.part(0, 1).after->text(), "7");
  EXPECT_FALSE(first->write(sse(9, "too late")));
  world.part(0, 1).sink->begin_stream(api::stream_head());
  world.part(0, 1).sink->write(sse(8, "half"));
  EXPECT_EQ(world.client->wait_for("half\n\n"),
            merged_sse({{7}, {4}}, "whole") + merged_sse({{8}, {4}}, "half"));
}

TEST(StreamMerge, AStreamThatBeginsTwiceIsAskedForAgain) {
  MergedParts world(1);
  world.begin(0, 3);
  world.part(0).sink->write(sse(4, "a"));
  world.part(0).sink->begin_stream(api::stream_head());
  EXPECT_FALSE(world.part(0).sink->write(sse(4, "a")));
  EXPECT_EQ(world.part(0, 1).after->text(), "4");
}

TEST(StreamMerge, APartThatRefusesAtTheStartIsTheAnswer) {
  MergedParts world(2);
  world.begin(0, 0);
  world.part(1).sink->answer({.status = 503});
  EXPECT_EQ(world.client->refusal(), 503);
  EXPECT_FALSE(world.part(0).sink->write(sse(1, "a")));
}

TEST(StreamMerge, APartWithoutOwnerIsAskedForAgainWhileTheClientStays) {
  MergedParts world(1);
  world.begin(0, 3);
  world.part(0).sink->end_stream();
  world.part(0, 1).sink->answer({.status = 503});
  EXPECT_EQ(world.part(0, 2).after->text(), "3");
  world.part(0, 2).sink->answer({.status = 400});
  EXPECT_TRUE(world.client->wait_for_end());
}

TEST(StreamMerge, OnAServerThatStopsItEnds) {
  MergedParts world(1);
  world.begin(0, 3);
  world.goes_on = false;
  world.part(0).sink->end_stream();
  EXPECT_TRUE(world.client->wait_for_end());
}

TEST(StreamMerge, ASlowClientHoldsThePartsBack) {
  MergedParts world(2);
  world.begin(0, 0);
  world.begin(1, 0);
  world.client->stop_reading();
  auto sink = world.part(0).sink;
  uint64_t at = 0;
  while (sink->unsent() < kStreamPieceBytes) sink->write(sse(++at, std::string(10'000, 'x')));
  EXPECT_LE(world.client->most_unsent(), kStreamPieceBytes);
  EXPECT_LT(at, 70u);  // one piece on its way, one put by
  EXPECT_EQ(world.part(1).sink->unsent(), 0u);
  world.client->read_all();
  world.client->wait_for(merged_sse({{at}, {0}}, std::string(10'000, 'x')));
  EXPECT_EQ(sink->unsent(), 0u);
}

TEST(StreamMerge, PartsLearnThatTheClientHasGone) {
  MergedParts world(2);
  bool told = false;
  world.begin(0, 0);
  world.begin(1, 0);
  world.part(0).sink->on_disconnect([&] { told = true; });
  world.client->leave();
  EXPECT_TRUE(told);
  EXPECT_TRUE(world.part(1).sink->disconnected());
  EXPECT_FALSE(world.part(1).sink->write(""));
}

}  // namespace
}  // namespace pawl::front
