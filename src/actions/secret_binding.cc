#include "actions/secret_binding.h"

#include <algorithm>

#include "actions/action.h"
#include "base/codec.h"
#include "base/quote.h"
#include "base/read_number.h"

namespace pawl::actions {
namespace {

constexpr char kBoundVersion = 2;  // values sealed by the vault begin with 1
constexpr size_t kHostBytesMax = 255;

struct BoundSecret {
  SecretBinding binding;
  std::string sealed;

  static void fields(auto& self, auto&& visit) {
    visit(1, "binding", self.binding);
    visit(2, "sealed", self.sealed);
  }
};

// A name has no line end, so that no other name and binding give the same text.
std::string sealing_name(std::string_view name, const SecretBinding& binding) {
  return std::string(name) + "\n" + codec::encoded(binding);
}

bool matches(std::string_view pattern, std::string_view action) {
  if (!pattern.ends_with(".*")) return pattern == action;
  return action.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_built_in(std::string_view action) { return find_action(action) != nullptr; }

std::optional<BoundSecret> parse_bound(std::string_view stored) {
  BoundSecret bound;
  if (stored.empty() || stored[0] != kBoundVersion || !codec::decode(stored.substr(1), bound))
    return std::nullopt;
  return bound;
}

bool is_port(std::string_view text) {
  int number = 0;
  return read_number(text, number) && number >= 1 && number <= 65535;
}

bool is_address_v6(std::string_view text) {
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.find("..") != std::string_view::npos)
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

}  // namespace

std::vector<std::string> SecretBinding::effective_actions() const {
  if (!actions.empty()) return actions;
  if (!hosts.empty()) return {"http.*"};
  return {"http.*", "shell.exec"};
}

std::string host_problem(std::string_view host) {
  constexpr const char* kNoHost = " is no host: write api.example.com, *.example.com or host:port";
  const std::string no_host = in_quotes(host) + kNoHost;
  if (host.size() > kHostBytesMax) return no_host;
  std::string_view name = host;
  if (name.starts_with('[')) {
    const size_t end = name.find(']');
    if (end == std::string_view::npos || !is_address_v6(name.substr(1, end - 1))) return no_host;
    const std::string_view rest = name.substr(end + 1);
    return rest.empty() || (rest[0] == ':' && is_port(rest.substr(1))) ? "" : no_host;
  }
  if (std::count(name.begin(), name.end(), ':') > 1) return is_address_v6(name) ? "" : no_host;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    if (!is_port(name.substr(colon + 1))) return no_host;
    name = name.substr(0, colon);
  }
  if (name.starts_with("*.")) {
    name.remove_prefix(2);
    // A top-level domain would match all its hosts.
    if (name.find('.') == std::string_view::npos) return no_host;
  }
  return is_host_name(name) ? "" : no_host;
}

std::string action_problem(std::string_view action) {
  for (std::string_view known :
       {"http.*", "http.request", "http.get", "http.post", "shell.exec", "crypto.hmac"})
    if (action == known) return "";
  if (is_built_in(action) || action == "fs.*" || action == "assert.*" || action == "workflow.*")
    return in_quotes(action) +
           " would show the secret to whoever writes definitions, and never gets one";
  return in_quotes(action) +
         " is no action that uses secrets: there are http.*, http.request, http.get, http.post, "
         "shell.exec and crypto.hmac";
}

Status admit_secret(const SecretBinding& binding, std::string_view name, std::string_view action,
                    const plan::SecretRule& rule) {
  using Verdict = plan::SecretRule::Verdict;
  auto refused = [&](const std::string& why) {
    return Error{ErrorCode::Forbidden, "the secret " + in_quotes(name) + " is refused: " + why};
  };
  const std::vector<std::string> allowed = binding.effective_actions();
  const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& pattern) {
    return matches(pattern, action);
  });
  const bool own = binding.is_default() && !is_built_in(action);
  if (rule.verdict == Verdict::Refused || (rule.verdict == Verdict::IfListed && !listed) ||
      (rule.verdict == Verdict::IfBoundToHosts && binding.hosts.empty()))
    return refused(rule.why);
  if (!listed && !own) return refused("it is not set for " + std::string(action));
  return ok_status();
}

std::string seal_secret(const Vault& vault, std::string_view name, std::string_view text,
                        const SecretBinding& binding) {
  if (binding.is_default()) return vault.seal(name, text);
  BoundSecret bound{binding, vault.seal(sealing_name(name, binding), text)};
  return std::string(1, kBoundVersion) + codec::encoded(bound);
}

std::optional<SecretBinding> binding_of(std::string_view stored) {
  if (stored.empty() || stored[0] != kBoundVersion) return SecretBinding{};
  auto bound = parse_bound(stored);
  if (!bound) return std::nullopt;
  return std::move(bound->binding);
}

Result<std::string> open_secret(const Vault& vault, std::string_view name,
                                std::string_view stored) {
  if (stored.empty() || stored[0] != kBoundVersion) return vault.unseal(name, stored);
  const auto bound = parse_bound(stored);
  if (!bound) return Error{ErrorCode::Corrupt, "the secret " + in_quotes(name) + " cannot be read"};
  return vault.unseal(sealing_name(name, bound->binding), bound->sealed);
}

}  // namespace pawl::actions
