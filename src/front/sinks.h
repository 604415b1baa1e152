// Where answers of requests go that the server makes itself.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "http/answer_sink.h"
#include "http/responder.h"

namespace pawl::front {

// To a client: what it gets is what the sink gets.
class ClientSink final : public http::AnswerSink {
 public:
  explicit ClientSink(http::Responder responder) : responder_(std::move(responder)) {}

  void answer(http::Response&& response) override { responder_.respond(std::move(response)); }
  void begin_stream(http::Response&& head) override {
    stream_ = responder_.stream(std::move(head));
    streaming_ = true;
    if (on_close_) stream_.on_close(std::exchange(on_close_, nullptr));
  }
  bool write(std::string_view chunk) override { return stream_.write(chunk); }
  void end_stream() override { stream_.close(); }
  size_t unsent() const override { return stream_.unsent(); }
  bool disconnected() const override {
    return streaming_ ? !stream_.write("") : responder_.disconnected();
  }
  void on_disconnect(std::function<void()> callback) override {
    if (streaming_) return stream_.on_close(std::move(callback));
    on_close_ = callback;
    responder_.on_disconnect(std::move(callback));
  }

 private:
  http::Responder responder_;
  mutable http::Stream stream_;  // asked whether it is open by an empty write
  bool streaming_ = false;
  std::function<void()> on_close_;
};

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
