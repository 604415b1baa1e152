#include "http/testing/server_fixture.h"

#include <gtest/gtest.h>

#include <utility>

namespace pawl::http {

void Parked::add(Request&& request, Responder responder) {
  const std::lock_guard lock(mutex_);
  std::string path(request.path);
  responders_.emplace(std::move(path), std::move(responder));
  changed_.notify_all();
}

Responder Parked::take(const std::string& path) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return responders_.count(path) > 0; });
  Responder responder = std::move(responders_.at(path));
  responders_.erase(path);
  return responder;
}

Response text(std::string body) { return {.content_type = "text/plain", .body = std::move(body)}; }

void echo(Request&& request, Responder responder) {
  responder.respond(text(std::string(request.method) + " " + std::string(request.target) + " [" +
                         std::string(request.body) + "]"));
}

std::unique_ptr<Server> serve(ServerConfig config, Handler handler) {
  auto server = Server::start(std::move(config), std::move(handler));
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return std::move(server).value();
}

Handler parking(Parked& parked) {
  return [&parked](Request&& request, Responder responder) {
    parked.add(std::move(request), std::move(responder));
  };
}

}  // namespace pawl::http
