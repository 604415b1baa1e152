// Responder and Stream: how a handler answers one request, from any thread, now or much later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wakes.h"

namespace pawl::http {

class AnswerSink;
class Connection;
struct Link;         // the part of a connection that other threads may touch
struct StreamState;  // shared by a Stream and its connection

// The server writes Content-Length, Transfer-Encoding, Connection and X-Request-Id itself and skips
// them here; it also skips headers whose name or value does not fit on one header line.
struct Response {
  int status = 200;  // 200 to 599; anything else is a bug of the handler
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string content_type = {};  // no Content-Type header if empty
  std::string body = {};
  bool close = false;  // close the connection after this answer
};

// An endless answer (server-sent events): chunked, in the order of the write() calls.
//
// Any thread, one at a time. Destroying an open stream closes it.
class Stream {
 public:
  Stream() = default;
  Stream(Stream&&) noexcept = default;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  // False once the stream has ended: closed here, the client disconnected, or the client reads so
  // slowly that ServerConfig::stream_buffer_bytes_max would overflow, in which case it is
  // disconnected. A chunk is taken whole or not at all. An empty chunk only asks whether the stream
  // is still open().
  bool write(std::string_view chunk);
  bool open() const;
  // The same for a chunk that is a whole answer by itself: it may be as large as a body that
  // respond() takes, and is bounded like one (ServerConfig::out_bytes_total_max).
  bool write_answer(std::string&& chunk);
  // Bytes that were written and the client has not read yet, framing included.
  size_t unsent() const;
  void close();

  // Calls back once, on the I/O thread, if the connection ends before close(); at the next
  // opportunity if that has already happened. The last callback set counts.
  void on_close(std::function<void()> callback);

 private:
  friend class Responder;
  Stream(std::shared_ptr<Link> link, std::shared_ptr<StreamState> state, uint64_t sequence);
  explicit Stream(std::shared_ptr<AnswerSink> sink) : sink_(std::move(sink)) {}

  std::shared_ptr<Link> link_;
  std::shared_ptr<StreamState> state_;
  uint64_t sequence_ = 0;
  std::shared_ptr<AnswerSink> sink_;  // instead of a connection
};

// Answers one request exactly once: respond() or stream(). Destroying an unanswered Responder sends
// a 500 and logs it, so that a client never waits in vain.
//
// Any thread, one at a time. Answers may come in any order; the connection sends them in the order
// of the requests. An answer to a client that has gone is dropped silently.
class Responder {
 public:
  Responder() = default;
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  // With `wakes` the I/O thread is woken when that is destroyed: one wake for many answers.
  void respond(Response&& response, Wakes* wakes = nullptr);

  // Sends status and headers of `head` (its body becomes the first chunk, if any) and leaves the
  // rest to the Stream. To a HEAD request the stream is over at once.
  Stream stream(Response&& head);

  // The client closed its side or the connection broke. A client that only half-closed still gets
  // an answer, so answering is never wrong; it may be pointless.
  bool disconnected() const;

  // Calls back once, on the I/O thread, if the client goes away before respond(); at the next
  // opportunity if that has already happened. The callback may run while another thread is calling
  // respond(), and must not destroy this Responder on a thread that is using it. It does not
  // answer: the Responder must still be answered or destroyed.
  void on_disconnect(std::function<void()> callback);

 private:
  friend class Connection;
  friend Responder responder_for(std::shared_ptr<AnswerSink> sink);
  Responder(std::shared_ptr<Link> link, uint64_t sequence);
  void leave_unanswered();

  std::shared_ptr<Link> link_;
  uint64_t sequence_ = 0;
  std::shared_ptr<AnswerSink> sink_;  // instead of a connection
};

}  // namespace pawl::http
