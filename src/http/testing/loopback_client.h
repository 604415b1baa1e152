// A raw client for tests: sends exact bytes and returns the reply.
#pragma once

#include <string>
#include <string_view>

namespace pawl::http {

class LoopbackClient {
 public:
  explicit LoopbackClient(int port, int receive_buffer_bytes = 0);
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;
  ~LoopbackClient() { close(); }

  bool connected() const { return connected_; }
  int fd() const { return fd_; }

  // False once the server has closed.
  bool send(std::string_view bytes);

  void half_close();
  void close();

  // Reads until `mark` has come (the result ends there) or the server closes.
  std::string read_until(std::string_view mark);

  // Reads a head and the body its Content-Length promises.
  std::string read_response();

  std::string read_to_end();

 private:
  std::string take(size_t bytes);

  bool receive();

  int fd_ = -1;
  bool connected_ = false;
  std::string received_;
};

// "HTTP/1.1 200 OK…" → "200"
std::string status_of(std::string_view response);

std::string body_of(std::string_view response);

std::string get(std::string_view path, std::string_view headers = "");

}  // namespace pawl::http
