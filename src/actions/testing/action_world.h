// Support for tests of actions: a temporary directory, a server on the loopback, and a way to run
// one action and print its outcome in a line.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actions/action.h"

namespace pawl::actions {

class TestDirectory {
 public:
  TestDirectory();
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory();

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const;
  // "(none)" if there is no such file.
  std::string read(const std::string& name) const;

 private:
  std::string path_;
};

// Answers every request with the handler's result; "" means that it never answers.
class LoopbackServer {
 public:
  using Handler = std::function<std::string(const std::string& request)>;

  explicit LoopbackServer(Handler handler);
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  int port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path = "/") const { return "http://" + host() + path; }
  std::vector<std::string> requests() const;
  void wait_for_request() const;

  static std::string answer(const std::string& status, const std::string& headers,
                            const std::string& body);

 private:
  void accept_all();

  static bool complete(const std::string& text);

  void serve(int fd);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  std::vector<int> connections_;       // guarded by mutex_ until accepting_ has ended
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

Value json(const std::string& text);

// The output, or "CODE" with "!" if it may be tried again.
std::string story(const ActionOutcome& outcome);

ActionOutcome run(ActionRunner& runner, ActionRequest request);

ActionOutcome run(ActionRunner& runner, const std::string& name, Value params,
                  const std::string& work_directory = "");

}  // namespace pawl::actions
