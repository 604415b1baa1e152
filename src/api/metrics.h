// Metrics: counters of the API, for /metrics and the status page. Thread: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "effects/webhook_sender.h"

namespace pawl::api {

struct Metrics {
  std::atomic<uint64_t> jobs_pushed{0};
  std::atomic<uint64_t> jobs_fetched{0};
  std::atomic<uint64_t> jobs_acked{0};
  std::atomic<uint64_t> jobs_nacked{0};
  WebhookCounts webhooks;
  std::atomic<uint64_t> requests_refused{0};         // by scope or key
  std::array<std::atomic<uint64_t>, 6> responses{};  // by hundreds: index 2 = 2xx
  static constexpr std::array<uint64_t, 10> kLatencyMicros = {
      250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000};
  std::array<std::atomic<uint64_t>, 11>
      latency{};  // requests answered within that time, last: longer
  std::atomic<uint64_t> latency_micros_total{0};

  void answered(int status, uint64_t micros) {
    responses[static_cast<size_t>(status / 100 % 6)].fetch_add(1, std::memory_order_relaxed);
    size_t bucket = 0;
    while (bucket < kLatencyMicros.size() && micros > kLatencyMicros[bucket]) ++bucket;
    latency[bucket].fetch_add(1, std::memory_order_relaxed);
    latency_micros_total.fetch_add(micros, std::memory_order_relaxed);
  }
};

}  // namespace pawl::api
