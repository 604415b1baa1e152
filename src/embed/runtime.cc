#include "embed/runtime.h"

#include <cstdlib>
#include <filesystem>

#include "actions/computations.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace pawl::embed {
namespace {

class Decision : public WaitingTask {
 public:
  explicit Decision(const Runtime::DecideOrPark& decide) : decide_(decide) {}
  std::optional<Parking> decide(Frame& frame, bool last_call) override {
    return decide_(frame, last_call);
  }

 private:
  const Runtime::DecideOrPark& decide_;  // outlives the wait
};

}  // namespace

Runtime::Runtime(RuntimeSetup setup)
    : setup_(std::move(setup)),
      runner_(std::make_unique<actions::ActionRunner>(setup_.policy, setup_.threads)) {}

Runtime::~Runtime() { close(); }

Status Runtime::open_disk() {
  std::error_code failed;
  std::filesystem::create_directories(setup_.data_dir, failed);
  if (failed)
    return Error{ErrorCode::StoreFailed,
                 "cannot create " + setup_.data_dir + ": " + failed.message()};
  PAWL_TRY(store_, open_sqlite(setup_.data_dir));
  std::string key = setup_.data_dir + "/vault.key";
  const char* passphrase = std::getenv("PAWL_VAULT_KEY");
  PAWL_TRY(actions::Vault vault, passphrase == nullptr ? actions::Vault::open(key)
                                                       : actions::Vault::open(key, passphrase));
  vault_ = std::make_unique<actions::Vault>(std::move(vault));
  return ok_status();
}

Status Runtime::open() {
  if (engine_) return Error{ErrorCode::Unavailable, "the engine could not be started"};
  Status opened = open_parts();
  if (opened.ok()) return opened;
  engine_.reset();
  effects_.reset();
  vault_.reset();
  store_.reset();
  return opened;
}

Status Runtime::open_parts() {
  if (setup_.data_dir.empty()) {
    PAWL_TRY(store_, open_memory(std::make_shared<MemoryDisk>()));
  } else {
    PAWL_TRY_DO(open_disk());
  }
  records_found_ = store_->journal_last();
  effects_ = std::make_unique<EffectDispatcher>(*runner_, vault_.get(),
                                                     WorkRoot::in(setup_.data_dir), clock_);
  EngineConfig config;
  config.core.effects = effects_.get();
  config.core.state.scripts.computations = &actions::computations();
  PAWL_TRY(engine_, EngineLoop::start(*store_, config, clock_, random_));
  effects_->attach(*engine_);
  return ok_status();
}

// Actions that are still under way answer while they are ended, so what they answer to must outlive
// them.
void Runtime::close() {
  if (effects_) effects_->stop();
  if (engine_) engine_->stop();
  runner_.reset();
  engine_.reset();
  effects_.reset();
  store_.reset();
}

Status Runtime::decide_or_park(const DecideOrPark& decide) {
  return WaitingTask::run(*engine_, std::make_shared<Decision>(decide));
}

Status Runtime::decide(const Decide& decide) {
  Status outcome = ok_status();
  PAWL_TRY_DO(decide_or_park([&](Frame& frame, bool) -> std::optional<Parking> {
    outcome = decide(frame);
    return std::nullopt;
  }));
  return outcome;
}

}  // namespace pawl::embed
