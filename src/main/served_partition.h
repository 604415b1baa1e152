// ServedPartition: one partition while this process serves it: its engine, its part of the API,
// webhooks, worlds, the log of its steps, and the courier of its messages.
//
// Thread: start(), stop() and the destructor one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actions/http_client.h"
#include "api/app.h"
#include "courier/courier.h"
#include "effects/webhook_service.h"
#include "main/log_follower.h"
#include "main/serve.h"
#include "runtime/runtime.h"
#include "worldhost/world_service.h"

namespace pawl {

// What all partitions of a process use. It outlives them.
struct PartitionSurroundings {
  const ServeOptions& options;
  api::ServerParts& server;
  const actions::Vault* vault = nullptr;  // null: each has its own, beside its store
  actions::HttpClient& outgoing;          // of webhooks
  // --- of several partitions
  CourierDesk* desk = nullptr;
  Transport transport = {};
  std::function<void(uint16_t partition, const std::string& queue)> on_ready = {};
  api::App::PassOn pass_on = {};
};

class ServedPartition {
 public:
  // Recovers it. `store`: null = the one of the options, which is the only partition then.
  static Result<std::unique_ptr<ServedPartition>> start(const PartitionSurroundings& around,
                                                        uint16_t partition,
                                                        std::unique_ptr<Store> store);
  ~ServedPartition();

  // Two steps, so that requests can be answered between them. First what waits ends, then
  // everything that was decided is committed, if that is still possible.
  void begin_drain() { app_->begin_drain(); }
  void stop();

  uint16_t id() const { return id_; }
  api::App& app() { return *app_; }
  EngineLoop& engine() { return runtime_.engine(); }
  // Of the others, that these have not taken yet.
  uint64_t messages_unsettled() const { return courier_ ? courier_->unsettled() : 0; }
  const Runtime& runtime() const { return runtime_; }

 private:
  ServedPartition(const PartitionSurroundings& around, uint16_t partition,
                  std::unique_ptr<Store> store);
  void begin(const PartitionSurroundings& around);

  const uint16_t id_;
  OutboxBell bell_;
  Runtime runtime_;
  std::unique_ptr<Courier> courier_;
  std::unique_ptr<api::App> app_;
  std::unique_ptr<WorldService> worlds_;
  std::unique_ptr<LogFollower> log_;
  std::unique_ptr<WebhookService> webhooks_;
  bool stopped_ = false;
};

}  // namespace pawl
