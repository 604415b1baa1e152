// The answering half of Connection: messages → slots → bytes in request order.
#include <utility>

#include "http/connection.h"
#include "http/gzip.h"
#include "http/response_writer.h"

namespace pawl::http {
namespace {

// Compressing runs on the I/O thread at about 100 MB/s: beyond this other connections would wait
// too long.
constexpr size_t kGzipBytesMax = 4 * 1024 * 1024;

bool compressible(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return type.starts_with("text/") || type.ends_with("json") || type.ends_with("xml") ||
         type.ends_with("javascript") || type.ends_with("yaml") || type.ends_with("wasm");
}

bool has_header(const Response& response, std::string_view name) {
  for (const auto& header : response.headers) {
    if (equals_ignoring_case(header.first, name)) return true;
  }
  return false;
}

}  // namespace

Slot* Connection::find(uint64_t sequence) {
  if (sequence < first_sequence_ || sequence - first_sequence_ >= slots_.size()) return nullptr;
  return &slots_.at(sequence - first_sequence_);
}

void Connection::apply(uint64_t sequence, Message::Content&& content) {
  if (ended_) return;
  if (auto* inflated = std::get_if<message::Inflated>(&content)) {
    take_inflated(std::move(*inflated));
    return;
  }
  Slot* slot = find(sequence);
  if (slot == nullptr) return;  // dropped, after an answer that closes the connection
  std::visit(
      [&](auto&& part) {
        using Part = std::decay_t<decltype(part)>;
        if constexpr (requires { apply_to(*slot, std::declval<Part&&>()); }) {
          apply_to(*slot, std::move(part));
        }
      },
      std::move(content));
}

void Connection::apply_to(Slot& slot, message::Answer&& answer) {
  const auto watch = std::exchange(slot.watch, nullptr);  // destroyed last: it may own anything
  slot.response = std::move(answer.response);
  hold(slot, slot.response.body.size());
  expect_answers_of(slot.response.body.size());
  slot.state = Slot::State::Answered;
  mark_dirty();
}

void Connection::apply_to(Slot& slot, message::Unanswered&&) {
  context_.counters.unanswered.add(1);
  if (context_.config->log) {
    context_.config->log("request " + slot.id + " was dropped without an answer; it got a 500");
  }
  apply_to(slot, message::Answer{unanswered_response()});
}

void Connection::apply_to(Slot& slot, message::StreamStart&& start) {
  const auto watch = std::exchange(slot.watch, nullptr);
  slot.response = std::move(start.head);
  slot.stream = std::move(start.state);
  slot.state = Slot::State::Streaming;
  ++streams_;
  if (client_left_) {
    end();
    return;
  }
  if (slot.head_only || !status_has_body(slot.response.status)) {
    slot.stream->closed.store(true, std::memory_order_release);
    slot.stream_ended = true;
  }
  mark_dirty();
}

void Connection::apply_to(Slot& slot, message::StreamChunk&& chunk) {
  if (slot.state != Slot::State::Streaming || slot.stream_ended) return;
  const size_t before = slot.held.size();
  if (slot.http10) {
    slot.held.append(chunk.bytes);
  } else {
    append_chunk(chunk.bytes, slot.held);
  }
  slot.stream->unsent.fetch_sub(chunk.charged - (slot.held.size() - before));
  hold(slot, slot.held.size());
  mark_dirty();
}

void Connection::apply_to(Slot& slot, message::StreamEnd&&) {
  if (slot.state != Slot::State::Streaming) return;
  const auto watch = std::exchange(slot.watch, nullptr);
  slot.stream_ended = true;
  mark_dirty();
}

void Connection::apply_to(Slot&, message::StreamOverflow&&) {
  context_.counters.streams_overrun.add(1);
  transport_.discard_unsent();
  end();
}

void Connection::apply_to(Slot& slot, message::Watch&& watch) {
  const bool over = slot.state == Slot::State::Answered || slot.stream_ended;
  if (over) return;
  if (client_left_) {
    watch.callback();
  } else {
    slot.watch = std::move(watch.callback);
  }
}

// ---- bytes

void Connection::flush() {
  dirty_ = false;
  if (ended_ || lingering_ || transport_.handshaking()) return;
  queue_answers();
  if (continue_due_ && slots_.empty()) {
    continue_due_ = false;
    out_.append(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"));
  }
  send_queued();
  if (ended_) return;
  settle_stream();
  charge(unsent());
  charge_input();  // returns the bytes of answered requests: never fails
  if (out_.empty() && slots_.empty() && closing_) {
    finish();
    return;
  }
  resume_input();
  update_deadlines();
}

void Connection::queue_answers() {
  while (!slots_.empty()) {
    Slot& slot = slots_.front();
    if (slot.state == Slot::State::Waiting) return;
    if (slot.state == Slot::State::Answered) {
      queue_answer(slot);
    } else if (!queue_stream(slot)) {
      return;
    }
    const bool last = slot.response.close || (slot.http10 && slot.stream != nullptr);
    close_front();
    if (last) {
      closing_ = true;
      in_.clear();
      drop_slots();
    }
  }
}

void Connection::hold(Slot& slot, size_t bytes) {
  held_bytes_ += bytes - slot.held_bytes;
  slot.held_bytes = bytes;
}

void Connection::charge(size_t bytes) {
  if (bytes == charged_) return;  // mostly 0: answers sent at once cost no shared write
  if (charged_ == 0) ++context_.holders;
  if (bytes == 0) --context_.holders;
  context_.out_budget->change(charged_, bytes);
  charged_ = bytes;
}

void Connection::queue_answer(Slot& slot) {
  hold(slot, 0);
  Response& response = slot.response;
  HeadFacts facts;
  facts.request_id = slot.id;
  facts.lines = slot.lines;
  facts.http10 = slot.http10;
  const bool last = closing_ && slots_.size() == 1;
  if (last) response.close = true;
  facts.keep_alive = !response.close;
  const bool body_allowed = status_has_body(response.status);
  const size_t gzip_bytes_min = context_.config->gzip_bytes_min;
  if (body_allowed && !slot.head_only && slot.accepts_gzip && gzip_bytes_min > 0 &&
      response.body.size() >= gzip_bytes_min && response.body.size() <= kGzipBytesMax &&
      compressible(response.content_type) && !has_header(response, "content-encoding")) {
    if (auto packed = gzip(response.body)) {
      response.body = std::move(*packed);
      facts.gzipped = true;
    }
  }
  facts.framing = body_allowed ? Framing::Length : Framing::None;
  facts.body_bytes = response.body.size();
  append_response_head(response, facts, out_.tail());
  out_.grew();
  const bool with_body = body_allowed && !slot.head_only;
  log_access(slot, response.status, with_body ? response.body.size() : 0);
  if (with_body) out_.append(std::move(response.body));
}

bool Connection::queue_stream(Slot& slot) {
  if (!slot.stream_head_sent) {
    slot.stream_head_sent = true;
    HeadFacts facts;
    facts.request_id = slot.id;
    facts.lines = slot.lines;
    facts.framing = slot.http10 ? Framing::Close : Framing::Chunked;
    if (!status_has_body(slot.response.status)) facts.framing = Framing::None;
    if ((closing_ && slots_.size() == 1) || slot.http10) slot.response.close = true;
    facts.keep_alive = !slot.response.close;
    append_response_head(slot.response, facts, out_.tail());
    out_.grew();
    log_access(slot, slot.response.status, 0);
  }
  if (!slot.held.empty()) {
    stream_queued_ += slot.held.size();
    hold(slot, 0);
    out_.append(std::exchange(slot.held, {}));
  }
  if (!slot.stream_ended) return false;
  if (!slot.head_only && !slot.http10 && status_has_body(slot.response.status)) {
    out_.append(kLastChunk);
  }
  return true;
}

void Connection::close_front() {
  if (slots_.front().stream) {
    --streams_;
    stream_queued_ = 0;
  }
  in_bytes_ -= slots_.front().in_bytes;
  hold(slots_.front(), 0);
  slots_.pop();
  ++first_sequence_;
}

// Requests behind an answer that closes the connection will not be answered.
void Connection::drop_slots() {
  fire_watches();
  while (!slots_.empty()) close_front();
}

void Connection::send_queued() {
  while (!out_.empty()) {
    const IoOutcome outcome = transport_.write(out_);
    if (outcome.kind == IoOutcome::Kind::WouldBlock) return;
    if (outcome.kind != IoOutcome::Kind::Done) {
      end();
      return;
    }
    out_.consume(outcome.bytes);
    context_.counters.bytes_out.add(outcome.bytes);
  }
}

// Returns sent bytes to the stream's allowance. They are the last in the queue.
void Connection::settle_stream() {
  if (stream_queued_ <= out_.size()) return;
  const size_t sent = stream_queued_ - out_.size();
  stream_queued_ = out_.size();
  if (!slots_.empty() && slots_.front().stream) slots_.front().stream->unsent.fetch_sub(sent);
}

// Everything is sent. If the client may still be sending, wait for its end instead of resetting it.
void Connection::finish() {
  if (input_ended_) {
    end();
    return;
  }
  transport_.shut_write();
  lingering_ = true;
  in_.clear();
  readable_ = true;
  mark_unread();
  update_deadlines();
}

void Connection::log_access(const Slot& slot, int status, uint64_t body_bytes) {
  if (!context_.config->access_log) return;
  context_.config->access_log(AccessRecord{slot.method, slot.path, slot.id, peer_, status,
                                           body_bytes, context_.now_us - slot.started_us});
}

}  // namespace pawl::http
