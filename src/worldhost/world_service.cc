#include "worldhost/world_service.h"

namespace pawl {

WorldService::WorldService(const WorldHostConfig& config, EngineLoop& engine, Clock& clock,
                           const actions::ActionPolicy& policy, const actions::Vault* vault)
    : engine_(engine), host_(config, line_, clock, modules_), own_(host_, policy, vault) {
  line_.connect(engine);
  follower_ = engine.listen(
      [this](uint64_t, const std::shared_ptr<const std::string>& record) { own_.follow(*record); });
  host_.attach(own_);
}

WorldService::~WorldService() { stop(); }

void WorldService::stop() {
  if (std::exchange(stopped_, true)) return;
  own_.stop();
  host_.stop();
  line_.cut();
  engine_.unlisten(follower_);
}

}  // namespace pawl
