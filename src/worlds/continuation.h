// Continuations: what goes back to the instance that asked for an effect, by the recorded origin
// and never by the manifest's subscriptions: the receipt in its envelope, or in a typed event of
// old, or why it was rejected; and why an effect was denied.
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

// Where the event schema of a module takes a schema: in an arm, or bare (arm ""). Nothing: it does
// not.
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

// The payload in canonical form: ok fits the receipt schema, error and timeout that or
// sys/EffectError@1. A fault of code receipt.invalid_payload else. `json`: its text where it came
// as JSON, to be read as sugar.
struct Payload {
  std::string bytes;
  bool fits_receipt = false;
  std::optional<Fault> fault = {};
};
Payload judge_payload(const Program& program, std::string_view kind, std::string_view status,
                      std::string_view payload, std::optional<std::string_view> json);

// The module that an intent's receipt goes to; null if the program has none for it any more.
const Module* origin_module(const Program& program, const Intent& intent);

// What a receipt leads to: a continuation with it, or with the news that it was rejected. A fault:
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
