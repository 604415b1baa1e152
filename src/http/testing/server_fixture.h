// Shared by the server tests: handlers, and requests kept to be answered later.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "http/server.h"
#include "http/testing/loopback_client.h"

namespace pawl::http {

// Requests that a handler keeps, for a test to answer later from its own thread.
class Parked {
 public:
  void add(Request&& request, Responder responder);

  Responder take(const std::string& path);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Responder> responders_;
};

Response text(std::string body);

void echo(Request&& request, Responder responder);

std::unique_ptr<Server> serve(ServerConfig config, Handler handler);

Handler parking(Parked& parked);

}  // namespace pawl::http
