// TwoApps: the two partitions of a server, whose apps are called directly, with couriers between
// them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "api/testing/api_world.h"
#include "courier/courier.h"
#include "courier/take_messages.h"
#include "courier/testing/faulty_transport.h"
#include "engine/outbox_bell.h"

namespace pawl::api {

class TwoApps : public testing::Test {
 protected:
  TwoApps() {
    for (uint16_t k = 0; k < 2; ++k) {
      EngineConfig engine;
      engine.core.state.partition = k;
      engine.core.state.partitions = 2;
      engine.core.outbox_bell = &bells[k];
      AppConfig config;
      config.partitions = 2;
      worlds[k] = std::make_unique<ApiWorld>(config, engine);
      couriers[k] = std::make_unique<Courier>(
          desk, CourierConfig{.partition = k, .partitions = 2, .batch = {}}, way.transport());
      couriers[k]->start(*worlds[k]->engine, bells[k]);
      way.open(k, [this, k](std::string batch, auto done) {
        take_messages(*worlds[k]->engine, batch, {}, std::move(done));
      });
      worlds[k]->app->use_pass_on([this](Call&& call, uint16_t partition) {
        ++passed_on;
        Round round;
        App& app = *worlds[partition]->app;
        app.handle(std::move(call.request), std::move(call.responder), round);
        worlds[partition]->engine->submit(round);
      });
    }
  }
  ~TwoApps() override {
    for (uint16_t k = 0; k < 2; ++k) way.close(k);
    for (auto& courier : couriers) courier->stop();
  }

  std::string push(size_t at, const std::string& members, const std::string& headers = "") {
    return worlds[at]->call("POST", "/ojs/v1/jobs", R"({"type":"t","args":[])" + members + "}",
                            headers);
  }
  static std::string status(const std::string& answer) { return answer.substr(9, 3); }

  CourierDesk desk;
  FaultyTransport way{1, 0};
  OutboxBell bells[2];
  std::unique_ptr<ApiWorld> worlds[2];
  std::unique_ptr<Courier> couriers[2];
  std::atomic<int> passed_on{0};
};

}  // namespace pawl::api
