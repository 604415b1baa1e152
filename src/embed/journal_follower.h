// JournalFollower: passes on events of runs of definitions, in order and without a gap, on its own
// thread.
//
// It reads the journal behind the engine and keeps nothing but its position, so a slow consumer
// costs no memory and delays nothing.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "effects/event_reader.h"
#include "engine/engine.h"

namespace pawl::embed {

class JournalFollower {
 public:
  // `gap`: events before these are no longer kept. `next`: the position after them.
  struct Page {
    std::vector<OjsEvent> events;
    bool gap = false;
    EventPosition next;
  };
  using Take = std::function<void(const Page&)>;

  JournalFollower(EngineLoop& engine, Store& store, const EventPosition& after, Take take);
  ~JournalFollower();
  JournalFollower& operator=(JournalFollower&&) = delete;

  // Passes on all durable events, and ends.
  void finish();

 private:
  void run();
  void read_to_end();

  EngineLoop& engine_;
  Store& store_;
  Take take_;
  EventPosition position_;  // of the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = true;        // guarded by mutex_
  bool finishing_ = false;  // guarded by mutex_
  uint64_t listener_ = 0;
  std::thread thread_;
};

}  // namespace pawl::embed
