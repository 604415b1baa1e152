// Support for API tests: the whole server in one process, on a memory disk, with a clock that the
// test moves, and calls over loopback. Test code.
#pragma once

#include <memory>
#include <string>

#include "api/app.h"
#include "base/json.h"
#include "engine/engine_test_world.h"
#include "http/loopback_client.h"

namespace pawl::api {

class ApiWorld {
 public:
  explicit ApiWorld(std::shared_ptr<MemoryDisk> on) : ApiWorld(AppConfig{}, std::move(on)) {}
  explicit ApiWorld(AppConfig config = {},
                    std::shared_ptr<MemoryDisk> on = std::make_shared<MemoryDisk>(),
                    EffectSink* effects = nullptr)
      : disk(std::move(on)) {
    store = std::move(open_memory(disk)).value();
    clock.now += static_cast<int64_t>(store->journal_last()) * 1000;  // time has passed meanwhile
    EngineConfig engine_config;
    engine_config.core.effects = effects;
    engine = std::move(EngineLoop::start(*store, engine_config, clock, random)).value();
    config.version = "test";
    config.store_name = "memory";
    app = std::make_unique<App>(config, *engine, *store, clock);
    http::ServerConfig http;
    http.judge = [this](http::Request& request) { return app->judge(request); };
    http.run_aside = [this](std::function<void()>& work) { return app->readers().run(work).ok(); };
    server =
        std::move(http::Server::start(http, [this] { return app->round_handler(); })).value();
  }
  ~ApiWorld() {
    app->begin_drain();
    server->stop();
    engine->stop();
  }

  // The whole answer: head and body.
  std::string call(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& headers = "") {
    http::LoopbackClient client(server->port());
    client.send(method + " " + path + " HTTP/1.1\r\nHost: h\r\n" + headers +
                (body.empty() ? "" : "Content-Type: application/json\r\n") +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_response();
  }
  std::string body(const std::string& method, const std::string& path,
                   const std::string& request = "", const std::string& headers = "") {
    return http::body_of(call(method, path, request, headers));
  }

  // Time passes; timers that are due have fired when it returns.
  void advance(int64_t ms) {
    clock.now += ms;
    for (int i = 0; i < 2; ++i) {
      auto task = std::make_shared<TestTask>(
          [](Frame&, bool, std::string&) -> std::optional<Parking> { return std::nullopt; });
      PAWL_CHECK(engine->submit(task).ok());
      task->wait();
    }
  }

  std::shared_ptr<MemoryDisk> disk;
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<EngineLoop> engine;
  std::unique_ptr<App> app;
  std::unique_ptr<http::Server> server;
};

// The value of the first "name":"…" in the text.
inline std::string text_of(const std::string& json, const std::string& name) {
  std::string mark = "\"" + name + "\":\"";
  size_t at = json.find(mark);
  if (at == std::string::npos) return "";
  at += mark.size();
  return json.substr(at, json.find('"', at) - at);
}

inline std::string push(ApiWorld& world, const std::string& type = "a.b",
                        const std::string& queue = "q", const std::string& headers = "") {
  std::string reply = world.body(
      "POST", "/ojs/v1/jobs",
      R"({"type":")" + type + R"(","args":[],"options":{"queue":")" + queue + R"("}})", headers);
  return text_of(reply, "id");
}

}  // namespace pawl::api
