#include "actions/testing/action_world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

namespace pawl::actions {

TestDirectory::TestDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
  path_ = std::filesystem::canonical(::mkdtemp(pattern.data())).string();
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TestDirectory::write(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
  std::ofstream(at(name), std::ios::binary) << content;
}

std::string TestDirectory::read(const std::string& name) const {
  std::ifstream file(at(name), std::ios::binary);
  if (!file) return "(none)";
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener_, 64), 0);
  socklen_t size = sizeof address;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  {
    std::lock_guard lock(mutex_);
    for (int fd : connections_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : serving_) thread.join();
  for (int fd : connections_) ::close(fd);
  ::close(listener_);
}

std::vector<std::string> LoopbackServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void LoopbackServer::wait_for_request() const {
  while (requests().empty()) std::this_thread::yield();
}

std::string LoopbackServer::answer(const std::string& status, const std::string& headers,
                                   const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

void LoopbackServer::accept_all() {
  while (true) {
    int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    std::lock_guard lock(mutex_);
    connections_.push_back(fd);
    serving_.emplace_back([this, fd] { serve(fd); });
  }
}

bool LoopbackServer::complete(const std::string& text) {
  size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  size_t at = text.find("Content-Length: ");
  size_t length = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
  return text.size() >= end + 4 + length;
}

void LoopbackServer::serve(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    ssize_t count = ::recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    text.append(buffer, static_cast<size_t>(count));
    if (!complete(text)) continue;
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(text);
    }
    std::string reply = handler_(text);
    text.clear();
    if (reply.empty()) continue;
    if (::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
  }
}

Value json(const std::string& text) {
  auto value = Value::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

std::string story(const ActionOutcome& outcome) {
  if (outcome.ok) return outcome.output.json();
  EXPECT_FALSE(outcome.message.empty());
  return outcome.code + (outcome.retryable ? "!" : "");
}

ActionOutcome run(ActionRunner& runner, ActionRequest request) {
  std::promise<ActionOutcome> promise;
  runner.start(std::move(request), [&](ActionOutcome outcome) { promise.set_value(outcome); });
  return promise.get_future().get();
}

ActionOutcome run(ActionRunner& runner, const std::string& name, Value params,
                  const std::string& work_directory) {
  ActionRequest request;
  request.name = name;
  request.params = std::move(params);
  request.work_directory = work_directory;
  return run(runner, std::move(request));
}

}  // namespace pawl::actions
