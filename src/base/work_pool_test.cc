#include "base/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace pawl {
namespace {

// Work that runs until it is released, so that a test can fill the queue behind it. Stands before
// the pool: the work may still be on its way through an opened gate when a test ends.
class Gate {
 public:
  std::function<void()> work() {
    return [this] {
      entered_.set_value();
      opened_.get_future().wait();
    };
  }
  void wait_entered() { entered_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> opened_;
};

class Trace {
 public:
  std::function<void()> note(std::string word) {
    return [this, word = std::move(word)] {
      std::lock_guard lock(mutex_);
      text_ += word + ' ';
    };
  }
  std::string text() {
    std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

std::string taken(WorkPool& pool, std::function<void()> work, std::string_view lane = {}) {
  Status status = pool.run(work, lane);
  return status.ok() ? "taken" : std::string(wire_code(status.error().code));
}

void wait_for_all(WorkPool& pool, std::string_view lane = "last") {
  std::promise<void> done;
  ASSERT_EQ(taken(
                pool, [&] { done.set_value(); }, lane),
            "taken");
  done.get_future().wait();
}

// One client's flood must not delay another client's single request.
TEST(WorkPool, LanesAreServedInTurn) {
  Gate gate;
  Trace trace;
  WorkPool pool({.threads = 1});
  ASSERT_EQ(taken(pool, gate.work(), "flood"), "taken");
  gate.wait_entered();
  for (int i = 1; i <= 4; ++i) taken(pool, trace.note("flood" + std::to_string(i)), "flood");
  taken(pool, trace.note("other1"), "other");
  taken(pool, trace.note("other2"), "other");
  std::promise<void> done;
  taken(pool, trace.note("flood5"), "flood");
  taken(
      pool, [&] { done.set_value(); }, "flood");
  gate.open();
  done.get_future().wait();
  EXPECT_EQ(trace.text(), "flood1 other1 flood2 other2 flood3 flood4 flood5 ");
}

TEST(WorkPool, OneLaneIsServedInOrder) {
  Gate gate;
  Trace trace;
  WorkPool pool({.threads = 1});
  taken(pool, gate.work());
  gate.wait_entered();
  for (const char* word : {"a", "b", "c"}) taken(pool, trace.note(word));
  gate.open();
  wait_for_all(pool, "");
  EXPECT_EQ(trace.text(), "a b c ");
}

// A lane that may use one thread leaves the other thread to other lanes.
TEST(WorkPool, ALaneDoesNotHoldAllThreads) {
  Gate first;
  Trace trace;
  WorkPool pool({.threads = 2, .lane_running_max = 1});
  taken(pool, first.work(), "flood");
  first.wait_entered();
  taken(pool, trace.note("flood"), "flood");
  taken(pool, trace.note("other"), "other");
  wait_for_all(pool, "other");  // the second piece of the flooding lane may not run here
  EXPECT_EQ(trace.text(), "other ");
  first.open();
  wait_for_all(pool, "flood");
  EXPECT_EQ(trace.text(), "other flood ");
}

TEST(WorkPool, TheLineIsBoundedForAllAndForEachLane) {
  Gate gate;
  Trace trace;
  WorkPool pool({.threads = 1, .waiting_max = 3, .lane_waiting_max = 2, .name = "checks"});
  taken(pool, gate.work(), "flood");
  gate.wait_entered();
  std::string story;
  for (int i = 0; i < 3; ++i) story += taken(pool, trace.note("x"), "flood") + ' ';
  story += taken(pool, trace.note("x"), "b") + ' ';
  story += taken(pool, trace.note("x"), "c");
  EXPECT_EQ(story, "taken taken rate_limited taken overloaded");
  EXPECT_EQ(pool.waiting(), 3u);
  std::function<void()> one_more = [] {};
  EXPECT_EQ(pool.run(one_more, "d").error().message,
            "too many checks are waiting; try again shortly");
  gate.open();
}

TEST(WorkPool, StopWaitsForWhatRunsAndDropsTheRest) {
  Gate gate;
  WorkPool pool({.threads = 1});
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watch = held;
  std::atomic<bool> ran = false;
  taken(pool, gate.work(), "a");
  gate.wait_entered();
  taken(
      pool, [held = std::move(held), &ran] { ran = true; }, "b");
  std::thread stopping([&] { pool.stop(); });
  while (pool.waiting() > 0) std::this_thread::yield();
  gate.open();
  stopping.join();
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(ran);
  EXPECT_EQ(taken(pool, [] {}), "unavailable");
}

}  // namespace
}  // namespace pawl
