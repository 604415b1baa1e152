#include "sim/module_input.h"

#include <openssl/sha.h>

#include <algorithm>

#include "sim/module_code.h"

namespace pawl::sim {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;  // name, encoded value

std::string plain_map(Members members) {
  for (auto& member : members) member.first = plain_text(member.first);
  std::sort(members.begin(), members.end());
  std::string out = plain_head(5, members.size());
  for (const auto& [name, value] : members) out += name + value;
  return out;
}

const std::string kNull = "\xf6";

std::string key_or_null(const std::string& key) { return key.empty() ? kNull : plain_bytes(key); }

// `content` in the arm that the module has for its schema.
ModelDelivery in_arm(std::string_view arm, std::string_view schema, const std::string& content,
                     const std::string& hash) {
  ModelDelivery made;
  made.value = arm.empty() ? content : plain_map({{"$tag", plain_text(arm)}, {"$value", content}});
  made.event_hash =
      !hash.empty()
          ? hash
          : plain_hash(plain_map(
                {{"key", kNull}, {"value", plain_bytes(content)}, {"schema", plain_text(schema)}}));
  return made;
}

Members origin_members(const std::string& hash, const ModelIntent& intent,
                       const PlainItem& receipt) {
  return {{"status", plain_text(receipt.text("status"))},
          {"intent_id", plain_text(hash)},
          {"adapter_id", plain_text(receipt.text("adapter_id"))},
          {"effect_kind", plain_text(intent.kind)},
          {"params_hash", plain_text(plain_hash_of_bytes(intent.params))},
          {"emitted_at_seq", plain_nat(intent.seq)},
          {"origin_module_id", plain_text(intent.origin.first)},
          {"origin_instance_key", key_or_null(intent.origin.second)}};
}

std::string entropy_of(const std::string& frame, uint64_t ordinal) {
  if (ordinal == 0) return frame;
  std::string preimage = frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    preimage += static_cast<char>(static_cast<uint8_t>(ordinal >> shift));
  std::string digest(SHA512_DIGEST_LENGTH, '\0');
  SHA512(reinterpret_cast<const unsigned char*>(preimage.data()), preimage.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

ModelDelivery receipt_delivery(std::string_view module, const std::string& hash,
                               const ModelIntent& intent, const PlainItem& receipt) {
  if (module == "sim/fan@1")  // has an arm for what timers gave before there were envelopes
    return in_arm("Fired", "sys/TimerFired@1",
                  plain_map({{"status", plain_text(receipt.text("status"))},
                             {"receipt", receipt.text("payload")},
                             {"intent_id", plain_text(hash)},
                             {"requested", intent.params}}),
                  "");
  Members members = origin_members(hash, intent, receipt);
  members.emplace_back("signature", plain_bytes(receipt.text("signature")));
  members.emplace_back("cost_cents", receipt.at("cost_cents").is_null()
                                         ? kNull
                                         : plain_nat(receipt.nat("cost_cents")));
  members.emplace_back("receipt_payload", plain_bytes(receipt.text("payload")));
  return in_arm("Receipt", "sys/EffectReceiptEnvelope@1", plain_map(std::move(members)), "");
}

ModelDelivery rejected_delivery(std::string_view, const std::string& hash,
                                const ModelIntent& intent, const PlainItem& receipt,
                                const std::string& code) {
  Members members = origin_members(hash, intent, receipt);
  members.emplace_back("error_code", plain_text(code));
  members.emplace_back("payload_hash", plain_text(receipt.text("payload_hash")));
  members.emplace_back("payload_size", plain_nat(receipt.text("payload").size()));
  return in_arm("Rejected", "sys/EffectReceiptRejected@1", plain_map(std::move(members)), "");
}

ModelDelivery denial_delivery(const ModelDenial& denial) {
  return in_arm("Denied", "sys/EffectDenied@1",
                plain_map({{"origin_module_id", plain_text(denial.place.first)},
                           {"origin_instance_key", key_or_null(denial.place.second)},
                           {"effect_kind", plain_text(denial.kind)},
                           {"params_hash", plain_text(plain_hash_of_bytes(denial.params))},
                           {"effect_index", plain_nat(denial.effect_index)},
                           {"stage", plain_text(denial.stage)},
                           {"code", plain_text(denial.code)},
                           {"emitted_at_seq", plain_nat(denial.seq)}}),
                "");
}

ModelDelivery event_delivery(std::string_view module, const std::string& schema,
                             const std::string& value, const std::string& hash) {
  const std::string_view arm = module_shape(module).event == schema ? ""
                               : schema == "sim/Do@1"               ? "Do"
                                                                    : "Fan";
  return in_arm(arm, schema, value, hash);
}

std::string step_input_of(const ModelWorld& world, const ModulePlace& place,
                          const std::optional<std::string>& state, const ModelDelivery& delivery,
                          const ModelStamp& stamp, uint64_t seq, uint64_t ordinal) {
  const ModuleShape shape = module_shape(place.first);
  Members event = {{"schema", plain_text(shape.event)}, {"value", plain_bytes(delivery.value)}};
  if (shape.keyed) event.emplace_back("key", plain_bytes(place.second));
  Members input = {{"version", plain_nat(1)},
                   {"state", state ? plain_bytes(*state) : kNull},
                   {"event", plain_map(std::move(event))}};
  if (shape.has_context)
    input.emplace_back(
        "ctx", plain_bytes(plain_map({{"now_ns", plain_nat(stamp.now_ns)},
                                      {"logical_now_ns", plain_nat(stamp.logical_now_ns)},
                                      {"journal_height", plain_nat(seq)},
                                      {"entropy", plain_bytes(entropy_of(stamp.entropy, ordinal))},
                                      {"event_hash", plain_text(delivery.event_hash)},
                                      {"manifest_hash", plain_text(world.manifest_hash)},
                                      {"workflow", plain_text(place.first)},
                                      {"key", key_or_null(place.second)},
                                      {"cell_mode", shape.keyed ? "\xf5" : "\xf4"}})));
  return plain_map(std::move(input));
}

ModelAnswer answer_of(uint64_t program, std::string_view module, const std::string& input) {
  const worlds::ModuleCall call = run_module(program, module, input);
  ModelAnswer answer;
  if (call.end == worlds::CallEnd::Trap) answer.end = ModelAnswer::End::Trapped;
  if (call.end == worlds::CallEnd::FuelExceeded) answer.end = ModelAnswer::End::Spent;
  PlainItem output;
  if (!read_plain(call.output, output)) return answer;  // one that fails its step
  if (output.at("state").is(PlainItem::Kind::Bytes)) answer.state = output.text("state");
  for (const PlainItem& effect : output.at("effects").items)
    answer.effects.emplace_back(effect.text("kind"), effect.text("params_cbor"));
  return answer;
}

}  // namespace pawl::sim
