#include "runtime/runtime.h"

#include <filesystem>

#include "actions/computations.h"
#include "engine/crash_book.h"
#include "kernel/frame.h"
#include "kernel/worlds/checked_row.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace pawl {
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

Runtime::Runtime(RuntimeSetup setup) : setup_(std::move(setup)) {}

Runtime::~Runtime() { close(); }

actions::ActionRunner& Runtime::runner() {
  if (!runner_) runner_ = std::make_unique<actions::ActionRunner>(setup_.policy, setup_.threads);
  return *runner_;
}

Status make_data_directory(const std::string& path, bool owner_only) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::create_directories(path, failed) && owner_only)
    fs::permissions(path, fs::perms::owner_all, failed);
  if (failed)
    return Error{ErrorCode::StoreFailed, "cannot create " + path + ": " + failed.message()};
  return ok_status();
}

Status Runtime::open_store() {
  if (setup_.store) {
    store_ = std::move(setup_.store);
    return ok_status();
  }
  if (setup_.data_dir.empty()) {
    PAWL_TRY(store_, open_memory(std::make_shared<MemoryDisk>()));
    return ok_status();
  }
  PAWL_TRY_DO(make_data_directory(setup_.data_dir, setup_.owner_only));
  PAWL_TRY(store_, open_sqlite(setup_.data_dir, {.self_checked = is_checked_row}));
  return ok_status();
}

Status Runtime::open() {
  if (engine_) return Error{ErrorCode::Unavailable, "the engine could not be started"};
  Status opened = open_parts();
  if (opened.ok()) return opened;
  engine_.reset();
  effects_.reset();
  own_vault_.reset();
  store_.reset();
  return opened;
}

Status Runtime::open_parts() {
  PAWL_TRY_DO(open_store());
  records_found_ = store_->journal_last();
  // After the store is locked: two servers must not write one book.
  if (!setup_.crash_book.empty() && !crash_book_) crash_book_ = CrashBook::open(setup_.crash_book);
  PAWL_TRY_DO(open_vault());
  effects_ = std::make_unique<EffectDispatcher>(runner(), vault(), setup_.work_root);
  EngineConfig config = setup_.engine;
  config.crash_book = crash_book_.get();
  config.core.effects = effects_.get();
  config.core.state.scripts.computations = &actions::computations();
  PAWL_TRY(engine_, EngineLoop::start(*store_, config, clock_, random_));
  effects_->attach(*engine_);
  return ok_status();
}

Status Runtime::open_vault() {
  if (setup_.vault != nullptr || setup_.vault_key.empty()) return ok_status();
  const auto& passphrase = setup_.vault_passphrase;
  PAWL_TRY(actions::Vault vault, passphrase ? actions::Vault::open(setup_.vault_key, *passphrase)
                                            : actions::Vault::open(setup_.vault_key));
  own_vault_ = std::make_unique<actions::Vault>(std::move(vault));
  return ok_status();
}

// Running actions answer while they are ended, so the objects they answer to must outlive them.
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
    outcome = frame.attempt(decide);
    return std::nullopt;
  }));
  return outcome;
}

}  // namespace pawl
