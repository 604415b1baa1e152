#include "http/testing/loopback_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace pawl::http {

LoopbackClient::LoopbackClient(int port, int receive_buffer_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer_bytes > 0) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

bool LoopbackClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void LoopbackClient::half_close() { ::shutdown(fd_, SHUT_WR); }

void LoopbackClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string LoopbackClient::read_until(std::string_view mark) {
  while (true) {
    const size_t found = received_.find(mark);
    if (found != std::string::npos) return take(found + mark.size());
    if (!receive()) return take(received_.size());
  }
}

std::string LoopbackClient::read_response() {
  std::string response = read_until("\r\n\r\n");
  const size_t at = response.find("Content-Length: ");
  if (at == std::string::npos) return response;
  const size_t length = std::stoul(response.substr(at + 16));
  while (received_.size() < length && receive()) {
  }
  return response + take(std::min(length, received_.size()));
}

std::string LoopbackClient::read_to_end() {
  while (receive()) {
  }
  return take(received_.size());
}

std::string LoopbackClient::take(size_t bytes) {
  std::string taken = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return taken;
}

bool LoopbackClient::receive() {
  pollfd wait{fd_, POLLIN, 0};
  if (::poll(&wait, 1, 20'000) != 1) {
    ADD_FAILURE() << "the server sent nothing; so far: " << received_;
    return false;
  }
  char buffer[65536];
  const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  received_.append(buffer, static_cast<size_t>(count));
  return true;
}

std::string status_of(std::string_view response) {
  return response.size() < 12 ? std::string(response) : std::string(response.substr(9, 3));
}

std::string body_of(std::string_view response) {
  const size_t end = response.find("\r\n\r\n");
  return end == std::string_view::npos ? "" : std::string(response.substr(end + 4));
}

std::string get(std::string_view path, std::string_view headers) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n";
}

}  // namespace pawl::http
