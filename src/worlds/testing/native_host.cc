#include "worlds/testing/native_host.h"

#include <utility>

#include "worlds/hash.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

MaybeBytes bytes_of(std::string_view item) {
  if (item.empty() || item == "\xf6") return std::nullopt;
  return string_of(item);
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  cbor::put_array(out, items.size());
  for (const std::string& item : items) out += item;
  return out;
}

}  // namespace

std::string NativeHost::set(std::string_view code, Function function) {
  std::string hash = hash_of_bytes(code);
  functions_[hash] = std::move(function);
  return hash;
}

Result<std::vector<Complaint>> NativeHost::judge(std::string_view code, Entry, uint32_t) {
  if (!available) return Error{ErrorCode::Unavailable, "there is no runtime"};
  if (functions_.count(hash_of_bytes(code)) != 0) return std::vector<Complaint>{};
  return std::vector<Complaint>{{"", "is no module", "module.invalid"}};
}

ModuleCall NativeHost::call(std::string_view wasm_hash, LoadCode, Entry, std::string_view input,
                            const ModuleLimits&) {
  ++calls;
  const auto at = functions_.find(wasm_hash);
  if (!available || at == functions_.end()) return {.end = CallEnd::Unavailable};
  return at->second(input);
}

StepSeen::StepSeen(std::string_view input) {
  state = bytes_of(member_of(input, "state"));
  context = bytes_of(member_of(input, "ctx"));
  const std::string_view event = member_of(input, "event");
  schema = string_of(member_of(event, "schema"));
  value = string_of(member_of(event, "value"));
  key = bytes_of(member_of(event, "key"));
  arm = tag_of(value);
  arm_value = member_of(value, "$value");
}

StepSaid& StepSaid::state(std::string canonical) {
  state_ = std::move(canonical);
  return *this;
}

StepSaid& StepSaid::event(std::string_view schema, std::string_view value, MaybeBytes key) {
  std::string& out = events_.emplace_back();
  MapWriter map(out, key ? 3 : 2);
  if (key) map.bytes("key", *key);
  map.bytes("value", value).text("schema", schema);
  return *this;
}

StepSaid& StepSaid::effect(std::string_view kind, std::string_view params, std::string_view slot,
                           MaybeBytes requested_key) {
  std::string& out = effects_.emplace_back();
  cbor::Map map(out);
  map.text("kind", kind).bytes("params_cbor", params);
  if (!slot.empty()) map.text("cap_slot", slot);
  if (requested_key) map.bytes("idempotency_key", *requested_key);
  map.end();
  return *this;
}

StepSaid& StepSaid::annotations(std::string bytes) {
  ann_ = std::move(bytes);
  return *this;
}

StepSaid& StepSaid::status(std::string_view status, std::string_view error) {
  status_ = status;
  error_ = error;
  return *this;
}

std::string StepSaid::bytes() const {
  std::string out;
  cbor::Map map(out);
  if (state_) {
    map.bytes("state", *state_);
  } else {
    map.null("state");
  }
  if (!events_.empty()) map.raw("domain_events", list_of(events_));
  if (!effects_.empty()) map.raw("effects", list_of(effects_));
  if (ann_) map.bytes("ann", *ann_);
  if (!status_.empty()) map.text("status", status_);
  if (!error_.empty()) map.text("error", error_);
  map.end();
  return out;
}

}  // namespace pawl::worlds
