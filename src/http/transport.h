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

// As acknowledged by the client's kernel.
struct TakenBytes {
  uint64_t taken = 0;    // since the connection began
  uint64_t waiting = 0;  // written to the socket and not acknowledged
};

class Transport {
 public:
  Transport(int fd, ssl_st* tls) : fd_(fd), tls_(tls), handshaking_(tls != nullptr) {}
  Transport& operator=(Transport&&) = delete;
  ~Transport() { close(); }

  int fd() const { return fd_; }
  bool tls() const { return tls_ != nullptr; }
  bool handshaking() const { return handshaking_; }

  IoOutcome handshake();  // a plain HTTP client gets an explaining 400
  IoOutcome read(std::span<char> into);
  IoOutcome write(const OutQueue& queue);  // the caller removes written bytes from the queue

  TakenBytes taken() const;

  void shut_write();      // signals the end of the stream to the client
  void discard_unsent();  // close() then drops unread bytes and resets the connection
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
