// Support for API tests: the whole server in one process, on a memory disk, with a clock that the
// test moves, and calls over loopback.
#pragma once

#include <memory>
#include <string>

#include "api/app.h"
#include "engine/engine.h"
#include "engine/testing/core_world.h"
#include "http/server.h"
#include "http/testing/loopback_client.h"

namespace pawl::api {

class ApiWorld {
 public:
  explicit ApiWorld(std::shared_ptr<MemoryDisk> on) : ApiWorld(AppConfig{}, std::move(on)) {}
  explicit ApiWorld(AppConfig config = {},
                    std::shared_ptr<MemoryDisk> on = std::make_shared<MemoryDisk>(),
                    EffectSink* effects = nullptr);
  // One partition of several.
  ApiWorld(AppConfig config, const EngineConfig& engine_config);
  ~ApiWorld();

  // The whole answer: head and body.
  std::string call(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& headers = "");
  std::string body(const std::string& method, const std::string& path,
                   const std::string& request = "", const std::string& headers = "");

  // Time passes; timers that are due have fired when it returns.
  void advance(int64_t ms);

 private:
  void start(AppConfig config, const EngineConfig& engine_config);

 public:
  std::shared_ptr<MemoryDisk> disk;
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<EngineLoop> engine;
  std::unique_ptr<App> app;
  std::unique_ptr<http::Server> server;
};

// The value of the first "name":"…" in the text.
std::string text_of(const std::string& json, const std::string& name);

std::string push(ApiWorld& world, const std::string& type = "a.b", const std::string& queue = "q",
                 const std::string& headers = "");

}  // namespace pawl::api
