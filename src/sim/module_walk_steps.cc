// The records of what is delivered: steps, in the order of their causes and with the input that the
// journal says, steps that fail, and deliveries that are skipped.
#include "sim/module_walk.h"

namespace pawl::sim {

bool ModuleWalk::take_expected(const PlainItem& body, Expected& expected) {
  close_group();
  if (verdict_.failed()) return false;
  if (queue_.empty()) return broken("module deliveries", "nobody sent this"), false;
  expected = queue_.front();
  queue_.pop_front();
  const PlainItem& cause = body.at("cause");
  const bool same_cause = cause.items.size() == 2 && cause.items[0].number == seq_ &&
                          cause.items[1].number == expected.cause;
  const bool same_route =
      !body.at("route").is(PlainItem::Kind::Text) || body.text("route") == expected.route;
  if (place_of(body) == expected.place && same_cause && same_route) return true;
  const bool other_origin = expected.route == "continuation" &&
                            body.text("route") == "continuation" &&
                            place_of(body) != expected.place;
  broken(other_origin ? "module origin" : "module order",
         "it is " + body.text("module") + "'s, and " + expected.place.first +
             " is next, with record " + std::to_string(expected.cause));
  return false;
}

void ModuleWalk::step(const PlainItem& body) {
  Expected delivery;
  if (!take_expected(body, delivery)) return;
  if (body.nat("ordinal") != ordinal_++) return broken("module journal", "a wrong ordinal");
  check_input(delivery, "", body);
  ModelInstance& instance = world_.instances[delivery.place];
  if (instance.status == "failed") return broken("module status", "a failed instance was stepped");
  instance.status = body.text("status");
  instance.state_hash = body.text("state_hash");
  instance.version = body.text("module_version");
  if (instance.last_seq > seq_)
    return broken("module order", "its instance has seen a later frame");
  instance.last_seq = seq_;
  instance.error = instance.status == "failed" ? "module.failed" : "";
  instance.has_failed_input = false;
  if (instance.status == "failed") failed_on(instance, delivery);
  if (instance.version != module_version(world_.program, delivery.place.first))
    return broken("module journal", "its code is not that of the manifest");
  ++world_.steps;
  stepped_ = delivery.place;
  next_effect_ = 0;
  events_began_ = false;
}

// The status that a step has must fit what is open when its records are complete.
void ModuleWalk::close_group() {
  if (!stepped_) return;
  const ModelInstance& instance = world_.instances[*stepped_];
  stepped_.reset();
  const bool waits = !instance.inflight.empty();
  if (instance.status == "failed") return;
  if ((instance.status == "waiting") != waits)
    return broken("module status", "status " + instance.status + " with " +
                                       std::to_string(instance.inflight.size()) + " open intents");
  if (instance.state_hash.empty() && instance.status == "running")
    broken("module status", "running without a state");
  if (instance.status != "waiting" && instance.status != "running" &&
      instance.status != "completed")
    broken("module status", "there is no status " + instance.status);
}

std::optional<ModelDelivery> ModuleWalk::delivery_of(const Expected& expected) {
  if (expected.denial) return expected.denial;
  const Record& cause = records_[expected.cause];
  const std::string& module = expected.place.first;
  if (cause.kind == "domain_event")
    return event_delivery(module, cause.body.text("schema"), cause.body.text("value"),
                          cause.body.text("event_hash"));
  if (cause.kind == "cap_decision" || cause.kind == "policy_decision") return std::nullopt;
  if (cause.kind == "instance") return world_.instances[expected.place].failed_delivery;
  const std::string& hash = cause.body.text("intent_hash");
  const ModelIntent& intent = world_.intents[hash];
  if (cause.kind == "effect_receipt") return receipt_delivery(module, hash, intent, cause.body);
  return rejected_delivery(module, hash, intent, records_[0].body, cause.body.text("code"));
}

// The module, given what the journal says that it was given, comes to what the journal says.
// `code`: of a step that failed, else "".
void ModuleWalk::check_input(const Expected& expected, const std::string& code,
                             const PlainItem& body) {
  ModelInstance& instance = world_.instances[expected.place];
  const auto delivery = delivery_of(expected);
  knows_answer_ = false;
  if (!code.empty()) instance.failed_delivery = delivery;
  if (!delivery || !instance.knows_state) {
    instance.knows_state = code.empty() && body.text("state_hash").empty();
    if (code.empty()) instance.state.reset();
    return;
  }
  using End = ModelAnswer::End;
  answer_ = answer_of(
      world_.program, expected.place.first,
      step_input_of(world_, expected.place, instance.state, *delivery, stamp_, seq_, ordinal_ - 1));
  if (code == "step.timeout") return;
  const End end = code == "step.trap"            ? End::Trapped
                  : code == "step.fuel_exceeded" ? End::Spent
                                                 : End::Returned;
  if (answer_.end != end) return broken("module input", "its module would have ended otherwise");
  if (!code.empty()) return;
  if (body.text("status") == "failed") instance.failed_delivery = delivery;
  if (body.text("state_hash") != (answer_.state ? plain_hash_of_bytes(*answer_.state) : ""))
    return broken("module input", "its module was given something else than the journal says");
  instance.state = answer_.state;
  knows_answer_ = true;
}

void ModuleWalk::failed_on(ModelInstance& instance, const Expected& delivery) {
  const Record& cause = records_[delivery.cause];
  instance.failed_by_continuation = delivery.route == "continuation";
  if (cause.kind == "instance") {  // a retry that failed again: of the same input
    instance.has_failed_input = true;
    return;
  }
  instance.failed_value = cause.kind == "domain_event" ? cause.body.text("value") : "";
  instance.failed_intent = cause.kind == "effect_receipt" || cause.kind == "receipt_fault"
                               ? cause.body.text("intent_hash")
                               : "";
  instance.has_failed_input = !instance.failed_value.empty() || !instance.failed_intent.empty();
}

void ModuleWalk::step_failed(const PlainItem& body) {
  const bool denied = is_denial_code(body.text("code"));
  if (denied != decided_.has_value())
    return broken("module gate", "a failed step keeps the decisions of its denied effect only");
  if (decided_ && decided_->cap_allows && decided_->policy_allows.value_or(true))
    return broken("module gate", "a step failed of an effect that was allowed");
  decided_.reset();
  Expected delivery;
  if (!take_expected(body, delivery)) return;
  if (body.nat("ordinal") != ordinal_++) return broken("module journal", "a wrong ordinal");
  check_input(delivery, body.text("code"), body);
  ModelInstance& instance = world_.instances[delivery.place];
  if (instance.status == "failed") return broken("module status", "a failed instance was stepped");
  instance.status = "failed";
  instance.error = body.text("code");
  instance.last_seq = seq_;
  instance.version = module_version(world_.program, delivery.place.first);
  failed_on(instance, delivery);
  ++world_.step_failures;
  verdict_.reach(Probe::ModuleStepFailed);
}

void ModuleWalk::skipped(const PlainItem& body) {
  Expected delivery;
  if (!take_expected(body, delivery)) return;
  auto at = world_.instances.find(delivery.place);
  const bool failed = at != world_.instances.end() && at->second.status == "failed";
  const std::string& code = body.text("code");
  if (failed != (code == "instance.failed")) return broken("module status", "skipped for " + code);
  if (!failed && ordinal_ < 1'000) return broken("module deliveries", "skipped before the limit");
  verdict_.reach(failed ? Probe::ModuleDeliverySkipped : Probe::ModuleCascadeLimit);
}

}  // namespace pawl::sim
