#include "worlds/drain.h"

#include <algorithm>
#include <utility>

#include "base/plant.h"
#include "worlds/hash.h"
#include "worlds/intent.h"

namespace pawl::worlds {
namespace {

// Step 0 sees the entropy of the stamp, every later one what follows from it and its ordinal.
std::string entropy_of_step(std::string_view entropy, uint64_t ordinal) {
  if (ordinal == 0) return std::string(entropy);
  std::string seed(entropy);
  static uint64_t draws = 0;
  if (has_bug(Bug::StampDrawnAgain)) seed += std::to_string(++draws);
  for (int shift = 24; shift >= 0; shift -= 8) seed.push_back(static_cast<char>(ordinal >> shift));
  return sha512(seed);
}

InstanceStatus status_after(const JudgedStep& step, bool has_open_intents) {
  if (step.said == Said::Failed) return InstanceStatus::Failed;
  if (has_open_intents) return InstanceStatus::Waiting;
  if (step.said == Said::Completed || !step.state) return InstanceStatus::Completed;
  return InstanceStatus::Running;
}

void fail_instance(Instance& instance, uint64_t seq, const Fault& fault, const Cause& input,
                   Route route) {
  instance.status = InstanceStatus::Failed;
  instance.error_code = fault.code;
  instance.error_detail = fault.detail;
  instance.error_seq = seq;
  instance.failed_cause_seq = input.seq;
  instance.failed_cause_n = input.n;
  instance.failed_route_continuation = route == Route::Continuation;
}

void clear_error(Instance& instance) {
  instance.error_code.clear();
  instance.error_detail.clear();
  instance.error_seq = 0;
  instance.failed_cause_seq = 0;
  instance.failed_cause_n = 0;
  instance.failed_route_continuation = false;
}

Fault denial_fault(const Passage& passage) {
  return {std::string(passage.denial_code()), passage.code + ": " + passage.message};
}

}  // namespace

void Drain::queue_event(std::shared_ptr<const Content> content, std::vector<Target> targets,
                        Cause cause, bool reported) {
  for (Target& target : targets) {
    QueuedDelivery delivery{.module = target.module,
                            .key = std::move(target.key),
                            .arm = target.subscription->arm,
                            .content = content,
                            .cause = cause,
                            .input = cause};
    if (reported) {
      delivery.reported = deliveries_.size();
      Delivery& shown = deliveries_.emplace_back();
      shown.module = target.module->name;
      if (!delivery.key.empty()) shown.key = delivery.key;
    }
    queue(std::move(delivery));
  }
}

void Drain::queue_continuation(Continuation continuation, std::string_view key, Cause cause,
                               Cause input) {
  queue({.module = continuation.module,
         .key = std::string(key),
         .arm = std::move(continuation.arm),
         .content = std::move(continuation.content),
         .cause = cause,
         .input = input,
         .route = Route::Continuation});
}

Status Drain::run() {
  while (!queue_.empty()) {
    QueuedDelivery delivery = std::move(queue_.front());
    queue_.pop_front();
    PAWL_TRY_DO(deliver(std::move(delivery)));
  }
  return ok_status();
}

Status Drain::deliver(QueuedDelivery delivery) {
  // Once spent for ever so: what is skipped then stays counted.
  const bool spent = is_spent();
  if (!spent) queue_bytes_ -= delivery_bytes(*delivery.module, delivery.key);
  const Instance* instance = frame_.instance(delivery.module->name, delivery.key);
  if (instance != nullptr && instance->status == InstanceStatus::Failed) {
    skip(delivery, "instance.failed");
    return ok_status();
  }
  if (spent) {
    skip(delivery, "step.cascade_limit");
    return ok_status();
  }
  return step(delivery);
}

bool Drain::is_spent() const {
  const uint64_t fuel_max =
      std::max(kFrameFuelMin, kFrameCallsFuelMax * frame_.program().limits.fuel);
  return steps_ == std::min(kFrameStepsMax, frame_.deciding().steps_max) ||
         frame_.bytes() > kFrameBytesMax || queue_bytes_ > kFrameBytesMax || fuel_ > fuel_max;
}

void Drain::report(const QueuedDelivery& delivery, Delivery::Outcome outcome) {
  if (!delivery.reported) return;
  Delivery& shown = deliveries_[*delivery.reported];
  shown.outcome = outcome;
  if (const Instance* instance = frame_.instance(delivery.module->name, delivery.key))
    shown.run_id = instance->run_id;
}

void Drain::skip(const QueuedDelivery& delivery, std::string_view code) {
  frame_.append(RecordKind::DeliverySkipped,
                delivery_skipped_record({.module = delivery.module->name,
                                         .key = record_key(delivery.key),
                                         .cause = delivery.cause,
                                         .code = code}));
  report(delivery, Delivery::Outcome::Skipped);
}

Status Drain::step(const QueuedDelivery& delivery) {
  const uint64_t ordinal = steps_++;
  ++frame_.deciding().steps;
  const uint64_t fuel_before = fuel_;
  JudgedStep step;
  std::vector<Asked> asked;
  PAWL_TRY(std::optional<Fault> fault, call_module(delivery, ordinal, step));
  if (!fault) {
    PAWL_TRY(fault, pass_gate(delivery, ordinal, step, asked));
  }
  if (fault) {
    // How far a call came before its time was up is not known to a replay: it counts as a whole
    // one.
    if (fault->code == kTimeout) set_fuel(fuel_before + frame_.program().limits.fuel);
    if (has_bug(Bug::FailedStepKeepsState) && step.state) {
      Instance& instance = frame_.change_instance(delivery.module->name, delivery.key);
      instance.has_state = true;
      instance.state = *step.state;
      instance.state_hash = hash_of_bytes(instance.state);
    }
    keep_failure(delivery, ordinal, *fault, std::move(asked));
  } else {
    keep(delivery, ordinal, std::move(step), std::move(asked));
  }
  return ok_status();
}

bool Drain::timed_out_before(uint64_t ordinal) const {
  const std::vector<uint64_t>* ordinals = frame_.deciding().timed_out;
  return ordinals != nullptr &&
         std::find(ordinals->begin(), ordinals->end(), ordinal) != ordinals->end();
}

void Drain::set_fuel(uint64_t fuel) {
  frame_.deciding().fuel += fuel - fuel_;
  fuel_ = fuel;
}

ModuleCall Drain::call_host(const QueuedDelivery& delivery, uint64_t ordinal) {
  if (timed_out_before(ordinal)) return {.end = CallEnd::Timeout};
  const Module& module = *delivery.module;
  const Content& content = *delivery.content;
  std::string entropy, hash;
  if (module.has_context) {
    entropy = entropy_of_step(frame_.stamp().entropy, ordinal);
    hash = content.hash.empty() ? event_hash(content.schema, content.value, {}) : content.hash;
  }
  const Instance* instance = frame_.instance(module.name, delivery.key);
  const std::string wrapped =
      delivery.arm.empty() ? std::string() : in_arm(module, delivery.arm, content.value);
  const std::string input =
      step_input({.module = module,
                  .state = instance != nullptr && instance->has_state ? MaybeBytes(instance->state)
                                                                      : MaybeBytes(),
                  .value = delivery.arm.empty() ? std::string_view(content.value) : wrapped,
                  .key = record_key(delivery.key),
                  .now_ns = frame_.stamp().now_ns,
                  .logical_now_ns = frame_.stamp().logical_now_ns,
                  .seq = frame_.seq(),
                  .entropy = entropy,
                  .event_hash = hash,
                  .manifest_hash = frame_.program().manifest_hash});
  return frame_.deciding().host().call(module.wasm_hash, load_, Entry::Step, input,
                                       frame_.program().limits);
}

Result<std::optional<Fault>> Drain::call_module(const QueuedDelivery& delivery, uint64_t ordinal,
                                                JudgedStep& step) {
  const ModuleCall call = call_host(delivery, ordinal);
  if (call.end == CallEnd::Unavailable) return no_runtime(call.output);
  set_fuel(fuel_ + call.fuel);
  if (auto fault = fault_of_call(call.end)) return fault;
  StepOutput output;
  if (auto fault = read_step_output(call.output, output)) return fault;
  return judge_step(frame_.program(), *delivery.module, output, true, step);
}

// A denial that the module does not hear of fails its step: then only its decisions stay in
// `asked`.
Result<std::optional<Fault>> Drain::pass_gate(const QueuedDelivery& delivery, uint64_t ordinal,
                                              JudgedStep& step, std::vector<Asked>& asked) {
  std::optional<bool> hears_denials;
  for (size_t i = 0; i < step.effects.size(); ++i) {
    CapEnd end = CapEnd::Decided;
    asked.push_back(ask(delivery, ordinal, i, step.effects[i], end));
    if (end == CapEnd::Unavailable) return no_runtime(asked.back().passage.message);
    if (end == CapEnd::TimedOut) {
      asked.clear();
      return fault_of_call(CallEnd::Timeout);
    }
    if (asked.back().passage.allow()) continue;
    if (!hears_denials) hears_denials = arm_for(*delivery.module, kDeniedSchema).has_value();
    if (*hears_denials) continue;
    asked.erase(asked.begin(), asked.end() - 1);
    return std::optional(denial_fault(asked.back().passage));
  }
  return std::optional<Fault>();
}

Drain::Asked Drain::ask(const QueuedDelivery& delivery, uint64_t ordinal, size_t index,
                        JudgedEffect& effect, CapEnd& end) {
  const SoundEffect& sound = effect.sound;
  Asked out;
  NewIntent& intent = out.intent;
  intent.requested_key = std::move(effect.requested_key);
  intent.kind = sound.effect->kind;
  intent.cap_name = sound.grant->name;
  intent.origin = OriginKind::Workflow;
  intent.origin_name = delivery.module->name;
  intent.instance_key = delivery.key;
  intent.ordinal = ordinal;
  intent.effect_index = index;
  intent.deliver_at_ns = deadline_of(intent.kind, sound.params);
  intent.params_hash = std::move(effect.params_hash);
  intent.idempotency_key = idempotency_key({.origin_kind = origin_name(intent.origin),
                                            .origin_name = intent.origin_name,
                                            .instance_key = record_key(intent.instance_key),
                                            .effect_kind = intent.kind,
                                            .params = sound.params,
                                            .requested_key = intent.requested_key,
                                            .seq = frame_.seq(),
                                            .ordinal = ordinal,
                                            .effect_index = index});
  intent.hash = intent_hash(intent.kind, sound.params, intent.cap_name, intent.idempotency_key);
  GateRoom room{.host = frame_.deciding().host(),
                .load = load_,
                .logical_now_ns = frame_.stamp().logical_now_ns,
                .seq = frame_.seq()};
  out.passage = pass_effect(frame_.program(), sound, intent.hash,
                            {.kind = intent.origin, .name = intent.origin_name}, room);
  set_fuel(fuel_ + room.fuel);
  end = out.passage.end;
  intent.params = std::move(effect.sound.params);
  return out;
}

void Drain::keep(const QueuedDelivery& delivery, uint64_t ordinal, JudgedStep step,
                 std::vector<Asked> asked) {
  const Module& module = *delivery.module;
  const bool asks = std::any_of(asked.begin(), asked.end(),
                                [](const Asked& effect) { return effect.passage.allow(); });
  Instance& instance = frame_.change_instance(module.name, delivery.key);
  instance.status = status_after(step, asks || !instance.inflight.empty());
  instance.has_said = step.said != Said::Nothing || !step.state;
  instance.has_state = step.state.has_value();
  instance.state = std::move(step.state).value_or(std::string());
  instance.state_hash = instance.has_state ? hash_of_bytes(instance.state) : std::string();
  instance.last_seq = frame_.seq();
  instance.module_version = module.wasm_hash;
  frame_.count_state_bytes(instance.state.size());
  if (step.said == Said::Failed) {
    fail_instance(instance, frame_.seq(), {"module.failed", std::move(step.error)}, delivery.input,
                  delivery.route);
  } else {
    clear_error(instance);
  }
  ++frame_.totals().steps;
  const Cause kept{
      .seq = frame_.seq(),
      .n = frame_.append(RecordKind::Step, step_record({.module = module.name,
                                                        .key = record_key(delivery.key),
                                                        .ordinal = ordinal,
                                                        .cause = delivery.cause,
                                                        .route = delivery.route,
                                                        .status = status_name(instance.status),
                                                        .state_hash = instance.state_hash,
                                                        .module_version = module.wasm_hash}))};
  report(delivery, Delivery::Outcome::Stepped);
  for (const Asked& effect : asked) observe(effect);
  const size_t queued = queue_.size();
  for (Asked& effect : asked) keep_effect(delivery, std::move(effect));
  const auto denials = static_cast<std::ptrdiff_t>(queue_.size() - queued);
  for (JudgedEvent& event : step.events) emit(std::move(event), kept);
  if (has_bug(Bug::DenialAfterDeliveries)) {
    const auto first = queue_.begin() + static_cast<std::ptrdiff_t>(queued);
    std::rotate(first, first + denials, queue_.end());
  }
}

void Drain::observe(const Asked& asked) {
  ObservedEffects* observed = frame_.deciding().observed;
  if (observed == nullptr) return;
  const NewIntent& intent = asked.intent;
  const bool by_policy = asked.passage.stage() == "policy";
  observed->add({.module = intent.origin_name,
                 .key = intent.instance_key,
                 .kind = intent.kind,
                 .cap_name = intent.cap_name,
                 .params = intent.params,
                 .params_hash = intent.params_hash,
                 .intent_hash = intent.hash,
                 .allow = asked.passage.allow(),
                 .code = by_policy ? "policy.denied" : asked.passage.code});
}

void Drain::keep_effect(const QueuedDelivery& delivery, Asked asked) {
  const bool allow = asked.passage.allow();
  const std::string stage(asked.passage.stage());
  const std::string code = asked.passage.code, message = asked.passage.message;
  const Cause decided = append_decisions(frame_, std::move(asked.passage));
  NewIntent& intent = asked.intent;
  if (allow) return frame_.add_intent(std::move(intent));
  auto denial = denied_continuation(*delivery.module, {.instance_key = delivery.key,
                                                       .effect_kind = intent.kind,
                                                       .params_hash = intent.params_hash,
                                                       .effect_index = intent.effect_index,
                                                       .stage = stage,
                                                       .code = code,
                                                       .message = message,
                                                       .emitted_at_seq = frame_.seq()});
  if (denial) queue_continuation(*std::move(denial), delivery.key, decided, decided);
}

void Drain::emit(JudgedEvent event, Cause step) {
  auto content = std::make_shared<Content>();
  const MaybeBytes key = event.key;
  content->hash = event_hash(event.schema, event.value, key);
  const Cause emitted{
      .seq = frame_.seq(),
      .n = frame_.append(RecordKind::DomainEvent, domain_event_record({.schema = event.schema,
                                                                       .value = event.value,
                                                                       .key = key,
                                                                       .event_hash = content->hash,
                                                                       .client_id = {},
                                                                       .cause = step}))};
  content->schema = std::move(event.schema);
  content->value = std::move(event.value);
  queue_event(std::move(content), std::move(event.targets), emitted, false);
}

void Drain::keep_failure(const QueuedDelivery& delivery, uint64_t ordinal, const Fault& fault,
                         std::vector<Asked> asked) {
  const Module& module = *delivery.module;
  const Fault journaled{fault.code, std::string(cut_text(fault.detail, kDetailMax))};
  for (const Asked& denied : asked) observe(denied);
  for (Asked& denied : asked) append_decisions(frame_, std::move(denied.passage));
  frame_.append(RecordKind::StepFailed, step_failed_record({.module = module.name,
                                                            .key = record_key(delivery.key),
                                                            .ordinal = ordinal,
                                                            .cause = delivery.cause,
                                                            .route = delivery.route,
                                                            .code = journaled.code,
                                                            .detail = journaled.detail}));
  Instance& instance = frame_.change_instance(module.name, delivery.key);
  fail_instance(instance, frame_.seq(), journaled, delivery.input, delivery.route);
  instance.last_seq = frame_.seq();
  instance.module_version = module.wasm_hash;
  ++frame_.totals().step_failures;
  report(delivery, Delivery::Outcome::Failed);
}

}  // namespace pawl::worlds
