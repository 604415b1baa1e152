#include "echo_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "failure.h"

namespace pawl::bench {
namespace {

constexpr size_t kRequestBytesMax = 1 << 20;
constexpr std::string_view kReply =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    "{\"echoed\":true}";

// Bytes of the first request in `text`, or 0 while it is incomplete.
size_t request_bytes(std::string_view text) {
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  size_t body = 0;
  const size_t at = text.substr(0, head).find(kLength);
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + kLength.size(), text.data() + head, body);
  }
  return text.size() < head + 4 + body ? 0 : head + 4 + body;
}

class EchoLoop {
 public:
  explicit EchoLoop(int listener) : listener_(listener), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener_);
  }

  [[noreturn]] void run() {
    epoll_event events[256];
    for (;;) {
      const int ready = epoll_wait(epoll_, events, 256, -1);
      for (int i = 0; i < ready; ++i) {
        if (events[i].data.fd == listener_) {
          accept_one();
        } else {
          serve(events[i].data.fd);
        }
      }
    }
  }

 private:
  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void accept_one() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(fd);
  }

  void serve(int fd) {
    char buffer[16 << 10];
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) {
      if (got < 0 && errno == EAGAIN) return;
      unfinished_.erase(fd);
      close(fd);
      return;
    }
    std::string_view text(buffer, static_cast<size_t>(got));
    // A request nearly always arrives whole: only the rest of a cut one is kept.
    std::string joined;
    if (const auto kept = unfinished_.find(fd); kept != unfinished_.end()) {
      joined = std::move(kept->second) + std::string(text);
      unfinished_.erase(kept);
      text = joined;
    }
    for (size_t bytes = request_bytes(text); bytes != 0; bytes = request_bytes(text)) {
      if (send(fd, kReply.data(), kReply.size(), MSG_NOSIGNAL) < 0) break;
      text.remove_prefix(bytes);
    }
    if (!text.empty() && text.size() < kRequestBytesMax) unfinished_[fd] = std::string(text);
  }

  int listener_;
  int epoll_;
  std::unordered_map<int, std::string> unfinished_;
};

}  // namespace

Result<std::unique_ptr<EchoServer>> EchoServer::start() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return fail_errno("socket");
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  const bool listening = bind(listener, reinterpret_cast<const sockaddr*>(&where), size) == 0 &&
                         getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size) == 0 &&
                         listen(listener, SOMAXCONN) == 0;
  if (!listening) {
    Error error = fail_errno("listen");
    close(listener);
    return error;
  }
  std::unique_ptr<EchoServer> server(new EchoServer);
  server->address_ = Address{"127.0.0.1", ntohs(where.sin_port)};
  const pid_t parent = getpid();
  server->pid_ = fork();
  if (server->pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    EchoLoop(listener).run();
  }
  close(listener);
  if (server->pid_ < 0) return fail_errno("fork");
  return server;
}

EchoServer::~EchoServer() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace pawl::bench
