// LocalEngine: a whole engine inside this process, without a server and without a disk: memory
// store, effects, actions. Nothing of it is stored.
//
// By default actions have the user's own rights and the user's directory, since the definition is
// the user's own file. Confined, they have a server's default policy, and a temporary directory
// that is removed at the end.
//
// Thread: decide() and the destructor on the creating thread; listeners are called on the engine's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime.h"

namespace pawl {

struct LocalOptions {
  bool confined = false;
  std::vector<std::pair<std::string, std::string>> secrets = {};  // name, value
};

class LocalEngine {
 public:
  static Result<std::unique_ptr<LocalEngine>> start(const LocalOptions& options);
  ~LocalEngine();
  LocalEngine& operator=(LocalEngine&&) = delete;

  // Waits until the decision is committed; returns its outcome.
  Status decide(const std::function<Status(Frame&)>& decide);
  void listen(RecordListener listener) { runtime_->engine().listen(std::move(listener)); }
  std::optional<Error> failed() const { return runtime_->engine().failed(); }

 private:
  LocalEngine() = default;
  Status keep_secrets(const std::vector<std::pair<std::string, std::string>>& secrets);
  Status make_directory();

  std::string directory_;  // temporary, removed at the end; "" = none
  std::unique_ptr<Runtime> runtime_;
};

// PAWL_SECRET_NAME=value of an environment, as {NAME, value}.
std::vector<std::pair<std::string, std::string>> secrets_of(const char* const* environment);

}  // namespace pawl
