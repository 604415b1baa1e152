// WorldHost's effects: who gets the open intents of a world, and who waits for some.
#include <algorithm>

#include "worldhost/world_host.h"

namespace pawl {

void WorldHost::take_outbox(Actor& actor, OutboxChanges changes) {
  for (auto& [id, adapter] : changes.adapters) {
    if (adapter) {
      actor.outbox.put_adapter(id, *adapter);
    } else {
      actor.outbox.remove_adapter(id);
    }
  }
  for (OpenIntent& intent : changes.opened) actor.outbox.add(std::move(intent));
  for (const std::string& hash : changes.settled) actor.outbox.remove(hash);
}

// Follows every change of the outbox: leases that ran out are free, who waits gets what is there,
// and the server begins its own effects.
void WorldHost::serve_outbox(const ActorPtr& actor, int64_t now_ms, Answers& answers) {
  actor->outbox.release_expired(now_ms);
  serve_waiters(*actor, now_ms, answers);
  begin_own(*actor, answers);
  reschedule(actor);
}

void WorldHost::serve_waiters(Actor& actor, int64_t now_ms, Answers& answers) {
  for (auto at = actor.waiters.begin(); at != actor.waiters.end();) {
    const LeaseOrder& order = at->order;
    const int64_t until_ms = now_ms + order.lease_ms;
    const bool is_wanted = at->is_wanted == nullptr || at->is_wanted();
    std::vector<std::string> leased;
    if (is_wanted && actor.known)
      leased = actor.outbox.lease(order.adapter, order.kinds, order.limit, until_ms, now_ms);
    if (leased.empty() && is_wanted && at->until_ms > now_ms) {
      ++at;
      continue;
    }
    answers.push_back(
        [leased = std::move(leased), until_ms, tell = std::move(at->leased)]() mutable {
          tell(std::move(leased), until_ms);
        });
    at = actor.waiters.erase(at);
    --waiters_;
  }
}

void WorldHost::begin_own(Actor& actor, Answers& answers) {
  if (own_ == nullptr || stopped_ || !actor.known || actor.quarantined) return;
  for (OpenIntent intent; actor.outbox.begin_own(intent);)
    answers.push_back([this, name = actor.name, intent] { own_->perform(name, intent); });
}

// The world was deleted; another may have its name later.
void WorldHost::forget_world(Actor& actor, Answers& answers) {
  actor.stale = true;
  actor.outbox = Outbox();
  actor.known = false;
  actor.firing = false;
  actor.reopen_ms = 0;
  for (Waiter& waiter : actor.waiters)
    answers.push_back([tell = std::move(waiter.leased)] {
      tell(Error{ErrorCode::NotFound, "the world was deleted"}, 0);
    });
  waiters_ -= actor.waiters.size();
  actor.waiters.clear();
}

void WorldHost::lease(const std::string& world, const LeaseOrder& order, Leased leased,
                      IsWanted is_wanted) {
  Answers answers;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) {
      answers.push_back([tell = std::move(leased)] { tell(stopping(), 0); });
    } else {
      const int64_t now_ms = clock_.now_ms();
      const bool may_wait = !waits_ended_ && waiters_ < config_.waiters_max;
      ActorPtr of = actor(world);
      of->waiters.push_back({order, may_wait ? now_ms + order.wait_ms : now_ms, std::move(leased),
                             std::move(is_wanted)});
      ++waiters_;
      serve_outbox(of, now_ms, answers);
      forget_if_idle(of);
    }
  }
  for (auto& answer : answers) answer();
}

void WorldHost::drop_unwanted(const std::string& world) {
  Answers answers;
  {
    std::lock_guard lock(mutex_);
    auto at = actors_.find(world);
    if (at != actors_.end()) serve_outbox(at->second, clock_.now_ms(), answers);
  }
  for (auto& answer : answers) answer();
}

void WorldHost::hand_back(const std::string& world, const std::vector<std::string>& intents) {
  std::lock_guard lock(mutex_);
  auto at = actors_.find(world);
  if (at == actors_.end()) return;
  const int64_t until_ms = clock_.now_ms() + kPauseMs;
  for (const std::string& intent : intents) at->second->outbox.end_lease_at(intent, until_ms);
  reschedule(at->second);
}

void WorldHost::end_waits() {
  Answers answers;
  {
    std::lock_guard lock(mutex_);
    waits_ended_ = true;
    const int64_t now_ms = clock_.now_ms();
    for (auto& [name, actor] : actors_) {
      for (Waiter& waiter : actor->waiters) waiter.until_ms = std::min(waiter.until_ms, now_ms);
      serve_outbox(actor, now_ms, answers);
    }
  }
  for (auto& answer : answers) answer();
}

worlds::IntentWork WorldHost::work_of(const std::string& world, const std::string& intent) {
  std::lock_guard lock(mutex_);
  auto at = actors_.find(world);
  return at == actors_.end() ? worlds::IntentWork{} : at->second->outbox.work_of(intent);
}

uint64_t WorldHost::queued(const std::string& world) {
  std::lock_guard lock(mutex_);
  auto at = actors_.find(world);
  return at == actors_.end() ? 0 : at->second->outbox.queued();
}

uint64_t WorldHost::queued(WorldSession& session) {
  uint64_t count = 0;
  session.world().each_open("",
                            [&](std::string_view, const std::string& hash, const worlds::Intent&) {
                              count += work_of(session.name(), hash).inflight ? 0 : 1;
                              return true;
                            });
  return count;
}

bool WorldHost::knows_adapter(const std::string& world, const std::string& adapter) {
  std::lock_guard lock(mutex_);
  auto at = actors_.find(world);
  return at != actors_.end() && at->second->outbox.knows_adapter(adapter);
}

void WorldHost::give_up(const std::string& world, const std::string& intent) {
  std::lock_guard lock(mutex_);
  ActorPtr of = actor(world);
  of->outbox.take_back_own(intent);
  of->reopen_ms = clock_.now_ms() + kPauseMs;
  reschedule(of);
}

}  // namespace pawl
