// Continuation: the event that goes back to the instance that asked for an effect. It carries the
// receipt (in its envelope, or in the typed event of older modules), the news that a receipt was
// rejected, or the reason why the effect was denied. It is routed by the origin recorded with the
// intent, never by the manifest's subscriptions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/fault.h"
#include "worlds/items.h"
#include "worlds/program.h"
#include "worlds/records.h"

namespace pawl::worlds {

// An event as a module gets it, before it is put into its arm.
struct Content {
  std::string schema, value;  // canonical
  std::string hash;           // event_hash; "" = not counted out yet, and without a key
};

constexpr std::string_view kDeniedSchema = "sys/EffectDenied@1";

// The arm in which the event schema of a module takes this schema; "" = bare, nullopt = not at all.
std::optional<std::string> arm_for(const Module& module, std::string_view schema);

struct Continuation {
  const Module* module = nullptr;
  std::string arm;
  std::shared_ptr<const Content> content;
};

struct ReceiptFacts {
  const std::string& intent_hash;
  const Intent& intent;
  std::string_view adapter_id, status;
  std::optional<int64_t> cost_cents;
  std::string_view signature;
  std::string_view payload;  // canonical, or as it came where it does not fit
  std::string_view payload_hash;
};

// The payload in canonical form. It must fit the receipt schema; with status error or timeout it
// may fit sys/EffectError@1 instead. If it fits neither: a fault of code receipt.invalid_payload.
// `json`: its text if it came as JSON, which is read as sugar.
struct Payload {
  std::string bytes;
  bool fits_receipt = false;
  std::optional<Fault> fault = {};
};
Payload judge_payload(const Program& program, std::string_view kind, std::string_view status,
                      std::string_view payload, std::optional<std::string_view> json);

// The module that an intent's receipt goes to; null if the program has none for it any more.
const Module* origin_module(const Program& program, const Intent& intent);

// The continuation of a receipt: with the receipt, or with the news that it was rejected. A fault:
// the payload does not fit (receipt.invalid_payload), or the module takes no such receipt
// (receipt.delivery_failed).
struct ReceiptPlan {
  std::optional<Continuation> continuation = {};
  std::optional<Fault> fault = {};
};
ReceiptPlan plan_receipt(const Program& program, const ReceiptFacts& facts, Payload payload);

struct DenialFacts {
  std::string_view instance_key;  // "" = not keyed
  std::string_view effect_kind, params_hash;
  uint64_t effect_index = 0;
  std::string_view stage, code, message;
  uint64_t emitted_at_seq = 0;
};
// sys/EffectDenied@1. Nothing: the module does not take it.
std::optional<Continuation> denied_continuation(const Module& module, const DenialFacts& facts);

}  // namespace pawl::worlds
