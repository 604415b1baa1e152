#include "api/testing/api_world.h"

#include "kernel/scripts/run.h"

namespace pawl::api {

ApiWorld::ApiWorld(AppConfig config, std::shared_ptr<MemoryDisk> on, EffectSink* effects)
    : disk(std::move(on)) {
  EngineConfig engine_config;
  engine_config.core.effects = effects;
  start(std::move(config), engine_config);
}

ApiWorld::ApiWorld(AppConfig config, const EngineConfig& engine_config)
    : disk(std::make_shared<MemoryDisk>()) {
  start(std::move(config), engine_config);
}

void ApiWorld::start(AppConfig config, const EngineConfig& engine_config) {
  store = std::move(open_memory(disk)).value();
  clock.now += static_cast<int64_t>(store->journal_last()) * 1000;  // time has passed meanwhile
  engine = std::move(EngineLoop::start(*store, engine_config, clock, random)).value();
  config.version = "test";
  config.store_name = "memory";
  app = std::make_unique<App>(config, *engine, *store, clock);
  http::ServerConfig http;
  http.judge = [this](http::Request& request) { return app->judge(request); };
  http.run_aside = [this](std::function<void()>& work) { return app->readers().run(work).ok(); };
  server = std::move(http::Server::start(http, [this] { return app->round_handler(); })).value();
}

ApiWorld::~ApiWorld() {
  app->begin_drain();
  server->stop();
  engine->stop();
}

std::string ApiWorld::call(const std::string& method, const std::string& path,
                           const std::string& body, const std::string& headers) {
  http::LoopbackClient client(server->port());
  client.send(method + " " + path + " HTTP/1.1\r\nHost: h\r\n" + headers +
              (body.empty() ? "" : "Content-Type: application/json\r\n") +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return client.read_response();
}

std::string ApiWorld::body(const std::string& method, const std::string& path,
                           const std::string& request, const std::string& headers) {
  return http::body_of(call(method, path, request, headers));
}

void ApiWorld::advance(int64_t ms) {
  clock.now += ms;
  for (int i = 0; i < 2; ++i) {
    auto task = std::make_shared<TestTask>(
        [](Frame&, bool, std::string&) -> std::optional<Parking> { return std::nullopt; });
    PAWL_CHECK(engine->submit(task).ok());
    task->wait();
  }
}

std::string text_of(const std::string& json, const std::string& name) {
  std::string mark = "\"" + name + "\":\"";
  size_t at = json.find(mark);
  if (at == std::string::npos) return "";
  at += mark.size();
  return json.substr(at, json.find('"', at) - at);
}

std::string push(ApiWorld& world, const std::string& type, const std::string& queue,
                 const std::string& headers) {
  std::string reply = world.body(
      "POST", "/ojs/v1/jobs",
      R"({"type":")" + type + R"(","args":[],"options":{"queue":")" + queue + R"("}})", headers);
  return text_of(reply, "id");
}

}  // namespace pawl::api
