#include "api/call_task.h"

#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {

CallTask::CallTask(App& app, Call&& call, Order order)
    : app_(app),
      call_(std::move(call)),
      order_(std::move(order)),
      kept_(order_.kept ? std::optional(KeptAnswers(call_)) : std::nullopt),
      names_(call_, std::move(order_.claims_of), kept_ ? kept_->key() : "",
             app.config().idempotency_ms) {}

std::optional<Parking> CallTask::decide(Frame& frame, bool last_call) {
  const std::string key = kept_ ? kept_->key() : "";
  const Doc* kept =
      waited_ || key.empty() ? nullptr : frame.state().find_doc(DocKind::Idempotency, key);
  if (kept != nullptr) {
    answer(kept_->repeat(app_, call_, kept->value));
    names_.decided(frame, false);
  } else {
    ClaimedNames::Next next;
    if (!waited_) next = names_.next(frame, last_call);
    if (next.parking) return std::move(next.parking);
    pass_to_ = next.pass_to;
    if (next.refusal) answer(std::move(*next.refusal));
    Waiting waiting{.forbidden = last_call};
    if (!pass_to_ && !next.refusal) decide_now(frame, key, waiting);
    waited_ = waiting.parking.has_value();
    if (waited_ && !last_call) return std::move(waiting.parking);
  }
  order_.decide = nullptr;
  order_.decide_claiming = nullptr;
  return std::nullopt;
}

void CallTask::decide_now(Frame& frame, const std::string& key, Waiting& waiting) {
  const uint64_t before = frame.emitted();
  auto result = frame.attempt([&](Frame& in) {
    return order_.decide_claiming ? order_.decide_claiming(in, waiting, names_.answers())
                                  : order_.decide(in, waiting);
  });
  const bool is_news = !waited_ || frame.emitted() > before;
  const bool good = result.ok() && result->status < 400;
  if (is_news && !key.empty() && good)
    put_doc(frame, DocKind::Idempotency, key, kept_->encode(app_, call_, *result),
            frame.now_ms() + app_.config().idempotency_ms);
  names_.decided(frame, good);
  if (!result.ok()) pass_to_ = holder_of_missing(frame.state(), call_, result.error());
  answer(std::move(result));
}

void CallTask::durable(Wakes& wakes) {
  if (pass_to_) {
    app_.pass_on(std::move(call_), *pass_to_);
    if (order_.on_ended) order_.on_ended();
    return;
  }
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
