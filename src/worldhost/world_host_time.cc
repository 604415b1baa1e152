// WorldHost's clock: timers, leases that run out, waits that end, pauses after a refusal,
// retention.
#include <algorithm>
#include <chrono>

#include "worldhost/world_host.h"

namespace pawl {
namespace {

// Milliseconds at which a time in nanoseconds has come.
int64_t ms_of(int64_t ns) { return ns / 1'000'000 + (ns % 1'000'000 == 0 ? 0 : 1); }

}  // namespace

void WorldHost::timers_fired(const std::string& world) {
  std::lock_guard lock(mutex_);
  ActorPtr of = actor(world);
  of->firing = false;
  reschedule(of);
}

std::vector<std::string> WorldHost::due_timers(const std::string& world, int64_t now_ns,
                                               size_t at_most) {
  std::lock_guard lock(mutex_);
  auto at = actors_.find(world);
  return at == actors_.end() ? std::vector<std::string>()
                             : at->second->outbox.due_timers(now_ns, at_most);
}

void WorldHost::later(std::function<void()> call) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  later_.push_back(std::move(call));
  if (later_ms_ == 0) later_ms_ = clock_.now_ms() + kPauseMs;
  time_.notify_all();
}

void WorldHost::reschedule(const ActorPtr& actor) {
  int64_t due_ms = INT64_MAX;
  auto consider = [&](int64_t at_ms) {
    if (at_ms != 0) due_ms = std::min(due_ms, at_ms);
  };
  consider(actor->reopen_ms);
  consider(actor->outbox.next_expiry_ms());
  for (const Waiter& waiter : actor->waiters) consider(waiter.until_ms);
  int64_t deadline_ns = 0;
  std::string hash;
  if (actor->known && !actor->is_test && !actor->firing &&
      actor->outbox.first_timer(deadline_ns, hash))
    consider(std::max<int64_t>(ms_of(deadline_ns), 1));
  if (actor->due_ms != 0) dues_.erase({actor->due_ms, actor});
  actor->due_ms = due_ms == INT64_MAX || stopped_ ? 0 : due_ms;
  if (actor->due_ms == 0) return;
  const bool is_first = dues_.empty() || actor->due_ms < dues_.begin()->first;
  dues_.emplace(actor->due_ms, actor);
  if (is_first) time_.notify_all();
}

void WorldHost::fire(const ActorPtr& actor, int64_t now_ms, Answers& answers) {
  if (actor->reopen_ms != 0 && actor->reopen_ms <= now_ms) {
    actor->reopen_ms = 0;
    answers.push_back([this, name = actor->name] { open_world(name); });
  }
  int64_t deadline_ns = 0;
  std::string hash;
  if (actor->known && !actor->is_test && !actor->firing && own_ != nullptr &&
      actor->outbox.first_timer(deadline_ns, hash) && ms_of(deadline_ns) <= now_ms) {
    actor->firing = true;
    answers.push_back([this, name = actor->name] { own_->fire_timers(name); });
  }
  serve_outbox(actor, now_ms, answers);
}

void WorldHost::fire_due(int64_t now_ms) {
  Answers answers;
  std::vector<std::string> swept;
  std::string verified;
  {
    std::lock_guard lock(mutex_);
    while (!dues_.empty() && dues_.begin()->first <= now_ms) {
      ActorPtr actor = dues_.begin()->second;
      fire(actor, now_ms, answers);
    }
    if (later_ms_ != 0 && later_ms_ <= now_ms) {
      later_ms_ = 0;
      for (auto& call : std::exchange(later_, {})) answers.push_back(std::move(call));
    }
    if (own_ != nullptr && next_sweep_ms_ <= now_ms) {
      next_sweep_ms_ = now_ms + config_.sweep_every_ms;
      for (const auto& [name, actor] : actors_) swept.push_back(name);
    }
    if (own_ != nullptr && next_verify_ms_ <= now_ms) {
      next_verify_ms_ = now_ms + config_.verify_every_ms;
      auto next = actors_.upper_bound(verified_last_);
      if (next == actors_.end()) next = actors_.begin();
      verified_last_ = verified = next == actors_.end() ? "" : next->first;
    }
  }
  for (auto& answer : answers) answer();
  for (const std::string& name : swept) sweep(name);
  if (!verified.empty()) verify(verified);
}

int64_t WorldHost::first_work_ms() const {
  if (dues_.empty()) return later_ms_;
  return later_ms_ == 0 ? dues_.begin()->first : std::min(later_ms_, dues_.begin()->first);
}

int64_t WorldHost::first_due_ms() const {
  const int64_t work_ms = first_work_ms();
  const int64_t unasked_ms = std::min(next_sweep_ms_, next_verify_ms_);
  return work_ms == 0 ? unasked_ms : std::min(work_ms, unasked_ms);
}

int64_t WorldHost::next_work_ms() {
  std::lock_guard lock(mutex_);
  return first_work_ms();
}

int64_t WorldHost::next_due_ms() {
  std::lock_guard lock(mutex_);
  return first_due_ms();
}

void WorldHost::keep_time() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const int64_t now_ms = clock_.now_ms();
    const int64_t due_ms = first_due_ms();
    if (due_ms > now_ms) {
      time_.wait_for(lock, std::chrono::milliseconds(std::min<int64_t>(due_ms - now_ms, 1'000)));
      continue;
    }
    lock.unlock();
    fire_due(now_ms);
    lock.lock();
  }
}

}  // namespace pawl
