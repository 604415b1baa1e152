// EventHub: server-sent events. Every stream follows the journal from its own position, so it
// misses nothing and repeats nothing, at any speed.
//
// One thread serves all streams. A stream that is behind is fed from the store, a piece at a time;
// one that has caught up gets each record as it becomes durable, decoded once for all. The hub
// listens to the engine only while there are streams. Waiting records are bounded: past the bound
// they are dropped and the streams fall back to the store.
//
// A stream gets at most one piece beyond the bytes its client has read, so a slow client only falls
// behind; a larger event is sent in several pieces. A client that does not read at all is cut by
// the HTTP layer and resumes with Last-Event-ID. After turn_bytes for all streams together there is
// a pause, so that the I/O threads can serve other clients.
//
// Threads: add() from any; stop() once, before the HTTP server drains.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "effects/event_reader.h"
#include "engine/engine.h"
#include "http/responder.h"

namespace pawl::api {

struct EventHubConfig {
  int64_t keep_alive_ms = 15'000;
  size_t streams_max = 1'000;
  size_t live_bytes_max = 64u << 20;
  size_t piece_bytes = 256u << 10;  // well below ServerConfig::stream_buffer_bytes_max
  size_t turn_bytes = 1u << 20;
  int64_t pause_ms = 10;
};

// How a stream renders events, and when it ends.
struct StreamStyle {
  void (*render)(std::string& out, const OjsEvent& event);
  bool (*ends_with)(const OjsEvent& event) = nullptr;  // null: it never ends
  std::string first = {};                              // sent before all events
  bool tells_position = false;  // in place of keep-alives, as position_comment() says it

  bool ends(const OjsEvent& event) const { return ends_with != nullptr && ends_with(event); }
};

// "id: …", "event: …" and "data: …", which is the event as lists show it.
void render_sse(std::string& out, const OjsEvent& event);
// The same with data given by the caller: JSON on one line.
void render_sse(std::string& out, const OjsEvent& event, std::string_view name,
                std::string_view data);
// A comment in a stream: all events up to this position were sent.
std::string position_comment(const EventPosition& position);
// The position that such a comment names; nothing if it is another text.
std::optional<EventPosition> position_of_comment(std::string_view comment);
// Head of the answer that a stream begins with.
http::Response stream_head();

class EventHub {
 public:
  EventHub(EngineLoop& engine, Store& store, const EventHubConfig& config = {});
  EventHub& operator=(EventHub&&) = delete;
  ~EventHub();

  // Starts the answer and sends the events after `after` that match the filter. Overloaded when
  // there are too many streams, Unavailable after stop(): then the responder was not used.
  Status add(http::Responder& responder, EventFilter filter, EventPosition after,
             StreamStyle style = {render_sse});

  // Ends every stream and the thread.
  void stop();

  size_t streams() const;

 private:
  // An event that is sent in pieces.
  struct LargeEvent {
    EventPosition position;
    size_t sent = 0;
    bool is_last = false;  // the stream ends with it
  };
  struct Subscriber {
    http::Stream stream;
    EventFilter filter;
    StreamStyle style{};
    EventPosition after;
    std::optional<LargeEvent> large;  // the event after `after`
    bool live = false;
    bool over = false;
    int64_t next_replay_ms = 0;
    int64_t last_write_ms = 0;
  };
  struct LiveRecord {
    uint64_t number;
    std::shared_ptr<const std::string> bytes;
  };
  // The large event that was rendered last: the other streams will need it, too.
  struct LargeText {
    EventPosition position;
    void (*render)(std::string& out, const OjsEvent& event) = nullptr;
    std::string text;
  };

  void run();
  void wait_for_work(std::unique_lock<std::mutex>& lock, int64_t wait_ms);
  void deliver(const LiveRecord& record);
  void replay(Subscriber& subscriber, int64_t now_ms);
  // Sends as many events as the stream has room for. True if that was everything.
  using TextOf = FunctionRef<const std::string&(size_t index)>;
  bool tell(Subscriber& subscriber, const std::vector<OjsEvent>& events, TextOf text_of,
            int64_t now_ms);
  size_t room_of(const Subscriber& subscriber) const;
  bool continue_large(Subscriber& subscriber, size_t room, std::string& out, bool& ended);
  void keep_alive(Subscriber& subscriber, int64_t now_ms);
  int64_t rest_ms(int64_t now_ms) const;
  void drop_ended();
  void write(Subscriber& subscriber, std::string_view text, bool ended, int64_t now_ms);

  EngineLoop& engine_;
  Store& store_;
  EventHubConfig config_;

  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  std::vector<Subscriber> arriving_;  // guarded by mutex_
  std::vector<LiveRecord> live_;      // guarded by mutex_
  size_t live_bytes_ = 0;             // guarded by mutex_
  size_t count_ = 0;                  // guarded by mutex_: arriving and served
  bool stopping_ = false;             // guarded by mutex_

  std::list<Subscriber> subscribers_;  // used by the thread only
  uint64_t listener_ = 0;              // used by the thread only; 0 = not listening
  LargeText large_;                    // used by the thread only
  size_t given_ = 0;                   // used by the thread only: bytes since the last pause
  std::thread thread_;
};

}  // namespace pawl::api
