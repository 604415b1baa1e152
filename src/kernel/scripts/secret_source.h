// SecretSource: gives the secrets that a step's parameters refer to, while they are filled in. Only
// what leaves the process may hold them, never the journal.
#pragma once

#include <string_view>

#include "expr/template/secret.h"
#include "plan/secret_rule.h"

namespace pawl {

class SecretSource {
 public:
  virtual ~SecretSource() = default;
  // `rule`: the rule of the definition language for the place, never Refused. The source compares
  // it with the secret's binding. Forbidden: not for this action or place. NotFound:
  // there is no such secret, or it cannot be opened.
  virtual Result<expr::OpenedSecret> reveal(std::string_view name, std::string_view action,
                                            const plan::SecretRule& rule) const = 0;
};

// For places without secrets.
class NoSecrets : public SecretSource {
 public:
  Result<expr::OpenedSecret> reveal(std::string_view, std::string_view,
                                    const plan::SecretRule&) const override {
    return Error{ErrorCode::Forbidden, "no secret is opened here"};
  }
};

}  // namespace pawl
