// Time travel equals the past: a later query for any record of the journal gives the answer that
// the live server gave after that record.
#include <gtest/gtest.h>

#include <map>

#include "api/testing/api_world.h"
#include "base/clock.h"
#include "base/json.h"
#include "engine/retrospect.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

constexpr char kOrder[] = R"({"name":"order","version":"1.0.0","steps":[
  {"id":"a","type":"job","config":{"type":"x","args":[],"options":{"queue":"work"}}},
  {"id":"ask","depends_on":["a"],"type":"reasoning",
   "config":{"prompt_context":"sure?","options":["yes","no"]}},
  {"id":"pause","depends_on":["ask"],"type":"wait","config":{"duration":"10m"}},
  {"id":"b","depends_on":["pause"],"type":"job",
   "config":{"type":"y","args":[],"options":{"queue":"work"}}}]})";

// The live answers for each run after each record.
class Witness {
 public:
  explicit Witness(ApiWorld& world) : world_(world) {}

  void know(const std::string& run) { runs_.push_back(run); }
  // After a call that may have changed something.
  void record() {
    uint64_t head = world_.store->journal_last();
    for (const std::string& run : runs_) seen_[{run, head}] = world_.body("GET", "/v1/runs/" + run);
  }
  size_t compare() {
    for (const auto& [key, was] : seen_) {
      std::string last = std::to_string(journal::sequence(key.second + 1, 0) - 1);
      std::string now = world_.body("GET", "/v1/runs/" + key.first + "?at=" + last);
      size_t at = now.rfind(",\"at\":{\"seq\":");
      EXPECT_NE(at, std::string::npos) << now;
      EXPECT_EQ(now.substr(0, at) + "}", was) << key.first << " after record " << key.second;
    }
    return seen_.size();
  }

 private:
  ApiWorld& world_;
  std::vector<std::string> runs_;
  std::map<std::pair<std::string, uint64_t>, std::string> seen_;
};

class Story {
 public:
  explicit Story(uint64_t seed) : witness_(world_), seed_(mix64(seed)) {
    EXPECT_EQ(http::status_of(world_.call("POST", "/v1/definitions", kOrder)), "201");
  }

  void advance() {
    switch (draw(7)) {
      case 0:
        return learn(world_.body("POST", "/v1/runs", R"({"definition":"order","inputs":{}})"));
      case 1:
        return learn(world_.body("POST", "/ojs/v1/workflows", workflow()));
      case 2:
        return decide();
      case 3:
        world_.advance(static_cast<int64_t>(draw(2'000'000)));
        return witness_.record();
      default:
        return work();
    }
  }
  size_t compare() { return witness_.compare(); }
  ApiWorld& world() { return world_; }

 private:
  uint64_t draw(uint64_t bound) { return mix64(seed_ += 0x9e3779b97f4a7c15ULL) % bound; }

  std::string workflow() {
    static const std::string kJob = R"({"type":"m","args":[],"options":{"queue":"work"}})";
    if (draw(2) == 0) return R"({"type":"chain","name":"c","steps":[)" + kJob + "," + kJob + "]}";
    return R"({"type":"batch","name":"b","jobs":[)" + kJob + "," + kJob +
           R"(],"callbacks":{"on_complete":)" + kJob + "}}";
  }

  void learn(const std::string& reply) {
    std::string id = text_of(reply, "id");
    ASSERT_NE(id, "") << reply;
    witness_.know(id);
    witness_.record();
  }

  void work() {
    std::string reply = world_.body("POST", "/ojs/v1/workers/fetch",
                                    R"({"queues":["work"],"worker_id":"w","count":1})");
    witness_.record();
    std::string job = text_of(reply, "id");
    if (job.empty()) return;
    if (draw(4) == 0) {
      world_.body(
          "POST", "/ojs/v1/workers/nack",
          R"({"job_id":")" + job + R"(","worker_id":"w","error":{"type":"e","message":"m"}})");
    } else {
      world_.body("POST", "/ojs/v1/workers/ack",
                  R"({"job_id":")" + job + R"(","worker_id":"w","result":{"n":)" +
                      std::to_string(draw(100)) + "}}");
    }
    witness_.record();
  }

  void decide() {
    std::string id = text_of(world_.body("GET", "/v1/decisions"), "id");
    if (id.empty()) return;
    world_.body("POST", "/v1/decisions/" + id, R"({"choice":"yes"})");
    witness_.record();
  }

  ApiWorld world_;
  Witness witness_;
  uint64_t seed_;
};

TEST(PastRun, IsWhatWasLive) {
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Story story(seed);
    for (int step = 0; step < 40; ++step) story.advance();
    compared += story.compare();
  }
  EXPECT_GT(compared, 1'000u);
}

TEST(PastRun, ATimeIsAPositionToo) {
  ApiWorld world;
  std::string run = text_of(
      world.body("POST", "/ojs/v1/workflows",
                 R"({"type":"chain","steps":[{"type":"m","args":[],"options":{"queue":"work"}}]})"),
      "id");
  std::string before = world.body("GET", "/v1/runs/" + run);
  int64_t moment_ms = world.clock.now;
  world.advance(60'000);
  world.body("POST", "/v1/runs/" + run + "/cancel", "{}");
  EXPECT_NE(world.body("GET", "/v1/runs/" + run), before);
  std::string text;
  json::Writer(text).begin_object().field_time("t", moment_ms + 59'999).end_object();
  std::string then = world.body("GET", "/v1/runs/" + run + "?at=" + text_of(text, "t"));
  EXPECT_EQ(then.substr(0, then.rfind(",\"at\":")) + "}", before);
}

TEST(PastRun, SaysWhyThereIsNone) {
  ApiWorld world;
  std::string first = text_of(
      world.body("POST", "/ojs/v1/workflows",
                 R"({"type":"chain","steps":[{"type":"m","args":[],"options":{"queue":"q"}}]})"),
      "id");
  uint64_t head = world.store->journal_last();
  std::string second = text_of(
      world.body("POST", "/ojs/v1/workflows",
                 R"({"type":"chain","steps":[{"type":"m","args":[],"options":{"queue":"q"}}]})"),
      "id");
  auto ask = [&](const std::string& run, const std::string& at) {
    return world.call("GET", "/v1/runs/" + run + "?at=" + at);
  };
  std::string early = std::to_string(journal::sequence(head, 1));
  EXPECT_EQ(http::status_of(ask(first, early)), "200");
  EXPECT_EQ(http::status_of(ask(second, early)), "404");
  EXPECT_NE(ask(second, early).find("was not there at that moment"), std::string::npos);
  std::string late = std::to_string(journal::sequence(head + 50, 0));
  EXPECT_EQ(http::status_of(ask(first, late)), "400");
  EXPECT_EQ(http::status_of(ask(first, "yesterday")), "400");
  EXPECT_EQ(http::status_of(ask("no-such-run", early)), "404");
}

}  // namespace
}  // namespace pawl::api
