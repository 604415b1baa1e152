#include "http/answer_sink.h"

#include <gtest/gtest.h>

#include <future>

#include "http/testing/server_fixture.h"

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

TEST(AnswerSink, PartsOfARequestMakeItAgain) {
  Request first = make_request({.method = "PUT",
                                .target = "/a?b=c",
                                .headers = {{"X", "1"}, {"x", "2"}},
                                .body = "body",
                                .peer = "p:1",
                                .id = "req_2"});
  const Request again = make_request(parts_of(std::move(first)));
  EXPECT_EQ(again.method, "PUT");
  EXPECT_EQ(again.target, "/a?b=c");
  EXPECT_EQ(again.headers.size(), 2U);
  EXPECT_EQ(again.header("X"), "1");
  EXPECT_EQ(again.body, "body");
  EXPECT_EQ(again.peer, "p:1");
  EXPECT_EQ(again.id, "req_2");
}

// A sink in front of a connection: the client gets what it is told.
TEST(AnswerSink, AnswersAClient) {
  const auto server = serve({}, [](Request&& request, Responder responder) {
    const std::shared_ptr<AnswerSink> sink = sink_for(std::move(responder));
    EXPECT_FALSE(sink->disconnected());
    if (request.path == "/forgotten") return;
    if (request.path == "/answer") return sink->answer({.status = 201, .body = "made"});
    sink->begin_stream({.body = "a"});
    EXPECT_FALSE(sink->disconnected());
    EXPECT_TRUE(sink->write("b"));
    EXPECT_GT(sink->unsent(), 0U);
    sink->end_stream();
    EXPECT_TRUE(sink->disconnected());
  });
  LoopbackClient client(server->port());
  client.send(get("/answer"));
  EXPECT_EQ(status_of(client.read_until("made")), "201");
  client.send(get("/stream"));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  client.send(get("/forgotten"));
  EXPECT_EQ(status_of(client.read_response()), "500");
}

TEST(AnswerSink, ToldThatItsClientLeft) {
  std::promise<std::shared_ptr<AnswerSink>> kept;
  std::promise<void> waiting;
  std::promise<void> streaming;
  const auto server = serve({}, [&](Request&& request, Responder responder) {
    const std::shared_ptr<AnswerSink> sink = sink_for(std::move(responder));
    if (request.path == "/stream") {
      sink->begin_stream({});
      sink->on_disconnect([&] { streaming.set_value(); });
    } else {
      sink->on_disconnect([&] { waiting.set_value(); });
    }
    kept.set_value(sink);
  });
  for (const char* path : {"/stream", "/parked"}) {
    LoopbackClient client(server->port());
    client.send(get(path));
    const std::shared_ptr<AnswerSink> sink = kept.get_future().get();
    client.close();
    (path == std::string("/stream") ? streaming : waiting).get_future().wait();
    EXPECT_TRUE(sink->disconnected());
    kept = {};
  }
}

}  // namespace
}  // namespace pawl::http
