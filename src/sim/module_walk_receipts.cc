// The records that settle intents: receipts, who signed them, and receipts that do not fit.
#include "base/hash.h"
#include "sim/module_walk.h"

namespace pawl::sim {
namespace {

std::string raw_hmac(const std::string& key, const std::string& message) {
  const std::string hex = hmac_sha256_hex(key, message);
  std::string raw;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return raw;
}

}  // namespace

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
