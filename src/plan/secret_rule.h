// Where a definition may use a secret: in parameters of actions that send it out of the server and
// do not store it. Every other place either stores the value (files, jobs, context, events,
// prompts), shows it (arguments of commands are visible in the process list), or computes with it
// (jq, expr, assert), and so would reveal it to authors of definitions.
//
// The same rule checks a definition's text when it is put and every value when an action starts.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "expr/template/secret.h"
#include "plan/cursor.h"

namespace pawl::plan {

class Findings;

struct SecretRule {
  enum class Verdict : uint8_t {
    Allowed,
    IfBoundToHosts,  // only a secret that is bound to hosts
    IfListed,        // only a secret whose binding names the action
    Refused,
  };
  Verdict verdict = Verdict::Refused;
  std::string why = {};  // if it is not allowed unconditionally
};

// An action that is not built in belongs to the embedding program, which is trusted.
SecretRule secret_rule(std::string_view action, const expr::SecretPlace& place);

// Reports every reference to a secret in a tree of templates that the rule refuses. `action`: the
// action whose parameters the tree holds; "" for anything else, where secrets are refused.
void check_secrets(Findings& findings, const Cursor& tree, std::string_view action);

// Reports an expression (a guard, a condition, a list) that names secrets.
void check_no_secrets(Findings& findings, const Cursor& at, std::string_view expression);

}  // namespace pawl::plan
