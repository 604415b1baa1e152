#include "front/fetch_order.h"

#include <gtest/gtest.h>

namespace pawl::front {
namespace {

std::string read(const std::string& body, std::string_view worker = {}) {
  auto doc = json::parse(body);
  auto order = doc.ok() ? read_fetch_order(doc->root(), "", worker) : std::nullopt;
  if (!order) return "refused";
  return order->part(order->queues, order->count) + " wait " + std::to_string(order->wait_ms);
}

TEST(FetchOrder, APartAsksForTheSameWithoutWaiting) {
  EXPECT_EQ(read(R"({"queues":["a","b"],"count":5,"wait_ms":100,"worker_id":"w","x":[1]})"),
            R"({"worker_id":"w","x":[1],"count":5,"queues":["a","b"]} wait 100)");
  EXPECT_EQ(read(R"({"queue":"a"})", "w"), R"({"worker_id":"w","count":1,"queues":["a"]} wait 0)");
  EXPECT_EQ(read(R"({"queue":"a","worker_id":"me"})", "w"),
            R"({"worker_id":"me","count":1,"queues":["a"]} wait 0)");
}

// A part must not lease jobs before another one finds the fault.
TEST(FetchOrder, WhatAPartitionWouldRefuseIsNoOrder) {
  for (const char* body :
       {R"({})", R"({"queues":[]})", R"({"queues":["a",1]})", R"({"queues":["no good"]})",
        R"({"queues":["pawl.webhooks"]})", R"({"queues":"a"})", R"({"queue":"a","count":0})",
        R"({"queue":"a","count":"5"})", R"({"queue":"a","wait_ms":-1})", R"([])"})
    EXPECT_EQ(read(body), "refused") << body;
}

}  // namespace
}  // namespace pawl::front
