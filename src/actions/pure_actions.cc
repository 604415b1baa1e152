#include "actions/pure_actions.h"

#include "actions/value_text.h"
#include "base/log.h"

namespace pawl::actions {
namespace {

struct Named {
  std::string_view name;
  PureAction run;
};

constexpr Named kActions[] = {{"crypto.hash", crypto_hash},
                              {"crypto.hmac", crypto_hmac},
                              {"crypto.uuid", crypto_uuid},
                              {"assert.equals", assert_equals},
                              {"assert.contains", assert_contains},
                              {"assert.matches", assert_matches},
                              {"assert.schema", assert_schema},
                              {"expr.eval", expr_eval},
                              {"jq", jq_eval},
                              {"workflow.log", workflow_log},
                              {"workflow.fail", workflow_fail}};

log::Level level_of(const std::string& level) {
  if (level == "error") return log::Level::Error;
  if (level == "warn" || level == "warning") return log::Level::Warning;
  return log::Level::Info;
}

}  // namespace

PureAction find_pure_action(std::string_view name) {
  for (const Named& action : kActions)
    if (action.name == name) return action.run;
  return nullptr;
}

ActionOutcome workflow_log(const ActionRequest& request) {
  // Everything beside the message and its level is data.
  Value::Object data;
  if (const Value* given = request.params.find("data"); given != nullptr && !given->is_null()) {
    if (given->is_object()) {
      data = given->as_object();
    } else {
      data.set("data", *given);
    }
  }
  for (const auto& [name, value] : request.params.as_object())
    if (name != "message" && name != "level" && name != "data") data.set(name, value);
  std::string fields = data.empty() ? "" : Value(std::move(data)).json();
  log::write(level_of(string_param(request.params, "level", "info")),
             string_param(request.params, "message"),
             {{"run", request.run_id}, {"step", request.step_id}, {"data", fields}});
  return ActionOutcome::success(Value::Object{{"logged", true}});
}

ActionOutcome workflow_fail(const ActionRequest& request) {
  return ActionOutcome::failure("NON_RETRYABLE", string_param(request.params, "reason"), false);
}

}  // namespace pawl::actions
