// ModuleModel: an independent interpretation of the journals of module worlds.
//
// It reads the records of every durable frame and keeps its own instances, intents, client ids and
// proposals, written from the contract and not from src/worlds: each record must be legal at its
// place. Replies, leases and the engine's items are compared with it (module_crowd.h,
// module_audit.cc).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/settings_events.h"
#include "journal/world_events.h"
#include "sim/plain_cbor.h"
#include "sim/verdict.h"

namespace pawl::sim {

using ModulePlace = std::pair<std::string, std::string>;  // module, canonical key

enum class IntentState : uint8_t { Open, Settled, Dropped };

// What is given to a step: the value in its arm, and the hash of the event.
struct ModelDelivery {
  std::string value, event_hash;
};

struct ModelIntent {
  std::string kind, origin_kind, params;
  ModulePlace origin;
  uint64_t seq = 0;
  uint32_t n = 0;
  IntentState state = IntentState::Open;
  std::string adapter;  // that settled it
  uint64_t settled_seq = 0;
  uint64_t deadline_ns = 0;  // of a timer
};

struct ModelInstance {
  std::string status, state_hash, version, error;
  uint64_t last_seq = 0;
  std::vector<std::string> inflight;
  // What failed it: the value of an event, or the intent of a receipt or of its fault.
  std::string failed_value, failed_intent;
  bool has_failed_input = false;
  bool failed_by_continuation = false;
  std::optional<ModelDelivery> failed_delivery;  // nothing: it never came to the module
  std::optional<std::string> state;
  bool knows_state = true;   // not after an input that the model cannot make anew
  uint64_t retried_seq = 0;  // the last retry, of which input
  std::string retried_value, retried_intent;

  bool over() const { return status == "completed" || status == "failed"; }
};

struct ModelProposal {
  std::string state, manifest_hash, base;
};

struct ModelEvent {
  std::string hash, client;
  std::vector<ModulePlace> targets;
};

struct ModelWorld {
  std::string name;  // "" once it was removed
  uint64_t height = 0, program = 0;
  std::string manifest_hash;
  uint64_t logical_now_ns = 0;
  uint64_t trimmed_before = 1, last_snapshot = 0;
  std::set<std::string> entropies;
  std::map<uint64_t, ModelEvent> events;       // from outside, by seq
  std::map<std::string, uint64_t> clients;     // client_id → seq
  std::map<std::string, ModelIntent> intents;  // forgotten ones are gone
  std::set<std::string> forgotten;             // intents
  std::map<ModulePlace, ModelInstance> instances;
  std::map<uint64_t, ModelProposal> proposals;
  uint64_t steps = 0, step_failures = 0, receipts = 0, faults = 0, emitted = 0;

  bool exists() const { return !name.empty() && height > 0; }
  uint64_t open(bool of_workflows = false) const;
  bool is_open(const std::string& intent) const;
};

class ModuleModel {
 public:
  explicit ModuleModel(Verdict& verdict) : verdict_(verdict) {}

  // Known to the crowd before any world may use them.
  void program_is(const std::string& manifest_hash, uint64_t number) {
    programs_[manifest_hash] = number;
  }
  void secret_of(const Uuid& world, const std::string& adapter, const std::string& secret) {
    secrets_[{world, adapter}].insert(secret);
  }

  void document(const DocPut& event);
  void document(const DocDeleted& event);
  void happened(const InstanceMoved& event);
  // The arguments of a job, or the inputs of a run: as many may be made as intents asked for them.
  // Worlds of equal seeds ask for equal ones.
  void work_made(const std::string& given);

  const std::map<Uuid, ModelWorld>& worlds() const { return worlds_; }
  const ModelWorld* find(const Uuid& id) const;
  const ModelWorld* named(const std::string& name) const;
  Uuid id_of(const std::string& name) const;  // nil: there is no such world
  // The intent is in a durable frame, of a world that may have been removed since.
  bool knows_intent(const std::string& hash) const;
  const std::map<RunId, InstanceMoved>& runs() const { return runs_; }
  uint64_t open_intents() const;
  uint64_t frames() const { return frames_; }

 private:
  void broken(std::string_view checker, const Uuid& world, std::string_view what);
  void work_asked(std::string_view record);

  Verdict& verdict_;
  std::map<Uuid, ModelWorld> worlds_;
  std::map<std::string, uint64_t> programs_;
  std::map<std::pair<Uuid, std::string>, std::set<std::string>> secrets_;
  std::map<RunId, InstanceMoved> runs_;  // that the list of runs has
  std::map<std::string, int64_t> work_;  // what was asked for and is not made, by token
  uint64_t frames_ = 0;
};

}  // namespace pawl::sim
