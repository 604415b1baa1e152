// EventHub: server-sent events. Every stream follows the journal from its own place, so it misses
// nothing and sees nothing twice, whatever the speed of either side.
//
// One thread serves all streams. A stream that is behind is fed from the store, a bounded piece at
// a time; one that has caught up gets each record as it becomes durable, decoded once for all. The
// engine is listened to only while somebody streams. Records that wait here are bounded: past the
// bound they are dropped and the streams fall back to the store.
//
// A client that reads too slowly is cut by the HTTP layer and resumes with Last-Event-ID.
//
// Threads: add() from any; stop() once, before the HTTP server drains.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "api/event_reader.h"
#include "engine/engine.h"
#include "http/responder.h"

namespace pawl::api {

struct EventHubConfig {
  int64_t keep_alive_ms = 15'000;
  size_t streams_max = 1'000;
  size_t live_bytes_max = 64u << 20;
  // A piece of replay and the pause behind it keep a fast replay from overflowing the stream.
  size_t replay_bytes = 128u << 10;
  int64_t replay_pause_ms = 10;
};

// How a stream tells events, and when it is over.
struct StreamStyle {
  void (*render)(std::string& out, const OjsEvent& event);
  bool (*ends_with)(const OjsEvent& event) = nullptr;  // null: it goes on for ever
  std::string first = {};                              // sent before all events

  bool ends(const OjsEvent& event) const { return ends_with != nullptr && ends_with(event); }
};

// "id: …", "event: …" and "data: …", which is the event as lists show it.
void render_sse(std::string& out, const OjsEvent& event);
// The same with the data in the caller's words: JSON on one line.
void render_sse(std::string& out, const OjsEvent& event, std::string_view name,
                std::string_view data);
// Head of the answer that a stream begins with.
http::Response stream_head();

class EventHub {
 public:
  EventHub(Engine& engine, Store& store, const EventHubConfig& config = {});
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;
  ~EventHub();

  // Starts the answer and feeds it with what the filter wants behind `after`. Overloaded when there
  // are too many streams, Unavailable after stop(): then the responder was not used.
  Status add(http::Responder& responder, EventFilter filter, EventPosition after,
             StreamStyle style = {render_sse});

  // Ends every stream and the thread.
  void stop();

  size_t streams() const;

 private:
  struct Subscriber {
    http::Stream stream;
    EventFilter filter;
    StreamStyle style{};
    EventPosition after;
    bool live = false;
    bool over = false;
    int64_t next_replay_ms = 0;
    int64_t last_write_ms = 0;
  };
  struct LiveRecord {
    uint64_t number;
    std::shared_ptr<const std::string> bytes;
  };

  void run();
  void wait_for_work(std::unique_lock<std::mutex>& lock, int64_t wait_ms);
  void deliver(const LiveRecord& record);
  void replay(Subscriber& subscriber, int64_t now_ms);
  void keep_alive(Subscriber& subscriber, int64_t now_ms);
  int64_t rest_ms(int64_t now_ms) const;
  void drop_ended();
  static void write(Subscriber& subscriber, std::string_view text, bool ended, int64_t now_ms);

  Engine& engine_;
  Store& store_;
  EventHubConfig config_;

  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  std::vector<Subscriber> arriving_;  // guarded by mutex_
  std::vector<LiveRecord> live_;      // guarded by mutex_
  size_t live_bytes_ = 0;             // guarded by mutex_
  size_t count_ = 0;                  // guarded by mutex_: arriving and served
  bool stopping_ = false;             // guarded by mutex_

  std::list<Subscriber> subscribers_;  // the thread's own
  uint64_t listener_ = 0;              // the thread's own; 0 = not listening
  std::thread thread_;
};

}  // namespace pawl::api
