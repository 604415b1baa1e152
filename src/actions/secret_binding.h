// SecretBinding: the actions and hosts of a secret, and how they are stored.
//
// `actions`: those that may use it, by name or "http.*"; none given means http.*, shell.exec (its
// env) and, in an embedding program, its own actions; with hosts and no actions it is http.* alone,
// since a command may send data anywhere. `hosts`: "api.example.com", "*.example.com",
// "host:port"; every address of the request must match, those of redirects too. None: any.
//
// plan/secret_rule.h decides which parameters of an action may hold a secret. Only actions that
// have such a parameter can be listed: never fs.*, jq, expr.eval, assert.* and workflow.*.
//
// Stored: as the vault sealed it (default binding; also all older secrets), or 0x02 and the binding
// beside the sealed text. The seal authenticates the binding, so that an edited database cannot
// widen it. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actions/vault.h"
#include "base/result.h"
#include "expr/template/secret.h"
#include "plan/secret_rule.h"

namespace pawl::actions {

struct SecretBinding {
  std::vector<std::string> hosts;
  std::vector<std::string> actions;

  bool is_default() const { return hosts.empty() && actions.empty(); }
  // With the defaults filled in.
  std::vector<std::string> effective_actions() const;

  static void fields(auto& self, auto&& visit) {
    visit(1, "hosts", self.hosts);
    visit(2, "actions", self.actions);
  }
};

inline constexpr size_t kBindingEntriesMax = 100;

// "" or the error of an entry of hosts or actions.
std::string host_problem(std::string_view host);
std::string action_problem(std::string_view action);

// Forbidden, with the reason, if the binding or the place does not admit it.
Status admit_secret(const SecretBinding& binding, std::string_view name, std::string_view action,
                    const plan::SecretRule& rule);

std::string seal_secret(const Vault& vault, std::string_view name, std::string_view text,
                        const SecretBinding& binding);
// Nothing if it cannot be read.
std::optional<SecretBinding> binding_of(std::string_view stored);
// Corrupt as Vault::unseal, also if the binding was changed.
Result<std::string> open_secret(const Vault& vault, std::string_view name, std::string_view stored);

}  // namespace pawl::actions
