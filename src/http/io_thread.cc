#include "http/io_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "http/connection.h"
#include "http/listener.h"
#include "http/tls.h"

namespace pawl::http {
namespace {

constexpr size_t kEventsPerRound = 256;
constexpr int kAcceptsPerRound = 64;
constexpr size_t kLargeAnswersBytes = 256 * 1024;
constexpr size_t kBulkyBytesPerTurn = 4 * 1024 * 1024;
constexpr size_t kScratchBytes = 64 * 1024;
constexpr size_t kRefusedMax = 64;  // clients over connections_max that get a 503 instead of just
                                    // being closed
constexpr int64_t kAcceptPauseMs = 100;  // without descriptors, instead of spinning
constexpr int64_t kShedLogEveryMs = 10'000;
constexpr int64_t kLingerMs = 2000;

// epoll data of the two descriptors that are not connections.
char listener_mark;
char mailbox_mark;

}  // namespace

IoThread::IoThread(ServerShared& shared, RoundHandler handler)
    : shared_(shared), handler_(std::move(handler)) {}

IoThread::~IoThread() {
  stop();
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
  if (reserve_fd_ >= 0) ::close(reserve_fd_);
}

Status IoThread::open() {
  const ServerConfig& config = shared_.config;
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  reserve_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd >= 0) {
    context_.mailbox = std::make_shared<Mailbox>(event_fd, config.stream_buffer_bytes_max);
  }
  if (epoll_fd_ < 0 || reserve_fd_ < 0 || event_fd < 0) {
    return Error{ErrorCode::Unavailable, "no file descriptors left for an I/O thread"};
  }
  context_.config = &config;
  context_.handler = &handler_.handle;
  context_.out_budget = &shared_.out_budget;
  context_.in_budget = shared_.in_budget;
  context_.limits = {config.header_bytes_max, config.target_bytes_max, config.headers_max,
                     config.body_bytes_max + config.wrapping_bytes_max};
  context_.scratch.resize(kScratchBytes);
  context_.deadlines.set_delay(DeadlineKind::Idle, config.idle_ms);
  context_.deadlines.set_delay(DeadlineKind::Head, config.header_read_ms);
  context_.deadlines.set_delay(DeadlineKind::Body,
                               std::min(config.body_read_ms, config.body_stall_ms));
  context_.deadlines.set_delay(DeadlineKind::Write, config.write_stall_ms);
  context_.deadlines.set_delay(DeadlineKind::Linger, kLingerMs);

  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = &mailbox_mark;
  PAWL_CHECK(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, event_fd, &event) == 0);
  resume_accepting();
  return ok_status();
}

void IoThread::run() {
  // Signals belong to the main thread; SIGPIPE from TLS writes becomes EPIPE.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void IoThread::drain() { context_.mailbox->push(Message{nullptr, 0, message::Drain{}}); }

void IoThread::stop() {
  if (!thread_.joinable()) return;
  context_.mailbox->push(Message{nullptr, 0, message::Stop{}});
  thread_.join();
}

void IoThread::read_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  context_.now_us =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

int IoThread::wait_ms() {
  if (!context_.unread.empty() || !context_.dirty.empty() || !bulky_.empty() ||
      !context_.mailbox->prepare_sleep())
    return 0;
  int wait = context_.deadlines.wait_ms(context_.now_ms());
  if (accept_again_ms_ >= 0) {
    const int64_t left = std::max<int64_t>(accept_again_ms_ - context_.now_ms(), 0);
    if (wait < 0 || left < wait) wait = static_cast<int>(left);
  }
  // Connections of another thread may exceed the budget, and this thread is not notified.
  const bool watching = context_.holders > 0 || context_.over_budget;
  if (watching && (wait < 0 || shared_.config.out_stall_ms < wait)) {
    wait = shared_.config.out_stall_ms;
  }
  return wait;
}

void IoThread::loop() {
  context_.mailbox->begin_reading();
  std::array<epoll_event, kEventsPerRound> events;
  read_clock();
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_fd_, events.data(), kEventsPerRound, wait_ms());
    read_clock();
    for (int i = 0; i < count; ++i) {
      void* who = events[static_cast<size_t>(i)].data.ptr;
      if (who == &listener_mark) {
        accept_some();
      } else if (who != &mailbox_mark) {
        static_cast<Connection*>(who)->on_events(events[static_cast<size_t>(i)].events);
      }
    }
    std::swap(reading_, context_.unread);
    for (Connection* connection : reading_) connection->continue_reading();
    reading_.clear();
    end_handing();
    read_messages();
    end_handing();  // bodies that were inflated on another thread
    expire_deadlines();
    flush_dirty();
    watch_budget();
    destroy_ended();
    if (accept_again_ms_ >= 0 && accept_again_ms_ <= context_.now_ms()) resume_accepting();
  }
  for (const auto& connection : connections_) connection->end();
  flush_dirty();
  destroy_ended();
  context_.mailbox->close();
}

void IoThread::end_handing() {
  if (std::exchange(context_.handed, 0) > 0 && handler_.end_round) handler_.end_round();
}

void IoThread::read_messages() {
  context_.mailbox->take(messages_);
  for (Message& message : messages_) {
    if (message.link != nullptr) {
      if (Connection* connection = message.link->connection) {
        connection->apply(message.sequence, std::move(message.content));
      } else if (const auto* watch = std::get_if<message::Watch>(&message.content)) {
        watch->callback();  // the client left before the watch arrived
      }
    } else if (auto* adopted = std::get_if<message::Adopt>(&message.content)) {
      adopt(adopted->fd, std::move(adopted->peer));
    } else if (std::holds_alternative<message::Drain>(message.content)) {
      begin_drain();
    } else {
      stopping_ = true;
    }
  }
  messages_.clear();
}

void IoThread::expire_deadlines() {
  while (Deadline* deadline = context_.deadlines.due(context_.now_ms())) {
    deadline->owner->on_deadline(*deadline);
  }
}

// Connections with little to send do not wait for those with much: of the latter only a limited
// number of bytes is sent before the sockets are polled again. Callbacks may make further
// connections dirty while this runs.
void IoThread::flush_dirty() {
  if (context_.dirty.empty() && bulky_.empty()) return;
  if (shared_.config.access_log) read_clock();
  for (size_t i = 0; i < context_.dirty.size(); ++i) {
    Connection* connection = context_.dirty[i];
    if (connection->unsent() > kLargeAnswersBytes && !stopping_) {
      bulky_.push_back(connection);
    } else {
      connection->flush();
    }
  }
  context_.dirty.clear();
  size_t sent = 0;
  while (!bulky_.empty() && sent < kBulkyBytesPerTurn) {
    Connection* connection = bulky_.front();
    bulky_.pop_front();
    const size_t before = connection->unsent();
    connection->flush();
    sent += before - std::min(before, connection->unsent());
  }
}

void IoThread::watch_budget() {
  const bool was_over = std::exchange(context_.over_budget, shared_.out_budget.over());
  if (context_.over_budget) {
    if (!was_over) {
      ++context_.out_looks;  // earlier measurements do not count
      out_look_ms_ = 0;
    }
    cut_hoarders();
  } else if (was_over) {
    for (const auto& connection : connections_) connection->resume_input();
  }
}

void IoThread::cut_hoarders() {
  if (out_look_ms_ > context_.now_ms()) return;
  ++context_.out_looks;
  out_look_ms_ = context_.now_ms() + shared_.config.out_stall_ms;
  const size_t share = shared_.out_budget.share();
  hoarders_.clear();
  for (const auto& connection : connections_) {
    if (connection->hoards(share)) hoarders_.push_back(connection.get());
  }
  std::sort(hoarders_.begin(), hoarders_.end(),
            [](const Connection* a, const Connection* b) { return a->unsent() > b->unsent(); });
  for (Connection* connection : hoarders_) {
    if (!shared_.out_budget.over()) break;
    connection->cut_hoarder();
  }
}

void IoThread::destroy_ended() {
  if (context_.ended.empty()) return;
  for (Connection* connection : context_.ended) {
    std::erase(context_.unread, connection);
    std::erase(bulky_, connection);
    std::unique_ptr<Connection>& place = connections_[connection->registry_index];
    PAWL_CHECK(place.get() == connection);
    std::swap(place, connections_.back());
    place->registry_index = connection->registry_index;
    connections_.pop_back();
  }
  const size_t count = context_.ended.size();
  context_.ended.clear();
  connection_count_.store(connections_.size(), std::memory_order_relaxed);
  if (shared_.connections_open.fetch_sub(count) == count) {
    const std::lock_guard lock(shared_.idle_mutex);
    shared_.idle.notify_all();
  }
}

void IoThread::begin_drain() {
  context_.draining = true;
  for (const auto& connection : connections_) connection->begin_drain();
}

void IoThread::add_to(ServerStats& stats) const {
  const Counters& counters = context_.counters;
  stats.connections_accepted += counters.accepted.get();
  stats.connections_refused += counters.refused.get();
  stats.requests += counters.requests.get();
  stats.requests_bad += counters.requests_bad.get();
  stats.requests_no_room += counters.requests_no_room.get();
  stats.judged_out += counters.judged_out.get();
  stats.timeouts += counters.timeouts.get();
  stats.slow_readers_cut += counters.slow_readers_cut.get();
  stats.hoarders_cut += counters.hoarders_cut.get();
  stats.streams_overrun += counters.streams_overrun.get();
  stats.unanswered += counters.unanswered.get();
  stats.bytes_in += counters.bytes_in.get();
  stats.bytes_out += counters.bytes_out.get();
  stats.wakes += context_.mailbox->wakes();
}

// ---- accepting

void IoThread::resume_accepting() {
  accept_again_ms_ = -1;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.ptr = &listener_mark;
  PAWL_CHECK(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, shared_.listen_fd, &event) == 0);
}

void IoThread::pause_accepting() {
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, shared_.listen_fd, nullptr);
  accept_again_ms_ = context_.now_ms() + kAcceptPauseMs;
}

void IoThread::accept_some() {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(shared_.listen_fd, reinterpret_cast<sockaddr*>(&address), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      place(fd, address_text(address));
      continue;
    }
    switch (errno) {
      case EAGAIN:
        return;
      case EINTR:
      case ECONNABORTED:
        continue;
      case EMFILE:
      case ENFILE:
        shed_one();
        return;
      case EINVAL:  // drain() has shut the listener down
        ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, shared_.listen_fd, nullptr);
        return;
      default:
        pause_accepting();
        return;
    }
  }
}

// No descriptor left: use the reserve to accept one client and close it, so that it is refused at
// once. If even that fails, try again later.
void IoThread::shed_one() {
  context_.counters.refused.add(1);
  ::close(reserve_fd_);
  const int fd = ::accept4(shared_.listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) ::close(fd);
  reserve_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (reserve_fd_ < 0) pause_accepting();
  if (shared_.config.log && context_.now_ms() >= shed_log_ms_) {
    shed_log_ms_ = context_.now_ms() + kShedLogEveryMs;
    shared_.config.log("clients are refused: no file descriptors left");
  }
}

// To the thread with the fewest connections: the kernel tends to wake the same one each time.
void IoThread::place(int fd, std::string peer) {
  IoThread* best = this;
  for (const auto& thread : shared_.threads) {
    if (thread->connections() < best->connections()) best = thread.get();
  }
  if (best == this) {
    adopt(fd, std::move(peer));
  } else if (!best->context_.mailbox->push(
                 Message{nullptr, 0, message::Adopt{fd, std::move(peer)}})) {
    ::close(fd);
  }
}

void IoThread::adopt(int fd, std::string peer) {
  const size_t open = shared_.connections_open.fetch_add(1) + 1;
  const bool busy = open > shared_.config.connections_max;
  ssl_st* tls = nullptr;
  bool room =
      !busy || (shared_.tls == nullptr && open <= shared_.config.connections_max + kRefusedMax);
  if (room && shared_.tls != nullptr) {
    tls = shared_.tls->accept(fd);
    room = tls != nullptr;
  }
  if (busy || !room) context_.counters.refused.add(1);
  if (!room) {
    ::close(fd);
    shared_.connections_open.fetch_sub(1);
    return;
  }
  context_.counters.accepted.add(1);
  connections_.push_back(std::make_unique<Connection>(context_, fd, tls, std::move(peer)));
  Connection& connection = *connections_.back();
  connection.registry_index = connections_.size() - 1;
  connection_count_.store(connections_.size(), std::memory_order_relaxed);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &connection;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    connection.end();
    return;
  }
  connection.begin();
  if (busy) connection.refuse_busy();
  if (context_.draining) connection.begin_drain();
}

}  // namespace pawl::http
