#include "front/testing/front_world.h"

#include <future>

#include "base/json.h"
#include "base/partition.h"
#include "engine/waiting_task.h"
#include "front/sinks.h"
#include "kernel/frame.h"

namespace pawl::front {
namespace {

api::AppConfig config_for(uint16_t partitions, api::AppConfig config) {
  config.version = "test";
  config.store_name = "memory";
  config.node_name = "here";
  config.partitions = partitions;
  return config;
}

std::string head_for(const std::string& body, const std::string& headers) {
  return "Host: h\r\n" + headers + (body.empty() ? "" : "Content-Type: application/json\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

FrontWorld::FrontWorld(uint16_t count, api::AppConfig config, link::Links* links)
    : server(config_for(count, std::move(config)), clock), map(count) {
  front = std::make_unique<Front>(server, map, links, link::OwnPeer{"here", "here", ""});
  for (uint16_t k = 0; k < count; ++k) parts_.push_back(std::make_unique<OnePartition>());
  for (uint16_t k = 0; k < count; ++k) take(k);
  http::ServerConfig setup;
  setup.judge = [this](http::Request& request) { return front->judge(request); };
  setup.run_aside = [this](std::function<void()>& work) { return server.readers().run(work).ok(); };
  http = std::move(http::Server::start(setup, [this] { return front->round_handler(); })).value();
  server.set_http_server(http.get());
}

FrontWorld::~FrontWorld() {
  server.begin_drain();
  front->begin_drain();
  for (auto& part : parts_)
    if (part->app) part->app->begin_drain();
  http->stop();
  for (uint16_t k = 0; k < partitions(); ++k)
    if (parts_[k]->app) give_up(k);
  front = nullptr;
}

Transport FrontWorld::transport() {
  return [this](uint16_t to, std::string batch, std::function<void(Result<std::string>)> done) {
    front->passing().carry(to, std::move(batch), std::move(done));
  };
}

void FrontWorld::open(uint16_t partition) {
  OnePartition& part = *parts_[partition];
  part.store = std::move(open_memory(part.disk)).value();
  EngineConfig config;
  config.core.state.partition = partition;
  config.core.state.partitions = partitions();
  config.core.outbox_bell = &part.bell;
  config.core.on_ready = [this, partition](const std::string& queue) {
    front->desk().became_ready(partition, queue);
  };
  part.engine = std::move(EngineLoop::start(*part.store, config, clock, part.random)).value();
  part.app = std::make_unique<api::App>(server, *part.engine, *part.store, clock);
  part.app->load();
  const CourierConfig courier{.partition = partition,
                              .partitions = partitions(),
                              .batch = {},
                              .retry_ms_min = 1,
                              .retry_ms_max = 5,
                              .settle_after_ms = 1};
  part.courier = std::make_unique<Courier>(desk_, courier, transport());
  part.courier->start(*part.engine, part.bell);
  if (partition != 0) return;
  part.app->use_settings_gate([&part](std::function<void(Status)> done) {
    part.courier->when_all_taken(60'000, std::move(done));
  });
}

void FrontWorld::take(uint16_t partition) {
  open(partition);
  parts_[partition]->app->use_pass_on([this](api::Call&& call, uint16_t to) {
    Errand errand{.request = http::parts_of(std::move(call.request)), .route = call.route};
    errand.partition = to;
    errand.sink = http::sink_for(std::move(call.responder));
    front->passing().pass(std::move(errand));
  });
  map.serve_here(partition, ++parts_[partition]->epoch, *parts_[partition]->app);
  front->desk().partition_changed(partition);
}

void FrontWorld::give_up(uint16_t partition) {
  OnePartition& part = *parts_[partition];
  map.end_here(partition);
  part.app->begin_drain();
  part.courier->stop();
  part.engine->stop();
  part.app->settle();
  part.courier = nullptr;
  part.app = nullptr;
  part.engine = nullptr;
  part.store = nullptr;
}

std::string FrontWorld::call(const std::string& method, const std::string& path,
                             const std::string& body, const std::string& headers) {
  http::LoopbackClient client(http->port());
  client.send(method + " " + path + " HTTP/1.1\r\n" + head_for(body, headers));
  return client.read_response();
}

std::string FrontWorld::body(const std::string& method, const std::string& path,
                             const std::string& request, const std::string& headers) {
  return http::body_of(call(method, path, request, headers));
}

std::string FrontWorld::told(const std::string& method, const std::string& path,
                             const std::string& request, const std::string& headers) {
  const std::string answer = call(method, path, request, headers);
  return http::status_of(answer) + " " + http::body_of(answer);
}

std::string FrontWorld::ask_partition(uint16_t partition, const std::string& method,
                                      const std::string& target, const std::string& body,
                                      const std::string& headers) {
  http::RequestParts parts{method, target};
  if (!body.empty()) parts.headers.emplace_back("content-type", "application/json");
  for (size_t at = 0; at < headers.size();) {
    const size_t colon = headers.find(": ", at);
    const size_t end = headers.find("\r\n", at);
    parts.headers.emplace_back(headers.substr(at, colon - at),
                               headers.substr(colon + 2, end - colon - 2));
    at = end + 2;
  }
  parts.body = body;
  std::promise<http::Response> answered;
  auto sink = std::make_shared<AnswerTo>(
      [&](http::Response&& answer) { answered.set_value(std::move(answer)); });
  api::Round round;
  const Here here = map.find(partition).here;
  here.app->handle(http::make_request(std::move(parts)), http::responder_for(sink), round);
  here.app->engine().submit(round);
  return answered.get_future().get().body;
}

std::string FrontWorld::id_in(uint16_t partition) {
  const uint64_t number = ++ids_made_;
  return Uuid::v7(clock.now_ms(), number, mix64(number), partition).text();
}

std::string FrontWorld::push_to(uint16_t partition, const std::string& type,
                                const std::string& queue, const std::string& more) {
  clock.now += 1;
  const std::string id = id_in(partition);
  const std::string answer =
      told("POST", "/ojs/v1/jobs",
           R"({"id":")" + id + R"(","type":")" + type + R"(","args":[],"options":{"queue":")" +
               queue + "\"}" + (more.empty() ? "" : "," + more) + "}");
  PAWL_CHECK(answer.starts_with("201"));
  return id;
}

void FrontWorld::advance(int64_t ms) {
  clock.now += ms;
  for (auto& part : parts_) {
    if (!part->engine) continue;
    for (int i = 0; i < 2; ++i)
      PAWL_CHECK(run_on_engine(
                     *part->engine, [](Frame&) {}, true)
                     .ok());
  }
}

void FrontWorld::settle_messages() {
  for (auto& part : parts_) {
    std::promise<Status> taken;
    part->courier->when_all_taken(60'000,
                                  [&](Status status) { taken.set_value(std::move(status)); });
    PAWL_CHECK(taken.get_future().get().ok());
  }
}

Paged page_through(FrontWorld& world, const std::string& path, const std::string& list,
                   size_t limit, const std::string& member,
                   const std::function<void(size_t)>& between) {
  Paged found;
  std::string cursor;
  const char separator = path.find('?') == std::string::npos ? '?' : '&';
  do {
    const std::string target = path + separator + "limit=" + std::to_string(limit) +
                               (cursor.empty() ? "" : "&cursor=" + cursor);
    const std::string answer = world.told("GET", target);
    PAWL_CHECK(answer.starts_with("200 "));
    const std::string text = answer.substr(4);
    auto doc = json::parse(text);
    PAWL_CHECK(doc.ok());
    size_t shown = 0;
    doc->root().find(list)->each_element([&](json::View entry) {
      found.ids.push_back(entry.find(member)->string());
      ++shown;
    });
    found.pages.push_back(shown);
    auto next = doc->root().find("next_cursor");
    cursor = next && next->is_string() ? next->string() : "";
    if (between) between(found.pages.size());
  } while (!cursor.empty() && found.pages.size() < 1000);
  return found;
}

}  // namespace pawl::front
