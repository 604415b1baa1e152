// Names that clients choose, on a server with two partitions whose apps are called directly: the
// answers are those of a server with one.
#include "api/claimed_names.h"

#include <gtest/gtest.h>

#include "api/testing/two_apps.h"

namespace pawl::api {
namespace {

std::string key_with_home(uint16_t home) {
  for (int i = 0;; ++i) {
    std::string key = "key" + std::to_string(i);
    if (home_of(NameKind::IdempotencyKey, "", key, 2) == home) return key;
  }
}

std::string id_with_home(uint16_t home) {
  return R"(,"id":")" + Uuid::v7(kWorldStartMs, 1, 2, home).text() + "\"";
}

TEST_F(TwoApps, AnIdIsTakenOnce) {
  EXPECT_EQ(status(push(0, id_with_home(1))), "201");
  for (size_t at : {0u, 1u}) {
    const std::string again = push(at, id_with_home(1));
    EXPECT_EQ(status(again), "409");
    EXPECT_NE(again.find("existing_job_id"), std::string::npos) << again;
  }
}

TEST_F(TwoApps, TheSameKeyAtAnotherPartitionIsPassedOn) {
  const std::string headers = "Idempotency-Key: " + key_with_home(1) + "\r\n";
  const std::string made = push(0, "", headers);
  ASSERT_EQ(status(made), "201");
  const std::string id = text_of(made, "id");
  for (size_t at : {0u, 1u}) {
    const std::string again = push(at, "", headers);
    EXPECT_EQ(status(again), "201");
    EXPECT_EQ(text_of(again, "id"), id);
    EXPECT_NE(again.find("Idempotency-Replayed"), std::string::npos);
  }
  EXPECT_EQ(passed_on, 1);
  EXPECT_EQ(status(push(1, R"(,"priority":3)", headers)), "422");  // another body
}

// Nothing was made, so the key is free: also at another partition.
TEST_F(TwoApps, AFailedCallKeepsNoKey) {
  const std::string headers = "Idempotency-Key: " + key_with_home(1) + "\r\n";
  EXPECT_EQ(status(push(0, id_with_home(0))), "201");
  EXPECT_EQ(status(push(0, id_with_home(0), headers)), "409");
  EXPECT_EQ(status(push(1, "", headers)), "201");
  EXPECT_EQ(passed_on, 0);
}

TEST_F(TwoApps, AUniqueJobIsRefusedOrShown) {
  auto unique = [](const std::string& policy) {
    return R"(,"options":{"unique":{"keys":["type"],"on_conflict":")" + policy + "\"}}";
  };
  const std::string made = push(0, unique("reject"));
  ASSERT_EQ(status(made), "201") << made;
  for (size_t at : {0u, 1u}) {
    EXPECT_EQ(status(push(at, unique("reject"))), "409");
    const std::string shown = push(at, unique("ignore"));
    EXPECT_EQ(status(shown), "200");
    EXPECT_EQ(text_of(shown, "id"), text_of(made, "id")) << shown;
    EXPECT_NE(shown.find(R"("type":"t")"), std::string::npos);
  }
}

TEST_F(TwoApps, ABulkPushNamesWhatIsThere) {
  EXPECT_EQ(status(push(1, id_with_home(1))), "201");
  const std::string bulk =
      R"({"jobs":[{"type":"a","args":[]},{"type":"b","args":[])" + id_with_home(1) + "}]}";
  const std::string answer = worlds[0]->call("POST", "/ojs/v1/jobs/bulk", bulk);
  EXPECT_EQ(status(answer), "207");
  EXPECT_NE(answer.find(R"("succeeded":1)"), std::string::npos) << answer;
  EXPECT_EQ(status(worlds[0]->call("POST", "/ojs/v1/jobs/batch", bulk)), "409");
}

TEST_F(TwoApps, ARunsIdIsTakenOnce) {
  const std::string chain =
      R"({"type":"chain","steps":[{"type":"t","args":[]}])" + id_with_home(1) + "}";
  EXPECT_EQ(status(worlds[0]->call("POST", "/ojs/v1/workflows", chain)), "201");
  EXPECT_EQ(status(worlds[0]->call("POST", "/ojs/v1/workflows", chain)), "409");
  EXPECT_EQ(status(worlds[1]->call("POST", "/ojs/v1/workflows", chain)), "409");
  const std::string run =
      R"({"definition":{"steps":[{"id":"a","type":"wait","config":{"duration":"1h"}}]})" +
      id_with_home(1) + "}";
  EXPECT_EQ(status(worlds[0]->call("POST", "/v1/runs", run)), "409");
}

// Its id names the home, which knows where it is.
TEST_F(TwoApps, AJobIsFoundWhereverItsIdBelongs) {
  ASSERT_EQ(status(push(0, id_with_home(1))), "201");
  const std::string id = Uuid::v7(kWorldStartMs, 1, 2, 1).text();
  EXPECT_EQ(status(worlds[1]->call("GET", "/ojs/v1/jobs/" + id)), "200");
  const std::string fetch = R"({"queues":["default"],"worker_id":"w"})";
  EXPECT_EQ(status(worlds[0]->call("POST", "/ojs/v1/workers/fetch", fetch)), "200");
  const std::string ack = R"({"job_id":")" + id + R"(","worker_id":"w"})";
  EXPECT_EQ(status(worlds[1]->call("POST", "/ojs/v1/workers/ack", ack)), "200");
  const std::string done = worlds[1]->call("GET", "/ojs/v1/jobs/" + id);
  EXPECT_NE(done.find(R"("state":"completed")"), std::string::npos) << done;
  EXPECT_EQ(passed_on, 3);
  const std::string other = Uuid::v7(kWorldStartMs, 9, 9, 1).text();
  EXPECT_EQ(status(worlds[1]->call("GET", "/ojs/v1/jobs/" + other)), "404");
}

// The home is gone: the call ends, and nothing is made.
TEST_F(TwoApps, ACallEndsWhenAHomeDoesNotAnswer) {
  way.close(1);
  std::string answer;
  std::thread caller([&] { answer = push(0, id_with_home(1)); });
  while (worlds[0]->engine->stats().parked == 0) worlds[0]->advance(1);
  worlds[0]->advance(5'000);
  caller.join();
  EXPECT_EQ(status(answer), "503");
  way.open(1, [this](std::string batch, auto done) {
    take_messages(*worlds[1]->engine, batch, {}, std::move(done));
  });
  EXPECT_EQ(status(push(0, id_with_home(1))), "201");
}

}  // namespace
}  // namespace pawl::api
