#include "api/workers.h"

#include <algorithm>

namespace pawl::api {

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
    at->second.first_seen_ms = now_ms;
  }
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
  if (WorkerInfo* worker = need(id, now_ms)) worker->active = active;
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
  if (at == workers_.end()) return false;
  at->second.told = directive;
  return true;
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
    if (now_ms - worker.last_seen_ms <= kForgetAfterMs) all.push_back(worker);
  return all;
}

bool WorkerRegistry::find(std::string_view id, WorkerInfo& out) const {
  std::lock_guard lock(mutex_);
  auto at = workers_.find(id);
  if (at == workers_.end()) return false;
  out = at->second;
  return true;
}

int64_t WorkerRegistry::queue_last_asked_ms(std::string_view scoped) const {
  std::lock_guard lock(mutex_);
  auto at = queue_asked_.find(scoped);
  return at == queue_asked_.end() ? 0 : at->second;
}

}  // namespace pawl::api
