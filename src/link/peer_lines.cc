#include "link/peer_lines.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/quote.h"

namespace pawl::link {
namespace {

// A host that is gone without a word: no acknowledgement of what was sent for so long, or of three
// probes on a quiet line.
constexpr int kUnacknowledgedMs = 5'000;
constexpr int kProbeAfterS = 5;
constexpr int kProbeEveryS = 2;
constexpr int kProbes = 3;

int connecting_socket(const sockaddr_storage& address) {
  const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEveryS);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), size_of(address)) == 0 ||
      errno == EINPROGRESS)
    return fd;
  ::close(fd);
  return -1;
}

}  // namespace

PeerLines::PeerLines(PeersContext& context, Peer peer, std::string key)
    : context_(context),
      peer_(std::move(peer)),
      key_(std::move(key)),
      target_(read_target(peer_.url)),
      version_(context.config->versions.lowest) {
  if (target_) addresses_ = addresses_of(*target_, true);
}

PeerLines::~PeerLines() { std::erase(context_.unsettled, this); }

void PeerLines::mark_unsettled() {
  if (!std::exchange(unsettled_, true)) context_.unsettled.push_back(this);
}

// ---- calls

void PeerLines::add(std::shared_ptr<OngoingCall> call) {
  const LinksConfig& config = *context_.config;
  const bool full = calm_.size() + waiting_.size() >= config.queued_calls_max ||
                    (queued_bytes_ > 0 && queued_bytes_ + call->bytes > config.queued_bytes_max) ||
                    (call->waits && busy_waiting_ + waiting_.size() >= config.waiting_lines_max);
  if (full) return call->fail(LinkFailure::NotSent, *context_.counters);
  queued_bytes_ += call->bytes;
  (call->waits ? waiting_ : calm_).push_back(std::move(call));
  mark_unsettled();
}

void PeerLines::fail_queued(LinkFailure failure) {
  const Calls calm = std::exchange(calm_, {});
  const Calls waiting = std::exchange(waiting_, {});
  queued_bytes_ = 0;
  for (const auto& call : calm) call->fail(failure, *context_.counters);
  for (const auto& call : waiting) call->fail(failure, *context_.counters);
}

// Whether it has an address; if not, it will be asked for, or nothing can be sent.
bool PeerLines::reachable() {
  if (!addresses_.empty()) return true;
  if (looking_up_) return false;
  looking_up_ = target_ && context_.look_up(key_, *target_);
  if (!looking_up_) {
    if (!target_) {
      context_.warnings->add("the URL of node " + in_quotes(peer_.name) +
                             " is not one that this node can reach: " + in_quotes(peer_.url));
    }
    fail_queued(LinkFailure::NotSent);
  }
  return false;
}

void PeerLines::found(std::vector<sockaddr_storage> addresses) {
  looking_up_ = false;
  addresses_ = std::move(addresses);
  address_ = 0;
  if (addresses_.empty()) {
    context_.warnings->add("the host of node " + in_quotes(peer_.name) +
                           " is not known: " + in_quotes(peer_.url));
    fail_queued(LinkFailure::NotSent);
  }
  mark_unsettled();
}

bool PeerLines::waited_too_long(const OngoingCall& call) const {
  const uint64_t most_us = uint64_t{1000} * static_cast<uint64_t>(context_.config->answer_ms_max);
  return context_.now_us > call.started_us() + most_us;
}

std::shared_ptr<OngoingCall> PeerLines::next(Calls& calls) {
  std::shared_ptr<OngoingCall> call = std::move(calls.front());
  calls.pop_front();
  queued_bytes_ -= call->bytes;
  return call;
}

void PeerLines::send_queued() {
  unsettled_ = false;
  if (calm_.empty() && waiting_.empty()) return;
  while (!waiting_.empty() && reachable()) {
    const std::shared_ptr<OngoingCall> call = next(waiting_);
    if (call->cancelled) {
      call->fail(LinkFailure::NotSent, *context_.counters);
    } else {
      carry(load_of({call}, true));
    }
  }
  while (!calm_.empty() && busy_calm_ < context_.config->lines_max && reachable()) {
    std::vector<std::shared_ptr<OngoingCall>> calls = {next(calm_)};
    size_t bytes = calls.front()->bytes;
    while (!calm_.empty() && calls.size() < kBatchCallsMax &&
           bytes + calm_.front()->bytes <= kBatchBytesMax) {
      bytes += calm_.front()->bytes;
      calls.push_back(next(calm_));
    }
    carry(load_of(std::move(calls), false));
  }
}

Load PeerLines::load_of(std::vector<std::shared_ptr<OngoingCall>> calls, bool waits) {
  Load load;
  size_t bytes = 512;
  for (const auto& call : calls) bytes += call->bytes;
  load.body.reserve(bytes);
  const std::string incarnation = context_.config->incarnation.now();
  append_batch_head(load.body, {.sender = context_.config->name,
                                .sender_incarnation = incarnation,
                                .receiver_incarnation = peer_.incarnation,
                                .counter = ++context_.counter});
  for (const auto& call : calls) append_call(load.body, std::exchange(call->passed, {}));
  load.mac = context_.seal->mac_of(version_, load.body);
  load.head.append("POST ").append(kLinkPath).append(" HTTP/1.1\r\nHost: ");
  load.head.append(target_->authority);
  load.head.append("\r\nContent-Type: application/octet-stream\r\nContent-Length: ");
  load.head.append(std::to_string(load.body.size())).append("\r\n").append(kLinkHeader);
  load.head.append(": ").append(
      context_.seal->request_header(version_, load.mac, load.body.size()));
  load.head.append("\r\n\r\n");
  load.calls = std::move(calls);
  load.waits = waits;
  return load;
}

// ---- lines

Line* PeerLines::open() {
  const int fd = connecting_socket(addresses_[address_]);
  if (fd < 0) return nullptr;
  ssl_st* session = nullptr;
  if (target_->tls) {
    const ClientTls* tls = context_.tls();
    session = tls == nullptr ? nullptr : tls->connect(fd, target_->host);
    if (session == nullptr) {
      ::close(fd);
      return nullptr;
    }
  }
  lines_.push_back(std::make_unique<Line>(context_, fd, session, peer_.name));
  Line& line = *lines_.back();
  line.owner = this;
  line.place = lines_.size() - 1;
  return &line;
}

void PeerLines::carry(Load&& load) {
  Line* line = nullptr;
  if (!idle_.empty() && !load.resent) {
    line = idle_.back();
    idle_.pop_back();
  } else {
    line = open();
  }
  if (line == nullptr) return lost(std::move(load), Line::Loss::NotConnected);
  line->waits = load.waits;
  ++(load.waits ? busy_waiting_ : busy_calm_);
  line->send(std::move(load));
  if (line->over()) settle(*line);
}

void PeerLines::settle(Line& line) {
  if (line.has_more()) context_.more.push_back(&line);
  if (line.paused()) context_.any_paused = true;
  if (!line.over()) return;
  const bool was_idle = std::erase(idle_, &line) > 0;
  if (!was_idle) --(line.waits ? busy_waiting_ : busy_calm_);
  mark_unsettled();
  if (line.peer_version() > 0) {
    version_ = std::clamp(line.peer_version(), context_.config->versions.lowest,
                          context_.config->versions.highest);
  }
  if (line.state() == Line::State::Idle) return idle_.push_back(&line);
  Load load = line.take_load();
  const Line::Loss loss = line.loss();
  remove(line);
  if (!load.calls.empty()) lost(std::move(load), loss);
}

void PeerLines::remove(Line& line) {
  std::erase(context_.more, &line);
  const size_t place = line.place;
  context_.former_lines.push_back(std::move(lines_[place]));
  lines_[place] = std::move(lines_.back());
  lines_.pop_back();
  if (place < lines_.size()) lines_[place]->place = place;
}

void PeerLines::lost(Load&& load, Line::Loss loss) {
  if (loss == Line::Loss::NotConnected && !load.resent) {
    const size_t count = addresses_.size();
    if (++load.addresses_tried < count) {
      address_ = (address_ + 1) % count;
      return carry(std::move(load));
    }
    addresses_ = addresses_of(*target_, true);  // of a name: it is asked for again
    address_ = 0;
  }
  if (loss == Line::Loss::Again) {
    load.resent = true;
    return carry(std::move(load));
  }
  const bool maybe = loss == Line::Loss::Unknown || load.resent;
  for (const auto& call : load.calls) {
    call->fail(maybe ? LinkFailure::Unknown : LinkFailure::NotSent, *context_.counters);
  }
}

// ---- now and then

void PeerLines::drop() {
  fail_queued(LinkFailure::NotSent);
  while (!lines_.empty()) {
    Line& line = *lines_.back();
    line.break_off();
    settle(line);
  }
}

void PeerLines::check_times() {
  for (Calls* calls : {&calm_, &waiting_}) {
    while (!calls->empty() && waited_too_long(*calls->front())) {
      next(*calls)->fail(LinkFailure::NotSent, *context_.counters);
    }
  }
  for (size_t i = lines_.size(); i-- > 0;) {
    Line& line = *lines_[i];
    line.check_times();
    if (line.state() == Line::State::Broken) settle(line);
  }
}

void PeerLines::resume_paused() {
  for (size_t i = lines_.size(); i-- > 0;) {
    Line& line = *lines_[i];
    if (!line.paused()) continue;
    if (line.ready_to_resume()) line.read_on();
    settle(line);
  }
}

}  // namespace pawl::link
