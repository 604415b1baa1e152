#include "actions/pure_actions.h"

#include "actions/value_text.h"
#include "base/log.h"

namespace pawl::actions {
namespace {

struct NamedPureAction {
  std::string_view name;
  PureAction::Body run;
};

constexpr NamedPureAction kPureActions[] = {{"crypto.hash", crypto_hash},
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

// One step per value and per 64 bytes of text, for reading, copying and comparing.
void pay_reading(const Value& value, expr::Budget& budget) {
  if (!budget.spend_steps(1)) return;
  if (value.is_string()) {
    (void)budget.spend_steps(expr::price::reading(value.as_string().size()));
  } else if (value.is_array()) {
    for (const Value& element : value.as_array()) {
      if (budget.exceeded() != expr::Budget::Exceeded::None) return;
      pay_reading(element, budget);
    }
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.as_object()) {
      if (!budget.spend_steps(1 + expr::price::reading(name.size()))) return;
      pay_reading(member, budget);
    }
  }
}

}  // namespace

ActionOutcome PureAction::operator()(const ActionRequest& request, expr::Budget& budget) const {
  pay_reading(request.params, budget);
  if (budget.exceeded() == expr::Budget::Exceeded::None) {
    ActionOutcome outcome = body_(request, budget);
    if (budget.exceeded() == expr::Budget::Exceeded::None) return outcome;
    if (!outcome.ok && outcome.code == "NON_RETRYABLE")
      return outcome;  // its message is more
                       // precise
  }
  return ActionOutcome::failure(
      "NON_RETRYABLE",
      request.name +
          (budget.exceeded() == expr::Budget::Exceeded::Bytes
               ? " would build more than " + std::to_string(budget.limits().bytes_max) + " bytes"
               : " would take more than " + std::to_string(budget.limits().steps_max) + " steps"),
      false);
}

ActionOutcome PureAction::operator()(const ActionRequest& request) const {
  expr::Budget budget;
  return (*this)(request, budget);
}

PureAction find_pure_action(std::string_view name) {
  for (const NamedPureAction& action : kPureActions)
    if (action.name == name) return action.run;
  return nullptr;
}

ActionOutcome workflow_log(const ActionRequest& request, expr::Budget&) {
  // All parameters except the message and its level are data.
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

ActionOutcome workflow_fail(const ActionRequest& request, expr::Budget&) {
  return ActionOutcome::failure("NON_RETRYABLE", string_param(request.params, "reason"), false);
}

}  // namespace pawl::actions
