#include "link/links.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/work_pool.h"
#include "link/inbox.h"
#include "link/ongoing_call.h"
#include "link/peer_lines.h"

namespace pawl::link {
namespace {

constexpr int kLinkEventsPerRound = 128;
constexpr int kCheckEveryMs = 250;
constexpr int kPausedCheckMs = 5;

Status check_links_config(const LinksConfig& config) {
  const bool good = !config.key.empty() && !config.incarnation.is("") && config.lines_max > 0 &&
                    config.waiting_lines_max > 0 && config.connect_ms_max > 0 &&
                    config.answer_ms_max > 0 && config.idle_ms_max > 0 &&
                    config.versions.lowest <= config.versions.highest;
  if (good) return ok_status();
  return Error{ErrorCode::InvalidRequest,
               "links need a key, an incarnation, and bounds of at least 1"};
}

}  // namespace

// The link thread. A round: events of lines → messages → batches → times.
class Links::Loop {
 public:
  explicit Loop(LinksConfig config) : config_(std::move(config)), seal_(config_.key) {}
  ~Loop();

  Status open();
  void run();
  void stop();

  const LinksConfig& config() const { return config_; }
  const std::shared_ptr<Inbox>& inbox() { return inbox_; }
  LinkCounters& counters() { return counters_; }
  Warnings& warnings() { return warnings_; }

 private:
  void rounds();
  int wait_ms();
  void read_messages();
  void take(message::TakeCall&& message);
  void take(message::CancelCall&& message);
  void take(message::DropPeer&& message);
  void take(message::FoundAddresses&& message);
  void take(message::StopLoop&&) { stopping_ = true; }
  void check_times();
  void end();
  bool look_up(const std::string& peer_key, const Target& target);
  ClientTls* tls();

  const LinksConfig config_;
  const Seal seal_;
  LinkCounters counters_;
  Warnings warnings_;
  std::shared_ptr<Inbox> inbox_;
  PeersContext context_;
  std::map<std::string, std::unique_ptr<PeerLines>> peers_;
  std::unique_ptr<ClientTls> tls_;
  std::unique_ptr<WorkPool> lookups_;
  std::vector<LinkMessage> messages_;
  std::vector<Line*> reading_;
  uint64_t checked_us_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

Links::Loop::~Loop() {
  stop();
  if (context_.epoll_fd >= 0) ::close(context_.epoll_fd);
}

Status Links::Loop::open() {
  context_.epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  const int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd >= 0) inbox_ = std::make_shared<Inbox>(event_fd);
  if (context_.epoll_fd < 0 || event_fd < 0) {
    return Error{ErrorCode::Unavailable, "no file descriptors left for the link thread"};
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;  // not a line
  PAWL_CHECK(::epoll_ctl(context_.epoll_fd, EPOLL_CTL_ADD, event_fd, &event) == 0);
  context_.config = &config_;
  context_.seal = &seal_;
  context_.counters = &counters_;
  context_.warnings = &warnings_;
  context_.tls = [this] { return tls(); };
  context_.look_up = [this](const std::string& peer_key, const Target& target) {
    return look_up(peer_key, target);
  };
  if (config_.tls_ca_file.empty()) return ok_status();
  PAWL_TRY(tls_, ClientTls::load(config_.tls_ca_file));
  return ok_status();
}

void Links::Loop::run() {
  // Signals belong to the main thread; SIGPIPE from TLS writes becomes EPIPE.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { rounds(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Links::Loop::stop() {
  if (!thread_.joinable()) return;
  inbox_->push(message::StopLoop{});
  thread_.join();
  lookups_.reset();
}

int Links::Loop::wait_ms() {
  if (!context_.more.empty() || !inbox_->prepare_sleep()) return 0;
  if (context_.any_paused) return kPausedCheckMs;
  return peers_.empty() ? -1 : kCheckEveryMs;
}

void Links::Loop::rounds() {
  epoll_event events[kLinkEventsPerRound];
  while (!stopping_) {
    const int count = ::epoll_wait(context_.epoll_fd, events, kLinkEventsPerRound, wait_ms());
    context_.now_us = now_us();
    for (int i = 0; i < count; ++i) {
      auto* line = static_cast<Line*>(events[i].data.ptr);
      if (line == nullptr || line->state() == Line::State::Broken) continue;
      line->on_events(events[i].events);
      line->owner->settle(*line);
    }
    std::swap(reading_, context_.more);
    for (Line* line : reading_) {
      if (line->state() == Line::State::Broken) continue;
      line->read_on();
      line->owner->settle(*line);
    }
    reading_.clear();
    read_messages();
    if (std::exchange(context_.any_paused, false)) {
      for (const auto& [key, peer] : peers_) peer->resume_paused();
    }
    check_times();
    while (!context_.unsettled.empty()) {
      PeerLines* peer = context_.unsettled.back();
      context_.unsettled.pop_back();
      peer->send_queued();
    }
    context_.former_lines.clear();
  }
  end();
}

void Links::Loop::read_messages() {
  inbox_->take(messages_);
  for (LinkMessage& one : messages_) {
    std::visit([&](auto& message) { take(std::move(message)); }, one);
  }
  messages_.clear();
}

void Links::Loop::take(message::TakeCall&& message) {
  std::string key = message.peer.incarnation + " " + message.peer.url;
  std::unique_ptr<PeerLines>& peer = peers_[key];
  if (peer == nullptr) {
    peer = std::make_unique<PeerLines>(context_, std::move(message.peer), std::move(key));
  }
  peer->add(std::move(message.call));
}

void Links::Loop::take(message::CancelCall&& message) {
  OngoingCall& call = *message.call;
  if (call.over()) return;
  call.cancelled = true;
  if (call.line == nullptr) return;
  call.line->break_off();
  call.line->owner->settle(*call.line);
}

void Links::Loop::take(message::DropPeer&& message) {
  for (const auto& [key, peer] : peers_) {
    if (peer->peer().incarnation == message.incarnation) peer->drop();
  }
}

void Links::Loop::take(message::FoundAddresses&& message) {
  const auto peer = peers_.find(message.peer_key);
  if (peer != peers_.end()) peer->second->found(std::move(message.addresses));
}

void Links::Loop::check_times() {
  if (context_.now_us - checked_us_ < uint64_t{kCheckEveryMs} * 1000) return;
  checked_us_ = context_.now_us;
  for (const auto& [key, peer] : peers_) peer->check_times();
  std::erase_if(peers_, [](const auto& entry) { return entry.second->unused(); });
}

void Links::Loop::end() {
  for (LinkMessage& message : inbox_->close()) {
    if (auto* taken = std::get_if<message::TakeCall>(&message)) {
      taken->call->fail(LinkFailure::NotSent, counters_);
    }
  }
  for (const auto& [key, peer] : peers_) peer->drop();
  context_.former_lines.clear();
  peers_.clear();
}

// One thread: names of nodes are few, and asked for only to connect.
bool Links::Loop::look_up(const std::string& peer_key, const Target& target) {
  if (lookups_ == nullptr) {
    lookups_ = std::make_unique<WorkPool>(
        WorkPoolOptions{.threads = 1, .waiting_max = 256, .name = "names of nodes"});
  }
  std::function<void()> work = [inbox = inbox_, peer_key, target] {
    inbox->push(message::FoundAddresses{peer_key, addresses_of(target, false)});
  };
  return lookups_->run(work).ok();
}

ClientTls* Links::Loop::tls() {
  if (tls_ == nullptr) {
    auto loaded = ClientTls::load(config_.tls_ca_file);
    if (loaded.ok()) {
      tls_ = std::move(loaded).value();
    } else {
      warnings_.add(loaded.error().message);
    }
  }
  return tls_.get();
}

Links::Links(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Links::~Links() { stop(); }

Result<std::unique_ptr<Links>> Links::start(LinksConfig config) {
  PAWL_TRY_DO(check_links_config(config));
  auto loop = std::make_unique<Loop>(std::move(config));
  PAWL_TRY_DO(loop->open());
  loop->run();
  return std::unique_ptr<Links>(new Links(std::move(loop)));
}

void Links::call(LinkCall call) {
  std::vector<LinkCall> one;
  one.push_back(std::move(call));
  call_many(std::move(one));
}

void Links::call_many(std::vector<LinkCall> calls) {
  std::vector<LinkMessage> messages;
  messages.reserve(calls.size());
  const uint64_t started_us = now_us();
  for (LinkCall& one : calls) {
    auto call = std::make_shared<OngoingCall>(std::move(one.passed), one.sink,
                                              std::move(one.failed), started_us);
    if (call->waits) {
      call->watch = [weak = std::weak_ptr(call), inbox = loop_->inbox()] {
        if (auto gone = weak.lock()) inbox->push(message::CancelCall{std::move(gone)});
      };
      one.sink->on_disconnect(call->watch);
    }
    messages.emplace_back(message::TakeCall{std::move(one.peer), std::move(call)});
  }
  if (loop_->inbox()->push_all(messages)) return;
  for (LinkMessage& message : messages) {
    std::get<message::TakeCall>(message).call->fail(LinkFailure::NotSent, loop_->counters());
  }
}

void Links::drop(const std::string& incarnation) {
  loop_->inbox()->push(message::DropPeer{incarnation});
}

void Links::stop() { loop_->stop(); }

LinkStats Links::stats() const { return loop_->counters().stats(); }

std::vector<std::string> Links::warnings() const { return loop_->warnings().list(); }

}  // namespace pawl::link
