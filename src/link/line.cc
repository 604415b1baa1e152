#include "link/line.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/quote.h"

namespace pawl::link {
namespace {

constexpr size_t kLineReadBytesPerRound = 1024 * 1024;  // then other lines get their turn
constexpr size_t kRefusalBytesMax = 256;                // of its text
constexpr size_t kKeptForAgainBytesMax = 256 * 1024;    // of a batch on a line that was used before

bool unprintable(char c) { return c < ' ' || c > '~'; }

}  // namespace

Line::Line(LineContext& context, int fd, ssl_st* tls, std::string peer_name)
    : context_(context),
      transport_(fd, tls),
      peer_name_(std::move(peer_name)),
      heard_us_(context.now_us) {
  context_.counters->lines.fetch_add(1, std::memory_order_relaxed);
  epoll_event event{};
  events_ = EPOLLOUT;
  event.events = events_;
  event.data.ptr = this;
  if (::epoll_ctl(context_.epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) broken();
}

Line::~Line() { context_.counters->lines.fetch_sub(1, std::memory_order_relaxed); }

void Line::watch(uint32_t events) {
  if (state_ == State::Broken || events == events_) return;
  events_ = events;
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  ::epoll_ctl(context_.epoll_fd, EPOLL_CTL_MOD, transport_.fd(), &event);
}

// ---- sending

void Line::send(Load&& load) {
  load_ = std::move(load);
  for (const auto& call : load_.calls) call->line = this;
  if (state_ == State::Idle) start_writing();
}

void Line::connected() {
  int failed = 0;
  socklen_t size = sizeof failed;
  ::getsockopt(transport_.fd(), SOL_SOCKET, SO_ERROR, &failed, &size);
  if (failed != 0) return broken();
  if (!transport_.tls()) return start_writing();
  state_ = State::Handshaking;
}

void Line::start_writing() {
  state_ = State::Busy;
  heard_us_ = context_.now_us;
  loss_ = Loss::NotSent;
  any_answer_ = head_judged_ = false;
  response_.begin_next();
  frames_ = FrameReader{};
  const bool keep = used_before_ && !load_.resent && load_.body.size() <= kKeptForAgainBytesMax;
  if (keep) {
    out_.append(std::string_view(load_.head));
    out_.append(std::string_view(load_.body));
  } else {
    out_.append(std::exchange(load_.head, {}));
    out_.append(std::exchange(load_.body, {}));
  }
  context_.counters->batches.fetch_add(1, std::memory_order_relaxed);
  flush();
}

void Line::flush() {
  while (!out_.empty()) {
    const http::IoOutcome outcome = transport_.write(out_);
    if (outcome.kind == http::IoOutcome::Kind::WouldBlock) break;
    if (outcome.kind != http::IoOutcome::Kind::Done) return broken();
    out_.consume(outcome.bytes);
    heard_us_ = context_.now_us;
  }
  if (out_.empty() && loss_ == Loss::NotSent) {
    loss_ = load_.body.empty() ? Loss::Unknown : Loss::Again;
    context_.counters->passed_on.fetch_add(load_.calls.size(), std::memory_order_relaxed);
  }
  watch((paused_ ? 0u : EPOLLIN) | (out_.empty() ? 0u : EPOLLOUT));
}

// ---- events

void Line::on_events(uint32_t events) {
  if (state_ == State::Broken) return;
  if (state_ == State::Idle) return broken();  // the peer has closed it
  if (state_ == State::Connecting) {
    connected();
    if (state_ != State::Handshaking) return;
  }
  if (state_ == State::Handshaking) {
    const http::IoOutcome outcome = transport_.handshake();
    if (outcome.kind == http::IoOutcome::Kind::WouldBlock) return watch(EPOLLIN);
    if (outcome.kind != http::IoOutcome::Kind::Done) {
      context_.warnings->add("node " + in_quotes(peer_name_) +
                             " has no TLS certificate that this node trusts");
      return broken();
    }
    start_writing();
  }
  if (!out_.empty()) flush();
  if (paused_ && (events & (EPOLLERR | EPOLLHUP)) != 0) return broken();
  if (state_ == State::Busy && !paused_) read();
}

void Line::read_on() {
  has_more_ = false;
  if (state_ != State::Busy) return;
  if (std::exchange(paused_, false)) {
    for (const auto& call : load_.calls) {
      if (call->disconnected()) return break_off();
    }
    flush();
  }
  if (state_ == State::Busy) read();
}

bool Line::ready_to_resume() const {
  return std::all_of(load_.calls.begin(), load_.calls.end(), [&](const auto& call) {
    return call->unsent() <= context_.config->sink_bytes_max / 2 || call->disconnected();
  });
}

void Line::read() {
  size_t budget = kLineReadBytesPerRound;
  while (state_ == State::Busy && !paused_) {
    if (budget == 0) {
      has_more_ = true;
      return;
    }
    const http::IoOutcome outcome = transport_.read(context_.scratch);
    if (outcome.kind == http::IoOutcome::Kind::WouldBlock) return;
    if (outcome.kind != http::IoOutcome::Kind::Done) return broken();
    budget -= std::min(budget, outcome.bytes);
    heard_us_ = context_.now_us;
    take({context_.scratch.data(), outcome.bytes});
    // A short read emptied the socket; later input is another event.
    if (outcome.bytes < context_.scratch.size() && !transport_.tls()) return;
  }
}

// ---- answers

void Line::take(std::string_view bytes) {
  any_answer_ = true;
  if (loss_ == Loss::Again) {
    loss_ = Loss::Unknown;
    load_.head.clear();
    load_.body.clear();
  }
  while (state_ == State::Busy && !bytes.empty()) {
    bytes.remove_prefix(response_.feed(bytes, content_));
    if (response_.state() == ResponseReader::State::Bad) return broken();
    if (response_.state() == ResponseReader::State::Head) return;
    if (!std::exchange(head_judged_, true) && !judge_head()) return broken();
    if (!take_content()) return broken();
    if (response_.state() == ResponseReader::State::Done) {
      if (!bytes.empty()) return broken();
      end_response();
    }
  }
}

// A refusal of the HTTP server itself, before the door, has no proof: nothing was done then.
bool Line::judge_head() {
  const auto header = read_sealed_header(response_.link_header());
  const bool proved =
      header &&
      equal_in_constant_time(header->seal, context_.seal->proof_of(header->version, load_.mac));
  if (proved) peer_version_ = header->version;
  if (proved || response_.status() != 200) return true;
  context_.warnings->add("an answer in the name of node " + in_quotes(peer_name_) +
                         " was not made with this cluster's key");
  return false;
}

bool Line::take_content() {
  if (response_.status() != 200) {
    if (content_.size() > kRefusalBytesMax) content_.resize(kRefusalBytesMax);
    std::replace_if(content_.begin(), content_.end(), unprintable, '?');
    return true;
  }
  const bool good = frames_.feed(content_, [&](Frame&& frame) { take_frame(std::move(frame)); });
  content_.clear();
  return good;
}

void Line::take_frame(Frame&& frame) {
  if (frame.number >= load_.calls.size()) return;
  OngoingCall& call = *load_.calls[frame.number];
  switch (frame.kind) {
    case FrameKind::Answer:
      return call.answer(std::move(frame.response), *context_.counters);
    case FrameKind::NotMine:
      return call.fail(LinkFailure::NotMine, *context_.counters);
    case FrameKind::StreamHead: {
      const std::string first = std::exchange(frame.response.body, {});
      call.begin_stream(std::move(frame.response));
      frame.response.body = first;
      break;
    }
    case FrameKind::Chunk:
      break;
    case FrameKind::StreamEnd:
      return call.end_stream();
  }
  // Of a call with others in its batch, what nobody reads is dropped.
  if (!call.write(frame.response.body) && load_.waits) return break_off();
  if (call.unsent() > context_.config->sink_bytes_max && state_ == State::Busy) {
    paused_ = true;
    watch(out_.empty() ? 0u : EPOLLOUT);
  }
}

void Line::end_response() {
  if (response_.status() == 200) {
    const bool all_over = std::all_of(load_.calls.begin(), load_.calls.end(),
                                      [](const auto& call) { return call->over(); });
    if (!all_over || !frames_.between_frames()) return broken();
  } else {
    refused();
  }
  if (!response_.keep_alive() || !out_.empty() || paused_) return broken();
  load_ = Load{};
  used_before_ = true;
  heard_us_ = context_.now_us;
  state_ = State::Idle;
}

void Line::refused() {
  const int status = response_.status();
  LinkFailure failure = LinkFailure::NotSent;
  if (status == 401 || status == 426) failure = LinkFailure::Refused;
  if (status == 412) failure = LinkFailure::NotMine;
  // Unanswered by the door; or sent twice, and taken the first time.
  if (status == 409 || status == 500) failure = LinkFailure::Unknown;
  if (load_.resent && failure != LinkFailure::Refused) failure = LinkFailure::Unknown;
  if (status != 412 && status != 503 && !load_.resent) {
    context_.warnings->add("node " + in_quotes(peer_name_) + " refused a batch with status " +
                           std::to_string(status) + ": " + content_);
  }
  content_.clear();
  for (const auto& call : load_.calls) call->fail(failure, *context_.counters);
}

// ---- the end

void Line::broken() {
  if (state_ == State::Broken) return;
  state_ = State::Broken;
  transport_.close();
  has_more_ = paused_ = false;
}

void Line::break_off() {
  if (loss_ == Loss::Again) loss_ = Loss::Unknown;
  broken();
}

void Line::check_times() {
  const LinksConfig& config = *context_.config;
  const uint64_t quiet_ms = (context_.now_us - std::min(heard_us_, context_.now_us)) / 1000;
  const auto late = [&](int ms_max) { return quiet_ms > static_cast<uint64_t>(ms_max); };
  const bool connecting = state_ == State::Connecting || state_ == State::Handshaking;
  if (connecting && late(config.connect_ms_max)) broken();
  if (state_ == State::Idle && late(config.idle_ms_max)) broken();
  if (state_ == State::Busy && !load_.waits && !paused_ && late(config.answer_ms_max)) break_off();
}

}  // namespace pawl::link
