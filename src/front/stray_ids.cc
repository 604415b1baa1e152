#include "front/stray_ids.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "base/uuid.h"

namespace pawl::front {
namespace {

// One question to several partitions; the first that has the thing answers the client.
class Search : public std::enable_shared_from_this<Search> {
 public:
  Search(std::shared_ptr<http::AnswerSink> client, uint16_t asked,
         std::function<void(http::Response&&)> nobody)
      : client_(std::move(client)), missing_(asked), nobody_(std::move(nobody)) {}

  http::AnswerSink& client() { return *client_; }
  bool wins() { return !won_.exchange(true); }
  // A refusal that is no 404 counts only if nobody has it.
  void lost(http::Response&& refusal) {
    {
      std::lock_guard lock(mutex_);
      if (!worst_ || (refusal.status != 404 && worst_->status == 404)) worst_ = std::move(refusal);
      if (--missing_ > 0 || won_) return;
    }
    nobody_(std::move(*worst_));
  }

 private:
  const std::shared_ptr<http::AnswerSink> client_;
  std::atomic<bool> won_{false};
  std::mutex mutex_;
  uint16_t missing_;                     // guarded by mutex_
  std::optional<http::Response> worst_;  // guarded by mutex_
  const std::function<void(http::Response&&)> nobody_;
};

// Where one partition answers.
class SearchSink final : public http::AnswerSink {
 public:
  explicit SearchSink(std::shared_ptr<Search> search) : search_(std::move(search)) {}

  void answer(http::Response&& response) override {
    const bool has_it = response.status != 404 && response.status < 500;
    if (!has_it) return search_->lost(std::move(response));
    if (search_->wins()) search_->client().answer(std::move(response));
  }
  void begin_stream(http::Response&& head) override {
    has_won_ = search_->wins();
    if (!has_won_) return;
    search_->client().begin_stream(std::move(head));
    if (on_disconnect_) search_->client().on_disconnect(std::move(on_disconnect_));
  }
  bool write(std::string_view chunk) override { return has_won_ && search_->client().write(chunk); }
  void end_stream() override {
    if (has_won_) search_->client().end_stream();
  }
  size_t unsent() const override { return has_won_ ? search_->client().unsent() : 0; }
  bool disconnected() const override { return search_->client().disconnected(); }
  void on_disconnect(std::function<void()> callback) override {
    if (has_won_) return search_->client().on_disconnect(std::move(callback));
    on_disconnect_ = std::move(callback);
  }

 private:
  const std::shared_ptr<Search> search_;
  bool has_won_ = false;
  std::function<void()> on_disconnect_;
};

void ask(Passing& passing, uint16_t partition, const api::Route& route,
         const http::RequestParts& request, const std::shared_ptr<Search>& search) {
  Errand errand{.request = request, .route = &route};
  errand.partition = partition;
  errand.waits = true;
  errand.sink = std::make_shared<SearchSink>(search);
  passing.pass(std::move(errand));
}

}  // namespace

// Calls that change something are tried on others for runs only: an instance is one. What has not
// found its run has changed nothing.
bool may_be_stray(const Placed& call) {
  if (call.request.method != "GET" && !call.route.pattern.starts_with("/v1/runs/")) return false;
  std::string_view text = call.params.front();
  constexpr std::string_view kWorkflowMark = "wf_";
  if (text.starts_with(kWorkflowMark)) text.remove_prefix(kWorkflowMark.size());
  const auto id = Uuid::parse(text);
  return id && id->partition() == 0;
}

void ask_for_stray(Passing& passing, uint16_t partitions, const api::Route& route,
                   http::RequestParts request, std::shared_ptr<http::AnswerSink> client) {
  auto kept = std::make_shared<http::RequestParts>(std::move(request));
  auto elsewhere = [&passing, partitions, &route, kept, client](http::Response&& first) {
    if (first.status != 404 || partitions == 1) return client->answer(std::move(first));
    auto refusal = std::make_shared<http::Response>(std::move(first));
    auto nobody = [client, refusal](http::Response&& last) {
      client->answer(std::move(last.status == 404 ? *refusal : last));
    };
    auto search = std::make_shared<Search>(client, static_cast<uint16_t>(partitions - 1), nobody);
    for (uint16_t k = 1; k < partitions; ++k) ask(passing, k, route, *kept, search);
  };
  ask(passing, 0, route, *kept, std::make_shared<Search>(client, 1, std::move(elsewhere)));
}

}  // namespace pawl::front
