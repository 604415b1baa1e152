// JournalFollower: hands on what happens to runs of definitions, in order and without a gap, on a
// thread of its own.
//
// It reads the journal behind the engine and keeps nothing but its position, so a slow taker costs
// no memory and holds nobody up.
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
  // `gap`: what stood before these events is no longer kept. `next`: where to go on after them.
  struct Page {
    std::vector<OjsEvent> events;
    bool gap = false;
    EventPosition next;
  };
  using Take = std::function<void(const Page&)>;

  JournalFollower(EngineLoop& engine, Store& store, const EventPosition& after, Take take);
  ~JournalFollower();
  JournalFollower(const JournalFollower&) = delete;
  JournalFollower& operator=(const JournalFollower&) = delete;

  // Hands on what is durable by now, and ends.
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
