#include "api/call_task.h"

#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {

CallTask::CallTask(App& app, Call&& call, Order order)
    : app_(app), call_(std::move(call)), order_(std::move(order)) {
  if (order_.kept) kept_.emplace(call_);
}

std::optional<Parking> CallTask::decide(Frame& frame, bool last_call) {
  const std::string key = kept_ ? kept_->key() : "";
  const Doc* kept =
      waited_ || key.empty() ? nullptr : frame.state().find_doc(DocKind::Idempotency, key);
  if (kept != nullptr) {
    answer(kept_->repeat(app_, call_, kept->value));
  } else {
    Waiting waiting{.forbidden = last_call};
    auto result = frame.attempt([&](Frame& in) { return order_.decide(in, waiting); });
    bool is_news = !waited_ || frame.emitted() > 0;
    if (is_news && !key.empty() && result.ok() && result->status < 400)
      put_doc(frame, DocKind::Idempotency, key, kept_->encode(app_, call_, *result),
              frame.now_ms() + app_.config().idempotency_ms);
    answer(std::move(result));
    waited_ = waiting.parking.has_value();
    if (waited_ && !last_call) return std::move(waiting.parking);
  }
  order_.decide = nullptr;
  return std::nullopt;
}

void CallTask::durable(Wakes& wakes) {
  if (!failed_ && order_.on_done) order_.on_done();
  call_.answer(std::move(response_), &wakes);
  if (order_.on_ended) order_.on_ended();
}

void CallTask::refuse(const Error& error) {
  call_.fail(error);
  if (order_.on_ended) order_.on_ended();
}

bool CallTask::only_reads() const {
  return call_.request.method == "GET" || call_.request.method == "HEAD";
}

void CallTask::answer(Reply result) {
  failed_ = !result.ok();
  response_ = result.ok() ? std::move(result).value() : call_.failure(result.error());
}

}  // namespace pawl::api
