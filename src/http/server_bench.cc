// Measures the CPU cost of one small request, kernel included. Serves 100 bytes until its input
// ends, then prints the figure; the load comes from outside (docs/adr/0002-http-by-hand.md has the
// command).
//
// Usage: http_bench <port> <io threads> [hop]    hop: answer from another thread, in batches
#include <fmt/core.h>
#include <sys/resource.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "http/server.h"

namespace {

using pawl::http::Request;
using pawl::http::Responder;
using pawl::http::Response;

Response small_answer() {
  return Response{.content_type = "application/json", .body = std::string(100, 'x')};
}

// Imitates the engine: takes the requests of one epoll round and answers them from its own thread.
class Answerer {
 public:
  void post(std::vector<Responder>&& batch) {
    const std::lock_guard lock(mutex_);
    for (Responder& one : batch) waiting_.push_back(std::move(one));
    batch.clear();
    filled_.notify_one();
  }

  void run() {
    std::vector<Responder> batch;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        std::swap(batch, waiting_);
      }
      pawl::Wakes once;
      for (Responder& one : batch) one.respond(small_answer(), &once);
      batch.clear();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    filled_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Responder> waiting_;
  bool stopping_ = false;
};

struct Cpu {
  double user_micros;
  double kernel_micros;
};

Cpu cpu_spent() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return {micros(usage.ru_utime), micros(usage.ru_stime)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: http_bench <port> <io threads> [hop]\n");
    return 2;
  }
  const bool hop = argc > 3 && std::string_view(argv[3]) == "hop";
  Answerer answerer;
  std::thread answering([&] { answerer.run(); });
  pawl::http::ServerConfig config;
  config.port = std::atoi(argv[1]);
  config.io_threads = std::atoi(argv[2]);
  const auto make_handler = [&]() -> pawl::http::RoundHandler {
    if (!hop) return {[](Request&&, Responder responder) { responder.respond(small_answer()); }};
    auto round = std::make_shared<std::vector<Responder>>();
    return {[round](Request&&, Responder responder) { round->push_back(std::move(responder)); },
            [round, &answerer] { answerer.post(std::move(*round)); }};
  };
  auto server = pawl::http::Server::start(std::move(config), make_handler);
  if (!server.ok()) {
    fmt::print(stderr, "{}\n", server.error().message);
    return 1;
  }
  const Cpu before = cpu_spent();
  while (std::getchar() != EOF) {
  }
  const Cpu after = cpu_spent();
  const auto stats = (*server)->stats();
  (*server)->stop();
  answerer.stop();
  answering.join();
  const double requests = static_cast<double>(stats.requests);
  const double user = (after.user_micros - before.user_micros) / requests;
  const double kernel = (after.kernel_micros - before.kernel_micros) / requests;
  fmt::print("{} requests, CPU each: {:.2f} µs = {:.2f} user + {:.2f} kernel; {} wakes\n",
             stats.requests, user + kernel, user, kernel, stats.wakes);
  return 0;
}
