// FrontWorld: a server with several partitions in one process, as `pawl serve --partitions N` on a
// memory disk: an engine and an App for each partition, couriers between them, the front, and an
// HTTP server on loopback. The test moves the clock.
//
// A partition can be given up and taken again, as between nodes; meanwhile requests for it wait.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/app.h"
#include "courier/courier.h"
#include "engine/engine.h"
#include "engine/outbox_bell.h"
#include "engine/testing/core_world.h"
#include "front/front.h"
#include "http/server.h"
#include "http/testing/loopback_client.h"
#include "store/memory_store.h"

namespace pawl::front {

class FrontWorld {
 public:
  explicit FrontWorld(uint16_t partitions = 3, api::AppConfig config = {},
                      link::Links* links = nullptr);
  ~FrontWorld();
  FrontWorld(const FrontWorld&) = delete;
  FrontWorld& operator=(const FrontWorld&) = delete;

  // The whole answer: head and body.
  std::string call(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& headers = "");
  std::string body(const std::string& method, const std::string& path,
                   const std::string& request = "", const std::string& headers = "");
  // "200 {…}"
  std::string told(const std::string& method, const std::string& path,
                   const std::string& request = "", const std::string& headers = "");
  // A request that is answered by one partition alone, as if the others were not there.
  std::string ask_partition(uint16_t partition, const std::string& method,
                            const std::string& target, const std::string& body = "",
                            const std::string& headers = "");

  // Pushes a job into this partition: by an id of its own. Its id.
  std::string push_to(uint16_t partition, const std::string& type = "a.b",
                      const std::string& queue = "q", const std::string& more = "");
  // An id that belongs to this partition; ids of later calls are later in the order of ids.
  std::string id_in(uint16_t partition);

  void advance(int64_t ms);
  // Until all partitions have what partition 0 has told them.
  void settle_messages();

  void give_up(uint16_t partition);
  void take(uint16_t partition);  // with the next epoch

  uint16_t partitions() const { return map.partitions(); }
  api::App& app(uint16_t partition) { return *parts_[partition]->app; }
  EngineLoop& engine(uint16_t partition) { return *parts_[partition]->engine; }
  MemoryDisk& disk(uint16_t partition) { return *parts_[partition]->disk; }

  TestClock clock;
  api::ServerParts server;
  PartitionMap map;
  std::unique_ptr<Front> front;
  std::unique_ptr<http::Server> http;

 private:
  struct OnePartition;
  Transport transport();
  void open(uint16_t partition);

  CourierDesk desk_;
  std::vector<std::unique_ptr<OnePartition>> parts_;
  uint64_t ids_made_ = 0;

  struct OnePartition {
    uint64_t epoch = 0;
    std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
    TestRandom random;
    OutboxBell bell;
    std::unique_ptr<Store> store;
    std::unique_ptr<EngineLoop> engine;
    std::unique_ptr<api::App> app;
    std::unique_ptr<Courier> courier;
  };
};

// All entries of a list, by their "id" (or another member), page by page: with the cursor of each
// page as ?cursor= of the next one.
struct Paged {
  std::vector<std::string> ids = {};
  std::vector<size_t> pages = {};  // how many entries each had
};
Paged page_through(FrontWorld& world, const std::string& path, const std::string& list,
                   size_t limit, const std::string& member = "id",
                   const std::function<void(size_t page)>& between = {});

}  // namespace pawl::front
