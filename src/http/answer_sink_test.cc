#include "http/answer_sink.h"

#include <gtest/gtest.h>

namespace pawl::http {
namespace {

// Tells what arrived, one word a call.
class Told : public AnswerSink {
 public:
  explicit Told(std::string& told) : told_(told) {}
  void answer(Response&& response) override {
    told_ += "answer " + std::to_string(response.status) + " " + response.body + "|";
  }
  void begin_stream(Response&& head) override { told_ += "stream " + head.body + "|"; }
  bool write(std::string_view chunk) override {
    told_ += std::string(chunk) + "|";
    return true;
  }
  void end_stream() override { told_ += "end|"; }
  void on_disconnect(std::function<void()>) override { told_ += "watched|"; }

 private:
  std::string& told_;
};

TEST(AnswerSink, TakesAnAnswerOnce) {
  std::string told;
  {
    Responder responder = responder_for(std::make_shared<Told>(told));
    responder.on_disconnect([] {});
    responder.respond({.status = 201, .body = "made"});
  }
  EXPECT_EQ(told, "watched|answer 201 made|");
}

TEST(AnswerSink, HearsOfAHandlerThatForgetsToAnswer) {
  std::string told;
  { Responder responder = responder_for(std::make_shared<Told>(told)); }
  EXPECT_EQ(told.substr(0, 11), "answer 500 ");
}

TEST(AnswerSink, TakesAStreamToItsEnd) {
  std::string told;
  {
    Responder responder = responder_for(std::make_shared<Told>(told));
    Stream stream = responder.stream({.body = "first"});
    EXPECT_TRUE(stream.write("second"));
    EXPECT_TRUE(stream.write(""));  // a question only
    Stream moved = std::move(stream);
  }
  EXPECT_EQ(told, "stream first|second|end|");
}

TEST(AnswerSink, ARequestOwnsItsBytes) {
  Request made;
  {
    Request first = make_request({.method = "POST",
                                  .target = "/v1/runs?x=%20y",
                                  .headers = {{"Content-Type", "a/b"}, {"X-OJS-Tenant", "t"}},
                                  .body = "{}",
                                  .peer = "127.0.0.1:9",
                                  .id = "req_1"});
    made = std::move(first);
  }
  EXPECT_EQ(made.method, "POST");
  EXPECT_EQ(made.path, "/v1/runs");
  EXPECT_EQ(made.query, "x=%20y");
  EXPECT_EQ(made.header("x-ojs-tenant"), "t");
  EXPECT_EQ(made.header("content-type"), "a/b");
  EXPECT_EQ(made.body, "{}");
  EXPECT_EQ(made.peer, "127.0.0.1:9");
  EXPECT_EQ(made.id, "req_1");
  EXPECT_EQ(make_request({.method = "GET", .target = "/"}).query, "");
}

}  // namespace
}  // namespace pawl::http
