// WebhookSender: the server's own worker for delivery jobs. Leases them like any worker, POSTs the
// event, acks on 2xx and nacks on anything else, so that retries, back-off and the dead letter list
// are those of every job.
//
// A delivery is made at least once; its X-OJS-Delivery stays the same over retries, for receivers
// that must act once. The time of sending and the body are signed with the subscription's secret
// (webhook_signature) at each attempt: an attacker who repeats an old delivery cannot change its
// time.
//
// Threads: its own thread only fetches work; the requests run on the HttpClient's. stop() waits for
// running requests (bounded by timeout_ms). Stop it before the engine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "actions/http_client.h"
#include "base/clock.h"
#include "effects/webhook.h"
#include "engine/engine.h"
#include "kernel/jobs/lease_claim.h"

namespace pawl {

// Thread: any.
struct WebhookCounts {
  std::atomic<uint64_t> delivered{0};
  std::atomic<uint64_t> failed{0};  // attempts, not deliveries
};

struct SenderConfig {
  const actions::Vault* vault = nullptr;  // opens the sealed parts of subscriptions
  bool allow_private = false;
  size_t concurrency = 32;
  int64_t timeout_ms = 10'000;
  int64_t lease_ms = 60'000;
};

class WebhookSender {
 public:
  WebhookSender(EngineLoop& engine, Clock& clock, actions::HttpClient& client,
                WebhookCounts& counts, const SenderConfig& config = {});
  WebhookSender& operator=(WebhookSender&&) = delete;
  ~WebhookSender();

  void stop();

 private:
  struct Leased {
    LeaseClaim claim;
    std::string event;               // JSON
    std::optional<Webhook> webhook;  // nothing: it was deleted
  };
  struct Link;
  class FetchTask;
  class FinishTask;

  void run();
  void fetched(std::vector<Leased> jobs);
  void refused();
  void deliver(Leased job);
  void finish(const Leased& job, const Result<actions::HttpResponse>& result);
  void submit_finish(LeaseClaim claim, std::optional<JobError> error, std::string result,
                     bool requeue = false);
  void finished();
  actions::HttpRequest request(const Leased& job);

  EngineLoop& engine_;
  Clock& clock_;
  actions::HttpClient& client_;
  WebhookCounts& counts_;
  SenderConfig config_;
  std::shared_ptr<Link> link_;

  std::mutex mutex_;
  std::condition_variable wakes_;
  bool stopping_ = false;              // guarded by mutex_
  bool was_refused_ = false;           // guarded by mutex_
  size_t busy_ = 0;                    // guarded by mutex_: leased and not finished
  std::shared_ptr<FetchTask> asking_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace pawl
