// Routing of domain events: which instances get an event, by the manifest's subscriptions, in their
// order. Receipts and denials do not come this way: they go where they came from
// (worlds/continuation.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/program.h"
#include "worlds/records.h"

namespace pawl::worlds {

struct Target {
  const Module* module = nullptr;
  const Subscription* subscription = nullptr;
  std::string key;  // of the instance; canonical, empty if the module is not keyed
};

// Why an event cannot be taken. `code` is one of the contract's, and lives for ever.
struct EventFault {
  std::string_view code;
  std::string detail;
};

// What a delivery costs its frame, stepped or not: its place in the queue, or the record that it
// was skipped.
inline size_t delivery_bytes(const Module& module, std::string_view key) {
  return 128 + module.name.size() + key.size();
}
// Of the deliveries of one event, and of all events of one step.
constexpr size_t kReachBytesMax = 8u << 20;
// Of an instance's key, canonical: it is part of the keys of rows (kStoreKeyBytesMax).
constexpr size_t kInstanceKeyBytesMax = 1024;

// `value`: canonical. `explicit_key`: enc of the key that came beside it. event.key_missing,
// event.key_mismatch; event.invalid if a key or the cost of its deliveries passes a bound.
std::optional<EventFault> find_targets(const Program& program, std::string_view schema,
                                       std::string_view value, MaybeBytes explicit_key,
                                       std::vector<Target>& targets);

// Whether only the server may emit this event: the schema is one of sys/*, or the value is in a
// variant's arm that refs one.
bool is_reserved_event(std::string_view schema, const Type& type, std::string_view value);
// The same of a variant's value that names this arm, whatever it carries there.
bool is_reserved_arm(const Type& type, std::string_view arm);

// The value as the module sees it: in its arm, if it takes the event in one. arm "": as it is.
std::string in_arm(const Module& module, std::string_view arm, std::string_view value);

// An event that a module emitted, judged. event.invalid, event.reserved_schema, event.key_missing,
// event.key_mismatch.
struct JudgedEvent {
  std::string schema, value;
  std::optional<std::string> key;
  std::vector<Target> targets;
  size_t reach_bytes() const;  // what its deliveries cost
};
std::optional<EventFault> judge_emitted(const Program& program, std::string_view schema,
                                        std::string_view value, MaybeBytes key,
                                        JudgedEvent& judged);

}  // namespace pawl::worlds
