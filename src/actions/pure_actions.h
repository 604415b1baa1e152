// The actions that need nothing outside the process: crypto, assertions, expressions, and the two
// workflow actions that change nothing. They end soon: each pays its cost from a budget before it
// works, including reading its parameters; a spent budget is NON_RETRYABLE. Parameters were
// checked. The same request gives the same answer (except crypto.uuid), so an action that exceeds a
// small budget can be repeated on another thread with a larger one. Any thread.
#pragma once

#include "actions/action.h"
#include "expr/budget.h"

namespace pawl::actions {

ActionOutcome crypto_hash(const ActionRequest& request, expr::Budget& budget);
ActionOutcome crypto_hmac(const ActionRequest& request, expr::Budget& budget);
ActionOutcome crypto_uuid(const ActionRequest& request, expr::Budget& budget);

// ASSERTION_FAILED with what was compared in the details, or {pass: true}.
ActionOutcome assert_equals(const ActionRequest& request, expr::Budget& budget);
ActionOutcome assert_contains(const ActionRequest& request, expr::Budget& budget);
ActionOutcome assert_matches(const ActionRequest& request, expr::Budget& budget);
ActionOutcome assert_schema(const ActionRequest& request, expr::Budget& budget);

ActionOutcome expr_eval(const ActionRequest& request, expr::Budget& budget);
ActionOutcome jq_eval(const ActionRequest& request, expr::Budget& budget);

ActionOutcome workflow_log(const ActionRequest& request, expr::Budget& budget);
ActionOutcome workflow_fail(const ActionRequest& request, expr::Budget& budget);

class PureAction {
 public:
  using Body = ActionOutcome (*)(const ActionRequest&, expr::Budget&);

  constexpr PureAction(Body body) : body_(body) {}  // NOLINT(runtime/explicit)
  explicit operator bool() const { return body_ != nullptr; }
  ActionOutcome operator()(const ActionRequest& request, expr::Budget& budget) const;
  // With the full budget of one action.
  ActionOutcome operator()(const ActionRequest& request) const;

 private:
  Body body_;
};

// The budget on a thread that others wait for: about half a millisecond.
inline constexpr expr::BudgetLimits kPureHere{.steps_max = 10'000, .bytes_max = 1u << 20};

// Null if the action is not pure.
PureAction find_pure_action(std::string_view name);

}  // namespace pawl::actions
