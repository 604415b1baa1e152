// Frame: what one input writes. A command begins one, appends records (worlds/records.h),
// changes instances and intents through it, and finishes it. Nothing is written before finish(): a
// command that is refused half-way has done nothing.
//
// finish() keeps the totals of the head: callers count only what the records say (steps, decisions,
// receipts, governance), never instances or open intents.
//
// Thread: the worker that has the world.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/commands.h"
#include "worlds/records.h"

namespace pawl::worlds {

// An intent before it has a place in the journal.
struct NewIntent {
  std::string hash;             // text
  std::string idempotency_key;  // 32 bytes
  std::optional<std::string> requested_key;
  std::string kind, cap_name, params, params_hash;
  OriginKind origin = OriginKind::Workflow;
  std::string origin_name;
  std::string instance_key;  // "" = not keyed
  uint64_t ordinal = 0, effect_index = 0;
  int64_t deliver_at_ns = 0;  // of timer.set
};

class Frame {
 public:
  // Moves: one of its records holds the stamp, or its logical time, so that a replay knows it. Only
  // such a frame moves the world's logical clock.
  enum class Clock : uint8_t { Moves, Stays };

  Frame(Deciding& deciding, Clock clock);

  Deciding& deciding() { return deciding_; }
  const Program& program() const { return deciding_.program(); }
  const Stamp& stamp() const { return deciding_.stamp(); }
  StampRecord stamp_record() const;
  int64_t now_ms() const { return deciding_.stamp().now_ns / 1'000'000; }
  uint64_t seq() const { return seq_; }
  Head& head() { return head_; }
  Totals& totals() { return head_.totals; }

  // --- records
  uint32_t append(RecordKind kind, std::string bytes);  // gives its place
  uint32_t next_place() const { return static_cast<uint32_t>(records_.size()); }
  const std::vector<JournalRecord>& records() const { return records_; }
  size_t bytes() const {
    return bytes_;
  }  // of all records, and of the states that the frame has set

  // --- instances, as the frame leaves them so far. Pointers live until finish().
  const Instance* instance(std::string_view module, std::string_view key);  // null: there is none
  Instance& change_instance(std::string_view module,
                            std::string_view key);  // made if there is none
  void remove_instance(std::string_view module, std::string_view key);
  void count_state_bytes(size_t size) { bytes_ += size; }

  // --- intents
  // Appends effect_intent. An open one is in its instance's list too; one of governance is settled
  // at once.
  void add_intent(NewIntent intent);
  // The intent, as the frame leaves it so far; null: unknown.
  const Intent* intent(const std::string& hash);
  // Settles an open intent, and takes it out of its instance's list. `status`, `adapter_id`: of a
  // receipt.
  void settle(const std::string& hash, Settlement settlement, std::string_view status = {},
              std::string_view adapter_id = {});
  // Drops all open intents of an instance; says how many.
  uint64_t drop_open_intents(Instance& instance);
  // Removes a settled intent.
  void forget_intent(const std::string& hash, uint64_t seq, uint32_t n);

  // Writes it all: the frame, the head, instances and intents; fills in what Deciding reports.
  void finish();

 private:
  struct Work {
    std::string module, key;
    std::optional<Instance> before = {};  // without its state; only if it may have changed
    std::optional<Instance> after = {};
    bool changed = false;
  };
  struct IntentWork {
    Intent intent;
    bool opened = false;   // by this frame
    bool settled = false;  // by this frame
  };

  Work& work(std::string_view module, std::string_view key);
  Work& changed_work(std::string_view module, std::string_view key);
  IntentWork* intent_work(const std::string& hash);
  void write_instance(const std::string& item_key, Work& work);
  void write_intents();

  Deciding& deciding_;
  Head head_;
  const uint64_t seq_;
  std::vector<JournalRecord> records_;
  size_t bytes_ = 0;
  std::map<std::string, Work, std::less<>> instances_;  // by item key
  std::map<std::string, IntentWork, std::less<>> intents_;
  std::vector<std::string> opened_, settled_;  // in order
  std::vector<std::string> forgotten_;         // item keys
};

// The error of an instance that was cancelled.
constexpr std::string_view kTerminated = "terminated";

// A key of an instance, as records have it.
inline MaybeBytes record_key(std::string_view instance_key) {
  return instance_key.empty() ? MaybeBytes{} : MaybeBytes{instance_key};
}

// effect_intent governance.<verb> with its params {proposal_id, manifest_hash} ("" = null).
void add_governance_intent(Frame& frame, std::string_view verb, std::string_view proposal_id,
                           std::string_view manifest_hash);

// Whether a world takes more work: else RateLimited with world.busy, above kOpenIntentsMax open
// intents.
constexpr uint64_t kOpenIntentsMax = 100'000;
Status has_room(const Head& head);

// Whether a world takes writes: else Conflict with world.quarantined.
Status writable(const Head& head);

}  // namespace pawl::worlds
