// Measures what a link costs: the time of one empty request over a link against the same request to
// the serving node itself, and the CPU of a request under load. All in one process, so the CPU is
// that of both ends, of the answering handler and of the clients.
//
// Usage: link_bench <requests>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "http/server.h"
#include "link/link_door.h"
#include "link/links.h"

namespace {

using namespace pawl;
using namespace pawl::link;

constexpr char kKey[] = "0123456789abcdef0123456789abcdef";

// Counts answers down.
class Countdown {
 public:
  explicit Countdown(size_t count) : left_(count) {}
  void one() {
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) zero_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  size_t left_;
};

class CountingSink : public http::AnswerSink {
 public:
  explicit CountingSink(Countdown& countdown) : countdown_(countdown) {}
  void answer(http::Response&&) override { countdown_.one(); }
  void begin_stream(http::Response&&) override {}
  bool write(std::string_view) override { return true; }
  void end_stream() override {}
  void on_disconnect(std::function<void()>) override {}

 private:
  Countdown& countdown_;
};

double cpu_micros() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

double median_micros(size_t times, const std::function<void()>& act) {
  std::vector<double> micros;
  for (size_t i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    act();
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::nth_element(micros.begin(), micros.begin() + static_cast<std::ptrdiff_t>(times / 2),
                   micros.end());
  return micros[times / 2];
}

// A blocking client with one connection, for answers without a body.
class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    PAWL_CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(fd_); }

  void ask() {
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    PAWL_CHECK(::send(fd_, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0);
    std::string_view got;
    char buffer[4096];
    for (size_t size = 0; !got.ends_with("\r\n\r\n");) {
      const ssize_t count = ::recv(fd_, buffer + size, sizeof buffer - size, 0);
      PAWL_CHECK(count > 0);
      size += static_cast<size_t>(count);
      got = {buffer, size};
    }
  }

 private:
  const int fd_;
};

void fail_the_benchmark(LinkFailure) { PAWL_CHECK(false); }

LinkCall call_to(const Peer& peer, Countdown& countdown) {
  return {peer,
          {.partition = 1, .epoch = 1, .request = {.method = "GET", .target = "/"}},
          std::make_shared<CountingSink>(countdown),
          fail_the_benchmark};
}

void print_load(Links& links, const Peer& peer, size_t requests, size_t together) {
  const double before = cpu_micros();
  const auto begin = std::chrono::steady_clock::now();
  for (size_t sent = 0; sent < requests; sent += together) {
    Countdown round(together);
    std::vector<LinkCall> calls;
    for (size_t i = 0; i < together; ++i) calls.push_back(call_to(peer, round));
    links.call_many(std::move(calls));
    round.wait();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto count = static_cast<double>(requests);
  fmt::print("{:>4} at a time: {:.0f} requests/s, {:.2f} µs CPU each\n", together, count / seconds,
             (cpu_micros() - before) / count);
}

http::Handler passing_on(Links& links, const Peer& peer) {
  return [&links, peer](http::Request&& request, http::Responder responder) {
    links.call({peer,
                {.partition = 1,
                 .epoch = 1,
                 .request = {.method = std::string(request.method),
                             .target = std::string(request.target)}},
                http::sink_for(std::move(responder)),
                fail_the_benchmark});
  };
}

}  // namespace

int main(int argc, char** argv) {
  const size_t requests = argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 20'000;
  LinkDoor door({.key = kKey, .incarnation = "b"},
                [](uint16_t, uint64_t, uint8_t, http::Request&&, http::Responder&& responder) {
                  responder.respond({});
                  return true;
                });
  http::ServerConfig config;
  config.wrapping_bytes_max = kWrappingBytesMax;
  auto server =
      http::Server::start(config, [&](http::Request&& request, http::Responder responder) {
        if (request.path == kLinkPath) return door.serve(std::move(request), std::move(responder));
        responder.respond({});
      });
  auto links = Links::start({.key = kKey, .name = "a", .incarnation = "a"});
  if (!server.ok() || !links.ok()) return 1;
  const Peer peer{"b", "b", "http://127.0.0.1:" + std::to_string((*server)->port())};
  auto front = http::Server::start({}, passing_on(**links, peer));
  if (!front.ok()) return 1;
  Client direct((*server)->port());
  Client passed((*front)->port());
  const auto median_of = [&](Client& client) {
    median_micros(requests / 4 + 1, [&] { client.ask(); });  // warms up
    return median_micros(requests, [&] { client.ask(); });
  };
  const double local = median_of(direct);
  const double forwarded = median_of(passed);
  fmt::print("one at a time: {:.1f} µs at the serving node, {:.1f} µs over a link (p50)\n", local,
             forwarded);
  for (const size_t together : {size_t{1}, size_t{16}, size_t{128}})
    print_load(**links, peer, requests, together);
  return 0;
}
