#include "api/event_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/give_way.h"
#include "base/log.h"

namespace pawl::api {
namespace {

// Pauses and keep-alives use the steady clock, not the engine's clock.
int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The events of a record in each style, rendered once for all streams.
class Renderings {
 public:
  explicit Renderings(const std::vector<OjsEvent>& events) : events_(events) {}

  const std::string& text(void (*render)(std::string&, const OjsEvent&), size_t index) {
    auto style = std::find_if(styles_.begin(), styles_.end(),
                              [&](const auto& known) { return known.first == render; });
    if (style == styles_.end())
      style = styles_.emplace(styles_.end(), render, std::vector<std::string>(events_.size()));
    std::string& text = style->second[index];
    if (text.empty()) render(text, events_[index]);
    return text;
  }

 private:
  const std::vector<OjsEvent>& events_;
  std::vector<std::pair<void (*)(std::string&, const OjsEvent&), std::vector<std::string>>> styles_;
};

}  // namespace

void render_sse(std::string& out, const OjsEvent& event, std::string_view name,
                std::string_view data) {
  out += "id: " + event.position.text() + "\nevent: ";
  out.append(name).append("\ndata: ").append(data).append("\n\n");
}

void render_sse(std::string& out, const OjsEvent& event) {
  std::string data;
  json::Writer w(data);
  render_event(w, event);
  render_sse(out, event, event.type, data);  // control characters are escaped in it
}

constexpr std::string_view kPositionMark = ": at ";

std::string position_comment(const EventPosition& position) {
  return std::string(kPositionMark) + position.text() + "\n\n";
}

std::optional<EventPosition> position_of_comment(std::string_view comment) {
  if (!comment.starts_with(kPositionMark)) return std::nullopt;
  comment.remove_prefix(kPositionMark.size());
  return EventPosition::parse(comment.substr(0, comment.find('\n')));
}

http::Response stream_head() {
  http::Response head;
  head.content_type = "text/event-stream";
  head.headers = {
      {"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}, {"OJS-Version", "1.0"}};
  head.body = ": pawl events\n\n";
  return head;
}

EventHub::EventHub(EngineLoop& engine, Store& store, const EventHubConfig& config)
    : engine_(engine), store_(store), config_(config), thread_([this] { run(); }) {}

EventHub::~EventHub() { stop(); }

Status EventHub::add(http::Responder& responder, EventFilter filter, EventPosition after,
                     StreamStyle style) {
  std::unique_lock lock(mutex_);
  if (stopping_) return Error{ErrorCode::Unavailable, "the server is stopping"};
  if (count_ >= config_.streams_max)
    return Error{ErrorCode::Overloaded, "too many event streams are open"};
  http::Response head = stream_head();
  head.body += style.first;
  Subscriber& made = arriving_.emplace_back();
  made.stream = responder.stream(std::move(head));
  made.filter = std::move(filter);
  made.style = std::move(style);
  made.after = after;
  ++count_;
  lock.unlock();
  wakes_.notify_one();
  return ok_status();
}

void EventHub::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

size_t EventHub::streams() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void EventHub::run() {
  give_way();  // a flood of events to many streams must not delay a push
  int64_t wait_ms = config_.keep_alive_ms;
  while (true) {
    std::vector<LiveRecord> records;
    {
      std::unique_lock lock(mutex_);
      wait_for_work(lock, wait_ms);
      if (stopping_) break;
      for (Subscriber& arrived : arriving_) subscribers_.push_back(std::move(arrived));
      arriving_.clear();
      records.swap(live_);
      live_bytes_ = 0;
    }
    for (const LiveRecord& record : records) deliver(record);
    int64_t now_ms = steady_ms();
    for (Subscriber& subscriber : subscribers_) {
      if (!subscriber.live) replay(subscriber, now_ms);
      keep_alive(subscriber, now_ms);
    }
    drop_ended();
    wait_ms = rest_ms(steady_ms());
  }
  // Never under our lock: the engine calls the listener under its own lock.
  if (listener_ != 0) engine_.unlisten(listener_);
  std::lock_guard lock(mutex_);
  subscribers_.clear();
  arriving_.clear();
  count_ = 0;
}

// Also starts listening when the first stream arrives and stops when the last one ends.
void EventHub::wait_for_work(std::unique_lock<std::mutex>& lock, int64_t wait_ms) {
  auto ready = [&] { return stopping_ || !arriving_.empty() || !live_.empty(); };
  if (count_ == 0 && listener_ != 0) {
    uint64_t listener = std::exchange(listener_, 0);
    lock.unlock();
    engine_.unlisten(listener);
    lock.lock();
  }
  if (count_ == 0) {
    wakes_.wait(lock, ready);
  } else {
    wakes_.wait_for(lock, std::chrono::milliseconds(wait_ms), ready);
  }
  if (stopping_ || listener_ != 0) return;
  lock.unlock();
  uint64_t listener = engine_.listen([this](uint64_t number, const auto& record) {
    std::lock_guard guard(mutex_);
    live_bytes_ += record->size();
    if (live_bytes_ > config_.live_bytes_max) {
      live_.clear();  // the streams notice the gap and read it from the store
      live_bytes_ = record->size();
    }
    live_.push_back({number, record});
    wakes_.notify_one();
  });
  lock.lock();
  listener_ = listener;
}

int64_t EventHub::rest_ms(int64_t now_ms) const {
  int64_t wait_ms = config_.keep_alive_ms;
  for (const Subscriber& subscriber : subscribers_) {
    int64_t due = subscriber.last_write_ms + config_.keep_alive_ms;
    if (!subscriber.live) due = std::min(due, subscriber.next_replay_ms);
    wait_ms = std::min(wait_ms, std::max<int64_t>(0, due - now_ms));
  }
  return wait_ms;
}

// A live stream expects the next record. If this is a later one, records were dropped.
void EventHub::deliver(const LiveRecord& record) {
  auto events = journal::read_record(record.number, *record.bytes);
  std::vector<OjsEvent> told;
  if (events.ok())
    for (const journal::EventBytes& event : *events) project(event, told);
  Renderings renderings(told);
  int64_t now_ms = steady_ms();
  EventPosition end{journal::sequence(record.number + 1, 0) - 1, EventPosition::kAllParts};
  for (Subscriber& subscriber : subscribers_) {
    if (!subscriber.live || subscriber.after >= end) continue;
    // A stream without room for all of it reads the rest from the store, and so does one that
    // missed a record.
    subscriber.live = journal::sequence(record.number, 0) <= subscriber.after.sequence + 1 &&
                      tell(
                          subscriber, told,
                          [&](size_t i) -> const std::string& {
                            return renderings.text(subscriber.style.render, i);
                          },
                          now_ms);
    if (subscriber.live) subscriber.after = end;
  }
}

void EventHub::replay(Subscriber& subscriber, int64_t now_ms) {
  if (subscriber.over || now_ms < subscriber.next_replay_ms) return;
  subscriber.next_replay_ms = now_ms + config_.pause_ms;
  if (room_of(subscriber) < config_.piece_bytes / 2) return;
  if (subscriber.large && subscriber.large->position == large_.position &&
      subscriber.style.render == large_.render) {
    (void)tell(
        subscriber, {}, [&](size_t) -> const std::string& { return large_.text; }, now_ms);
    return;
  }
  ReadBudget budget;
  budget.found_bytes_max = config_.piece_bytes / 2;
  budget.events_max = std::max<size_t>(1, config_.piece_bytes / 512);
  auto page = read_events(store_, subscriber.after, subscriber.filter, budget);
  if (!page.ok()) {
    log::error("an event stream ended: the journal cannot be read",
               {{"error", page.error().message}});
    subscriber.over = true;
    return;
  }
  if (page->gap) {
    std::string note = ": events after " + subscriber.after.text() + " are no longer kept\n\n";
    write(subscriber, note, subscriber.large.has_value(), now_ms);  // half an event does not count
  }
  Renderings renderings(page->events);
  bool all = tell(
      subscriber, page->events,
      [&](size_t i) -> const std::string& { return renderings.text(subscriber.style.render, i); },
      now_ms);
  if (!all) return;
  subscriber.after = page->next;
  // Caught up: later records arrive through the listener, which was registered before.
  subscriber.live = !page->more;
}

size_t EventHub::room_of(const Subscriber& subscriber) const {
  return config_.piece_bytes - std::min(config_.piece_bytes, subscriber.stream.unsent());
}

// Sends a further piece of large_, which this stream has begun. True if it was the last one.
bool EventHub::continue_large(Subscriber& subscriber, size_t room, std::string& out, bool& ended) {
  LargeEvent& large = *subscriber.large;
  std::string_view piece = std::string_view(large_.text).substr(large.sent, room);
  out += piece;
  large.sent += piece.size();
  if (large.sent < large_.text.size()) return false;
  subscriber.after = large.position;
  ended = large.is_last;
  subscriber.large.reset();
  return true;
}

bool EventHub::tell(Subscriber& subscriber, const std::vector<OjsEvent>& events, TextOf text_of,
                    int64_t now_ms) {
  const size_t room = room_of(subscriber);
  std::string out;
  bool ended = false;
  bool all = true;
  if (events.empty() && subscriber.large) all = continue_large(subscriber, room, out, ended);
  for (size_t i = 0; i < events.size() && all && !ended; ++i) {
    const OjsEvent& event = events[i];
    if (!(event.position > subscriber.after) || !subscriber.filter.wants(event)) continue;
    const std::string& text = text_of(i);
    if (text.size() > config_.piece_bytes) {
      if (large_.position != event.position || large_.render != subscriber.style.render)
        large_ = {event.position, subscriber.style.render, text};
      if (!subscriber.large) subscriber.large = {event.position, 0, subscriber.style.ends(event)};
      all = continue_large(subscriber, room - out.size(), out, ended);
    } else if (out.size() + text.size() > room) {
      all = false;
    } else {
      out += text;
      subscriber.after = event.position;
      ended = subscriber.style.ends(event);
    }
  }
  write(subscriber, out, ended, now_ms);
  return all;
}

void EventHub::write(Subscriber& subscriber, std::string_view text, bool ended, int64_t now_ms) {
  if (subscriber.over) return;
  subscriber.over |= !subscriber.stream.write(text) || ended;
  if (text.empty()) return;
  subscriber.last_write_ms = now_ms;
  given_ += text.size();
  if (given_ < config_.turn_bytes) return;
  given_ = 0;
  std::unique_lock lock(mutex_);
  wakes_.wait_for(lock, std::chrono::milliseconds(config_.pause_ms), [&] { return stopping_; });
}

void EventHub::keep_alive(Subscriber& subscriber, int64_t now_ms) {
  if (subscriber.last_write_ms == 0) subscriber.last_write_ms = now_ms;
  if (subscriber.over || now_ms - subscriber.last_write_ms < config_.keep_alive_ms) return;
  subscriber.last_write_ms = now_ms;
  if (subscriber.large) return;  // a comment would be in the middle of its text
  const bool tells = subscriber.style.tells_position;
  subscriber.over |=
      !subscriber.stream.write(tells ? position_comment(subscriber.after) : ": keep-alive\n\n");
}

void EventHub::drop_ended() {
  size_t before = subscribers_.size();
  subscribers_.remove_if(
      [](Subscriber& subscriber) { return subscriber.over || !subscriber.stream.write(""); });
  std::lock_guard lock(mutex_);
  count_ -= before - subscribers_.size();
}

}  // namespace pawl::api
