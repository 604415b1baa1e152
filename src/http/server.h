// Server: HTTP/1.1 over epoll, by hand (docs/adr/0002-http-by-hand.md).
//
// It turns bytes into Requests and Responses into bytes, and knows nothing about workflows. Each
// I/O thread has its own epoll; a connection stays on one of them, so a request costs no thread
// switch until the handler makes one. Any input is answered by the handler, by a 4xx/501/505
// with
// {"error":{"code","message"}}, or by a closed connection; never by unbounded memory.
//
// start() fails with the reason if the address cannot be bound or the TLS files cannot be read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/request.h"
#include "http/responder.h"

namespace pawl::http {

// Called on an I/O thread: must not block. The request may be moved away; exceptions must not
// leave.
using Handler = std::function<void(Request&&, Responder)>;

// What one I/O thread does with its requests. Each thread has its own: what the requests of a round
// leave behind in it needs no lock.
struct RoundHandler {
  Handler handle;
  // After the requests of one epoll round were passed to the handler: the place to flush a batch.
  // Not called for rounds without requests.
  std::function<void()> end_round = {};
};

// Called on an I/O thread when a request's head is complete and before any byte of its body is
// kept: a request without permission, or for an unknown path, is answered at once, and its body is
// not kept. It may pass data to the handler (Request::verdict).
struct Verdict {
  std::optional<Response> answer;      // given at once; the handler is not called
  size_t body_bytes_max = SIZE_MAX;    // of this request, below ServerConfig::body_bytes_max
  bool wraps_requests = false;         // that bound grows by ServerConfig::wrapping_bytes_max
  const std::string* lines = nullptr;  // "Name: value\r\n" added to its answer; outlives the server
};
using Judge = std::function<Verdict(Request&)>;

// One answered request. The views are valid during the call, which is made on an I/O thread.
struct AccessRecord {
  std::string_view method;
  std::string_view path;
  std::string_view id;
  std::string_view peer;
  int status;
  uint64_t body_bytes;  // 0 for a stream
  uint64_t micros;      // from the whole request read to the answer queued (a stream: to its start)
};

struct ServerConfig {
  std::string host = "127.0.0.1";  // IPv4, IPv6 ("::" takes both) or a name
  int port = 0;                    // 0: any free port, see Server::port()
  int io_threads = 1;

  size_t header_bytes_max = 32 * 1024;       // request line and headers: 431
  size_t target_bytes_max = 8 * 1024;        // 414
  size_t headers_max = 100;                  // 431
  size_t body_bytes_max = 64 * 1024 * 1024;  // after inflating: 413
  size_t wrapping_bytes_max = 0;             // more, for a body that holds other requests: Verdict
  size_t connections_max = 10'000;           // over all threads; more get 503 and are closed
  // A connection's next request is handled only while its unsent bytes and its expected answers,
  // each as large as earlier ones, are within out_bytes_max; at least one, when no other is being
  // handled. While the size of its answers is unknown: pipeline_first.
  size_t pipeline_max = 64;  // unanswered requests, however small their answers
  size_t pipeline_first = 4;
  size_t out_bytes_max = 256 * 1024;
  // Unsent bytes of all connections. Beyond it no further requests are read from connections with
  // unsent bytes, and each out_stall_ms connections above their share that did not read
  // write_bytes_min of it are cut, largest first, until the rest is within the bound.
  size_t out_bytes_total_max = 256 * 1024 * 1024;
  int out_stall_ms = 1'000;
  size_t in_bytes_max = 1024 * 1024;  // of unanswered requests, before one more is read
  // Request bytes of all connections, from their arrival to their answer: see InBudget. Beyond:
  // 503.
  size_t in_bytes_total_max = 256 * 1024 * 1024;
  // The bound of an inflated body: inflate_free_bytes, or this many times its compressed size.
  size_t inflate_free_bytes = 1024 * 1024;
  size_t inflate_ratio_max = 200;
  size_t stream_buffer_bytes_max = 1024 * 1024;
  size_t gzip_bytes_min = 1024;  // smaller answers are never compressed; 0: never compress

  int idle_ms = 75'000;         // no request being handled
  int header_read_ms = 10'000;  // from its first byte, or the TLS handshake: 408
  int body_read_ms = 60'000;    // the whole body: 408
  // Each body_stall_ms the rest of a body must arrive, or this many bytes of it: 408.
  int body_stall_ms = 10'000;
  size_t body_bytes_min = 64 * 1024;
  // Each write_stall_ms a client must read all waiting bytes, or this many of them; else it is cut.
  // Bytes in its socket's buffer count as waiting, too.
  int write_stall_ms = 30'000;
  size_t write_bytes_min = 64 * 1024;

  std::string tls_certificate_file;  // PEM chain; both or none. TLS 1.2 at least
  std::string tls_key_file;

  Judge judge;
  // Runs work on another thread; false, and the work is not taken, if there is no room. Without
  // this function, large bodies are inflated on the I/O thread.
  std::function<bool(std::function<void()>& work)> run_aside;
  std::function<void(const AccessRecord&)> access_log;
  std::function<void(std::string_view message)> log;  // messages for operators; any thread
};

struct ServerStats {
  uint64_t connections_open = 0;
  uint64_t connections_max = 0;
  uint64_t connections_accepted = 0;
  uint64_t connections_refused = 0;  // over connections_max, or no file descriptor left
  uint64_t requests = 0;             // handed to the handler
  uint64_t requests_bad = 0;         // refused by the server itself
  uint64_t timeouts = 0;             // requests and handshakes that did not arrive in time
  uint64_t slow_readers_cut = 0;     // they read too little within write_stall_ms
  uint64_t hoarders_cut = 0;         // over their share of out_bytes_total_max
  uint64_t request_bytes = 0;        // currently counted against in_bytes_total_max
  uint64_t requests_no_room = 0;     // refused because that was reached
  uint64_t judged_out = 0;           // answered by the judge
  uint64_t unsent_bytes = 0;         // currently counted against out_bytes_total_max
  uint64_t streams_overrun = 0;      // cut because stream_buffer_bytes_max was exceeded
  uint64_t unanswered = 0;           // Responders destroyed without an answer: handler bugs
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t wakes = 0;  // eventfd writes by other threads
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(ServerConfig config, const Handler& handler);
  // make_handler: called here, once for each I/O thread.
  static Result<std::unique_ptr<Server>> start(ServerConfig config,
                                               const std::function<RoundHandler()>& make_handler);
  Server& operator=(Server&&) = delete;
  ~Server();  // stop()

  int port() const;
  bool tls() const;

  // Stops accepting, closes idle connections, lets requests and streams in flight end (their
  // answers carry Connection: close), then stops; remaining connections after `limit` are cut. A
  // caller with endless streams or parked requests ends them first. Blocks; not from an I/O thread.
  void drain(std::chrono::milliseconds limit);

  // Cuts every connection (their on_disconnect and on_close run) and joins the I/O threads.
  // Responders that are still around become harmless. Not from an I/O thread.
  void stop();

  ServerStats stats() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::http
