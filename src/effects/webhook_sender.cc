#include "effects/webhook_sender.h"

#include <chrono>

#include "actions/header_rule.h"
#include "base/json.h"
#include "base/log.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr std::string_view kWorker = "pawl.webhooks";
constexpr int64_t kAskForMs = 600'000;
constexpr int64_t kSenderPauseMs = 1'000;  // after the engine refused a fetch
constexpr size_t kAnswerBytesMax = 4 * 1024;
constexpr int kGone = 410;
// Deeper than a request body may be: client data, inside an event, inside a delivery.
constexpr json::Limits kEventJson{.depth_max = 256};

}  // namespace

// Tasks may outlive the sender: one that is parked is answered when the engine stops.
struct WebhookSender::Link {
  explicit Link(WebhookSender& of) : sender(&of) {}
  void call(auto&& act) {
    std::lock_guard lock(mutex);
    if (sender != nullptr) act(*sender);
  }
  std::recursive_mutex mutex;  // a refusal may arrive during a call
  WebhookSender* sender;
};

// Waits in the engine until there are deliveries.
class WebhookSender::FetchTask : public Task {
 public:
  FetchTask(WebhookSender& sender, uint32_t count) : link_(sender.link_) {
    command_.queues = {std::string(kWebhookQueue)};
    command_.count = count;
    command_.worker = kWorker;
    command_.visibility_ms = command_.visibility_default_ms = sender.config_.lease_ms;
  }

  std::optional<Parking> decide(Frame& frame, bool last_call) override {
    if (abandoned()) return std::nullopt;
    if (until_ms_ == 0) until_ms_ = frame.now_ms() + kAskForMs;
    Fetched fetched = fetch_jobs(frame, command_);
    if (fetched.jobs.empty() && !last_call && frame.now_ms() < until_ms_)
      return Parking{command_.queues, until_ms_, fetched.retry_at_ms};
    for (const JobId& id : fetched.jobs) take(frame.state(), *frame.state().find_job(id));
    return std::nullopt;
  }
  void durable(Wakes&) override {
    link_->call([&](WebhookSender& sender) { sender.fetched(std::move(leased_)); });
  }
  void refuse(const Error&) override {
    link_->call([](WebhookSender& sender) { sender.refused(); });
  }

 private:
  void take(const State& state, const Job& job) {
    Leased& leased = leased_.emplace_back();
    leased.claim = {job.id, job.worker, job.attempt};
    JobSpecView spec = job.spec_view();
    auto args = json::parse(spec.args, kEventJson);
    if (!args.ok()) return;  // no subscription: the delivery ends unsent
    size_t at = 0;
    args->root().each_element([&](json::View element) {
      if (at == 0 && element.is_string()) leased.webhook = find_webhook(state, element.string());
      if (at == 1) leased.event = element.raw();
      ++at;
    });
  }

  std::shared_ptr<Link> link_;
  FetchJobs command_;
  int64_t until_ms_ = 0;
  std::vector<Leased> leased_;
};

// Acks or nacks one lease. If the lease was lost, the delivery is repeated: at least once.
class WebhookSender::FinishTask : public Task {
 public:
  FinishTask(WebhookSender& sender, LeaseClaim claim, std::optional<JobError> error,
             std::string result, bool requeue)
      : link_(sender.link_),
        claim_(std::move(claim)),
        error_(std::move(error)),
        requeue_(requeue),
        result_(std::move(result)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    Status done =
        error_ ? nack_job(frame, {claim_, *error_, requeue_}) : ack_job(frame, claim_, result_);
    if (!done.ok())
      log::warning("a webhook delivery outlived its lease and will be repeated",
                   {{"delivery", claim_.job.text()}});
    return std::nullopt;
  }
  void durable(Wakes&) override { settled(); }
  void refuse(const Error&) override { settled(); }

 private:
  void settled() {
    link_->call([](WebhookSender& sender) { sender.finished(); });
  }

  std::shared_ptr<Link> link_;
  LeaseClaim claim_;
  std::optional<JobError> error_;
  bool requeue_;
  std::string result_;
};

WebhookSender::WebhookSender(EngineLoop& engine, Clock& clock, actions::HttpClient& client,
                             WebhookCounts& counts, const SenderConfig& config)
    : engine_(engine),
      clock_(clock),
      client_(client),
      counts_(counts),
      config_(config),
      link_(std::make_shared<Link>(*this)),
      thread_([this] { run(); }) {}

WebhookSender::~WebhookSender() {
  stop();
  std::lock_guard lock(link_->mutex);
  link_->sender = nullptr;
}

void WebhookSender::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (asking_) asking_->abandon();
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WebhookSender::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wakes_.wait(lock, [&] { return stopping_ || (!asking_ && busy_ < config_.concurrency); });
    if (was_refused_)
      wakes_.wait_for(lock, std::chrono::milliseconds(kSenderPauseMs), [&] { return stopping_; });
    if (stopping_) break;
    was_refused_ = false;
    auto task =
        std::make_shared<FetchTask>(*this, static_cast<uint32_t>(config_.concurrency - busy_));
    asking_ = task;
    lock.unlock();
    if (!engine_.submit(task).ok()) refused();
    lock.lock();
  }
  wakes_.wait(lock, [&] { return busy_ == 0; });
}

void WebhookSender::fetched(std::vector<Leased> jobs) {
  bool too_late = false;
  {
    std::lock_guard lock(mutex_);
    asking_ = nullptr;
    busy_ += jobs.size();
    too_late = stopping_;
  }
  wakes_.notify_all();
  for (Leased& job : jobs) {
    if (too_late) {
      submit_finish(std::move(job.claim), JobError{.code = "stopping"}, "", true);
    } else {
      deliver(std::move(job));
    }
  }
}

void WebhookSender::refused() {
  {
    std::lock_guard lock(mutex_);
    asking_ = nullptr;
    was_refused_ = true;
  }
  wakes_.notify_all();
}

void WebhookSender::finished() {
  std::lock_guard lock(mutex_);
  --busy_;
  wakes_.notify_all();
}

void WebhookSender::deliver(Leased job) {
  if (!job.webhook || !job.webhook->active) {
    std::string_view why =
        job.webhook ? "the subscription is inactive" : "the subscription is gone";
    std::string result;
    json::Writer(result).begin_object().field("skipped", why).end_object();
    return submit_finish(std::move(job.claim), std::nullopt, std::move(result));
  }
  // It must not be sent unsigned or without its credentials.
  if (Status opened = open_webhook(*job.webhook, config_.vault); !opened.ok()) {
    log::error("a webhook's secret cannot be opened", {{"subscription", job.webhook->id}});
    JobError error;
    error.type = error.code = "webhook_failed";
    error.message = opened.error().message;
    return submit_finish(std::move(job.claim), std::move(error), "");
  }
  actions::HttpRequest post = request(job);
  auto shared = std::make_shared<Leased>(std::move(job));
  client_.send(std::move(post),
               [this, shared](Result<actions::HttpResponse> result) { finish(*shared, result); });
}

actions::HttpRequest WebhookSender::request(const Leased& job) {
  actions::HttpRequest post;
  post.method = "POST";
  post.url = job.webhook->url;
  post.timeout_ms = config_.timeout_ms;
  post.max_bytes = kAnswerBytesMax;
  post.cut_body = true;
  post.allow_private = config_.allow_private;
  auto event = json::parse(job.event, kEventJson);
  auto named = event.ok() ? event->root().find("type") : std::nullopt;
  std::string type = named && named->is_string() ? named->string() : "";
  std::string timestamp = std::to_string(clock_.now_ms() / 1000);
  post.headers = {{"Content-Type", "application/json"},
                  {"User-Agent", "pawl-webhooks"},
                  {"X-OJS-Event", type},
                  {"X-OJS-Event-Type", type},
                  {"X-OJS-Delivery", job.claim.job.text()},
                  {"X-OJS-Delivery-ID", job.claim.job.text()},
                  {"X-OJS-Subscription-ID", job.webhook->id},
                  {"X-OJS-Attempt", std::to_string(job.claim.attempt)},
                  {"X-OJS-Timestamp", timestamp}};
  if (!job.webhook->secret.empty())
    post.headers.emplace_back("X-OJS-Signature",
                              webhook_signature(job.webhook->secret, timestamp, job.event));
  // A header that was stored before its name was reserved would fail every delivery.
  for (const WebhookHeader& header : job.webhook->headers)
    if (actions::header_problem(header.name, header.value).empty())
      post.headers.emplace_back(header.name, header.value);
  post.body = job.event;
  return post;
}

void WebhookSender::finish(const Leased& job, const Result<actions::HttpResponse>& result) {
  if (result.ok() && result->status >= 200 && result->status < 300) {
    counts_.delivered.fetch_add(1, std::memory_order_relaxed);
    std::string kept;
    json::Writer(kept).begin_object().field_int("status", result->status).end_object();
    return submit_finish(job.claim, std::nullopt, std::move(kept));
  }
  counts_.failed.fetch_add(1, std::memory_order_relaxed);
  JobError error;
  error.type = error.code = "webhook_failed";
  error.message = result.ok() ? "the receiver answered " + std::to_string(result->status)
                              : result.error().message;
  error.final = result.ok() && result->status == kGone;
  log::warning("a webhook delivery failed", {{"subscription", job.webhook->id},
                                             {"delivery", job.claim.job.text()},
                                             {"error", error.message}});
  submit_finish(job.claim, std::move(error), "");
}

void WebhookSender::submit_finish(LeaseClaim claim, std::optional<JobError> error,
                                  std::string result, bool requeue) {
  auto task = std::make_shared<FinishTask>(*this, std::move(claim), std::move(error),
                                           std::move(result), requeue);
  if (!engine_.submit(task).ok()) finished();
}

}  // namespace pawl
