#include "api/workers.h"

#include <algorithm>

#include "plan/ojs/queue_name.h"

namespace pawl::api {

WorkerCounts count_workers(const std::vector<WorkerInfo>& workers, int64_t now_ms) {
  WorkerCounts counts{.total = workers.size()};
  for (const WorkerInfo& worker : workers) {
    if (is_stale(worker, now_ms)) {
      ++counts.stale;
    } else if (worker.effective() == "running") {
      ++counts.running;
    }
  }
  counts.quiet = counts.total - counts.running - counts.stale;
  return counts;
}

size_t count_workers_of(const std::vector<WorkerInfo>& workers, std::string_view tenant) {
  size_t count = 0;
  for (const WorkerInfo& worker : workers)
    count += std::any_of(worker.queues.begin(), worker.queues.end(), [&](const std::string& queue) {
      return tenant_of_scoped(queue) == tenant;
    });
  return count;
}

WorkerInfo* WorkerRegistry::need(std::string_view id, int64_t now_ms) {
  if (id.empty()) return nullptr;
  auto at = workers_.find(id);
  if (at == workers_.end()) {
    if (workers_.size() >= kWorkersMax)
      std::erase_if(workers_, [&](const auto& entry) {
        return now_ms - entry.second.last_seen_ms > kForgetAfterMs;
      });
    if (workers_.size() >= kWorkersMax) return nullptr;
    at = workers_.emplace(id, WorkerInfo{}).first;
    at->second.id = id;
  }
  if (at->second.first_seen_ms == 0) at->second.first_seen_ms = now_ms;
  at->second.last_seen_ms = now_ms;
  return &at->second;
}

void WorkerRegistry::fetched(std::string_view id, const std::vector<std::string>& queues,
                             size_t jobs, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  for (const std::string& queue : queues) {
    auto at = queue_asked_.find(queue);
    if (at != queue_asked_.end()) {
      at->second = now_ms;
    } else if (queue_asked_.size() < kWorkersMax) {
      queue_asked_.emplace(queue, now_ms);
    }
  }
  WorkerInfo* worker = need(id, now_ms);
  if (worker == nullptr) return;
  worker->fetched += jobs;
  if (worker->queues != queues) worker->queues = queues;
}

void WorkerRegistry::finished(std::string_view id, size_t jobs, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  if (WorkerInfo* worker = need(id, now_ms)) worker->finished += jobs;
}

void WorkerRegistry::beat(std::string_view id, size_t active, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  WorkerInfo* worker = need(id, now_ms);
  if (worker == nullptr) return;
  worker->active = active;
  worker->beat_ms = now_ms;
}

void WorkerRegistry::says(std::string_view id, std::string_view state, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  if (WorkerInfo* worker = need(id, now_ms)) worker->state = state;
}

void WorkerRegistry::introduces(std::string_view id, const WorkerSelf& self, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  WorkerInfo* worker = need(id, now_ms);
  if (worker == nullptr) return;
  if (!self.queues.empty() && worker->queues != self.queues) worker->queues = self.queues;
  if (!self.hostname.empty()) worker->hostname = self.hostname;
  if (self.pid != 0) worker->pid = self.pid;
}

bool WorkerRegistry::tell(std::string_view id, std::string_view directive) {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  if (at == workers_.end() || at->second.last_seen_ms == 0) return false;
  at->second.told = directive;
  return true;
}

void WorkerRegistry::tell_ahead(std::string_view id, std::string_view directive) {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  if (at == workers_.end()) {
    if (directive.empty() || id.empty() || workers_.size() >= kWorkersMax) return;
    at = workers_.emplace(id, WorkerInfo{}).first;
    at->second.id = id;
  }
  at->second.told = directive;
}

void WorkerRegistry::forget(std::string_view id) {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  if (at != workers_.end()) workers_.erase(at);
}

size_t WorkerRegistry::tell_all(std::string_view directive) {
  std::lock_guard lock(mutex_);
  for (auto& [id, worker] : workers_) worker.told = directive;
  return workers_.size();
}

std::string WorkerRegistry::state(std::string_view id) const {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  return at == workers_.end() ? "running" : at->second.effective();
}

bool WorkerRegistry::may_fetch(std::string_view id) const { return state(id) == "running"; }

std::vector<WorkerInfo> WorkerRegistry::list(int64_t now_ms) const {
  std::lock_guard lock(mutex_);
  std::vector<WorkerInfo> all;
  for (const auto& [id, worker] : workers_)
    if (worker.last_seen_ms != 0 && now_ms - worker.last_seen_ms <= kForgetAfterMs)
      all.push_back(worker);
  return all;
}

bool WorkerRegistry::find(std::string_view id, WorkerInfo& out) const {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  if (at == workers_.end() || at->second.last_seen_ms == 0) return false;
  out = at->second;
  return true;
}

int64_t WorkerRegistry::queue_last_asked_ms(std::string_view scoped) const {
  std::lock_guard lock(mutex_);
  auto at = queue_asked_.find(scoped);
  return at == queue_asked_.end() ? 0 : at->second;
}

}  // namespace pawl::api
