#include "http/connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "http/response_writer.h"

namespace pawl::http {
namespace {

constexpr size_t kReadBytesPerRound = 256 * 1024;  // then other connections get their turn

constexpr size_t kDropBytesMax = 64 * 1024;          // of a refused request's body; more: closed
constexpr size_t kInflateHereBytesMax = 256 * 1024;  // under a millisecond of the I/O thread
constexpr size_t kInflateStepBytes = 1024 * 1024;    // requested from the budget by another thread
constexpr size_t kInputGranuleBytes = 4 * 1024;      // smaller changes are not worth a shared write
constexpr size_t kHandshakeBytes = 32 * 1024;        // approximate memory of OpenSSL

constexpr Refusal kTimeout{408, "request_timeout", "the request did not arrive in time"};
constexpr Refusal kBusy{503, "too_many_connections", "the server has no room for a connection"};

}  // namespace

Connection::Connection(IoContext& context, int fd, ssl_st* tls, std::string peer)
    : context_(context),
      transport_(fd, tls),
      peer_(std::move(peer)),
      link_(std::make_shared<Link>(context.mailbox, context.in_budget)),
      reader_(context.limits, peer_, context.request_ids),
      answer_bytes_(context.config->out_bytes_max / context.config->pipeline_first) {
  link_->connection = this;
}

Connection::~Connection() { end(); }

void Connection::begin() {
  if (!charge_input()) {  // no room for one more handshake
    context_.counters.requests_no_room.add(1);
    end();
    return;
  }
  update_deadlines();
}

void Connection::mark_dirty() {
  if (!std::exchange(dirty_, true)) context_.dirty.push_back(this);
}

void Connection::mark_unread() {
  if (!std::exchange(unread_, true)) context_.unread.push_back(this);
}

void Connection::end() {
  if (std::exchange(ended_, true)) return;
  context_.deadlines.disarm(read_deadline_);
  context_.deadlines.disarm(write_deadline_);
  transport_.close();
  charge(0);
  // Bytes of requests that a handler still uses are returned when the link is destroyed.
  link_->in_charge.set(in_bytes_ - in_bytes_ % kInputGranuleBytes);
  link_->connection = nullptr;
  link_->gone.store(true, std::memory_order_release);
  context_.ended.push_back(this);
  fire_watches();
}

// ---- input

void Connection::on_events(uint32_t events) {
  if (ended_) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    end();
    return;
  }
  if ((events & EPOLLRDHUP) != 0) half_closed_ = true;
  // TLS may have to read in order to write and the other way round.
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0 || transport_.tls()) readable_ = true;
  if (!out_.empty()) mark_dirty();
  read_input();
}

void Connection::continue_reading() {
  unread_ = false;
  if (!ended_) read_input();
}

bool Connection::wants_input() const {
  if (closing_ || inflating_ || streams_ > 0) return false;
  const ServerConfig& config = *context_.config;
  if (context_.over_budget && (unsent() > 0 || !slots_.empty())) return false;
  if (slots_.empty()) return out_.size() < config.out_bytes_max;
  return slots_.size() < config.pipeline_max && in_bytes_ < config.in_bytes_max &&
         out_.size() + (slots_.size() + 1) * answer_bytes_ <= config.out_bytes_max;
}

void Connection::resume_input() {
  if (ended_ || !paused_ || !wants_input()) return;
  paused_ = false;
  mark_unread();
}

// A large answer counts at once, small ones gradually: it takes several of them to lower the
// estimate.
void Connection::expect_answers_of(size_t bytes) {
  answer_bytes_ = std::max(bytes, answer_bytes_ / 2);
}

void Connection::read_input() {
  if (transport_.handshaking()) {
    const IoOutcome outcome = transport_.handshake();
    if (outcome.kind == IoOutcome::Kind::WouldBlock) return;
    if (outcome.kind != IoOutcome::Kind::Done) {
      end();
      return;
    }
  }
  if (lingering_) {
    discard_input();
    return;
  }
  if (!in_.empty()) consume({});
  size_t budget = kReadBytesPerRound;
  while (readable_ && !ended_ && wants_input()) {
    if (budget == 0) {
      mark_unread();
      break;
    }
    const IoOutcome outcome = transport_.read(context_.scratch);
    if (outcome.kind == IoOutcome::Kind::Done) {
      context_.counters.bytes_in.add(outcome.bytes);
      budget -= std::min(budget, outcome.bytes);
      // A short read emptied the socket; later input is a new edge.
      if (outcome.bytes < context_.scratch.size() && !transport_.tls() && !half_closed_) {
        readable_ = false;
      }
      consume({context_.scratch.data(), outcome.bytes});
    } else if (outcome.kind == IoOutcome::Kind::WouldBlock) {
      readable_ = false;
    } else if (outcome.kind == IoOutcome::Kind::Closed) {
      readable_ = false;
      input_ended();
    } else {
      end();
    }
  }
  if (ended_) return;
  if (!wants_input()) paused_ = readable_ || !in_.empty();
  if (half_closed_ && !wants_input()) client_left();
  update_deadlines();
}

// Closing with unread input would reset the connection and destroy the answer on its way.
void Connection::discard_input() {
  size_t budget = kReadBytesPerRound;
  while (readable_ && !ended_) {
    if (budget == 0) {
      mark_unread();
      return;
    }
    const IoOutcome outcome = transport_.read(context_.scratch);
    if (outcome.kind == IoOutcome::Kind::Done) {
      budget -= std::min(budget, outcome.bytes);
    } else if (outcome.kind == IoOutcome::Kind::WouldBlock) {
      readable_ = false;
    } else {
      end();
    }
  }
}

void Connection::consume(std::string_view data) {
  const bool buffered = !in_.empty();
  if (buffered) {
    in_.append(data);
    data = in_;
  }
  size_t used = 0;
  while (used < data.size() && wants_input()) {
    const bool dropping = reader_.state() == RequestReader::State::Dropping;
    const size_t taken = reader_.feed(data.substr(used));
    used += taken;
    if (reader_.state() == RequestReader::State::HeadRead) {
      judge_head();
      if (reader_.state() == RequestReader::State::Body) continue;
    }
    if (reader_.state() == RequestReader::State::Packed) unpack();
    if (reader_.state() == RequestReader::State::Done) {
      hand_over();
    } else if (reader_.state() == RequestReader::State::Refused) {
      if (dropping) closing_ = true;  // its request has its answer already
      if (!closing_) refuse(reader_.refusal());
    } else if (taken == 0 || reader_.state() == RequestReader::State::Head ||
               reader_.state() == RequestReader::State::Body ||
               reader_.state() == RequestReader::State::Packed) {
      break;  // the rest of `data` needs more input
    }
  }
  if (reader_.take_continue_wish()) {
    continue_due_ = true;
    mark_dirty();
  }
  if (closing_ || used == data.size()) {
    in_.clear();
    if (in_.capacity() > context_.limits.header_bytes_max) std::string{}.swap(in_);
  } else if (buffered) {
    in_.erase(0, used);
  } else {
    in_.assign(data.substr(used));
  }
  if (!charge_input() && !closing_) {
    in_.clear();
    refuse(kNoRoom);
  }
}

// Request bytes count against the shared budget from their arrival to their answer.
bool Connection::charge_input() {
  size_t held = in_.size() + reader_.held_bytes() + in_bytes_;
  if (transport_.handshaking()) held += kHandshakeBytes;
  return ended_ || link_->in_charge.set(held - held % kInputGranuleBytes);
}

void Connection::judge_head() {
  lines_ = nullptr;
  const Judge& judge = context_.config->judge;
  const size_t unwrapped_max = context_.config->body_bytes_max;
  if (!judge) return read_body(unwrapped_max);
  Verdict verdict = judge(reader_.head_request());
  lines_ = verdict.lines;
  if (!verdict.answer) {
    return read_body(
        std::min(verdict.body_bytes_max, verdict.wraps_requests ? SIZE_MAX : unwrapped_max));
  }
  context_.counters.judged_out.add(1);
  open_request_slot(reader_.head_request(), 0);
  reader_.drop_body(kDropBytesMax);
  Slot& slot = slots_.at(slots_.size() - 1);
  slot.response = std::move(*verdict.answer);
  slot.state = Slot::State::Answered;
  hold(slot, slot.response.body.size());
  // The end of its body is not searched for: it may be endless.
  if (reader_.state() == RequestReader::State::Refused) closing_ = true;
  mark_dirty();
}

void Connection::read_body(size_t bytes_max) {
  reader_.read_body(bytes_max);
  body_began_ms_ = context_.now_ms();
  body_seen_ = 0;
  if (reader_.state() != RequestReader::State::Body) return;
  // Reserve room for the whole body, or read none of it: no body is refused halfway.
  if (!charge_input()) reader_.refuse(kNoRoom);
}

void Connection::unpack() {
  const ServerConfig& config = *context_.config;
  const size_t packed = reader_.body_bytes();
  const size_t by_ratio =
      packed > SIZE_MAX / config.inflate_ratio_max ? SIZE_MAX : packed * config.inflate_ratio_max;
  const size_t bytes_max =
      std::min(reader_.body_bytes_max(), std::max(config.inflate_free_bytes, by_ratio));
  if (bytes_max <= kInflateHereBytesMax || !config.run_aside) return reader_.inflate(bytes_max);
  if (reader_.try_inflate(kInflateHereBytesMax) == InflateFault::TooLarge) unpack_aside(bytes_max);
}

void Connection::unpack_aside(size_t bytes_max) {
  // std::function copies what it holds, hence the pointers.
  auto packed = std::make_shared<std::string>(reader_.take_packed());
  charge_input();
  auto charge = std::make_shared<InCharge>(context_.in_budget);
  const size_t base = packed->size();
  if (!charge->set(base)) return reader_.refuse(kNoRoom);
  std::function<void()> work = [link = link_, packed, charge, base, bytes_max] {
    message::Inflated done{InflateFault::None, {}, {}};
    done.fault = gunzip(*packed, bytes_max, done.plain, [&](size_t bytes) {
      const size_t steps = (bytes + kInflateStepBytes - 1) / kInflateStepBytes;
      return charge->set(base + steps * kInflateStepBytes);
    });
    done.charge = std::move(*charge);
    const std::shared_ptr<Mailbox> mailbox = link->mailbox;
    mailbox->push(Message{link, 0, std::move(done)});
  };
  if (!context_.config->run_aside(work)) return reader_.refuse(kNoRoom);
  inflating_ = true;
}

void Connection::take_inflated(message::Inflated&& inflated) {
  inflating_ = false;
  if (closing_) return;  // by an earlier answer
  reader_.give_plain(inflated.fault, std::move(inflated.plain));
  inflated.charge.set(0);
  if (reader_.state() == RequestReader::State::Done && charge_input()) {
    hand_over();
  } else {
    refuse(reader_.state() == RequestReader::State::Refused ? reader_.refusal() : kNoRoom);
  }
  if (ended_) return;
  readable_ = true;
  mark_unread();
}

Slot& Connection::open_slot(std::string_view id) {
  Slot& slot = slots_.push();
  slot.id = id;
  slot.started_us = context_.now_us;
  continue_due_ = false;
  return slot;
}

void Connection::hand_over() {
  const size_t in_bytes = reader_.held_bytes();
  Request request = reader_.take_request();
  open_request_slot(request, in_bytes);
  context_.counters.requests.add(1);
  ++context_.handed;
  const uint64_t sequence = first_sequence_ + slots_.size() - 1;
  (*context_.handler)(std::move(request), Responder(link_, sequence));
}

void Connection::open_request_slot(const Request& request, size_t in_bytes) {
  const Head& head = reader_.head();
  Slot& slot = open_slot(request.id);
  slot.head_only = request.method == "HEAD";
  slot.http10 = head.http10;
  slot.accepts_gzip = head.accepts_gzip;
  slot.lines = lines_;
  slot.in_bytes = in_bytes;
  in_bytes_ += in_bytes;
  if (context_.config->access_log) {
    slot.method = request.method;
    slot.path = request.path;
  }
  if (!head.keep_alive || context_.draining) closing_ = true;
}

void Connection::refuse(const Refusal& refusal) {
  context_.counters.requests_bad.add(1);
  if (std::string_view(refusal.code) == kNoRoom.code) context_.counters.requests_no_room.add(1);
  std::string id;
  context_.request_ids.append_to(id);
  Slot& slot = open_slot(id);
  slot.lines = lines_;
  slot.response = refusal_response(refusal);
  slot.state = Slot::State::Answered;
  closing_ = true;
  mark_dirty();
}

void Connection::refuse_busy() {
  if (ended_) return;
  refuse(kBusy);
  update_deadlines();
}

void Connection::input_ended() {
  input_ended_ = true;
  closing_ = true;
  in_.clear();
  client_left();
  if (!ended_) mark_dirty();  // flush() ends it if nothing is left to answer
}

void Connection::client_left() {
  if (std::exchange(client_left_, true)) return;
  link_->gone.store(true, std::memory_order_release);
  if (streams_ > 0) {
    end();  // an event reader that closes its side wants no more events
  } else {
    fire_watches();
  }
}

void Connection::fire_watches() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_.at(i);
    if (slot.stream) slot.stream->closed.store(true, std::memory_order_release);
    if (const auto watch = std::exchange(slot.watch, nullptr)) watch();
  }
}

void Connection::begin_drain() {
  const bool between_requests =
      in_.empty() && reader_.state() == RequestReader::State::Idle && !transport_.handshaking();
  if (between_requests && slots_.empty() && out_.empty() && !lingering_) {
    end();
  } else if (between_requests) {
    closing_ = true;
    mark_dirty();
  }
}

// ---- deadlines

DeadlineKind Connection::wanted_read_deadline() const {
  if (lingering_) return DeadlineKind::Linger;
  if (transport_.handshaking()) return DeadlineKind::Head;
  if (closing_ || !wants_input()) return DeadlineKind::None;
  const bool in_body = reader_.state() == RequestReader::State::Body ||
                       reader_.state() == RequestReader::State::Dropping;
  if (in_body) return DeadlineKind::Body;
  if (!in_.empty()) return DeadlineKind::Head;
  return slots_.empty() && out_.empty() ? DeadlineKind::Idle : DeadlineKind::None;
}

void Connection::update_deadlines() {
  if (ended_) return;  // it will be destroyed before they pass
  const DeadlineKind wanted = wanted_read_deadline();
  const uint64_t sequence = first_sequence_ + slots_.size();
  if (wanted == DeadlineKind::None) {
    context_.deadlines.disarm(read_deadline_);
  } else if (read_deadline_.kind != wanted || deadline_sequence_ != sequence) {
    context_.deadlines.arm(read_deadline_, wanted, context_.now_ms());
    deadline_sequence_ = sequence;
  }
  // Stream data may wait in the socket's buffer, which only the deadline checks.
  if (out_.empty() && streams_ == 0) {
    context_.deadlines.disarm(write_deadline_);
  } else if (write_deadline_.kind == DeadlineKind::None) {
    begin_stall_watch();
  }
}

Connection::Due Connection::due_of(const TakenBytes& now, size_t unsent) const {
  return {now.taken, std::min<uint64_t>(context_.config->write_bytes_min, now.waiting + unsent)};
}

void Connection::begin_stall_watch() {
  write_due_ = due_of(transport_.taken(), out_.size());
  context_.deadlines.arm(write_deadline_, DeadlineKind::Write, context_.now_ms());
}

void Connection::end_stall_watch() {
  const TakenBytes now = transport_.taken();
  if (now.taken - write_due_.taken_before >= write_due_.bytes) {
    if (now.waiting > 0 || !out_.empty()) begin_stall_watch();
    return;
  }
  context_.counters.slow_readers_cut.add(1);
  transport_.discard_unsent();
  end();
}

// Answers behind an unanswered request count as not read: a pipelining client chose to wait.
bool Connection::hoards(size_t share) {
  if (ended_ || unsent() <= share) return false;
  const TakenBytes now = transport_.taken();
  const bool seen = seen_look_ + 1 == context_.out_looks;
  const bool slow = seen && now.taken - share_due_.taken_before < share_due_.bytes;
  share_due_ = due_of(now, unsent());
  seen_look_ = context_.out_looks;
  return slow;
}

void Connection::cut_hoarder() {
  context_.counters.hoarders_cut.add(1);
  transport_.discard_unsent();
  end();
}

// False: enough of it came, and reading continues.
bool Connection::late_body() {
  const ServerConfig& config = *context_.config;
  const size_t seen = reader_.body_bytes();
  if (reader_.state() != RequestReader::State::Body ||
      context_.now_ms() - body_began_ms_ >= config.body_read_ms ||
      seen - body_seen_ < config.body_bytes_min) {
    return true;
  }
  body_seen_ = seen;
  context_.deadlines.arm(read_deadline_, DeadlineKind::Body, context_.now_ms());
  return false;
}

void Connection::on_deadline(Deadline& deadline) {
  const DeadlineKind kind = deadline.kind;
  context_.deadlines.disarm(deadline);
  if (kind == DeadlineKind::Write) {
    end_stall_watch();
    return;
  }
  if (kind == DeadlineKind::Body && !late_body()) return;
  const bool late_request = kind == DeadlineKind::Head || kind == DeadlineKind::Body;
  if (late_request) context_.counters.timeouts.add(1);
  // A dropped body belongs to a request that was answered.
  const bool answered = reader_.state() == RequestReader::State::Dropping;
  if (late_request && !answered && !transport_.handshaking()) {
    in_.clear();
    refuse(kTimeout);
  } else {
    end();
  }
}

}  // namespace pawl::http
