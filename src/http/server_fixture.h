// Shared by the server tests: handlers, and requests kept to be answered later.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "http/loopback_client.h"
#include "http/server.h"

namespace pawl::http {

// Requests that a handler keeps, for a test to answer later from its own thread.
class Parked {
 public:
  void add(Request&& request, Responder responder) {
    const std::lock_guard lock(mutex_);
    std::string path(request.path);
    responders_.emplace(std::move(path), std::move(responder));
    changed_.notify_all();
  }

  Responder take(const std::string& path) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return responders_.count(path) > 0; });
    Responder responder = std::move(responders_.at(path));
    responders_.erase(path);
    return responder;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Responder> responders_;
};

inline Response text(std::string body) {
  return {.content_type = "text/plain", .body = std::move(body)};
}

inline void echo(Request&& request, Responder responder) {
  responder.respond(text(std::string(request.method) + " " + std::string(request.target) + " [" +
                         std::string(request.body) + "]"));
}

inline std::unique_ptr<Server> serve(ServerConfig config, Handler handler) {
  auto server = Server::start(std::move(config), std::move(handler));
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return std::move(server).value();
}

inline Handler parking(Parked& parked) {
  return [&parked](Request&& request, Responder responder) {
    parked.add(std::move(request), std::move(responder));
  };
}

}  // namespace pawl::http
