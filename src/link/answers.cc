#include "link/answers.h"

#include <utility>

namespace pawl::link {
namespace {

constexpr size_t kJoinBytesMax = 16 * 1024;  // a longer body leaves as a chunk of its own

class CallSink : public http::AnswerSink {
 public:
  CallSink(std::shared_ptr<Answers> answers, uint32_t number)
      : answers_(std::move(answers)), number_(number) {}

  void answer(http::Response&& response) override {
    answers_->answer(number_, std::move(response));
  }
  void begin_stream(http::Response&& head) override {
    answers_->begin_stream(number_, std::move(head));
  }
  bool write(std::string_view chunk) override { return answers_->write(number_, chunk); }
  void end_stream() override { answers_->end_stream(number_); }
  size_t unsent() const override { return answers_->unsent(); }
  bool disconnected() const override { return answers_->gone(); }
  void on_disconnect(std::function<void()> callback) override {
    answers_->on_gone(number_, std::move(callback));
  }

 private:
  const std::shared_ptr<Answers> answers_;
  const uint32_t number_;
};

}  // namespace

Answers::Answers(const DoorConfig& config, http::Responder responder, std::string header,
                 size_t calls)
    : header_(std::move(header)),
      stream_bytes_max_(config.stream_bytes_max),
      responder_(std::move(responder)),
      waiting_(calls),
      calls_(calls) {}

std::shared_ptr<http::AnswerSink> Answers::sink(uint32_t number) {
  return std::make_shared<CallSink>(shared_from_this(), number);
}

http::Response Answers::head() const {
  http::Response head;
  head.headers.emplace_back(kLinkHeader, header_);
  head.content_type = "application/octet-stream";
  return head;
}

// What a call's watch owns is destroyed by the caller, outside of the mutex.
bool Answers::end_call(uint32_t number, std::function<void()>& watch) {
  Call& call = calls_[number];
  if (std::exchange(call.over, true)) return false;
  watch = std::exchange(call.watch, nullptr);
  --waiting_;
  return true;
}

void Answers::put(std::string&& head, std::string&& body) {
  if (!streaming_) {
    if (held_.empty()) {
      held_ = std::move(head);
    } else {
      held_.append(head);
    }
    held_.append(body);
  } else if (body.size() <= kJoinBytesMax) {
    stream_.write_answer(std::move(head.append(body)));
  } else {
    stream_.write_answer(std::move(head));
    stream_.write_answer(std::move(body));
  }
}

void Answers::flush() {
  if (handing_over_) return;
  if (waiting_ == 0) {
    if (streaming_) return stream_.close();
    http::Response response = head();
    response.body = std::move(held_);
    return responder_.respond(std::move(response));
  }
  if (streaming_ || held_.empty()) return;
  streaming_ = true;
  stream_ = responder_.stream(head());
  stream_.on_close(tell_gone());
  stream_.write_answer(std::exchange(held_, {}));
}

void Answers::handed_over() {
  const std::lock_guard lock(mutex_);
  handing_over_ = false;
  flush();
}

void Answers::not_mine(uint32_t number) {
  std::function<void()> watch;
  const std::lock_guard lock(mutex_);
  if (!end_call(number, watch)) return;
  put(frame_head(FrameKind::NotMine, number, 0), {});
  flush();
}

void Answers::answer(uint32_t number, http::Response&& response) {
  std::function<void()> watch;
  const std::lock_guard lock(mutex_);
  if (!end_call(number, watch)) return;
  put(frame_head(FrameKind::Answer, number, response), std::move(response.body));
  flush();
}

void Answers::begin_stream(uint32_t number, http::Response&& head) {
  const std::lock_guard lock(mutex_);
  if (calls_[number].over) return;
  put(frame_head(FrameKind::StreamHead, number, head), std::move(head.body));
  flush();
}

bool Answers::write(uint32_t number, std::string_view chunk) {
  if (gone()) return false;
  std::function<void()> watch;
  const std::lock_guard lock(mutex_);
  if (calls_[number].over) return false;
  const size_t waiting = streaming_ ? stream_.unsent() : held_.size();
  if (waiting + chunk.size() > stream_bytes_max_) {
    end_call(number, watch);
    put(frame_head(FrameKind::StreamEnd, number, 0), {});
    flush();
    return false;
  }
  put(frame_head(FrameKind::Chunk, number, chunk.size()), std::string(chunk));
  return true;
}

void Answers::end_stream(uint32_t number) {
  std::function<void()> watch;
  const std::lock_guard lock(mutex_);
  if (!end_call(number, watch)) return;
  put(frame_head(FrameKind::StreamEnd, number, 0), {});
  flush();
}

size_t Answers::unsent() const {
  const std::lock_guard lock(mutex_);
  return streaming_ ? stream_.unsent() : held_.size();
}

// ---- a sender that went away

void Answers::watch() { responder_.on_disconnect(tell_gone()); }

std::function<void()> Answers::tell_gone() {
  return [weak = weak_from_this()] {
    const std::shared_ptr<Answers> answers = weak.lock();
    if (answers == nullptr) return;
    answers->gone_.store(true, std::memory_order_release);
    std::vector<std::function<void()>> watches;
    {
      const std::lock_guard lock(answers->mutex_);
      for (Call& call : answers->calls_) {
        if (call.watch) watches.push_back(std::exchange(call.watch, nullptr));
      }
    }
    for (const auto& watch : watches) watch();
  };
}

void Answers::on_gone(uint32_t number, std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  Call& call = calls_[number];
  if (call.over) return;
  std::swap(call.watch, callback);
  if (!gone()) return;
  // The callback must not run inside of this call: the connection calls it.
  if (streaming_) {
    stream_.on_close(tell_gone());
  } else {
    responder_.on_disconnect(tell_gone());
  }
}

}  // namespace pawl::link
