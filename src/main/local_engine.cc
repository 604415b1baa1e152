#include "main/local_engine.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "actions/secret_binding.h"
#include "kernel/settings/settings.h"

namespace pawl {
Result<std::unique_ptr<LocalEngine>> LocalEngine::start(const LocalOptions& options) {
  std::unique_ptr<LocalEngine> local(new LocalEngine());
  if (options.confined || !options.secrets.empty()) PAWL_TRY_DO(local->make_directory());
  RuntimeSetup setup;
  setup.policy = options.confined ? actions::ActionPolicy{} : actions::ActionPolicy::local();
  if (!options.secrets.empty()) setup.vault_key = local->directory_ + "/vault.key";
  if (!local->directory_.empty()) setup.policy.fs.off_limits = {local->directory_};
  if (options.confined) setup.work_root.path = local->directory_ + "/work";
  local->runtime_ = std::make_unique<Runtime>(std::move(setup));
  PAWL_TRY_DO(local->runtime_->open());
  PAWL_TRY_DO(local->keep_secrets(options.secrets));
  return local;
}

LocalEngine::~LocalEngine() {
  runtime_.reset();
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
      put_doc(frame, DocKind::Secret, name,
              actions::seal_secret(*runtime_->vault(), name, value, {}));
    return ok_status();
  });
}

Status LocalEngine::decide(const std::function<Status(Frame&)>& decide) {
  return runtime_->decide(decide);
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
