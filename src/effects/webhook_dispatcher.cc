#include "effects/webhook_dispatcher.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr int64_t kPauseMs = 1'000;  // before retrying after a refusal
constexpr int64_t kForEver = 3'600'000;

}  // namespace

class WebhookDispatcher::PortionTask : public WaitingTask {
 public:
  PortionTask(const Portion& portion, uint64_t backlog_max)
      : portion_(portion), backlog_max_(backlog_max) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    const Queue* queue = frame.state().find_queue(kWebhookQueue);
    if (webhook_cursor(frame.state()) != portion_.from) {
      outcome = Outcome::Moved;
    } else if (queue != nullptr && queue->depth() >= backlog_max_) {
      outcome = Outcome::Full;
    } else if (!push(frame)) {
      outcome = Outcome::Full;
    } else {
      put_webhook_cursor(frame, portion_.to);
    }
    return std::nullopt;
  }
  Outcome outcome = Outcome::Done;

 private:
  bool push(Frame& frame) {
    std::vector<NewJob> jobs;
    for (const Delivery& delivery : portion_.deliveries)
      if (find_webhook(frame.state(), delivery.webhook))
        jobs.push_back(delivery_job(delivery.webhook, delivery.event_type, delivery.event));
    return jobs.empty() || push_jobs(frame, jobs).ok();
  }

  const Portion& portion_;
  uint64_t backlog_max_;
};

WebhookDispatcher::WebhookDispatcher(EngineLoop& engine, Store& store,
                                     const DispatcherConfig& config)
    : engine_(engine), store_(store), config_(config), thread_([this] { run(); }) {}

WebhookDispatcher::~WebhookDispatcher() { stop(); }

void WebhookDispatcher::ring() {
  {
    std::lock_guard lock(mutex_);
    reload_ = true;
  }
  wakes_.notify_one();
}

void WebhookDispatcher::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WebhookDispatcher::run() {
  bool more = true;
  while (wait(more ? 0 : kForEver)) more = follow();
  if (listener_ != 0) engine_.unlisten(listener_);
}

// Sleeps until there is work or the time is up; false when stopping.
bool WebhookDispatcher::wait(int64_t wait_ms) {
  std::unique_lock lock(mutex_);
  wakes_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                  [&] { return stopping_ || reload_ || news_; });
  news_ = false;
  return !stopping_;
}

bool WebhookDispatcher::must_reload() {
  std::lock_guard lock(mutex_);
  return std::exchange(reload_, false);
}

// True if there is more to do at once. Failed work is tried again after a pause.
bool WebhookDispatcher::follow() {
  auto pause = [&] {
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, std::chrono::milliseconds(kPauseMs), [&] { return stopping_; });
    return true;
  };
  if (must_reload() && !load()) return ring(), pause();
  if (!cursor_) return false;
  bool more = false;
  auto portion = next_portion(more);
  if (!portion.ok()) {
    log::error("webhooks wait: the journal cannot be read", {{"error", portion.error().message}});
    return pause();
  }
  // The subscriptions changed before the events just read: read the events again.
  {
    std::lock_guard lock(mutex_);
    if (reload_) return true;
  }
  uint64_t lag = journal::record_of(portion->to.sequence) - journal::record_of(cursor_->sequence);
  if (portion->deliveries.empty() && lag < config_.cursor_lag_records_max) {
    position_ = portion->to;
    return more;
  }
  switch (submit(*portion)) {
    case Outcome::Done:
      cursor_ = position_ = portion->to;
      return more;
    case Outcome::Moved:
      return ring(), true;
    case Outcome::Full:
    case Outcome::Refused:
      return pause();
  }
  return true;
}

bool WebhookDispatcher::load() {
  std::vector<Webhook> webhooks;
  std::optional<EventPosition> cursor;
  auto look = [&](const Frame& frame) {
    webhooks = all_webhooks(frame.state());
    cursor = webhook_cursor(frame.state());
  };
  if (!run_on_engine(engine_, look, false).ok()) return false;
  wishes_.clear();
  for (const Webhook& webhook : webhooks)
    if (webhook.active) wishes_.push_back({webhook.id, webhook.created_ms, webhook.filter()});
  cursor_ = cursor;
  // The records read beyond the cursor held nothing to deliver: they need not be read again unless
  // the subscriptions have changed.
  if (cursor_) position_ = std::max(position_, *cursor_);
  listen_if_wanted();
  return true;
}

void WebhookDispatcher::listen_if_wanted() {
  bool wanted = cursor_.has_value();
  if (wanted && listener_ == 0) {
    listener_ = engine_.listen([this](uint64_t, const auto&) {
      {
        std::lock_guard lock(mutex_);
        news_ = true;
      }
      wakes_.notify_one();
    });
  } else if (!wanted && listener_ != 0) {
    engine_.unlisten(listener_);
    listener_ = 0;
  }
}

Result<WebhookDispatcher::Portion> WebhookDispatcher::next_portion(bool& more) {
  ReadBudget budget{.events_max = config_.deliveries_per_frame_max,
                    .records_max = 2'000,
                    .scanned_bytes_max = 16u << 20,
                    .found_bytes_max = 4u << 20};
  PAWL_TRY(EventPage page, read_events(store_, position_, EventFilter{}, budget));
  if (page.gap)
    log::warning("webhooks missed events: the journal no longer reaches back to their cursor",
                 {{"cursor", position_.text()}});
  Portion portion;
  portion.from = *cursor_;
  portion.to = page.next;
  more = page.more;
  collect(page, portion);
  more |= portion.to < page.next;
  return portion;
}

// Ends the portion after the event that fills it.
void WebhookDispatcher::collect(const EventPage& page, Portion& portion) const {
  for (const OjsEvent& event : page.events) {
    std::string rendered;
    for (const Wish& wish : wishes_) {
      if (event.time_ms < wish.since_ms || !wish.filter.wants(event)) continue;
      if (rendered.empty()) {
        json::Writer w(rendered);
        render_event(w, event);
      }
      portion.deliveries.push_back({wish.webhook, event.type, rendered});
    }
    if (portion.deliveries.size() < config_.deliveries_per_frame_max) continue;
    portion.to = event.position;
    return;
  }
}

WebhookDispatcher::Outcome WebhookDispatcher::submit(const Portion& portion) {
  auto task = std::make_shared<PortionTask>(portion, config_.backlog_max);
  return WaitingTask::run(engine_, task).ok() ? task->outcome : Outcome::Refused;
}

}  // namespace pawl
