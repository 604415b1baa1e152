#include "api/call_task.h"

#include "base/codec.h"
#include "base/hash.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

struct KeptAnswer {
  std::string body_hash;
  uint32_t status = 0;
  std::string content_type;
  std::string body;
  std::string location;

  static void fields(auto& self, auto&& visit) {
    visit(1, "body_hash", self.body_hash);
    visit(2, "status", self.status);
    visit(3, "content_type", self.content_type);
    visit(4, "body", self.body);
    visit(5, "location", self.location);
  }
};

}  // namespace

CallTask::CallTask(App& app, Call&& call, Order order)
    : app_(app), call_(std::move(call)), order_(std::move(order)) {
  std::string_view key = call_.request.header("idempotency-key");
  if (key.empty() || !order_.kept || only_reads()) return;
  // A digest, since paths and keys may be longer than a row's key.
  key_ = sha256_hex(std::string(call_.request.method) + ' ' + std::string(call_.request.path) +
                    ' ' + call_.tenant + ' ' + std::string(key));
  body_hash_ = sha256_hex(call_.request.body);
}

std::optional<Parking> CallTask::decide(Frame& frame, bool last_call) {
  const Doc* kept =
      waited_ || key_.empty() ? nullptr : frame.state().find_doc(DocKind::Idempotency, key_);
  if (kept != nullptr) {
    repeat(*kept);
  } else {
    Waiting waiting{.forbidden = last_call};
    auto result = frame.attempt([&](Frame& in) { return order_.decide(in, waiting); });
    bool is_news = !waited_ || frame.emitted() > 0;
    if (is_news && !key_.empty() && result.ok() && result->status < 400) keep(frame, *result);
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

void CallTask::repeat(const Doc& doc) {
  KeptAnswer kept;
  if (!codec::decode(opened(doc.value), kept))
    return answer(Error{ErrorCode::Conflict,
                        "this Idempotency-Key was used, and its answer can not be opened"});
  if (kept.body_hash != body_hash_)
    return answer(Error{ErrorCode::InvalidContent,
                        "this Idempotency-Key was used with another request body"});
  response_ = json_response(call_.surface(), static_cast<int>(kept.status), std::move(kept.body));
  if (call_.surface() != Surface::Ojs) response_.content_type = kept.content_type;
  if (!kept.location.empty()) response_.headers.emplace_back("Location", kept.location);
  response_.headers.emplace_back("Idempotency-Replayed", "true");
}

void CallTask::keep(Frame& frame, const http::Response& response) {
  KeptAnswer kept{
      body_hash_, static_cast<uint32_t>(response.status), response.content_type, response.body, {}};
  for (const auto& [name, value] : response.headers)
    if (name == "Location") kept.location = value;
  std::string value = codec::encoded(kept);
  if (seals()) value = app_.vault()->seal(key_, value);
  put_doc(frame, DocKind::Idempotency, key_, value, frame.now_ms() + app_.config().idempotency_ms);
}

bool CallTask::seals() const { return call_.secret && app_.vault() != nullptr; }

// Answers kept by older versions are not sealed.
std::string CallTask::opened(const std::string& value) const {
  if (!seals()) return value;
  auto plain = app_.vault()->unseal(key_, value);
  return plain.ok() ? std::move(plain).value() : value;
}

}  // namespace pawl::api
