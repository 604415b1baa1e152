#include "worldhost/world_host.h"

#include <algorithm>

#include "base/log.h"
#include "base/plant.h"
#include "base/working_on.h"
#include "kernel/cold.h"
#include "kernel/state.h"
#include "worldhost/upkeep.h"

namespace pawl {
namespace {

// What the orders will read, in one go.
void fetch_needs(WorldSession& session, const std::vector<WorldOrder>& orders) {
  if (!session.exists() || orders.size() < 2) return;
  std::vector<std::string> keys;
  if (auto program = session.program(); program.ok())
    for (const WorldOrder& order : orders)
      if (order.needs) order.needs(**program, keys);
  session.fetch(keys);
}

}  // namespace

Error WorldHost::stopping() { return {ErrorCode::Unavailable, "the server is stopping"}; }

struct WorldHost::Batch {
  std::vector<WorldOrder> orders;
  std::vector<Status> outcomes;  // as many as were decided
  OutboxChanges outbox;
  std::optional<Uuid> removed;                                // the world was deleted
  bool created = false;                                       // the world begins
  bool exists = false, quarantined = false, is_test = false;  // as it leaves the world
  WorldCounts counts;
  int parts_left = 2;  // decided() and over(); guarded by mutex_
};

WorldHost::WorldHost(const WorldHostConfig& config, EngineLine& line, Clock& clock,
                     worlds::ModuleHost& modules)
    : config_(config), crashed_(config.crashed), line_(line), clock_(clock), modules_(modules) {}

WorldHost::~WorldHost() { stop(); }

void WorldHost::attach(OwnEffects& own) {
  {
    std::lock_guard lock(mutex_);
    own_ = &own;
    next_sweep_ms_ = clock_.now_ms() + config_.sweep_every_ms;
    if (config_.verify_every_ms > 0) next_verify_ms_ = clock_.now_ms() + config_.verify_every_ms;
  }
  open_worlds();
  for (uint32_t i = 0; i < config_.threads; ++i) threads_.emplace_back([this] { serve(); });
  if (config_.threads != 0) time_thread_ = std::thread([this] { keep_time(); });
}

void WorldHost::open_worlds() {
  std::vector<std::string> names;
  Status read = line_.read([&](const State& state) {
    state.each_doc_key(DocKind::World, "", SIZE_MAX, [&](std::string_view name) {
      names.emplace_back(name);
      return true;
    });
  });
  if (!read.ok()) {
    log::error("worlds cannot be listed yet", {{"error", read.error().message}});
    return later([this] { open_worlds(); });
  }
  for (const std::string& name : names) {
    if (is_deleted_world(name)) {
      purge_world(line_, name);
    } else {
      open_world(name);
    }
  }
}

void WorldHost::stop() {
  std::vector<WorldOrder> refused;
  std::list<Waiter> waiters;
  {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    for (auto& [name, actor] : actors_) {
      for (WorldOrder& order : actor->orders) refused.push_back(std::move(order));
      actor->orders.clear();
      waiters.splice(waiters.end(), actor->waiters);
    }
    waiting_ = 0;
    waiters_ = 0;
    ready_.clear();
    dues_.clear();
    work_.notify_all();
    time_.notify_all();
  }
  for (WorldOrder& order : refused) order.done(stopping());
  for (Waiter& waiter : waiters) waiter.leased(stopping(), 0);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (time_thread_.joinable()) time_thread_.join();
  std::unique_lock lock(mutex_);
  if (config_.threads != 0) idle_.wait(lock, [&] { return running_ == 0; });
}

// --- queues

WorldHost::ActorPtr WorldHost::actor(const std::string& world) {
  auto at = actors_.find(world);
  if (at == actors_.end())
    at = actors_.emplace(world, std::make_shared<Actor>(world, config_.cache_bytes_max)).first;
  return at->second;
}

void WorldHost::make_ready(const ActorPtr& actor) {
  if (actor->busy || actor->listed || actor->orders.empty() || stopped_) return;
  actor->listed = true;
  ready_.push_back(actor);
  work_.notify_one();
}

Status WorldHost::post(const std::string& world, WorldOrder order) {
  std::lock_guard lock(mutex_);
  if (stopped_) return stopping();
  if (waiting_ >= config_.orders_max)
    return Error{ErrorCode::RateLimited, "too many calls wait for worlds"};
  ++waiting_;
  ActorPtr to = actor(world);
  to->orders.push_back(std::move(order));
  make_ready(to);
  return ok_status();
}

std::vector<WorldOrder> WorldHost::take_orders(Actor& actor) {
  std::vector<WorldOrder> orders;
  while (!actor.orders.empty() && orders.size() < config_.batch_orders_max) {
    if (actor.orders.front().alone && !orders.empty()) break;
    orders.push_back(std::move(actor.orders.front()));
    actor.orders.pop_front();
    --waiting_;
    if (orders.back().alone) break;
  }
  return orders;
}

bool WorldHost::run_one() {
  std::unique_lock lock(mutex_);
  if (ready_.empty()) return false;
  ActorPtr actor = std::move(ready_.front());
  ready_.pop_front();
  actor->listed = false;
  actor->busy = true;
  ++actor->batches;
  ++running_;
  std::vector<WorldOrder> orders = take_orders(*actor);
  if (std::exchange(actor->stale, false)) {
    actor->memory.cache.clear();
    actor->memory.program.reset();
    actor->memory.id.reset();
  }
  actor->memory.refusals_seen = actor->memory.refusals->load();
  lock.unlock();
  run_batch(actor, std::move(orders));
  return true;
}

void WorldHost::serve() {
  WatchedThread watched;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return stopped_ || !ready_.empty(); });
      if (stopped_) return;
    }
    run_one();
  }
}

// --- a batch

Status WorldHost::decide_orders(const ActorPtr& actor, Batch& batch, WorldWrites& writes) {
  return reading([&]() -> Status {
    WorldSession session(line_, actor->memory, actor->name, modules_, clock_.now_ms(),
                         config_.fill_random);
    const WorkingOn working(WorkKind::World, session.exists() ? session.id() : Uuid{});
    if (Status touchable = crashed_.check_touchable(session); !touchable.ok()) {
      batch.outcomes.assign(batch.orders.size(), touchable);
      batch.exists = batch.quarantined = true;
      return ok_status();
    }
    fetch_needs(session, batch.orders);
    for (const WorldOrder& order : batch.orders) {
      const size_t opened_before = session.opened().size();
      batch.outcomes.push_back(order.work(session));
      if (own_ != nullptr && session.opened().size() > opened_before && !session.removes())
        own_->settle_within(session, opened_before);
      if (session.written_bytes() > config_.batch_bytes_max || session.removes()) break;
    }
    batch.outbox = session.take_outbox();
    if (session.removes()) batch.removed = session.id();
    batch.exists = session.exists();
    if (batch.exists) {
      const worlds::Head head = session.world().head();
      batch.quarantined = !head.quarantine_code.empty();
      batch.is_test = head.test;
    }
    batch.counts = session.counts();
    writes = session.take_writes();
    batch.created = writes.creates;
    return ok_status();
  });
}

void WorldHost::run_batch(const ActorPtr& actor, std::vector<WorldOrder> orders) {
  auto batch = std::make_shared<Batch>();
  batch->orders = std::move(orders);
  WorldWrites writes;
  Status done = decide_orders(actor, *batch, writes);
  if (!done.ok()) {
    over(actor, *batch, CommitFate::Refused, done.error());
    return decided(actor, *batch, false);
  }
  {
    // What a full batch has left undone comes first in the next one.
    std::lock_guard lock(mutex_);
    while (batch->orders.size() > batch->outcomes.size()) {
      actor->orders.push_front(std::move(batch->orders.back()));
      batch->orders.pop_back();
      ++waiting_;
    }
  }
  for (const auto& [key, value] : writes.items) actor->memory.cache.put(key, value);
  actor->memory.cache.evict();
  bound_caches(*actor);
  auto task = std::make_shared<CommitTask>(
      std::move(writes), [this, actor, batch](bool stale) { decided(actor, *batch, stale); },
      [this, actor, batch](CommitFate fate, const Error& error) {
        over(actor, *batch, fate, error);
      });
  if (Status taken = line_.submit(task); !taken.ok()) task->refuse(taken.error());
}

void WorldHost::note_cached(Actor& actor) {
  if (actor.cached_bytes != 0) by_use_.erase(actor.place);
  cached_bytes_ -= actor.cached_bytes;
  actor.cached_bytes = actor.memory.cache.bytes();
  cached_bytes_ += actor.cached_bytes;
  if (actor.cached_bytes != 0) actor.place = by_use_.insert(by_use_.begin(), &actor);
}

// There may be many worlds: those that were not used for longest give up their caches.
void WorldHost::bound_caches(Actor& used) {
  std::vector<ItemCache::Contents> dropped;  // freed when the lock is
  std::lock_guard lock(mutex_);
  note_cached(used);
  for (auto at = by_use_.end();
       cached_bytes_ > config_.caches_bytes_max && at != by_use_.begin();) {
    Actor& oldest = **--at;
    if (oldest.busy) continue;
    ++at;
    dropped.push_back(oldest.memory.cache.take());
    note_cached(oldest);
  }
}

// The state holds the batch, or will never: the world's next one may begin.
void WorldHost::decided(const ActorPtr& actor, Batch& batch, bool stale) {
  if (has_bug(Bug::AnsweredWhenDecided) && !stale)
    for (size_t i = 0; i < batch.outcomes.size(); ++i)
      if (auto done = std::exchange(batch.orders[i].done, [](const Status&) {}))
        done(batch.outcomes[i]);
  std::lock_guard lock(mutex_);
  if (has_bug(Bug::LeasedBeforeDurable) && !stale) take_outbox(*actor, batch.outbox);
  actor->busy = false;
  if (stale) {
    actor->stale = true;
    for (; !batch.orders.empty(); batch.orders.pop_back(), ++waiting_)
      actor->orders.push_front(std::move(batch.orders.back()));
  }
  make_ready(actor);
  end_part(actor, batch);
}

void WorldHost::over(const ActorPtr& actor, Batch& batch, CommitFate fate, const Error& error) {
  Answers answers;
  {
    std::lock_guard lock(mutex_);
    switch (fate) {
      case CommitFate::Durable:
        actor->is_test = batch.is_test;
        take_outbox(*actor, std::move(batch.outbox));
        ++batches_;
        counts_.add(batch.counts);
        actor->exists = batch.exists;
        actor->quarantined = batch.quarantined;
        if (batch.created) actor->known = true;  // it has no more than this
        if (batch.removed) forget_world(*actor, answers);
        serve_outbox(actor, clock_.now_ms(), answers);
        break;
      case CommitFate::Stale:
        break;
      case CommitFate::Refused:
        ++*actor->memory.refusals;
        // It may turn out to be durable when the store is back: then its intents are open.
        actor->stale = true;
        actor->known = false;
        actor->reopen_ms = clock_.now_ms() + kPauseMs;
        break;
    }
    reschedule(actor);
  }
  if (fate == CommitFate::Durable)
    for (size_t i = 0; i < batch.orders.size(); ++i)
      batch.orders[i].done(std::move(batch.outcomes[i]));
  if (fate == CommitFate::Refused)
    for (WorldOrder& order : batch.orders) order.done(error);
  for (auto& answer : answers) answer();
  if (fate == CommitFate::Durable && batch.removed)
    purge_world(line_, deleted_world_key(*batch.removed));
  std::lock_guard lock(mutex_);
  end_part(actor, batch);
}

// decided() and over() come in either order; the host may end when both are through.
void WorldHost::end_part(const ActorPtr& actor, Batch& batch) {
  if (--batch.parts_left != 0) return;
  --actor->batches;
  forget_if_idle(actor);
  if (--running_ == 0) idle_.notify_all();
}

// Names come from outside: one that no world has is not kept.
void WorldHost::forget_if_idle(const ActorPtr& actor) {
  const bool has_work = actor->batches != 0 || !actor->orders.empty() || !actor->waiters.empty();
  if (has_work || actor->memory.id || actor->outbox.size() != 0 || actor->reopen_ms != 0) return;
  if (actor->due_ms != 0) dues_.erase({actor->due_ms, actor});
  actor->due_ms = 0;
  actor->memory.cache.clear();
  note_cached(*actor);
  actors_.erase(actor->name);
}

size_t WorldHost::cached_bytes() {
  std::lock_guard lock(mutex_);
  return cached_bytes_;
}

size_t WorldHost::names_held() {
  std::lock_guard lock(mutex_);
  return actors_.size();
}

WorldHostStats WorldHost::stats() {
  std::lock_guard lock(mutex_);
  WorldHostStats stats;
  stats.orders_waiting = waiting_;
  stats.batches = batches_;
  stats.counts = counts_;
  for (const auto& [name, actor] : actors_) {
    stats.worlds += actor->exists ? 1 : 0;
    stats.quarantined += actor->quarantined ? 1 : 0;
    stats.effects_queued += actor->outbox.queued();
    stats.effects_at_work += actor->outbox.size() - actor->outbox.queued();
  }
  return stats;
}

// --- opening and upkeep

// Reads what is open, and makes the outbox hold that; leases that are out stay.
void WorldHost::open_world(const std::string& name) {
  auto found = std::make_shared<OpenedWorld>();
  WorldOrder order;
  order.alone = true;
  order.work = [this, found](WorldSession& session) -> Status {
    crashed_.judge(session);
    PAWL_TRY_DO(check_opened_world(session));
    *found = read_open_intents(session);
    return ok_status();
  };
  order.done = [this, name, found](const Status& outcome) {
    Answers answers;
    {
      std::lock_guard lock(mutex_);
      ActorPtr of = actor(name);
      if (!outcome.ok()) {
        const bool is_final = wire_code(outcome.error()) == "world.quarantined";
        if (!stopped_ && !is_final) of->reopen_ms = clock_.now_ms() + kPauseMs;
        return reschedule(of);
      }
      of->known = true;
      of->outbox.retain(found->open);
      of->outbox.forget_adapters();  // one may have been removed by a batch that was refused
      OutboxChanges changes;
      changes.opened = std::move(found->open);
      changes.adapters = std::move(found->adapters);
      take_outbox(*of, std::move(changes));
      serve_outbox(of, clock_.now_ms(), answers);
    }
    for (auto& answer : answers) answer();
  };
  if (Status taken = post(name, std::move(order)); taken.ok()) return;
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  ActorPtr of = actor(name);
  of->reopen_ms = clock_.now_ms() + kPauseMs;
  reschedule(of);
}

void WorldHost::sweep(const std::string& name) {
  WorldOrder order;
  order.alone = true;
  order.work = [retention = WorldRetention{config_.finished_ms, config_.journal_ms}](
                   WorldSession& session) { return sweep_world(session, retention); };
  order.done = [](const Status&) {};
  (void)post(name, std::move(order)).ok();  // the next sweep comes anyway
}

void WorldHost::verify(const std::string& name) {
  WorldOrder order;
  order.alone = true;
  order.work = [this](WorldSession& session) {
    // The world waits meanwhile.
    const int64_t end_ms = clock_.now_ms() + kVerifyMs;
    return verify_sample(session, [&] { return clock_.now_ms() < end_ms; });
  };
  order.done = [](const Status&) {};
  (void)post(name, std::move(order)).ok();
}

}  // namespace pawl
