#include "front/alarm.h"

#include <gtest/gtest.h>

#include <future>

namespace pawl::front {
namespace {

using std::chrono::milliseconds;

TEST(Alarm, CallsInTheOrderOfTheTimes) {
  Alarm alarm;
  std::string order;
  std::promise<void> last;
  const auto now = std::chrono::steady_clock::now();
  alarm.at(now + milliseconds(3), [&] {
    order += "c";
    last.set_value();
  });
  alarm.at(now + milliseconds(1), [&] { order += "a"; });
  alarm.at(now + milliseconds(2), [&] { order += "b"; });
  last.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST(Alarm, WhatWasCancelledIsNotCalled) {
  Alarm alarm;
  bool called = false;
  const auto when = std::chrono::steady_clock::now() + milliseconds(5);
  alarm.cancel(alarm.at(when, [&] { called = true; }));
  std::promise<void> later;
  alarm.at(when + milliseconds(1), [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_FALSE(called);
}

TEST(Alarm, ACallMaySetTheNext) {
  Alarm alarm;
  std::promise<int> done;
  alarm.in(milliseconds(0), [&] { alarm.in(milliseconds(0), [&] { done.set_value(2); }); });
  EXPECT_EQ(done.get_future().get(), 2);
  alarm.stop();
}

}  // namespace
}  // namespace pawl::front
