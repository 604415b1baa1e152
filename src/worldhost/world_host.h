// WorldHost: takes the inputs of module worlds, runs each world's one at a time on worker threads,
// and makes what they decide part of the engine's state; then answers, and works on the effects.
//
//   post() → the world's queue → a worker decides a batch of orders (WorldSession) → CommitTask →
//   the engine's batch is durable → answers, leases, timers, the server's own effects
//
// A world has at most one batch at work; its next one begins when the state holds the writes of the
// last. So a batch is decided from the current state, and results do not depend on the number of
// threads. No answer leaves before its batch is durable, that of a read included.
//
// After a failure of the store the orders at work are refused, the caches are dropped, and open
// intents are read again; until then they are not leased or performed. Orders whose world changed
// while they were being decided are decided again.
//
// Threads: attach() and stop() from the one that starts and stops the host; all other calls from
// any. With 0 threads nothing runs by itself: the simulator calls run_one() and fire_due().
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "actions/vault.h"
#include "base/clock.h"
#include "worldhost/crashed_worlds.h"
#include "worldhost/outbox.h"
#include "worldhost/session.h"

namespace pawl {

// One thing to do with a world. `work` may be called again if it came to nothing: it keeps its
// outcome in what it captures, and changes nothing else.
struct WorldOrder {
  std::function<Status(WorldSession&)> work;  // on a worker
  // Called once, when what the work read and wrote is durable, or with the error that refused it.
  // On any thread; it must not wait.
  std::function<void(Status)> done;
  // Keys of items that the work will read, so that a batch reads them together; may be null.
  std::function<void(const worlds::Program&, std::vector<std::string>&)> needs = nullptr;
  bool alone = false;  // takes long: it has a batch of its own
};

struct WorldHostConfig {
  uint16_t partition = 0;  // in which the worlds live
  uint32_t threads = 2;
  size_t orders_max = 65'536;           // that wait, of all worlds
  size_t waiters_max = 20'000;          // lease calls that wait, of all worlds
  size_t cache_bytes_max = 16u << 20;   // per world
  size_t caches_bytes_max = 64u << 20;  // of all worlds
  size_t batch_orders_max = 64;
  size_t batch_bytes_max = 4u << 20;  // of writes
  int64_t finished_ms = 0;  // retention of ended instances and settled intents; 0 = for ever
  int64_t journal_ms = 0;   // of frames before the last snapshot; 0 = for ever
  int64_t sweep_every_ms = 10'000;
  int64_t verify_every_ms = 0;                // a sample of one world each time; 0 = never
  FillRandom fill_random = fill_from_system;  // entropy of frames, keys of worlds
  std::vector<Suspect> crashed = {};          // worlds that the crash book blames
};

struct LeaseOrder {
  std::string adapter;
  std::vector<std::string> kinds;
  size_t limit = 10;
  int64_t lease_ms = 30'000;
  int64_t wait_ms = 0;
};
// What worlds do and hold, for /metrics.
struct WorldHostStats {
  uint64_t worlds = 0, quarantined = 0;
  uint64_t orders_waiting = 0, batches = 0;
  uint64_t effects_queued = 0, effects_at_work = 0;
  WorldCounts counts;  // since the host began, of what is durable
};
// The intents that were leased; empty when the wait is over. Any thread.
using Leased = std::function<void(Result<std::vector<std::string>>, int64_t until_ms)>;
// Whether the client still waits for the answer. Called on any thread, must not wait; null =
// always.
using IsWanted = std::function<bool()>;

// Performs the server's own effects (worldhost/own_adapter.h). Neither call waits; receipts come as
// orders.
class OwnEffects {
 public:
  virtual ~OwnEffects() = default;
  virtual void perform(const std::string& world, const OpenIntent& intent) = 0;
  // Settles effects that need nothing outside the world, in the batch that asked for them: those of
  // WorldSession::opened() from there on. On the worker that has the world.
  virtual void settle_within(WorldSession& session, size_t opened_before) = 0;
  // Timers of this world are due; timers_fired() tells when that is done.
  virtual void fire_timers(const std::string& world) = 0;
};

class WorldHost {
 public:
  WorldHost(const WorldHostConfig& config, EngineLine& line, Clock& clock,
            worlds::ModuleHost& modules);
  ~WorldHost();
  WorldHost(const WorldHost&) = delete;
  WorldHost& operator=(const WorldHost&) = delete;

  // Reads the open intents of all worlds, so that timers fire and effects go on. `own` outlives
  // stop().
  void attach(OwnEffects& own);
  uint16_t partition() const { return config_.partition; }
  // Afterwards nothing is decided or performed; orders that wait are refused.
  void stop();

  // Overloaded (RateLimited) if too many wait: then done is not called.
  Status post(const std::string& world, WorldOrder order);
  // Beyond waiters_max, and after end_waits(), the call does not wait: its answer comes at once.
  void lease(const std::string& world, const LeaseOrder& order, Leased leased,
             IsWanted is_wanted = nullptr);
  // A client has disconnected: drops the lease calls of this world that are not wanted any more.
  void drop_unwanted(const std::string& world);
  // The answer with these leases did not reach its client: they can be leased again after a short
  // pause.
  void hand_back(const std::string& world, const std::vector<std::string>& intents);
  // The server is about to stop: answers every lease call that waits.
  void end_waits();

  // --- what only the host knows of a world. Any thread.
  worlds::IntentWork work_of(const std::string& world, const std::string& intent);
  uint64_t queued(const std::string& world);
  // The same of the open intents that a session sees, which may not be durable yet.
  uint64_t queued(WorldSession& session);
  bool knows_adapter(const std::string& world, const std::string& adapter);
  // The work of one effect is over without a receipt: it is queued again.
  void give_up(const std::string& world, const std::string& intent);
  void timers_fired(const std::string& world);
  // Due by then, by deadline and hash.
  std::vector<std::string> due_timers(const std::string& world, int64_t now_ns, size_t at_most);
  // Calls it after a short pause, unless the host stops before.
  void later(std::function<void()> call);

  WorldHostStats stats();  // any thread

  worlds::ModuleHost& modules() { return modules_; }
  Clock& clock() { return clock_; }
  EngineLine& line() { return line_; }

  // --- by hand, without threads
  bool run_one();                 // one batch of one world; false: no world has work
  size_t cached_bytes();          // of items, in the caches of all worlds
  size_t names_held();            // worlds that something is known of, and names that are at work
  void fire_due(int64_t now_ms);  // timers, leases that ran out, waits that are over, retention
  int64_t next_due_ms();          // 0 = never
  int64_t next_work_ms();         // the same without retention, which never ends

 private:
  static constexpr int64_t kVerifyMs = 200;  // of real time that a sample takes at most
  static constexpr int64_t kPauseMs = 200;   // after a refusal, until it is tried again

  struct Waiter {
    LeaseOrder order;
    int64_t until_ms = 0;
    Leased leased;
    IsWanted is_wanted;
  };
  struct Actor {
    explicit Actor(std::string world, size_t cache_bytes_max)
        : name(std::move(world)), memory(cache_bytes_max) {}
    const std::string name;
    WorldMemory memory;                      // of the worker that has the world
    std::deque<WorldOrder> orders;           // guarded by mutex_, as the rest
    size_t cached_bytes = 0;                 // in its cache, when its last batch was decided
    std::list<Actor*>::iterator place = {};  // in by_use_; valid if cached_bytes != 0
    bool busy = false;                       // a batch is at work, or its commit is not decided
    size_t batches = 0;                      // that are not over
    bool listed = false;                     // in ready_
    bool stale = false;                      // its memory is to be dropped before the next batch
    bool exists = false;  // there is such a world, by the last batch that is durable
    bool quarantined = false;
    Outbox outbox;
    std::list<Waiter> waiters;
    bool known = false;     // open intents and adapters are the state's: they can be worked on
    bool firing = false;    // its timers are being fired
    bool is_test = false;   // its timers fire by its own clock, not by this one
    int64_t reopen_ms = 0;  // then its open intents are read again; 0 = they are known
    int64_t due_ms = 0;     // its place in dues_; 0 = it has none
  };
  using ActorPtr = std::shared_ptr<Actor>;
  // Worlds that are due at the same time are served by name: an order of addresses would be another
  // in every process, and a simulated one would not tell the same story twice.
  using Due = std::pair<int64_t, ActorPtr>;
  struct DueFirst {
    bool operator()(const Due& a, const Due& b) const {
      return std::tie(a.first, a.second->name) < std::tie(b.first, b.second->name);
    }
  };
  struct Batch;

  using Answers = std::vector<std::function<void()>>;

  static Error stopping();

  // --- under mutex_
  ActorPtr actor(const std::string& world);
  void make_ready(const ActorPtr& actor);
  void reschedule(const ActorPtr& actor);
  void take_outbox(Actor& actor, OutboxChanges changes);
  void serve_outbox(const ActorPtr& actor, int64_t now_ms, Answers& answers);
  void serve_waiters(Actor& actor, int64_t now_ms, Answers& answers);
  void begin_own(Actor& actor, Answers& answers);
  void forget_world(Actor& actor, Answers& answers);
  void fire(const ActorPtr& actor, int64_t now_ms, Answers& answers);
  void end_part(const ActorPtr& actor, Batch& batch);
  void forget_if_idle(const ActorPtr& actor);

  void serve();
  void keep_time();
  std::vector<WorldOrder> take_orders(Actor& actor);  // under mutex_
  int64_t first_work_ms() const;                      // under mutex_
  int64_t first_due_ms() const;                       // under mutex_
  void run_batch(const ActorPtr& actor, std::vector<WorldOrder> orders);
  void bound_caches(Actor& used);
  void note_cached(Actor& actor);  // under mutex_
  Status decide_orders(const ActorPtr& actor, Batch& batch, WorldWrites& writes);
  void decided(const ActorPtr& actor, Batch& batch, bool stale);
  void over(const ActorPtr& actor, Batch& batch, CommitFate fate, const Error& error);
  void open_worlds();
  void open_world(const std::string& name);
  void sweep(const std::string& name);
  void verify(const std::string& name);

  const WorldHostConfig config_;
  const CrashedWorlds crashed_;
  EngineLine& line_;
  Clock& clock_;
  worlds::ModuleHost& modules_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable time_;
  std::condition_variable idle_;
  std::map<std::string, ActorPtr, std::less<>> actors_;
  std::deque<ActorPtr> ready_;
  std::list<Actor*> by_use_;  // those with a cache, last used first
  size_t cached_bytes_ = 0;   // of these
  size_t waiting_ = 0;        // orders
  size_t waiters_ = 0;        // lease calls
  size_t running_ = 0;        // batches whose commit is not over
  uint64_t batches_ = 0;
  WorldCounts counts_;
  OwnEffects* own_ = nullptr;
  std::set<Due, DueFirst> dues_;
  bool stopped_ = false;
  bool waits_ended_ = false;
  std::vector<std::function<void()>> later_;
  int64_t later_ms_ = 0;  // when these are called; 0 = there are none
  int64_t next_sweep_ms_ = 0;
  int64_t next_verify_ms_ = INT64_MAX;
  std::string verified_last_;  // the world whose turn it was
  std::vector<std::thread> threads_;
  std::thread time_thread_;
};

}  // namespace pawl
