#include "front/stream_merge.h"

#include <algorithm>
#include <utility>

#include "api/event_stream.h"

namespace pawl::front {
namespace {

constexpr std::chrono::milliseconds kAskPartAgain{100};
constexpr std::chrono::milliseconds kLookForRoom{10};
constexpr std::chrono::milliseconds kKeepAlive{15'000};
constexpr size_t kWrittenAtOnce = 64u << 10;
constexpr std::string_view kFrameEnd = "\n\n";
constexpr std::string_view kIdMark = "id: ";
constexpr std::string_view kGapMark = ": events after ";

}  // namespace

// What a partition's stream is written to.
class StreamMerge::PartSink final : public http::AnswerSink {
 public:
  PartSink(std::shared_ptr<StreamMerge> to, uint16_t partition, uint64_t turn)
      : to_(std::move(to)), partition_(partition), turn_(turn) {}
  ~PartSink() override { to_->part_ended(partition_, turn_); }

  void answer(http::Response&& response) override {
    to_->part_refused(partition_, turn_, std::move(response));
  }
  void begin_stream(http::Response&& head) override {
    to_->part_begun(partition_, turn_, std::move(head));
  }
  bool write(std::string_view chunk) override { return to_->part_wrote(partition_, turn_, chunk); }
  void end_stream() override { to_->part_ended(partition_, turn_); }
  size_t unsent() const override { return to_->unsent_of(partition_, turn_); }
  bool disconnected() const override { return to_->is_over(); }
  void on_disconnect(std::function<void()> callback) override {
    to_->watch(partition_, turn_, std::move(callback));
  }

 private:
  const std::shared_ptr<StreamMerge> to_;
  const uint16_t partition_;
  const uint64_t turn_;
};

StreamMerge::StreamMerge(Alarm& alarm, std::shared_ptr<http::AnswerSink> client,
                         uint16_t partitions, const std::optional<EventCursor>& after, AskPart ask,
                         std::function<bool()> goes_on)
    : alarm_(alarm),
      client_(std::move(client)),
      ask_(std::move(ask)),
      goes_on_(std::move(goes_on)),
      parts_(partitions) {
  sent_.positions.resize(partitions);
  if (!after) return;
  sent_ = *after;
  for (uint16_t k = 0; k < partitions; ++k) parts_[k].heard = after->positions[k];
}

void StreamMerge::start() {
  client_->on_disconnect([weak = weak_from_this()] {
    if (auto alive = weak.lock()) alive->end(false);
  });
  for (uint16_t k = 0; k < parts_.size(); ++k) ask(k);
}

void StreamMerge::stop() { end(true); }

void StreamMerge::end(bool answer_with_end) {
  Rest rest;
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    rest = finish();
    if (begun_) {
      client_->end_stream();
    } else if (answer_with_end) {
      client_->answer(api::error_response(api::Surface::V1,
                                          {ErrorCode::Unavailable, "the server is stopping"}, ""));
    }
  }
  for (const auto& call : rest) call();
}

StreamMerge::Rest StreamMerge::finish() {
  over_ = true;
  Rest rest;
  for (OnePart& part : parts_) {
    if (part.on_disconnect) rest.push_back(std::exchange(part.on_disconnect, nullptr));
    part.waiting.clear();
  }
  return rest;
}

// --- the parts

void StreamMerge::ask(uint16_t k) {
  std::optional<EventPosition> after;
  uint64_t turn = 0;
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    OnePart& part = parts_[k];
    part.asked_again = false;
    part.begun = false;
    part.begun_event.clear();
    part.looked_through = 0;
    part.on_disconnect = nullptr;
    turn = ++part.turn;
    after = part.heard;
  }
  ask_(k, after, std::make_shared<PartSink>(shared_from_this(), k, turn));
}

void StreamMerge::part_begun(uint16_t k, uint64_t turn, http::Response&& head) {
  std::lock_guard lock(mutex_);
  if (!is_current(k, turn)) return;
  // The same answer twice: what had begun is not to be begun again from where it was asked for.
  if (parts_[k].begun) return ask_again_later(k);
  parts_[k].begun = true;
  hear(k, head.body);
  begin_if_all_have();
  pump();
}

void StreamMerge::part_refused(uint16_t k, uint64_t turn, http::Response&& refusal) {
  Rest rest;
  {
    std::lock_guard lock(mutex_);
    if (!is_current(k, turn)) return;
    const bool for_good = refusal.status >= 400 && refusal.status < 500 && refusal.status != 429;
    if (begun_ && !for_good) return ask_again_later(k);
    rest = finish();
    if (begun_) {
      // Its client asks anew, and is told.
      client_->end_stream();
    } else {
      client_->answer(std::move(refusal));
    }
  }
  for (const auto& call : rest) call();
}

bool StreamMerge::part_wrote(uint16_t k, uint64_t turn, std::string_view chunk) {
  std::lock_guard lock(mutex_);
  if (!is_current(k, turn)) return false;
  hear(k, chunk);
  pump();
  return !over_ && !gone_;
}

void StreamMerge::part_ended(uint16_t k, uint64_t turn) {
  std::unique_lock lock(mutex_);
  if (!is_current(k, turn) || parts_[k].asked_again) return;
  if (goes_on_()) return ask_again_later(k);
  lock.unlock();
  end(true);
}

void StreamMerge::ask_again_later(uint16_t k) {
  OnePart& part = parts_[k];
  ++part.turn;
  part.asked_again = true;
  part.on_disconnect = nullptr;
  alarm_.in(kAskPartAgain, [alive = shared_from_this(), k] { alive->ask(k); });
}

size_t StreamMerge::unsent_of(uint16_t k, uint64_t turn) const {
  std::lock_guard lock(mutex_);
  return is_current(k, turn) ? parts_[k].waiting_bytes : 0;
}

bool StreamMerge::is_over() const {
  std::lock_guard lock(mutex_);
  return over_;
}

void StreamMerge::watch(uint16_t k, uint64_t turn, std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (is_current(k, turn)) {
      parts_[k].on_disconnect = std::move(callback);
      return;
    }
  }
  if (callback) callback();
}

// An event that has not arrived whole does not count as waiting: it could never be sent on while
// its own bytes hold its rest back.
void StreamMerge::hear(uint16_t k, std::string_view chunk) {
  OnePart& part = parts_[k];
  part.begun_event += chunk;
  size_t begin = 0;
  while (true) {
    const size_t end = part.begun_event.find(kFrameEnd, std::max(begin, part.looked_through));
    if (end == std::string::npos) break;
    hear_frame(k, std::string_view(part.begun_event).substr(begin, end + 2 - begin));
    begin = end + 2;
    part.looked_through = begin;
  }
  part.begun_event.erase(0, begin);
  part.looked_through = part.begun_event.empty() ? 0 : part.begun_event.size() - 1;
}

void StreamMerge::hear_frame(uint16_t k, std::string_view text) {
  OnePart& part = parts_[k];
  Frame frame;
  if (text.starts_with(kIdMark)) {
    const size_t line = text.find('\n');
    frame.position = EventPosition::parse(text.substr(kIdMark.size(), line - kIdMark.size()));
    frame.text = text.substr(line + 1);
  } else if (text.starts_with(kGapMark)) {
    frame.text = text;
  } else {
    frame.position = api::position_of_comment(text);
    if (!frame.position) return;
  }
  if (frame.position) part.heard = frame.position;
  // A place without an event takes no room.
  if (frame.text.empty() && !part.waiting.empty() && part.waiting.back().text.empty())
    part.waiting.pop_back();
  part.waiting_bytes += frame.text.size();
  part.waiting.push_back(std::move(frame));
}

// --- the client

void StreamMerge::begin_if_all_have() {
  if (begun_ || over_) return;
  if (!std::all_of(parts_.begin(), parts_.end(), [](const OnePart& one) { return one.begun; }))
    return;
  begun_ = true;
  client_->begin_stream(api::stream_head());
  alarm_.in(kKeepAlive, [weak = weak_from_this()] {
    if (auto alive = weak.lock()) alive->keep_alive();
  });
}

void StreamMerge::keep_alive() {
  std::lock_guard lock(mutex_);
  if (over_ || gone_) return;
  if (!std::exchange(wrote_, false) && out_.empty()) (void)client_->write(": keep-alive\n\n");
  alarm_.in(kKeepAlive, [weak = weak_from_this()] {
    if (auto alive = weak.lock()) alive->keep_alive();
  });
}

void StreamMerge::pump() {
  if (!begun_ || over_ || gone_) return;
  while (true) {
    if (out_written_ == out_.size()) {
      out_.clear();
      out_written_ = 0;
      fill();
      if (out_.empty()) return;
    }
    const size_t room = kStreamPieceBytes - std::min(kStreamPieceBytes, client_->unsent());
    if (room == 0) break;
    const std::string_view piece = std::string_view(out_).substr(out_written_, room);
    wrote_ = true;
    if (!client_->write(piece)) {
      // Whoever writes now may hold locks of its own.
      gone_ = true;
      alarm_.in(std::chrono::milliseconds(0), [alive = shared_from_this()] { alive->end(false); });
      return;
    }
    out_written_ += piece.size();
  }
  if (std::exchange(pump_waits_, true)) return;
  alarm_.in(kLookForRoom, [weak = weak_from_this()] {
    auto alive = weak.lock();
    if (!alive) return;
    std::lock_guard lock(alive->mutex_);
    alive->pump_waits_ = false;
    alive->pump();
  });
}

// Takes from the parts in turn what is written next.
void StreamMerge::fill() {
  const auto count = static_cast<uint16_t>(parts_.size());
  uint16_t empty = 0;
  while (empty < count && out_.size() < kWrittenAtOnce) {
    const uint16_t k = next_;
    next_ = static_cast<uint16_t>((next_ + 1) % count);
    OnePart& part = parts_[k];
    if (part.waiting.empty()) {
      ++empty;
      continue;
    }
    empty = 0;
    Frame frame = std::move(part.waiting.front());
    part.waiting.pop_front();
    part.waiting_bytes -= frame.text.size();
    if (frame.position) sent_.positions[k] = *frame.position;
    if (frame.text.empty()) continue;
    if (frame.position) out_.append(kIdMark).append(sent_.text()).append("\n");
    out_ += frame.text;
  }
}

}  // namespace pawl::front
