// OngoingCall: one call of Links until its outcome, of which it has exactly one. Link thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "http/answer_sink.h"
#include "link/link_counters.h"
#include "link/links.h"

namespace pawl::link {

class Line;

class OngoingCall {
 public:
  OngoingCall(Passed call, std::shared_ptr<http::AnswerSink> sink,
              std::function<void(LinkFailure)> failed, uint64_t now_us)
      : passed(std::move(call)),
        waits(passed.waits),
        bytes(bytes_of(passed)),
        started_us_(now_us),
        sink_(std::move(sink)),
        failed_(std::move(failed)) {}

  uint64_t started_us() const { return started_us_; }
  bool over() const { return sink_ == nullptr; }
  bool disconnected() const { return sink_ != nullptr && sink_->disconnected(); }
  size_t unsent() const { return streaming_ && sink_ != nullptr ? sink_->unsent() : 0; }

  // What the peer says of it. write() is false if nobody reads any more; then it is over.
  void answer(http::Response&& response, LinkCounters& counters);
  void begin_stream(http::Response&& head);
  bool write(std::string_view chunk);
  void end_stream();
  bool streaming() const { return streaming_; }

  // Ends it, if it is not over: a stream just ends.
  void fail(LinkFailure failure, LinkCounters& counters);

  Passed passed;  // until it is sent
  const bool waits;
  const size_t bytes;                // in a batch
  bool cancelled = false;            // before it was sent
  Line* line = nullptr;              // on which it was sent
  std::function<void()> watch = {};  // for the sink's on_disconnect

 private:
  const uint64_t started_us_;
  bool streaming_ = false;
  std::shared_ptr<http::AnswerSink> sink_;  // until it is over
  std::function<void(LinkFailure)> failed_;
};

}  // namespace pawl::link
