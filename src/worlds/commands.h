// The commands of a world. Each is one input: it runs until no delivery is left (worlds/drain.h)
// and writes one frame, with everything it caused, to the overlay; or it refuses and writes
// nothing. Refusals carry the codes of the contract (worlds/fault.h).
//
// Pure: the same table, program, host, stamp and input give the same writes, bit for bit. Nothing
// here waits for anything but the table and the host.
//
// Any thread, one at a time for one world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/fault.h"
#include "worlds/module_host.h"
#include "worlds/program.h"
#include "worlds/world.h"

namespace pawl::worlds {

struct Stamp {
  int64_t now_ns = 0;
  int64_t logical_now_ns = 0;
  std::string entropy;  // 64 bytes
};

// The stamp of the next frame. A test world has a clock and entropy of its own; any other takes
// those given.
Stamp next_stamp(const Head& head, int64_t clock_ns, std::string_view entropy64);

// An instance that a command created, moved or removed, for the list of runs. By item key.
struct InstanceChange {
  std::string module, key;
  std::optional<Instance> before;
  std::optional<Instance> after;
};

// An effect that came to the gate, as a shadow reports it.
struct ObservedEffect {
  std::string module, key;  // of the instance; key canonical, "" = not keyed
  std::string kind, cap_name, params, params_hash, intent_hash;
  bool allow = false;
  std::string code;  // of a denial
};

// The first of them: as many as a report lists.
struct ObservedEffects {
  static constexpr size_t kCountMax = 10'000;
  static constexpr size_t kBytesMax = 16u << 20;  // of params
  void add(ObservedEffect effect) {
    bytes += effect.params.size();
    cut = cut || list.size() == kCountMax || bytes > kBytesMax;
    if (!cut) list.push_back(std::move(effect));
  }

  std::vector<ObservedEffect> list;
  size_t bytes = 0;
  bool cut = false;  // there were more
};

class Deciding {
 public:
  Deciding(Table& base, std::shared_ptr<const Program> program, ModuleHost& host, Stamp stamp)
      : writes_(base),
        world_(writes_),
        program_(std::move(program)),
        host_(host),
        stamp_(std::move(stamp)) {}

  World& world() { return world_; }
  Overlay& writes() { return writes_; }
  const Program& program() const { return *program_; }
  void use(std::shared_ptr<const Program> program) {
    program_ = std::move(program);
  }  // after an apply
  ModuleHost& host() { return host_; }
  const Stamp& stamp() const { return stamp_; }

  std::map<std::string, InstanceChange> changed;  // by the command
  std::vector<std::string> opened;   // intents (hashes) that it left open, in emission order
  std::vector<std::string> settled;  // intents that it settled or dropped
  // In a replay: the ordinals of steps of this frame that ran out of real time when they were live.
  const std::vector<uint64_t>* timed_out = nullptr;
  uint64_t fuel = 0;  // used by all calls
  uint64_t steps = 0;
  // In a shadow: what is not null is told of every effect whose decision the frame keeps; and no
  // more steps are made than this, deliveries past it are skipped with step.cascade_limit.
  ObservedEffects* observed = nullptr;
  uint64_t steps_max = UINT64_MAX;

 private:
  Overlay writes_;
  World world_;
  std::shared_ptr<const Program> program_;
  ModuleHost& host_;
  const Stamp stamp_;
};

// --- making one
struct NewWorld {
  Uuid id;
  std::string name;
  int64_t created_ms = 0;
  bool test = false;
  std::string seed;
  int64_t test_now_ns = 0;
};
// Genesis: the manifest record is frame 1. Stores the nodes and the code that came along.
void create_world(Deciding& deciding, const NewWorld& made, const ProgramText& text);
// Stores nodes and code of a candidate (for a proposal, or before a direct apply).
void keep_program_text(World& world, Overlay& writes, const ProgramText& text);

// --- events
struct Delivery {
  std::string module;
  std::optional<std::string> key;  // canonical bytes
  Uuid run_id;
  enum class Outcome : uint8_t { Stepped, Failed, Skipped } outcome = Outcome::Stepped;
};
struct EventReply {
  uint64_t seq = 0;
  std::string event_hash;
  std::vector<Delivery> deliveries;
  bool duplicate = false;
};
struct GivenEvent {  // as a client sends it
  std::string schema;
  std::optional<json::View> value;  // one of these two
  std::optional<std::string> value_bytes;
  Lens lens = Lens::Sugar;
  std::optional<json::View> key;
  std::string client_id;
};
struct Event {  // judged and canonical
  std::string schema, value;
  std::optional<std::string> key;  // enc of the explicit key
  std::string client_id;
  std::string hash;  // event_hash
};
// event.invalid, event.unknown_schema, event.reserved_schema, event.key_missing, event.key_mismatch
Result<Event> judge_event(const Program& program, const GivenEvent& given);
Result<EventReply> post_event(Deciding& deciding, const Event& event);

// --- receipts
struct GivenReceipt {
  std::string intent_hash, adapter_id, status;
  std::string payload;  // as it was signed, not yet canonical
  bool payload_is_plain_json =
      false;                 // `payload` came as JSON: read through the schema's sugar (from_json)
  std::string payload_json;  // then its text
  std::optional<int64_t> cost_cents;
  std::string signature;
};
enum class ReceiptOutcome : uint8_t { Settled, Duplicate, Rejected, InstanceFailed };
std::string_view outcome_name(ReceiptOutcome outcome);
struct ReceiptReply {
  ReceiptOutcome outcome = ReceiptOutcome::Settled;
  std::optional<uint64_t> seq;
};
// The message that a receipt's signature is over.
std::string receipt_message(const Uuid& world, const GivenReceipt& receipt);
// Ed25519 or HMAC; `key` is the opened one. Constant time.
bool signature_is_good(const Adapter& adapter, std::string_view key, std::string_view message,
                       std::string_view signature);
// receipt.unknown_intent, receipt.bad_signature, receipt.kind_not_allowed. `adapter`: null if
// unknown. Nothing is written. A duplicate passes.
Status judge_receipt(World& world, const Program& program, const GivenReceipt& receipt,
                     const Adapter* adapter, std::string_view key);
// Of a judged receipt, or one of the server's own adapter.
Result<ReceiptReply> take_receipt(Deciding& deciding, const GivenReceipt& receipt);

// --- people
struct EmittedEffect {
  std::string intent_hash;
  uint64_t seq = 0;
};
// cap.denied, policy.denied (403, nothing is written), effect.unknown, effect.invalid_params
Result<EmittedEffect> emit_system_effect(Deciding& deciding, std::string_view kind,
                                         std::optional<json::View> params, std::string_view cap);
// A cancelled run: failed with code terminated, its open intents dropped.
Status terminate_instance(Deciding& deciding, std::string_view module, std::string_view key);
// A failed instance gets the input that failed it once more. run.unsupported if it is not failed.
Status retry_instance(Deciding& deciding, std::string_view module, std::string_view key);
// Retention: terminal keyed instances without state, and settled intents, that ended before; at
// most `at_most`. Returns how many went; 0 writes nothing.
size_t forget_old(Deciding& deciding, int64_t ended_before_ms, size_t at_most);

// --- governance (worlds/governance.cc)
Result<Proposal> propose(Deciding& deciding, const ProgramText& text,
                         std::optional<std::string> base, std::string_view description);
constexpr int64_t kShadowStepsMax = 10'000;
struct ShadowOrder {
  std::string proposal_id;
  std::vector<GivenEvent> events;
  std::optional<uint64_t> from_seq;
  uint64_t max_steps = 1000;  // at most kShadowStepsMax
};
struct Shadowed {
  std::string report_json;
};
// Runs the candidate on a fork of the live head, or of the state before from_seq; then writes the
// record.
Result<Shadowed> shadow(Deciding& deciding, const ShadowOrder& order,
                        std::shared_ptr<const Program> candidate);
Result<Proposal> approve(Deciding& deciding, std::string_view proposal_id);
Result<Proposal> reject(Deciding& deciding, std::string_view proposal_id);
// What an apply has to know and the journal does not hold: how many open intents no adapter has
// leased, timers included.
struct QueuedWork {
  uint64_t queued = 0;
};
struct Applied {
  std::string manifest_hash;
  uint64_t seq = 0;
};
// proposal_id "" = direct. gov.unknown_proposal, gov.state, gov.stale_base, policy.denied,
// apply.blocked (details).
Result<Applied> apply_program(Deciding& deciding, std::string_view proposal_id,
                              std::shared_ptr<const Program> candidate, QueuedWork queued);
std::optional<uint64_t> parse_proposal_id(std::string_view id);

// --- snapshots, digest, replay
struct Snapshot {
  std::string ref;
  uint64_t height = 0;
};
Snapshot take_snapshot(Deciding& deciding);
struct Digest {
  uint64_t height = 0;
  std::string manifest_hash, state_root, instances_root, queue_root;
  bool operator==(const Digest&) const = default;
};
Digest digest_of(World& world);
enum class ReplayFrom : uint8_t { Genesis, Baseline };
struct Replayed {
  Digest digest;
  uint64_t frames = 0;
};
// From the frames of `world` alone; each is decided again and compared. Conflict with
// replay.divergence, journal.corrupt (details seq) or replay.genesis_gone. Writes nothing. `go_on`:
// asked between frames; false ends it.
Result<Replayed> replay(World& world, ModuleHost& host, ReplayFrom from, FunctionRef<bool()> go_on);
// Checks a world that is opened: its program can be loaded, and the frames since its last snapshot,
// or the newest `frames_max` of them, can be read. journal.corrupt if not. Decides no frame again.
Status check_opened(World& world, ModuleHost& host, uint64_t frames_max);

}  // namespace pawl::worlds
