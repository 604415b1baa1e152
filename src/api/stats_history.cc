#include "api/stats_history.h"

#include <algorithm>
#include <chrono>

#include "journal/events.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

int64_t floor_to(int64_t at_ms, int64_t step_ms) { return at_ms - at_ms % step_ms; }

// Every job of a queue is counted in one state, and finished ones are counted for ever.
Tally counters_of(const Queue& queue) {
  Tally tally;
  for (uint64_t count : queue.counts) tally.enqueued += count;
  tally.completed = queue.count(JobState::Completed);
  tally.failed = queue.count(JobState::Discarded);
  return tally;
}

// A revived job lowers a counter; the difference must not become negative.
Tally since(const Tally& now, const Tally& before) {
  auto risen = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  return {risen(now.enqueued, before.enqueued), risen(now.completed, before.completed),
          risen(now.failed, before.failed)};
}

}  // namespace

bool StatsScope::covers(std::string_view scoped) const {
  if (!tenant.empty() && tenant_of_scoped(scoped) != tenant) return false;
  return queue.empty() || queue_of_scoped(scoped) == queue;
}

void TallySeries::add(int64_t at_ms, const std::string& scoped, const Tally& tally) {
  int64_t start_ms = floor_to(at_ms, step_ms_);
  if (buckets_.empty() || buckets_.back().start_ms < start_ms) buckets_.push_back({start_ms, {}});
  auto [at, fresh] = buckets_.back().queues.try_emplace(scoped);
  at->second.add(tally);
  entries_ += fresh ? 1 : 0;
  while (buckets_.size() > 1 && (buckets_.size() > buckets_max_ || entries_ > entries_max_)) {
    entries_ -= buckets_.front().queues.size();
    buckets_.pop_front();
  }
}

void TallySeries::each(int64_t since_ms, int64_t until_ms, const StatsScope& scope,
                       const std::function<void(int64_t, const Tally&)>& visit) const {
  for (const Bucket& bucket : buckets_) {
    if (bucket.start_ms < since_ms || bucket.start_ms >= until_ms) continue;
    Tally sum;
    for (const auto& [scoped, tally] : bucket.queues)
      if (scope.covers(scoped)) sum.add(tally);
    if (!sum.empty()) visit(bucket.start_ms, sum);
  }
}

void StatsHistory::sample(const State& state, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  bool first = since_ms_ == 0;
  if (first) since_ms_ = now_ms;
  state.each_queue([&](const Queue& queue) {
    if (is_internal_queue(queue.name)) return true;
    Tally now = counters_of(queue);
    Tally& before = seen_[queue.name];
    Tally change = since(now, before);
    before = now;
    if (first || change.empty()) return true;
    for (TallySeries* series : {&fine_, &minutes_, &hours_})
      series->add(now_ms, queue.name, change);
    return true;
  });
}

void StatsHistory::start(std::function<void()> sampler) {
  thread_ = std::thread([this, sampler = std::move(sampler)] {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      sampler();
      lock.lock();
      wakes_.wait_for(lock, std::chrono::milliseconds(kSampleMs), [this] { return stopping_; });
    }
  });
}

void StatsHistory::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Tally StatsHistory::last_minute(const StatsScope& scope, int64_t now_ms) const {
  std::lock_guard lock(mutex_);
  Tally sum;
  int64_t from_ms = floor_to(now_ms, kSampleMs) + kSampleMs - kMinuteMs;
  fine_.each(from_ms, INT64_MAX, scope, [&](int64_t, const Tally& tally) { sum.add(tally); });
  return sum;
}

std::vector<std::pair<int64_t, Tally>> StatsHistory::periods(const StatsScope& scope,
                                                             int64_t period_ms, int64_t since_ms,
                                                             int64_t until_ms) const {
  std::lock_guard lock(mutex_);
  bool coarse = period_ms >= kHourMs;
  int64_t kept_ms = coarse ? kHoursKept * kHourMs : kMinutesKept * kMinuteMs;
  if (since_ms_ == 0) return {};
  int64_t from_ms = floor_to(std::max({since_ms, since_ms_, until_ms - kept_ms}), period_ms);
  std::vector<std::pair<int64_t, Tally>> points;
  for (int64_t at_ms = from_ms; at_ms < until_ms; at_ms += period_ms)
    points.emplace_back(at_ms, Tally{});
  (coarse ? hours_ : minutes_)
      .each(from_ms, until_ms, scope, [&](int64_t at_ms, const Tally& tally) {
        points[static_cast<size_t>((at_ms - from_ms) / period_ms)].second.add(tally);
      });
  return points;
}

int64_t StatsHistory::since_ms() const {
  std::lock_guard lock(mutex_);
  return since_ms_;
}

}  // namespace pawl::api
