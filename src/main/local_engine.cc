#include "main/local_engine.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "actions/computations.h"
#include "actions/secret_binding.h"
#include "engine/waiting_task.h"
#include "kernel/settings.h"
#include "store/memory_store.h"

namespace pawl {
namespace {

constexpr uint32_t kActionThreads = 8;

class Decision : public WaitingTask {
 public:
  explicit Decision(const std::function<Status(Frame&)>& decide) : decide_(decide) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    outcome_ = decide_(frame);
    return std::nullopt;
  }
  const Status& outcome() const { return outcome_; }

 private:
  const std::function<Status(Frame&)>& decide_;  // outlives the wait
  Status outcome_ = ok_status();
};

}  // namespace

Result<std::unique_ptr<LocalEngine>> LocalEngine::start(const LocalOptions& options) {
  std::unique_ptr<LocalEngine> local(new LocalEngine());
  if (options.confined || !options.secrets.empty()) PAWL_TRY_DO(local->make_directory());
  if (!options.secrets.empty()) {
    PAWL_TRY(actions::Vault vault, actions::Vault::open(local->directory_ + "/vault.key"));
    local->vault_ = std::make_unique<actions::Vault>(std::move(vault));
  }
  PAWL_TRY(local->store_, open_memory(std::make_shared<MemoryDisk>()));
  actions::ActionPolicy policy =
      options.confined ? actions::ActionPolicy{} : actions::ActionPolicy::local();
  if (!local->directory_.empty()) policy.fs.sealed = {local->directory_};
  local->runner_ = std::make_unique<actions::ActionRunner>(std::move(policy), kActionThreads);
  local->effects_ = std::make_unique<EffectDispatcher>(
      *local->runner_, local->vault_.get(),
      WorkRoot{options.confined ? local->directory_ + "/work" : ""}, local->clock_);
  EngineConfig config;
  config.core.effects = local->effects_.get();
  config.core.state.scripts.computations = &actions::computations();
  PAWL_TRY(local->engine_, EngineLoop::start(*local->store_, config, local->clock_, local->random_));
  local->effects_->attach(*local->engine_);
  PAWL_TRY_DO(local->keep_secrets(options.secrets));
  return local;
}

// Actions that are still under way answer while they are ended, so what they answer to must outlive
// them.
LocalEngine::~LocalEngine() {
  if (effects_) effects_->stop();
  if (engine_) engine_->stop();
  runner_.reset();
  engine_.reset();
  effects_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Status LocalEngine::make_directory() {
  std::error_code failed;
  std::filesystem::path root = std::filesystem::temp_directory_path(failed);
  std::string name = (root / "pawl-run-XXXXXX").string();
  if (failed || ::mkdtemp(name.data()) == nullptr)
    return Error{ErrorCode::Unavailable,
                 "cannot make a directory in " + root.string() + ": " + std::strerror(errno)};
  directory_ = name;
  return ok_status();
}

Status LocalEngine::keep_secrets(const std::vector<std::pair<std::string, std::string>>& secrets) {
  if (secrets.empty()) return ok_status();
  return decide([&](Frame& frame) {
    for (const auto& [name, value] : secrets)
      put_doc(frame, DocKind::Secret, name, actions::seal_secret(*vault_, name, value, {}));
    return ok_status();
  });
}

Status LocalEngine::decide(const std::function<Status(Frame&)>& decide) {
  auto task = std::make_shared<Decision>(decide);
  PAWL_TRY_DO(WaitingTask::run(*engine_, task));
  return task->outcome();
}

std::vector<std::pair<std::string, std::string>> secrets_of(const char* const* environment) {
  constexpr std::string_view kPrefix = "PAWL_SECRET_";
  std::vector<std::pair<std::string, std::string>> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    std::string_view entry(*environment);
    size_t equals = entry.find('=');
    if (entry.substr(0, kPrefix.size()) != kPrefix || equals == std::string_view::npos ||
        equals == kPrefix.size())
      continue;
    found.emplace_back(entry.substr(kPrefix.size(), equals - kPrefix.size()),
                       entry.substr(equals + 1));
  }
  return found;
}

}  // namespace pawl
