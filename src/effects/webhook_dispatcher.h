// WebhookDispatcher: follows the journal and makes one delivery job for every event and every
// subscription that wants it.
//
// Exactly once: the jobs of some events and the cursor behind those events become durable in one
// frame, and only if the cursor still stands where the dispatcher read from. A crash before leaves
// both undone, a crash after leaves both done.
//
// Without subscriptions it sleeps and nobody listens to the engine. When deliveries pile up past
// backlog_max it waits; events it has not reached by the time the journal is trimmed are lost, and
// it says so in the log.
//
// Threads: a thread of its own; the constructor, ring() and stop() from any. Stop it before the
// engine.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "effects/event_reader.h"
#include "effects/webhook.h"
#include "engine/engine.h"

namespace pawl {

struct DispatcherConfig {
  uint64_t backlog_max = 100'000;  // deliveries waiting
  size_t deliveries_per_frame_max = 1'000;
  uint64_t cursor_lag_records_max = 5'000;  // read again after a restart, at most
};

class WebhookDispatcher {
 public:
  WebhookDispatcher(EngineLoop& engine, Store& store, const DispatcherConfig& config = {});
  WebhookDispatcher(const WebhookDispatcher&) = delete;
  WebhookDispatcher& operator=(const WebhookDispatcher&) = delete;
  ~WebhookDispatcher();

  // The subscriptions are about to change. Called while the change is being decided, hence before
  // any later event can be read.
  void ring();
  void stop();

 private:
  struct Wish {
    std::string webhook;
    int64_t since_ms;  // older events were not asked for
    EventFilter filter;
  };
  struct Delivery {
    std::string webhook;
    std::string_view event_type;
    std::string event;  // JSON
  };
  struct Step {
    EventPosition from;
    EventPosition to;
    std::vector<Delivery> deliveries;
  };
  enum class Outcome { Done, Moved, Full, Refused };
  class LoadTask;
  class StepTask;

  void run();
  bool load();
  bool follow();
  bool must_reload();
  Result<Step> next_step(bool& more);
  void collect(const EventPage& page, Step& step) const;
  Outcome submit(const Step& step);
  void listen_if_wanted();
  bool wait(int64_t wait_ms);

  EngineLoop& engine_;
  Store& store_;
  DispatcherConfig config_;

  std::mutex mutex_;
  std::condition_variable wakes_;
  bool stopping_ = false;  // guarded by mutex_
  bool reload_ = true;     // guarded by mutex_
  bool news_ = false;      // guarded by mutex_: a record became durable

  std::vector<Wish> wishes_;             // the thread's own, as all below
  std::optional<EventPosition> cursor_;  // durable
  EventPosition position_;               // read up to here; at or behind the cursor
  uint64_t listener_ = 0;
  std::thread thread_;
};

}  // namespace pawl
