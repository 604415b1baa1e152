// The records of the gate: decisions on the effects that a step or an operator asks for, and the
// intents that are let through.
#include <algorithm>

#include "sim/module_walk.h"

namespace pawl::sim {
namespace {

constexpr uint64_t kEffectsPerStepMax = 64;

}  // namespace

void ModuleWalk::cap_decision(const PlainItem& body) {
  if (decided_) return broken("module gate", "a decision without what it is about");
  const uint64_t logical_now_ns = body.nat("logical_now_ns");
  if (n_ == 0 ? logical_now_ns < world_.logical_now_ns : logical_now_ns != world_.logical_now_ns)
    return broken("module clock", "a decision at another time");
  world_.logical_now_ns = logical_now_ns;
  if (events_began_ && stepped_) close_group();
  decided_ = Decided{body.text("intent_hash"), body.text("effect_kind"),
                     body.text("decision") == "allow", std::nullopt, n_};
  if (!decided_->cap_allows) decision_over();
}

void ModuleWalk::policy_decision(const PlainItem& body) {
  if (!decided_ || decided_->policy_allows || !decided_->cap_allows ||
      decided_->intent != body.text("intent_hash"))
    return broken("module gate", "a policy decides after the cap of the same effect");
  decided_->policy_allows = body.text("decision") == "allow";
  if (*decided_->policy_allows != (decided_->kind != "sim.denied"))
    return broken("module gate", "the policy says otherwise");
  decided_->n = n_;
  if (!*decided_->policy_allows) decision_over();
}

// A denial: of a step that fails, of a step that hears of it, or nothing that may be journaled.
void ModuleWalk::decision_over() {
  const Record* after = next();
  if (after != nullptr && after->kind == "step_failed" && is_denial_code(after->body.text("code")))
    return;
  if (!stepped_ || events_began_ || !hears_denials(stepped_->first))
    return broken("module gate", "a denial that concerns no step");
  Expected denial{*stepped_, n_, "continuation"};
  if (knows_answer_ && next_effect_ < answer_.effects.size())
    denial.denial = denial_delivery(
        {.place = *stepped_,
         .kind = decided_->kind,
         .params = answer_.effects[next_effect_].second,
         .stage = decided_->cap_allows ? "policy" : "cap",
         .code = decided_->cap_allows ? "policy.denied" : records_[n_].body.at("deny").text("code"),
         .effect_index = next_effect_,
         .seq = seq_});
  queue_.push_back(std::move(denial));
  ++next_effect_;
  decided_.reset();
  verdict_.reach(Probe::ModuleEffectDenied);
}

void ModuleWalk::check_identity(const PlainItem& body) {
  const PlainItem& origin = body.at("origin");
  const std::string key_preimage =
      plain_head(5, 9) + plain_text("seq") + plain_nat(seq_) + plain_text("params") +
      plain_bytes(body.text("params")) + plain_text("ordinal") + plain_nat(origin.nat("ordinal")) +
      plain_text("effect_kind") + plain_text(body.text("kind")) + plain_text("origin_kind") +
      plain_text(origin.text("kind")) + plain_text("origin_name") +
      plain_text(origin.text("name")) + plain_text("effect_index") +
      plain_nat(origin.nat("effect_index")) + plain_text("instance_key") +
      plain_bytes_or_null(origin.at("instance_key")) + plain_text("requested_key") +
      plain_bytes_or_null(body.at("requested_key"));
  const std::string& key = body.text("idempotency_key");
  if (key != plain_digest(key_preimage))
    return broken("module identity", "its idempotency key is that of another intent");
  const std::string preimage =
      plain_head(5, 4) + plain_text("kind") + plain_text(body.text("kind")) + plain_text("params") +
      plain_bytes(body.text("params")) + plain_text("cap_name") +
      plain_text(body.text("cap_name")) + plain_text("idempotency_key") + plain_bytes(key);
  if (body.text("intent_hash") != plain_hash(preimage) ||
      body.text("params_hash") != plain_hash_of_bytes(body.text("params")))
    return broken("module identity", "its hash is that of another intent");
}

void ModuleWalk::intent(const PlainItem& body) {
  check_identity(body);
  if (verdict_.failed()) return;
  const PlainItem& origin = body.at("origin");
  if (origin.nat("emitted_at_seq") != seq_) return broken("module identity", "of another frame");
  if (origin.text("kind") == "governance") return governance_intent(body);
  if (!decided_ || !decided_->cap_allows || !decided_->policy_allows.value_or(false) ||
      decided_->intent != body.text("intent_hash"))
    return broken("module gate", "an intent that the gate has not let through");
  decided_.reset();
  ModelIntent made{.kind = body.text("kind"), .origin_kind = origin.text("kind")};
  made.seq = seq_;
  made.n = n_;
  PlainItem params;
  if (!read_plain(body.text("params"), params))
    return broken("module canonical", "its params are not in canonical form");
  made.params = body.text("params");
  if (made.kind == "timer.set") made.deadline_ns = params.nat("deliver_at_ns");
  if (made.origin_kind == "workflow") {
    if (!stepped_ || events_began_) return broken("module journal", "no step asks for it");
    made.origin = {origin.text("name"), origin.text("instance_key")};
    if (made.origin != *stepped_) return broken("module identity", "of another instance");
    const auto allowed = module_effects(made.origin.first);
    if (std::find(allowed.begin(), allowed.end(), made.kind) == allowed.end())
      return broken("module gate", "its module may not ask for this");
    if (origin.nat("effect_index") != next_effect_++ || origin.nat("ordinal") + 1 != ordinal_)
      return broken("module identity", "a wrong place in its step");
    if (next_effect_ > kEffectsPerStepMax)
      return broken("module gate", "a step has asked for more than it may");
    if (knows_answer_ && (next_effect_ > answer_.effects.size() ||
                          answer_.effects[next_effect_ - 1].first != made.kind ||
                          answer_.effects[next_effect_ - 1].second != body.text("params")))
      return broken("module input", "its module has asked for something else");
    world_.instances[made.origin].inflight.push_back(body.text("intent_hash"));
  } else if (made.origin_kind != "system" || n_ != 2 || records_.size() != 3) {
    return broken("module journal", "an intent of nobody");
  }
  ++world_.emitted;
  const std::string& hash = body.text("intent_hash");
  if (world_.forgotten.count(hash) != 0 || !world_.intents.emplace(hash, std::move(made)).second)
    broken("module identity", "two intents have one hash");
}

}  // namespace pawl::sim
