// Where answers of requests go that the server makes itself; http::sink_for() leads to a client.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "http/answer_sink.h"
#include "http/responder.h"

namespace pawl::front {

// To a function, which gets the whole answer once. No stream is expected.
class AnswerTo final : public http::AnswerSink {
 public:
  using Take = std::function<void(http::Response&&)>;
  explicit AnswerTo(Take take) : take_(std::move(take)) {}

  void answer(http::Response&& response) override {
    if (Take take = std::exchange(take_, nullptr)) take(std::move(response));
  }
  void begin_stream(http::Response&&) override {
    answer({.status = 500, .body = "an answer was expected, not a stream"});
  }
  bool write(std::string_view) override { return false; }
  void end_stream() override {}
  void on_disconnect(std::function<void()>) override {}

 private:
  Take take_;
};

}  // namespace pawl::front
