#include "actions/action.h"

#include "actions/http_url.h"
#include "actions/value_text.h"
#include "base/hash.h"

namespace pawl::actions {

ActionOutcome ActionOutcome::success(Value output) {
  ActionOutcome outcome;
  outcome.ok = true;
  outcome.output = std::move(output);
  return outcome;
}

ActionOutcome ActionOutcome::failure(std::string code, std::string message, bool retryable) {
  ActionOutcome outcome;
  outcome.code = std::move(code);
  outcome.message = std::move(message);
  outcome.retryable = retryable;
  return outcome;
}

ActionPolicy ActionPolicy::local() {
  ActionPolicy policy;
  policy.http.allow_private = true;
  policy.fs.confined = false;
  policy.shell.enabled = true;
  policy.shell.environment = {"*"};
  policy.shell.limits = ProcessLimits::none();
  return policy;
}

std::string breaker_key(std::string_view action, const Value& params) {
  std::string key(action);
  if (action.substr(0, 5) == "http.") {
    auto url = HttpUrl::parse(string_param(params, "url"));
    if (url.ok()) key += " " + url->host();
  } else if (action == "shell.exec") {
    std::string command = string_param(params, "command");
    key += " " + command.substr(0, command.find_first_of(" \t\n"));
  }
  if (key.size() > kBreakerKeyBytesMax)
    key.replace(kBreakerKeyBytesMax - 65, key.npos, " " + sha256_hex(key));
  return key;
}

}  // namespace pawl::actions
