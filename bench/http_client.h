// HttpClient: many connections to one server, one request in flight on each, driven by one thread
// and one epoll set. Made to cost less than any server it measures: requests are ready-made bytes,
// replies are cut at Content-Length and handed over where they were received.
//
// Any transport trouble (refused, reset, closed, chunked or oversized reply) is final: poll()
// returns it and the client is spent. A status code is not trouble, judging it is the handler's
// work. Thread: the owner's only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::bench {

struct Address {
  std::string host;  // IPv4, dotted
  uint16_t port = 0;
};

// The views live until on_reply returns.
struct Reply {
  int connection = 0;
  int status = 0;
  std::string_view head;
  std::string_view body;
};

// Status line and the first bytes of the body: what is printed when a reply ends a run.
std::string excerpt(const Reply& reply);

class ReplyHandler {
 public:
  virtual ~ReplyHandler() = default;
  virtual void on_reply(const Reply& reply) = 0;  // may send() on this and on any idle connection
};

class HttpClient {
 public:
  // The connections are dealt out to the addresses in turn.
  static Result<std::unique_ptr<HttpClient>> connect(std::span<const Address> addresses,
                                                     int connections);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The request is a whole HTTP/1.1 message; what the socket does not take at once is copied. The
  // connection must be idle. A failure shows at the next poll().
  void send(int connection, std::string_view request);

  // Waits until something arrives or the time is up, and hands over the replies that are complete.
  Status poll(std::chrono::nanoseconds timeout, ReplyHandler& handler);

 private:
  struct Connection;

  HttpClient();
  void flush(Connection& connection);
  void receive(int index, ReplyHandler& handler);
  void deliver(int index, ReplyHandler& handler);
  void give_up(std::string why);

  int epoll_ = -1;
  std::vector<Connection> connections_;
  std::string failure_;
};

// One call at a time on a connection of its own, for set-up, scrapes and latency of a lone client.
class Caller {
 public:
  static Result<Caller> connect(const Address& address);

  // The views live until the next call. Fails if no reply came in time.
  Result<Reply> call(std::string_view request,
                     std::chrono::milliseconds timeout = std::chrono::seconds(60));

 private:
  std::unique_ptr<HttpClient> client_;
  std::string kept_;
};

}  // namespace pawl::bench
