// WebhookDispatcher: follows the journal and creates one delivery job for every event and every
// matching subscription.
//
// Exactly once: the jobs of some events and the cursor after those events become durable in one
// frame, and only if the cursor has not moved since the dispatcher read it. So a crash leaves both
// undone or both done.
//
// Without subscriptions it sleeps and does not listen to the engine. When more than backlog_max
// deliveries wait, it pauses; events that are trimmed from the journal before it reads them are
// lost, which is logged.
//
// Threads: its own thread; the constructor, ring() and stop() from any. Stop it before the
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
  uint64_t cursor_lag_records_max = 5'000;  // records read again after a restart, at most
};

class WebhookDispatcher {
 public:
  WebhookDispatcher(EngineLoop& engine, Store& store, const DispatcherConfig& config = {});
  WebhookDispatcher& operator=(WebhookDispatcher&&) = delete;
  ~WebhookDispatcher();

  // The subscriptions are about to change. Called while the change is being decided, and therefore
  // before any later event can be read.
  void ring();
  void stop();

 private:
  struct Wish {
    std::string webhook;
    int64_t since_ms;  // older events are not wanted
    EventFilter filter;
  };
  struct Delivery {
    std::string webhook;
    std::string_view event_type;
    std::string event;  // JSON
  };
  struct Portion {
    EventPosition from;
    EventPosition to;
    std::vector<Delivery> deliveries;
  };
  enum class Outcome { Done, Moved, Full, Refused };
  class PortionTask;

  void run();
  bool load();
  bool follow();
  bool must_reload();
  Result<Portion> next_portion(bool& more);
  void collect(const EventPage& page, Portion& portion) const;
  Outcome submit(const Portion& portion);
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

  std::vector<Wish> wishes_;             // used by the thread only, as all below
  std::optional<EventPosition> cursor_;  // durable
  EventPosition position_;               // read up to here; at or after the cursor
  uint64_t listener_ = 0;
  std::thread thread_;
};

}  // namespace pawl
