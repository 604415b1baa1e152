// Transport: non-blocking bytes over one socket, plain or TLS. Owns both.
//
// TLS writes go through write(2), which raises SIGPIPE: the I/O threads block that signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct ssl_st;

namespace pawl::http {

class OutQueue;

struct IoOutcome {
  enum class Kind : unsigned char { Done, WouldBlock, Closed, Failed };
  Kind kind;
  size_t bytes = 0;
};

// As far as the client's kernel tells.
struct TakenBytes {
  uint64_t taken = 0;    // since the connection began
  uint64_t waiting = 0;  // given to the socket and not taken
};

class Transport {
 public:
  Transport(int fd, ssl_st* tls) : fd_(fd), tls_(tls), handshaking_(tls != nullptr) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport() { close(); }

  int fd() const { return fd_; }
  bool tls() const { return tls_ != nullptr; }
  bool handshaking() const { return handshaking_; }

  IoOutcome handshake();  // a client that speaks plain HTTP is told so
  IoOutcome read(std::span<char> into);
  IoOutcome write(const OutQueue& queue);  // the caller consumes what was written

  TakenBytes taken() const;

  void shut_write();      // tells the client that nothing more comes
  void discard_unsent();  // close() will then drop what the client did not take, and reset it
  void close();

 private:
  IoOutcome tls_outcome(int returned);
  void answer_plain_http();
  IoOutcome write_plain(const OutQueue& queue);
  IoOutcome write_tls(const OutQueue& queue);

  int fd_;
  ssl_st* tls_;
  bool handshaking_;
};

}  // namespace pawl::http
