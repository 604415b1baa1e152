#include "worlds/continuation.h"

#include <utility>

#include "base/json.h"
#include "base/plant.h"
#include "worlds/cbor.h"
#include "worlds/step_io.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kEnvelope = "sys/EffectReceiptEnvelope@1";
constexpr std::string_view kRejected = "sys/EffectReceiptRejected@1";
constexpr std::string_view kEffectError = "sys/EffectError@1";

std::string_view typed_event_of(std::string_view kind) {
  if (kind == "timer.set") return "sys/TimerFired@1";
  if (kind == "blob.put") return "sys/BlobPutResult@1";
  if (kind == "blob.get") return "sys/BlobGetResult@1";
  return {};
}

std::string room_for_event(size_t large) {
  std::string out;
  out.reserve(512 + large);
  return out;
}

MaybeBytes origin_key(std::string_view instance_key) {
  return instance_key.empty() ? MaybeBytes{} : MaybeBytes{instance_key};
}

std::string envelope(const ReceiptFacts& facts) {
  const Intent& intent = facts.intent;
  std::string out = room_for_event(facts.payload.size() + facts.signature.size());
  MapWriter(out, 11)
      .text("status", facts.status)
      .text("intent_id", facts.intent_hash)
      .bytes("signature", facts.signature)
      .text("adapter_id", facts.adapter_id)
      .maybe_integer("cost_cents", facts.cost_cents)
      .text("effect_kind", intent.kind)
      .text("params_hash", intent.params_hash)
      .nat("emitted_at_seq", intent.seq + (has_bug(Bug::EnvelopeOfAnotherFrame) ? 1 : 0))
      .bytes("receipt_payload", facts.payload)
      .text("origin_module_id", intent.origin_name)
      .maybe_bytes("origin_instance_key", origin_key(intent.instance_key));
  return out;
}

std::string typed_receipt(const ReceiptFacts& facts) {
  std::string out = room_for_event(facts.payload.size() + facts.intent.params.size());
  MapWriter(out, 4)
      .text("status", facts.status)
      .raw("receipt", facts.payload)
      .text("intent_id", facts.intent_hash)
      .raw("requested", facts.intent.params);
  return out;
}

std::string rejected(const ReceiptFacts& facts, const Fault& fault) {
  const Intent& intent = facts.intent;
  std::string out = room_for_event(fault.detail.size());
  MapWriter(out, 12)
      .text("status", facts.status)
      .text("intent_id", facts.intent_hash)
      .text("adapter_id", facts.adapter_id)
      .text("error_code", fault.code)
      .text("effect_kind", intent.kind)
      .text("params_hash", intent.params_hash)
      .text("payload_hash", facts.payload_hash)
      .nat("payload_size", facts.payload.size())
      .text("error_message", fault.detail)
      .nat("emitted_at_seq", intent.seq)
      .text("origin_module_id", intent.origin_name)
      .maybe_bytes("origin_instance_key", origin_key(intent.instance_key));
  return out;
}

Continuation continuation(const Module& module, std::string arm, std::string_view schema,
                          std::string value) {
  return {.module = &module,
          .arm = std::move(arm),
          .content = std::make_shared<Content>(
              Content{.schema = std::string(schema), .value = std::move(value), .hash = {}})};
}

// As the sugar of its JSON, or as the CBOR that was signed: either reading will do, so that a
// receipt that is read again from the journal, which has no JSON, fits or does not fit as it did at
// first.
bool fits(const Type& type, std::string_view payload, std::optional<json::View> json,
          std::string& out) {
  if (json) {
    if (Result<std::string> read = from_json(type, *json); read.ok()) {
      out = std::move(read).value();
      return true;
    }
  }
  Result<std::string> read = from_cbor(type, payload);
  if (read.ok()) out = std::move(read).value();
  return read.ok();
}

// Said of the signed bytes alone, for the same reason.
std::string misfit(const Effect* effect, std::string_view payload) {
  if (effect == nullptr) return "the manifest has no such effect any more";
  const Result<std::string> read = from_cbor(*effect->receipt_type, payload);
  return effect->receipt_schema + ": " +
         std::string(read.ok() ? "" : cut_text(read.error().message, kDetailMax));
}

// The envelope, or else a typed event.
std::optional<Continuation> receipt_continuation(const Module& module, const ReceiptFacts& facts,
                                                 bool fits_receipt) {
  if (auto arm = arm_for(module, kEnvelope))
    return continuation(module, *std::move(arm), kEnvelope, envelope(facts));
  const std::string_view typed = typed_event_of(facts.intent.kind);
  if (typed.empty() || !fits_receipt) return std::nullopt;
  if (auto arm = arm_for(module, typed))
    return continuation(module, *std::move(arm), typed, typed_receipt(facts));
  return std::nullopt;
}

std::optional<Continuation> rejected_continuation(const Module& module, const ReceiptFacts& facts,
                                                  const Fault& fault) {
  auto arm = arm_for(module, kRejected);
  if (!arm) return std::nullopt;
  return continuation(module, *std::move(arm), kRejected, rejected(facts, fault));
}

}  // namespace

std::optional<std::string> arm_for(const Module& module, std::string_view schema) {
  if (module.event_schema == schema) return std::string();
  std::string arm = arm_of(*module.event_type, schema);
  return arm.empty() ? std::nullopt : std::optional(std::move(arm));
}

Payload judge_payload(const Program& program, std::string_view kind, std::string_view status,
                      std::string_view payload, std::optional<std::string_view> json) {
  Payload out;
  const Effect* effect = program.effect(kind);
  Result<json::Doc> doc = json ? json::parse(*json) : Result<json::Doc>(json::Doc{});
  std::optional<json::View> view;
  if (json && doc.ok()) view = doc->root();
  if (effect != nullptr && fits(*effect->receipt_type, payload, view, out.bytes)) {
    out.fits_receipt = true;
    if (has_bug(Bug::PayloadAsItCame)) out.bytes = payload;
    return out;
  }
  const std::shared_ptr<const Type> error = program.types.find(kEffectError);
  if (status != "ok" && error != nullptr && fits(*error, payload, view, out.bytes)) return out;
  out.bytes = payload;
  out.fault = Fault{"receipt.invalid_payload", misfit(effect, payload)};
  return out;
}

const Module* origin_module(const Program& program, const Intent& intent) {
  const Module* module = program.module(intent.origin_name);
  if (module == nullptr || module->kind != ModuleKind::Workflow) return nullptr;
  return module->keyed() == intent.keyed ? module : nullptr;
}

ReceiptPlan plan_receipt(const Program& program, const ReceiptFacts& facts, Payload payload) {
  ReceiptPlan plan{.continuation = {}, .fault = std::move(payload.fault)};
  const Module* module = origin_module(program, facts.intent);
  if (!plan.fault) {
    if (module != nullptr)
      plan.continuation = receipt_continuation(*module, facts, payload.fits_receipt);
    if (plan.continuation) return plan;
    plan.fault = Fault{"receipt.delivery_failed",
                       "the module takes no receipt of '" + facts.intent.kind + "'"};
  }
  if (module != nullptr) plan.continuation = rejected_continuation(*module, facts, *plan.fault);
  return plan;
}

std::optional<Continuation> denied_continuation(const Module& module, const DenialFacts& facts) {
  auto arm = arm_for(module, kDeniedSchema);
  if (!arm) return std::nullopt;
  std::string value = room_for_event(facts.message.size());
  MapWriter(value, 9)
      .text("code", facts.code)
      .text("stage", facts.stage)
      .text("message", facts.message)
      .text("effect_kind", facts.effect_kind)
      .text("params_hash", facts.params_hash)
      .nat("effect_index", facts.effect_index)
      .nat("emitted_at_seq", facts.emitted_at_seq)
      .text("origin_module_id", module.name)
      .maybe_bytes("origin_instance_key", origin_key(facts.instance_key));
  return continuation(module, *std::move(arm), kDeniedSchema, std::move(value));
}

}  // namespace pawl::worlds
