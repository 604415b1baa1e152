#include "link/ongoing_call.h"

#include <utility>

namespace pawl::link {

void OngoingCall::answer(http::Response&& response, LinkCounters& counters) {
  if (over() || streaming_) return;
  if (!waits) counters.add_forward(now_us() - started_us_);
  std::exchange(sink_, nullptr)->answer(std::move(response));
}

// The sink's former callback may have gone with the request: a local handler, too, sets a new one.
void OngoingCall::begin_stream(http::Response&& head) {
  if (over() || streaming_) return;
  streaming_ = true;
  sink_->begin_stream(std::move(head));
  if (watch) sink_->on_disconnect(watch);
}

bool OngoingCall::write(std::string_view chunk) {
  if (over() || !streaming_) return false;
  if (chunk.empty() || sink_->write(chunk)) return true;
  end_stream();
  return false;
}

void OngoingCall::end_stream() {
  if (over() || !streaming_) return;
  std::exchange(sink_, nullptr)->end_stream();
}

void OngoingCall::fail(LinkFailure failure, LinkCounters& counters) {
  if (over()) return;
  if (streaming_) {
    counters.streams_broken.fetch_add(1, std::memory_order_relaxed);
    return end_stream();
  }
  counters.add_failure(failure);
  const std::shared_ptr<http::AnswerSink> sink = std::exchange(sink_, nullptr);
  std::exchange(failed_, nullptr)(failure);
}

}  // namespace pawl::link
