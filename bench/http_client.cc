#include "http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "failure.h"

namespace pawl::bench {
namespace {

constexpr size_t kBufferBytesFirst = 16 << 10;
constexpr size_t kReplyBytesMax = 64 << 20;
constexpr int kEventsMax = 256;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Bytes of the body as the head announces them; nothing if it does not.
std::optional<size_t> content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at)) {
    ++at;
    if (head.size() - at < kName.size() || (head[at] | 0x20) != 'c') continue;
    if (strncasecmp(head.data() + at, kName.data(), kName.size()) != 0) continue;
    at += kName.size();
    while (at < head.size() && head[at] == ' ') ++at;
    size_t value = 0;
    const auto [end, error] = std::from_chars(head.data() + at, head.data() + head.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

Result<int> open_socket(const Address& address) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(address.port);
  if (inet_pton(AF_INET, address.host.c_str(), &where.sin_addr) != 1) {
    return fail("not an IPv4 address: {}", address.host);
  }
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno("socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    Error error = fail_errno(fmt::format("connect to {}:{}", address.host, address.port));
    close(fd);
    return error;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

struct HttpClient::Connection {
  int fd = -1;
  size_t received = 0;
  size_t expected = 0;  // bytes of head and body once the head is complete, 0 before
  size_t head_bytes = 0;
  bool waiting = false;
  std::vector<char> in = std::vector<char>(kBufferBytesFirst);
  std::string unsent;
};

std::string excerpt(const Reply& reply) {
  constexpr size_t kBodyBytesShown = 2000;
  const std::string_view status_line = reply.head.substr(0, reply.head.find('\r'));
  const bool cut = reply.body.size() > kBodyBytesShown;
  return fmt::format("{}\n{}{}", status_line, reply.body.substr(0, kBodyBytesShown),
                     cut ? " …" : "");
}

Result<std::unique_ptr<HttpClient>> HttpClient::connect(std::span<const Address> addresses,
                                                        int connections) {
  std::unique_ptr<HttpClient> client(new HttpClient);
  client->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (client->epoll_ < 0) return fail_errno("epoll_create1");
  client->connections_.resize(static_cast<size_t>(connections));
  for (int index = 0; index < connections; ++index) {
    PAWL_TRY(const int fd, open_socket(addresses[static_cast<size_t>(index) % addresses.size()]));
    client->connections_[static_cast<size_t>(index)].fd = fd;
    // Edge-triggered and registered once: no epoll_ctl on the way of a request.
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u32 = static_cast<uint32_t>(index);
    if (epoll_ctl(client->epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno("epoll_ctl");
  }
  return client;
}

HttpClient::HttpClient() = default;

HttpClient::~HttpClient() {
  for (const Connection& connection : connections_) {
    if (connection.fd >= 0) close(connection.fd);
  }
  if (epoll_ >= 0) close(epoll_);
}

void HttpClient::give_up(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

void HttpClient::send(int index, std::string_view request) {
  Connection& connection = connections_[static_cast<size_t>(index)];
  PAWL_CHECK(!connection.waiting);
  connection.waiting = true;
  const ssize_t sent = ::send(connection.fd, request.data(), request.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return give_up(fail_errno("send").message);
  const size_t taken = sent < 0 ? 0 : static_cast<size_t>(sent);
  if (taken < request.size()) connection.unsent.assign(request.substr(taken));
}

void HttpClient::flush(Connection& connection) {
  const ssize_t sent =
      ::send(connection.fd, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return give_up(fail_errno("send").message);
  if (sent > 0) connection.unsent.erase(0, static_cast<size_t>(sent));
}

Status HttpClient::poll(std::chrono::nanoseconds timeout, ReplyHandler& handler) {
  epoll_event events[kEventsMax];
  const int64_t nanos = std::max<int64_t>(timeout.count(), 0);
  const timespec wait{nanos / kNanosPerSecond, nanos % kNanosPerSecond};
  const int ready = epoll_pwait2(epoll_, events, kEventsMax, &wait, nullptr);
  if (ready < 0 && errno != EINTR) return fail_errno("epoll_pwait2");
  for (int i = 0; i < ready && failure_.empty(); ++i) {
    const int index = static_cast<int>(events[i].data.u32);
    Connection& connection = connections_[static_cast<size_t>(index)];
    if (!connection.unsent.empty() && (events[i].events & EPOLLOUT) != 0) flush(connection);
    if ((events[i].events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) receive(index, handler);
  }
  if (!failure_.empty()) return fail("{}", failure_);
  return ok_status();
}

void HttpClient::receive(int index, ReplyHandler& handler) {
  Connection& connection = connections_[static_cast<size_t>(index)];
  while (failure_.empty()) {
    const size_t room = connection.in.size() - connection.received;
    const ssize_t got = recv(connection.fd, connection.in.data() + connection.received, room, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return give_up(fail_errno("recv").message);
    if (got == 0) return give_up("the server closed a connection");
    if (!connection.waiting) return give_up("bytes arrived that no request asked for");
    connection.received += static_cast<size_t>(got);
    deliver(index, handler);
    // A short read means the socket is empty; the next bytes raise a new edge.
    if (static_cast<size_t>(got) < room) return;
  }
}

void HttpClient::deliver(int index, ReplyHandler& handler) {
  Connection& connection = connections_[static_cast<size_t>(index)];
  if (connection.expected == 0) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const void* end = memmem(connection.in.data(), connection.received, kEnd.data(), kEnd.size());
    if (end != nullptr) {
      connection.head_bytes =
          static_cast<size_t>(static_cast<const char*>(end) - connection.in.data()) + kEnd.size();
      const std::string_view head(connection.in.data(), connection.head_bytes);
      if (!head.starts_with("HTTP/1.1 ") || head.size() < 16) {
        return give_up("not an HTTP/1.1 reply: " + std::string(head));
      }
      const std::optional<size_t> length = content_length(head);
      if (!length) return give_up("a reply without Content-Length: " + std::string(head));
      connection.expected = connection.head_bytes + *length;
    }
  }
  if (connection.expected > kReplyBytesMax) return give_up("a reply larger than 64 MiB");
  if (connection.expected == 0 || connection.received < connection.expected) {
    const size_t wanted = std::max(connection.expected, connection.received * 2);
    if (connection.received == connection.in.size()) connection.in.resize(wanted + 1);
    return;
  }
  if (connection.received > connection.expected) return give_up("bytes after the end of a reply");
  const char* in = connection.in.data();
  Reply reply;
  reply.connection = index;
  reply.head = std::string_view(in, connection.head_bytes);
  reply.body =
      std::string_view(in + connection.head_bytes, connection.expected - connection.head_bytes);
  std::from_chars(in + 9, in + 12, reply.status);
  connection.waiting = false;
  connection.received = 0;
  connection.expected = 0;
  handler.on_reply(reply);
}

Result<Caller> Caller::connect(const Address& address) {
  Caller caller;
  PAWL_TRY(caller.client_, HttpClient::connect(std::span(&address, 1), 1));
  return caller;
}

Result<Reply> Caller::call(std::string_view request, std::chrono::milliseconds timeout) {
  struct Keep : ReplyHandler {
    explicit Keep(std::string& buffer) : kept(buffer) {}
    void on_reply(const Reply& from) override {
      kept.assign(from.head).append(from.body);
      reply = Reply{0, from.status, std::string_view(kept).substr(0, from.head.size()),
                    std::string_view(kept).substr(from.head.size())};
      done = true;
    }
    std::string& kept;
    Reply reply;
    bool done = false;
  } keep(kept_);
  client_->send(0, request);
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (!keep.done) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left.count() <= 0) return fail("no reply within {} ms", timeout.count());
    PAWL_TRY_DO(client_->poll(left, keep));
  }
  return keep.reply;
}

}  // namespace pawl::bench
