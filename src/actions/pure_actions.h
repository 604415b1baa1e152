// The actions that need nothing outside the process: crypto, assertions, expressions, and the two
// workflow actions that change nothing. They end at once and are bounded. Parameters were checked.
// Any thread.
#pragma once

#include "actions/action.h"

namespace pawl::actions {

ActionOutcome crypto_hash(const ActionRequest& request);
ActionOutcome crypto_hmac(const ActionRequest& request);
ActionOutcome crypto_uuid(const ActionRequest& request);

// ASSERTION_FAILED with what was compared in the details, or {pass: true}.
ActionOutcome assert_equals(const ActionRequest& request);
ActionOutcome assert_contains(const ActionRequest& request);
ActionOutcome assert_matches(const ActionRequest& request);
ActionOutcome assert_schema(const ActionRequest& request);

ActionOutcome expr_eval(const ActionRequest& request);
ActionOutcome jq_eval(const ActionRequest& request);

ActionOutcome workflow_log(const ActionRequest& request);
ActionOutcome workflow_fail(const ActionRequest& request);

// Null if the action is none of these.
using PureAction = ActionOutcome (*)(const ActionRequest&);
PureAction find_pure_action(std::string_view name);

}  // namespace pawl::actions
