#include "sim/module_walk.h"

#include <algorithm>

#include "base/hash.h"

namespace pawl::sim {
namespace {

using Kind = PlainItem::Kind;

constexpr uint64_t kEffectsPerStepMax = 64;

// As the contract numbers and names them.
std::string kind_name(uint8_t kind) {
  static constexpr std::string_view kNames[] = {"",
                                                "manifest",
                                                "snapshot",
                                                "domain_event",
                                                "step",
                                                "step_failed",
                                                "delivery_skipped",
                                                "cap_decision",
                                                "policy_decision",
                                                "effect_intent",
                                                "effect_receipt",
                                                "receipt_fault",
                                                "governance",
                                                "instance"};
  return kind < std::size(kNames) ? std::string(kNames[kind]) : "unknown";
}

bool is_denial_code(const std::string& code) {
  return code == "cap.denied" || code == "policy.denied";
}

std::string raw_hmac(const std::string& key, const std::string& message) {
  const std::string hex = hmac_sha256_hex(key, message);
  std::string raw;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return raw;
}

}  // namespace

void ModuleWalk::broken(std::string_view checker, std::string_view what) {
  verdict_.fail(checker, "world " + world_.name + " frame " + std::to_string(seq_) + " record " +
                             std::to_string(n_) +
                             (n_ < records_.size() ? " " + records_[n_].kind : "") + ": " +
                             std::string(what));
}

bool ModuleWalk::decode(const worlds::FrameRecords& frame) {
  if (frame.records.empty()) return broken("module journal", "an empty frame"), false;
  for (const worlds::JournalRecord& record : frame.records) {
    Record& read = records_.emplace_back();
    read.kind = kind_name(record.kind);
    n_ = static_cast<uint32_t>(records_.size() - 1);
    if (!read_plain(record.bytes, read.body) || !read.body.is(Kind::Map))
      return broken("module canonical", "not in canonical form"), false;
  }
  return true;
}

void ModuleWalk::read(const worlds::FrameRecords& frame) {
  if (!decode(frame)) return;
  if (seq_ == 1 && records_[0].kind != "manifest")
    return broken("module journal", "a world begins with its manifest");
  for (n_ = 0; n_ < records_.size() && !verdict_.failed(); ++n_) handle(records_[n_]);
  if (verdict_.failed()) return;
  close_group();
  if (decided_) broken("module gate", "a decision without what it is about");
  if (!queue_.empty())
    broken("module deliveries", queue_.front().place.first + " did not get what is for it");
}

void ModuleWalk::handle(const Record& record) {
  const PlainItem& body = record.body;
  if (record.kind == "manifest") return manifest(body);
  if (record.kind == "snapshot") return snapshot(body);
  if (record.kind == "domain_event") return domain_event(body);
  if (record.kind == "step") return step(body);
  if (record.kind == "step_failed") return step_failed(body);
  if (record.kind == "delivery_skipped") return skipped(body);
  if (record.kind == "cap_decision") return cap_decision(body);
  if (record.kind == "policy_decision") return policy_decision(body);
  if (record.kind == "effect_intent") return intent(body);
  if (record.kind == "effect_receipt") return receipt(body);
  if (record.kind == "receipt_fault") return fault(body);
  if (record.kind == "governance") return governance(body);
  if (record.kind == "instance") return instance(body);
  broken("module journal", "a record of an unknown kind");
}

// --- inputs

void ModuleWalk::stamp(const PlainItem& stamp) {
  if (n_ != 0 && records_[0].kind != "instance")
    return broken("module journal", "only an input has a stamp");
  const uint64_t expected = std::max(stamp.nat("now_ns"), world_.logical_now_ns);
  if (stamp.nat("logical_now_ns") != expected)
    return broken("module clock", "the logical time is not the later of now and the last one");
  world_.logical_now_ns = expected;
  stamp_ = {stamp.nat("now_ns"), expected, stamp.text("entropy")};
  if (stamp.text("manifest_hash") != world_.manifest_hash)
    return broken("module journal", "the stamp names another manifest");
  if (stamp.text("entropy").size() != 64 ||
      (n_ == 0 && !world_.entropies.insert(stamp.text("entropy")).second))
    broken("module journal", "entropy was used twice");
}

void ModuleWalk::manifest(const PlainItem& body) {
  const std::string& hash = body.text("manifest_hash");
  auto known = programs_.find(hash);
  if (known == programs_.end()) return broken("module journal", "nobody sent this manifest");
  if (seq_ != 1 && (records_.size() < 2 || n_ == 0 || records_[n_ - 1].kind != "governance" ||
                    records_[n_ - 1].body.text("action") != "applied" ||
                    records_[n_ - 1].body.text("manifest_hash") != hash))
    return broken("module governance", "a manifest without an apply");
  world_.manifest_hash = hash;
  world_.program = known->second;
}

void ModuleWalk::snapshot(const PlainItem& body) {
  if (body.nat("height") + 1 != seq_ || records_.size() != 1)
    return broken("module journal", "a snapshot is of the frame before its record");
  world_.last_snapshot = seq_;
}

void ModuleWalk::expect_targets(const std::string& schema, const PlainItem& value) {
  for (const ModuleRoute& route : module_routes(world_.program)) {
    if (route.schema != schema) continue;
    const std::string key = route.keyed ? plain_text(value.text("key")) : "";
    queue_.push_back({{route.module, key}, n_, "subscription"});
  }
}

void ModuleWalk::domain_event(const PlainItem& body) {
  const std::string& schema = body.text("schema");
  PlainItem value;
  if (!read_plain(body.text("value"), value))
    return broken("module canonical", "its value is not in canonical form");
  const std::string preimage = plain_head(5, 3) + plain_text("key") +
                               plain_bytes_or_null(body.at("key")) + plain_text("value") +
                               plain_bytes(body.text("value")) + plain_text("schema") +
                               plain_text(schema);
  if (body.text("event_hash") != plain_hash(preimage))
    return broken("module identity", "its hash is that of another event");
  if (body.at("cause").is_null()) {
    if (n_ != 0) return broken("module journal", "an event from outside within a frame");
    stamp(body.at("stamp"));
    const std::string& client = body.text("client_id");
    if (!client.empty() && !world_.clients.emplace(client, seq_).second)
      return broken("module client ids", "client id " + client + " was taken twice");
    expect_targets(schema, value);
    ModelEvent& event = world_.events[seq_];
    event.hash = body.text("event_hash");
    event.client = client;
    for (const Expected& target : queue_) event.targets.push_back(target.place);
    return;
  }
  if (!stepped_ || decided_) return broken("module journal", "no step emits it");
  const PlainItem& cause = body.at("cause");
  if (cause.items.size() != 2 || cause.items[0].number != seq_ || cause.items[1].number >= n_ ||
      records_[cause.items[1].number].kind != "step")
    return broken("module journal", "its cause is no step");
  events_began_ = true;
  expect_targets(schema, value);
}

// --- deliveries

bool ModuleWalk::take_expected(const PlainItem& body, Expected& expected) {
  close_group();
  if (verdict_.failed()) return false;
  if (queue_.empty()) return broken("module deliveries", "nobody sent this"), false;
  expected = queue_.front();
  queue_.pop_front();
  const PlainItem& cause = body.at("cause");
  const bool same_cause = cause.items.size() == 2 && cause.items[0].number == seq_ &&
                          cause.items[1].number == expected.cause;
  const bool same_route = !body.at("route").is(Kind::Text) || body.text("route") == expected.route;
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

// --- the gate

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

// --- settling

void ModuleWalk::settle(const std::string& hash, IntentState state, const std::string& adapter) {
  auto at = world_.intents.find(hash);
  if (at == world_.intents.end() || at->second.state != IntentState::Open)
    return broken("module settle", "an intent that is not open was settled");
  at->second.state = state;
  at->second.adapter = adapter;
  at->second.settled_seq = seq_;
  if (at->second.origin_kind != "workflow") return;
  std::erase(world_.instances[at->second.origin].inflight, hash);
}

uint64_t ModuleWalk::drop_all(ModelInstance& instance) {
  const std::vector<std::string> open = instance.inflight;
  for (const std::string& hash : open) settle(hash, IntentState::Dropped);
  return open.size();
}

void ModuleWalk::check_signature(const PlainItem& body, const std::string& kind) {
  const std::string& adapter = body.text("adapter_id");
  const bool built_in = kind == "timer.set" || kind == "blob.put" || kind == "blob.get" ||
                        kind == "job.run" || kind == "run.start";
  if (adapter == "pawl") {
    if (!built_in) broken("module signature", "the server has settled what is not its own");
    return;
  }
  if (kind == "timer.set") return broken("module signature", "a timer is the server's own");
  auto message = [&](const std::string& payload) {
    return plain_head(4, 7) + plain_text("receipt/v1") + plain_text(id_.text()) +
           plain_text(body.text("intent_hash")) + plain_text(adapter) +
           plain_text(body.text("status")) + plain_text(plain_hash_of_bytes(payload)) +
           (body.at("cost_cents").is_null() ? "\xf6" : plain_nat(body.nat("cost_cents")));
  };
  auto known = secrets_.find({id_, adapter});
  if (known == secrets_.end()) return broken("module signature", "by an adapter that nobody made");
  const std::string& payload = body.text("payload");  // canonical; what was signed need not be
  for (const std::string& secret : known->second)
    if (raw_hmac(secret, message(payload)) == body.text("signature") ||
        raw_hmac(secret, message(with_long_head(payload))) == body.text("signature"))
      return;
  broken("module signature", "it is not signed by its adapter");
}

void ModuleWalk::receipt(const PlainItem& body) {
  if (n_ != 0) return broken("module journal", "a receipt within a frame");
  stamp(body.at("stamp"));
  const std::string& hash = body.text("intent_hash");
  settle(hash, IntentState::Settled, body.text("adapter_id"));
  if (verdict_.failed()) return;
  ++world_.receipts;
  const ModelIntent& intent = world_.intents[hash];
  check_signature(body, intent.kind);
  if (body.at("stamp").nat("now_ns") < intent.deadline_ns)
    return broken("module clock", "a timer has fired before its time");
  const bool is_faulty = next() != nullptr && next()->kind == "receipt_fault";
  PlainItem payload;
  if (!is_faulty && !read_plain(body.text("payload"), payload))
    return broken("module canonical", "its payload is not in canonical form");
  if (body.text("payload_hash") != plain_hash_of_bytes(body.text("payload")))
    return broken("module identity", "a wrong payload_hash");
  if (intent.origin_kind != "workflow") return;
  if (world_.instances.count(intent.origin) == 0) return;
  if (!is_faulty) queue_.push_back({intent.origin, n_, "continuation"});
  // A failed instance keeps its status, also without open intents.
}

void ModuleWalk::fault(const PlainItem& body) {
  if (n_ != 1 || records_[0].kind != "effect_receipt" ||
      records_[0].body.text("intent_hash") != body.text("intent_hash"))
    return broken("module journal", "a fault without its receipt");
  ++world_.faults;
  verdict_.reach(Probe::ModuleReceiptFault);
  const ModelIntent& intent = world_.intents[body.text("intent_hash")];
  auto at = intent.origin_kind == "workflow" ? world_.instances.find(intent.origin)
                                             : world_.instances.end();
  const bool is_there = at != world_.instances.end();
  const bool alive = is_there && at->second.status != "failed";
  const bool delivered = body.flag("delivered_rejected"), fails = body.flag("workflow_failed");
  if (delivered && fails) return broken("module journal", "both delivered and failed");
  if ((delivered || fails) != alive)
    return broken("module status", "of an instance that had failed");
  if (delivered || (is_there && !alive)) queue_.push_back({intent.origin, n_, "continuation"});
  if (!fails) return;
  ModelInstance& instance = at->second;
  if (drop_all(instance) != body.nat("dropped"))
    return broken("module settle", "another number of intents was dropped");
  instance.status = "failed";
  instance.error = body.text("code");
  instance.last_seq = seq_;
  failed_on(instance, {intent.origin, n_, "continuation"});
}

}  // namespace pawl::sim
