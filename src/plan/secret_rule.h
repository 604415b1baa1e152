// Where a definition may use a secret: the parameters of actions that carry it out of the server
// and keep nothing of it. Everything else either stores what it is given (files, jobs, context,
// events, prompts), shows it (arguments of commands stand in the list of processes), or computes
// with it (jq, expr, assert), and so would give it back to whoever may write definitions.
//
// The same rule judges a definition's text when it is put and every value when an action starts.
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
    IfBoundToHosts,  // only one that can go to the listed hosts alone
    IfListed,        // only one whose binding names the action
    Refused,
  };
  Verdict verdict = Verdict::Refused;
  std::string why = {};  // when it is not simply allowed
};

// An action that is none of the built-in ones is the embedding program's own, which is trusted.
SecretRule secret_rule(std::string_view action, const expr::SecretPlace& place);

// Complains about every reference to a secret in a tree of templates that the rule refuses.
// `action`: whose parameters the tree is; "" for anything else, where there may be none.
void check_secrets(Findings& findings, const Cursor& tree, std::string_view action);

// Complains if an expression (a guard, a condition, a list) names secrets.
void check_no_secrets(Findings& findings, const Cursor& at, std::string_view expression);

}  // namespace pawl::plan
