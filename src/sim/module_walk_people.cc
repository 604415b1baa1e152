// The records of people's acts: instances that are ended, retried or forgotten, and governance.
#include "sim/module_walk.h"

namespace pawl::sim {

// --- people

void ModuleWalk::instance(const PlainItem& body) {
  const ModulePlace place = place_of(body);
  const std::string& action = body.text("action");
  if (n_ != 0 && action != "forgotten") return broken("module journal", "within a frame");
  const bool settled_only = action == "forgotten" && place.first.empty();
  stamp(body.at("stamp"));
  if (verdict_.failed()) return;
  auto at = world_.instances.find(place);
  if (!settled_only && at == world_.instances.end())
    return broken("module status", "there is no such instance");
  if (action == "forgotten") return forgotten(place, body);
  ModelInstance& instance = at->second;
  if (action == "terminated") {
    if (instance.over() && instance.inflight.empty())
      return broken("module status", "an ended instance was terminated");
    if (drop_all(instance) != body.nat("dropped"))
      return broken("module settle", "another number of intents was dropped");
    instance.status = "failed";
    instance.error = "terminated";
    instance.last_seq = seq_;
    instance.has_failed_input = false;
    verdict_.reach(Probe::ModuleTerminated);
    return;
  }
  if (action != "retried") return broken("module journal", "no such action");
  if (instance.status != "failed" || !instance.has_failed_input)
    return broken("module status", "nothing to retry");
  verdict_.reach(Probe::ModuleRetried);
  queue_.push_back({place, n_, instance.failed_by_continuation ? "continuation" : "subscription"});
  instance.status = "running";
  instance.retried_seq = seq_;
  instance.retried_value = instance.failed_value;
  instance.retried_intent = instance.failed_intent;
}

void ModuleWalk::forgotten(const ModulePlace& place, const PlainItem& body) {
  verdict_.reach(Probe::ModuleForgotten);
  if (!place.first.empty()) {
    const ModelInstance& instance = world_.instances[place];
    if (!instance.over() || !instance.inflight.empty() || !instance.state_hash.empty() ||
        place.second.empty())
      return broken("module status", "an instance that is needed was forgotten");
    world_.instances.erase(place);
    return;
  }
  std::map<std::pair<uint64_t, uint32_t>, std::string> settled;
  for (const auto& [hash, intent] : world_.intents)
    if (intent.state != IntentState::Open) settled[{intent.seq, intent.n}] = hash;
  if (body.nat("dropped") > settled.size())
    return broken("module settle", "more intents were forgotten than are settled");
  auto next_settled = settled.begin();
  for (uint64_t i = body.nat("dropped"); i > 0; --i, ++next_settled) {
    world_.intents.erase(next_settled->second);
    world_.forgotten.insert(next_settled->second);
  }
}

// --- governance

void ModuleWalk::governance_intent(const PlainItem& body) {
  if (n_ != 0 || next() == nullptr || next()->kind != "governance" ||
      body.text("kind") != "governance." + body.at("origin").text("name"))
    return broken("module governance", "an intent without its act");
  ModelIntent made;
  made.kind = body.text("kind");
  made.origin_kind = "governance";
  made.seq = seq_;
  made.n = n_;
  made.state = IntentState::Dropped;  // settled at once
  world_.intents[body.text("intent_hash")] = made;
}

// Nothing may be under way when a world gets another program.
void ModuleWalk::check_quiet() {
  for (const auto& [place, instance] : world_.instances)
    if (!instance.over())
      return broken("module apply", place.first + " is " + instance.status + " during an apply");
  for (const auto& [hash, intent] : world_.intents)
    if (intent.state == IntentState::Open &&
        (intent.origin_kind == "workflow" || intent.kind == "timer.set"))
      return broken("module apply", "an intent is open during an apply");
}

void ModuleWalk::governance(const PlainItem& body) {
  if (n_ != 1 || records_[0].kind != "effect_intent")
    return broken("module governance", "an act without its intent");
  const std::string& action = body.text("action");
  const std::string& id = body.text("proposal_id");
  const bool direct = id.empty();
  const uint64_t number = direct ? 0 : std::stoull(id.substr(1));
  const std::string& manifest = body.text("manifest_hash");
  if (action == "proposed") {
    if (number != seq_) return broken("module governance", "a proposal has its frame's number");
    world_.proposals[seq_] = {"submitted", manifest, body.text("base")};
    return;
  }
  if (!direct && world_.proposals.count(number) == 0)
    return broken("module governance", "there is no such proposal");
  if (direct && action != "applied") return broken("module governance", "an act on no proposal");
  ModelProposal none{"approved", manifest, world_.manifest_hash};
  ModelProposal& proposal = direct ? none : world_.proposals[number];
  if (proposal.manifest_hash != manifest)
    return broken("module governance", "the proposal is about another manifest");
  const std::string& before = proposal.state;
  const bool fits = action == "shadow_report" ? before == "submitted" || before == "shadowed"
                    : action == "approved"    ? before == "shadowed"
                    : action == "rejected"    ? before != "applied"
                    : action == "applied"     ? before == "approved"
                                              : false;
  if (!fits) return broken("module governance", action + " of a proposal that is " + before);
  if ((action == "approved" || action == "applied") && proposal.base != world_.manifest_hash)
    return broken("module governance", "its base is not the live manifest");
  if (action == "applied") {
    check_quiet();
    if (next() == nullptr || next()->kind != "manifest")
      return broken("module governance", "an apply without its manifest");
    verdict_.reach(Probe::ModuleApplied);
  }
  if (action == "shadow_report") verdict_.reach(Probe::ModuleShadowed);
  proposal.state = action == "shadow_report" ? "shadowed" : action;
}

}  // namespace pawl::sim
