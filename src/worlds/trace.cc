// What came of an event: its own frame, and the frames of the receipts of the intents that came of it.
#include <set>

#include "base/json.h"
#include "worlds/fault.h"
#include "worlds/reading.h"
#include "worlds/record_view.h"
#include "worlds/records.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr uint64_t kScanFramesMax = 100'000;  // looked through for an event, or for receipts
constexpr size_t kChainMax = 10'000;          // records

struct Link {
  RecordPlace place;
  RecordKind kind;
  std::string bytes;
  std::optional<RecordPlace> cause;
};

// The record that a record without a cause of its own came of: decisions and intents of their step, a fault of
// the receipt. A step that a denial failed stands behind the decisions.
std::optional<uint32_t> implied_cause(const std::vector<JournalRecord>& records, uint32_t n) {
  const RecordKind kind = kind_of(records[n]);
  if (kind == RecordKind::ReceiptFault) return n == 0 ? std::nullopt : std::optional<uint32_t>(0);
  if (kind != RecordKind::CapDecision && kind != RecordKind::PolicyDecision &&
      kind != RecordKind::EffectIntent)
    return std::nullopt;
  for (uint32_t at = n + 1; at < records.size(); ++at) {
    const RecordKind next = kind_of(records[at]);
    if (next == RecordKind::StepFailed) return at;
    if (next != RecordKind::CapDecision && next != RecordKind::PolicyDecision) break;
  }
  for (uint32_t at = n; at-- > 0;)
    if (kind_of(records[at]) == RecordKind::Step) return at;
  return std::nullopt;
}

class Chain {
 public:
  explicit Chain(World& world) : world_(world), height_(world.head().height) {}

  void follow(RecordPlace root) {
    take_frame(root.seq, root.n);
    while (!frames_.empty() && !cut_) {
      const uint64_t seq = *frames_.begin();
      frames_.erase(frames_.begin());
      take_frame(seq, 0);
    }
    if (!forgotten_.empty() && !cut_) scan_for_forgotten(root.seq + 1);
  }

  void write(json::Writer& w) const {
    w.key("chain").begin_array();
    for (const auto& [place, link] : links_) write_link(w, link);
    w.end_array();
  }

  void write_live_wait(json::Writer& w) const {
    w.key("live_wait").begin_array();
    for (const std::string& hash : waits_) {
      const auto intent = world_.intent(hash);
      if (!intent || intent->settlement != Settlement::Open) continue;
      w.begin_object().field("intent_hash", hash).field("effect_kind", intent->kind).end_object();
    }
    w.end_array();
  }

  std::string_view terminal_state() const;
  bool cut() const { return cut_; }

 private:
  static void write_link(json::Writer& w, const Link& link) {
    const RecordView record(link.bytes);
    w.begin_object();
    write_nat(w, "seq", link.place.seq);
    write_nat(w, "n", link.place.n);
    w.field("kind", record_kind_name(link.kind)).key("cause");
    if (link.cause) {
      w.begin_array().raw(std::to_string(link.cause->seq)).raw(std::to_string(link.cause->n));
      w.end_array();
    } else {
      w.null();
    }
    if (record.has("route")) w.field("route", record.text("route"));
    w.key("record");
    write_value(w, nullptr, link.bytes);
    w.end_object();
  }

  // What came of record `root` in its frame: all of the frame if that is its input.
  void take_frame(uint64_t seq, uint32_t root) {
    const auto frame = world_.frame(seq);
    if (!frame) return;
    const auto& records = frame->records;
    for (uint32_t n = root; n < records.size(); ++n) {
      const RecordView record(records[n].bytes);
      std::optional<RecordPlace> cause = record.cause();
      if (!cause) {
        if (const auto implied = implied_cause(records, n)) cause = RecordPlace{seq, *implied};
      }
      const bool of_root = root == 0 || n == root ||
                           (cause && cause->seq == seq && (links_.contains(*cause) || ahead(*cause, records, seq)));
      if (!of_root) continue;
      if (links_.size() == kChainMax) return void(cut_ = true);
      note(records[n], record, {seq, n}, cause);
    }
  }

  // Whether the cause is a step that failed, which is read later but is of the chain.
  bool ahead(const RecordPlace& cause, const std::vector<JournalRecord>& records, uint64_t seq) const {
    if (cause.n >= records.size() || kind_of(records[cause.n]) != RecordKind::StepFailed) return false;
    const auto its = RecordView(records[cause.n].bytes).cause();
    return its && its->seq == seq && links_.contains(*its);
  }

  void note(const JournalRecord& entry, const RecordView& record, RecordPlace place,
            std::optional<RecordPlace> cause) {
    const RecordKind kind = kind_of(entry);
    const std::string hash(record.text("intent_hash"));
    if (kind == RecordKind::EffectIntent) {
      intents_.emplace(hash, place);
      note_wait(hash);
    } else if (kind == RecordKind::EffectReceipt) {
      forgotten_.erase(hash);
      if (const auto emitted = intents_.find(hash); emitted != intents_.end()) {
        cause = emitted->second;
      } else if (const auto intent = world_.intent(hash)) {
        cause = RecordPlace{intent->seq, intent->n};
      }
    } else if (kind == RecordKind::Step || kind == RecordKind::StepFailed) {
      touched_[{std::string(record.text("module")), std::string(record.bytes("key"))}] =
          kind == RecordKind::Step ? std::string(record.text("status")) : "failed";
    }
    links_.emplace(place, Link{place, kind, entry.bytes, cause});
  }

  void note_wait(const std::string& hash) {
    if (hash.empty()) return;
    waits_.push_back(hash);
    const auto intent = world_.intent(hash);
    if (!intent) {
      forgotten_.insert(hash);  // settled so long ago that retention took it
    } else if (intent->settlement == Settlement::Receipt) {
      frames_.insert(intent->settled_seq);
    }
  }

  void scan_for_forgotten(uint64_t from) {
    const uint64_t until = from + kScanFramesMax;
    world_.each_frame(from, [&](uint64_t seq, const FrameRecords& frame) {
      cut_ = seq >= until;
      if (cut_ || forgotten_.empty() || frame.records.empty()) return !cut_ && !forgotten_.empty();
      if (kind_of(frame.records[0]) != RecordKind::EffectReceipt) return true;
      const std::string hash(RecordView(frame.records[0].bytes).text("intent_hash"));
      if (forgotten_.contains(hash) && !links_.contains({seq, 0})) take_frame(seq, 0);
      return !cut_;
    });
  }

  World& world_;
  const uint64_t height_;
  std::map<RecordPlace, Link> links_;
  std::map<std::string, RecordPlace> intents_;
  std::vector<std::string> waits_;
  std::set<uint64_t> frames_;  // of receipts, not yet read
  std::set<std::string> forgotten_;
  std::map<std::pair<std::string, std::string>, std::string> touched_;  // instance -> its status then
  bool cut_ = false;
};
