// Secrets in the params of effects: a value of type sys/TextOrSecretRef@1 may name one. It is
// opened only for the adapter that performs the effect, never journaled. Any thread but the
// engine's: opening reads the state and waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actions/vault.h"
#include "worldhost/engine_items.h"
#include "worlds/program.h"

namespace pawl {

// alias@version of every secret that these params name.
std::vector<std::string> named_secrets(const worlds::Type& type, std::string_view params);

class SecretOpener {
 public:
  SecretOpener(EngineLine& line, const actions::Vault* vault) : line_(line), vault_(vault) {}
  // The params with literals in the places of secrets. The error says which secret is missing, and
  // never its text.
  Result<std::string> open(const worlds::Program& program, const worlds::Type& type,
                           std::string_view params) const;

 private:
  Result<std::string> reveal(const worlds::Program& program, const std::string& name) const;

  EngineLine& line_;
  const actions::Vault* vault_;
};

}  // namespace pawl
