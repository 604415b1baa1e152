#include "front/leased_answer.h"

#include "api/response.h"

namespace pawl::front {
namespace {

// A leased job is no fact that outlives the lease: another owner may have given it away since.
bool changes_something(const api::Route& route, const http::Request& request) {
  return request.method != "GET" && request.method != "HEAD" &&
         route.scope != api::Permission::Read && route.routing != api::Routing::Fetch;
}

class LeasedAnswer final : public http::AnswerSink {
 public:
  LeasedAnswer(http::Responder responder, const api::Route& route, const http::Request& request,
               std::function<bool()> holds)
      : to_(http::sink_for(std::move(responder))),
        holds_(std::move(holds)),
        changes_(changes_something(route, request)),
        surface_(api::surface_of_path(route.pattern)),
        request_id_(request.id) {}

  void answer(http::Response&& response) override {
    const bool happened = changes_ && response.status < 400;
    if (happened || holds_()) return to_->answer(std::move(response));
    to_->answer(api::error_response(
        surface_, {ErrorCode::NoOwner, "this node does not know at present what is true"},
        request_id_));
  }
  void begin_stream(http::Response&& head) override { to_->begin_stream(std::move(head)); }
  bool write(std::string_view chunk) override { return holds_() && to_->write(chunk); }
  void end_stream() override { to_->end_stream(); }
  size_t unsent() const override { return to_->unsent(); }
  bool disconnected() const override { return to_->disconnected(); }
  void on_disconnect(std::function<void()> callback) override {
    to_->on_disconnect(std::move(callback));
  }

 private:
  const std::shared_ptr<http::AnswerSink> to_;
  const std::function<bool()> holds_;
  const bool changes_;
  const api::Surface surface_;
  const std::string request_id_;
};

}  // namespace

std::shared_ptr<http::AnswerSink> leased_answer(http::Responder responder, const api::Route& route,
                                                const http::Request& request,
                                                std::function<bool()> holds) {
  return std::make_shared<LeasedAnswer>(std::move(responder), route, request, std::move(holds));
}

}  // namespace pawl::front
