#include "http/responder.h"

#include "base/check.h"
#include "http/answer_sink.h"
#include "http/connection.h"
#include "http/mailbox.h"
#include "http/response_writer.h"

namespace pawl::http {
namespace {

void send(std::shared_ptr<Link> link, uint64_t sequence, Message::Content&& content,
          Wakes* wakes = nullptr) {
  Mailbox& mailbox = *link->mailbox;  // the message keeps the link, and so the mailbox
  const std::shared_ptr<Mailbox> kept = link->mailbox;
  mailbox.push(Message{std::move(link), sequence, std::move(content)}, wakes);
}

// On the connection's own I/O thread an answer needs no mailbox. Streams always take it: their
// messages must stay in order even if the Stream changes threads.
void answer(std::shared_ptr<Link> link, uint64_t sequence, Message::Content&& content,
            Wakes* wakes = nullptr) {
  if (!link->mailbox->is_read_here()) {
    send(std::move(link), sequence, std::move(content), wakes);
  } else if (link->connection != nullptr) {
    link->connection->apply(sequence, std::move(content));
  }
}

}  // namespace

Responder::Responder(std::shared_ptr<Link> link, uint64_t sequence)
    : link_(std::move(link)), sequence_(sequence) {}

Responder responder_for(std::shared_ptr<AnswerSink> sink) {
  Responder made;
  made.sink_ = std::move(sink);
  return made;
}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this == &other) return *this;
  leave_unanswered();
  link_ = std::move(other.link_);
  sequence_ = other.sequence_;
  sink_ = std::move(other.sink_);
  return *this;
}

Responder::~Responder() { leave_unanswered(); }

void Responder::leave_unanswered() {
  if (link_) answer(std::move(link_), sequence_, message::Unanswered{});
  if (sink_) std::exchange(sink_, nullptr)->answer(unanswered_response());
}

void Responder::respond(Response&& response, Wakes* wakes) {
  if (sink_) return std::exchange(sink_, nullptr)->answer(std::move(response));
  PAWL_CHECK(link_ != nullptr);
  answer(std::move(link_), sequence_, message::Answer{std::move(response)}, wakes);
  link_.reset();
}

Stream Responder::stream(Response&& head) {
  if (sink_) {
    sink_->begin_stream(std::move(head));
    return Stream(std::exchange(sink_, nullptr));
  }
  PAWL_CHECK(link_ != nullptr);
  auto state = std::make_shared<StreamState>(link_->mailbox->stream_bytes_max());
  std::string first = std::move(head.body);
  head.body.clear();
  send(link_, sequence_, message::StreamStart{std::move(head), state});
  Stream stream(std::move(link_), std::move(state), sequence_);
  link_.reset();
  stream.write(first);
  return stream;
}

bool Responder::disconnected() const {
  if (sink_) return sink_->disconnected();
  return link_ == nullptr || link_->gone.load(std::memory_order_acquire);
}

void Responder::on_disconnect(std::function<void()> callback) {
  if (sink_) return sink_->on_disconnect(std::move(callback));
  PAWL_CHECK(link_ != nullptr);
  // Through the mailbox if the client has already gone: the callback must not run inside this call.
  if (link_->gone.load(std::memory_order_acquire)) {
    send(link_, sequence_, message::Watch{std::move(callback)});
  } else {
    answer(link_, sequence_, message::Watch{std::move(callback)});
  }
}

Stream::Stream(std::shared_ptr<Link> link, std::shared_ptr<StreamState> state, uint64_t sequence)
    : link_(std::move(link)), state_(std::move(state)), sequence_(sequence) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  close();
  link_ = std::move(other.link_);
  state_ = std::move(other.state_);
  sequence_ = other.sequence_;
  sink_ = std::move(other.sink_);
  return *this;
}

Stream::~Stream() { close(); }

bool Stream::open() const {
  if (sink_) return !sink_->disconnected();
  return link_ != nullptr && !state_->closed.load(std::memory_order_acquire) &&
         !link_->gone.load(std::memory_order_acquire);
}

bool Stream::write(std::string_view chunk) {
  if (chunk.empty()) return open();
  if (sink_) return sink_->write(chunk);
  if (!open()) return false;
  const size_t charged = chunk.size() + kChunkFramingBytesMax;
  if (state_->unsent.fetch_add(charged) + charged > state_->bytes_max) {
    state_->closed.store(true);
    send(link_, sequence_, message::StreamOverflow{});
    return false;
  }
  send(link_, sequence_, message::StreamChunk{std::string(chunk), charged});
  return true;
}

bool Stream::write_answer(std::string&& chunk) {
  if (sink_ || chunk.empty()) return write(chunk);
  if (!open()) return false;
  const size_t charged = chunk.size() + kChunkFramingBytesMax;
  state_->unsent.fetch_add(charged);
  send(link_, sequence_, message::StreamChunk{std::move(chunk), charged});
  return true;
}

size_t Stream::unsent() const {
  if (sink_) return sink_->unsent();
  return state_ == nullptr ? 0 : state_->unsent.load();
}

void Stream::close() {
  if (sink_) return std::exchange(sink_, nullptr)->end_stream();
  if (link_ == nullptr) return;
  send(std::move(link_), sequence_, message::StreamEnd{});
  link_.reset();
  state_.reset();
}

void Stream::on_close(std::function<void()> callback) {
  if (sink_) return sink_->on_disconnect(std::move(callback));
  if (link_ == nullptr) return;
  send(link_, sequence_, message::Watch{std::move(callback)});
}

}  // namespace pawl::http
