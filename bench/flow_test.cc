// The flow and its client against the echo server: real sockets, a fixed answer.
#include "flow.h"

#include <gtest/gtest.h>

#include "echo_server.h"
#include "requests.h"

namespace pawl::bench {
namespace {

class FlowAgainstEcho : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<EchoServer>> echo = EchoServer::start();
    ASSERT_TRUE(echo.ok()) << echo.error().message;
    echo_ = std::move(echo).value();
    plan_.produce = push_request();
    plan_.produce_status = 200;
    plan_.producers = 8;
    plan_.produce_max = 1000;
  }

  std::string story() {
    const Result<FlowOutcome> outcome = run_flow(echo_->address(), plan_);
    if (!outcome.ok()) return outcome.error().message;
    return std::to_string(outcome->requests) + " requests, " + std::to_string(outcome->jobs) +
           " jobs";
  }

  std::unique_ptr<EchoServer> echo_;
  FlowPlan plan_;
};

TEST_F(FlowAgainstEcho, SendsExactlyWhatThePlanSays) {
  EXPECT_EQ(story(), "1000 requests, 1000 jobs");
  plan_.jobs_per_produce = 100;
  EXPECT_EQ(story(), "1000 requests, 100000 jobs");
}

// Larger than a socket takes at once: the rest is sent when it drains.
TEST_F(FlowAgainstEcho, LargeRequestsArriveWhole) {
  plan_.produce = push_batch_request(8000);
  plan_.produce_max = 40;
  EXPECT_EQ(story(), "40 requests, 40 jobs");
}

TEST_F(FlowAgainstEcho, AnUnexpectedStatusEndsTheRunWithTheReply) {
  plan_.produce_status = 201;
  EXPECT_EQ(story(), "unexpected status for a push:\nHTTP/1.1 200 OK\n{\"echoed\":true}");
}

TEST_F(FlowAgainstEcho, AReplyThatLacksWhatWasAskedForEndsTheRun) {
  plan_.produce_expect = "\"count\":1";
  EXPECT_EQ(story(), "\"count\":1 is missing from the reply:\nHTTP/1.1 200 OK\n{\"echoed\":true}");
}

TEST_F(FlowAgainstEcho, AFetchWithoutAListOfJobsEndsTheRun) {
  plan_.workers = 1;
  EXPECT_EQ(story(), "no readable \"jobs\" in the reply:\nHTTP/1.1 200 OK\n{\"echoed\":true}");
}

TEST_F(FlowAgainstEcho, AServerThatIsGoneIsAnErrorNotAHang) {
  const Address address = echo_->address();
  echo_.reset();
  EXPECT_EQ(run_flow(address, plan_).ok(), false);
}

}  // namespace
}  // namespace pawl::bench
