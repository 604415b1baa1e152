#include "sim/module_walk.h"

#include <algorithm>

namespace pawl::sim {
namespace {

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
    if (!read_plain(record.bytes, read.body) || !read.body.is(PlainItem::Kind::Map))
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

}  // namespace pawl::sim
