// IoThread: one epoll loop and the connections it owns.
//
// A round: events → requests to the handler → its end_round → messages from other threads →
// deadlines → write what is ready, one send per connection → cut who hoards answers. It sleeps
// without a timeout when no deadline is armed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/io_context.h"

namespace pawl::http {

class IoThread;
class TlsContext;

// Data shared by the I/O threads of one server.
struct ServerShared {
  ServerConfig config;
  std::unique_ptr<TlsContext> tls;
  int listen_fd = -1;
  OutBudget out_budget;
  // Shared, since requests that outlive the server return bytes to it.
  std::shared_ptr<InBudget> in_budget = std::make_shared<InBudget>();
  std::vector<std::unique_ptr<IoThread>> threads;  // fixed before the first one runs

  std::atomic<size_t> connections_open{0};
  std::mutex idle_mutex;
  std::condition_variable idle;  // signalled when connections_open falls to 0
};

class IoThread {
 public:
  IoThread(ServerShared& shared, RoundHandler handler);
  IoThread& operator=(IoThread&&) = delete;
  ~IoThread();

  // open() makes the descriptors; then run() starts the thread and stop() ends it.
  Status open();
  void run();
  void drain();
  void stop();

  size_t connections() const { return connection_count_.load(std::memory_order_relaxed); }
  void add_to(ServerStats& stats) const;

 private:
  void loop();
  void accept_some();
  void shed_one();
  void pause_accepting();
  void resume_accepting();
  void place(int fd, std::string peer);
  void adopt(int fd, std::string peer);
  void end_handing();
  void read_messages();
  void expire_deadlines();
  void flush_dirty();
  void watch_budget();
  void cut_hoarders();
  void destroy_ended();
  void begin_drain();
  void read_clock();
  int wait_ms();

  ServerShared& shared_;
  const RoundHandler handler_;
  IoContext context_{};
  int epoll_fd_ = -1;
  int reserve_fd_ = -1;  // closed to refuse a client properly when descriptors run out
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<size_t> connection_count_{0};
  std::vector<Connection*> reading_;
  std::deque<Connection*> bulky_;  // have much to send; still marked dirty
  std::vector<Message> messages_;
  std::vector<Connection*> hoarders_;
  int64_t out_look_ms_ = 0;       // next check for hoarders, while over the budget
  int64_t accept_again_ms_ = -1;  // -1: accepting
  int64_t shed_log_ms_ = 0;       // not before this time again
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace pawl::http
