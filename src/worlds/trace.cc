// What came of an event: its own frame, and the frames of the receipts of the intents that came of
// it.
#include <map>
#include <set>

#include "base/json.h"
#include "worlds/causes.h"
#include "worlds/cbor.h"
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
  RecordKind kind;
  std::string bytes;
  std::optional<Cause> cause;
};

// Which records of a frame came of record `root`: all of them if that is the frame's input.
std::vector<bool> came_of(uint32_t root, const std::vector<std::optional<Cause>>& causes) {
  std::vector<bool> of_root(causes.size(), root == 0);
  if (root < of_root.size()) of_root[root] = true;
  // Once forwards; then those whose step stands behind them.
  for (uint32_t n = root; n < causes.size(); ++n)
    if (causes[n] && causes[n]->n < n && of_root[causes[n]->n]) of_root[n] = true;
  for (uint32_t n = root; n < causes.size(); ++n)
    if (causes[n] && causes[n]->n > n && causes[n]->n < causes.size() && of_root[causes[n]->n])
      of_root[n] = true;
  return of_root;
}

class Chain {
 public:
  explicit Chain(World& world) : world_(world) {}

  void follow(Cause root) {
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
    for (const auto& [place, link] : links_) write_link(w, place, link);
    w.end_array();
  }

  void write_live_wait(json::Writer& w) const {
    w.key("live_wait").begin_array();
    for (const std::string& hash : emitted_) {
      const auto intent = world_.intent(hash);
      if (!intent || intent->settlement != Settlement::Open) continue;
      w.begin_object().field("intent_hash", hash).field("effect_kind", intent->kind).end_object();
    }
    w.end_array();
  }

  // How the instances that it reached stand now; one that is gone counts as the chain left it.
  std::string_view terminal_state() const {
    std::set<std::string, std::less<>> seen;
    for (const auto& [name, last] : touched_) {
      const auto instance = world_.instance(name.first, name.second);
      seen.insert(instance ? std::string(status_name(instance->status)) : last);
    }
    if (seen.contains("failed")) return "failed";
    if (seen.contains("waiting") || any_open()) return "waiting_receipt";
    if (seen.contains("running")) return "waiting_event";
    return seen.contains("completed") ? "completed" : "unknown";
  }

  bool cut() const { return cut_; }

 private:
  bool any_open() const {
    for (const std::string& hash : emitted_)
      if (const auto intent = world_.intent(hash); intent && intent->settlement == Settlement::Open)
        return true;
    return false;
  }

  static void write_link(json::Writer& w, const Cause& place, const Link& link) {
    const RecordView record(link.bytes);
    w.begin_object();
    write_nat(w, "seq", place.seq);
    write_nat(w, "n", place.n);
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

  void take_frame(uint64_t seq, uint32_t root) {
    const auto frame = world_.shown_frame(seq);
    if (!frame) return;
    const auto& records = frame->records;
    const auto causes = causes_in(seq, records);
    const auto of_root = came_of(root, causes);
    for (uint32_t n = 0; n < records.size(); ++n) {
      if (!of_root[n] || links_.contains({seq, n})) continue;
      if (links_.size() == kChainMax) return void(cut_ = true);
      note(records[n], {seq, n}, causes[n]);
    }
  }

  void note(const JournalRecord& entry, Cause place, std::optional<Cause> cause) {
    const RecordView record(entry.bytes);
    const RecordKind kind = record_kind(entry);
    if (kind == RecordKind::EffectIntent) {
      note_intent(std::string(record.text("intent_hash")), place);
    } else if (kind == RecordKind::EffectReceipt) {
      const std::string hash(record.text("intent_hash"));
      forgotten_.erase(hash);
      if (const auto its = emitted_at_.find(hash); its != emitted_at_.end()) {
        cause = its->second;
      } else if (const auto intent = world_.intent(hash)) {
        cause = Cause{intent->seq, intent->n};
      }
    } else if (kind == RecordKind::ReceiptFault) {
      const auto intent = world_.intent(record.text("intent_hash"));
      if (intent && record.boolean("workflow_failed"))
        touched_[{intent->origin_name, intent->instance_key}] = "failed";
    } else if (kind == RecordKind::Step || kind == RecordKind::StepFailed ||
               kind == RecordKind::DeliverySkipped) {
      auto& last = touched_[{std::string(record.text("module")), std::string(record.bytes("key"))}];
      if (kind == RecordKind::Step) last = record.text("status");
      if (kind == RecordKind::StepFailed || record.text("code") == "instance.failed")
        last = "failed";
    }
    links_.emplace(place, Link{kind, entry.bytes, cause});
  }

  void note_intent(const std::string& hash, Cause place) {
    emitted_.push_back(hash);
    emitted_at_.emplace(hash, place);
    const auto intent = world_.intent(hash);
    if (!intent) {
      forgotten_.insert(hash);  // settled so long ago that retention took it
    } else if (intent->settlement == Settlement::Receipt) {
      frames_.insert(intent->settled_seq);
    }
  }

  void scan_for_forgotten(uint64_t from) {
    world_.each_shown_frame(from, [&](uint64_t seq, const FrameRecords& frame) {
      if (seq >= from + kScanFramesMax) cut_ = true;
      if (cut_ || forgotten_.empty()) return false;
      if (frame.records.empty() || record_kind(frame.records[0]) != RecordKind::EffectReceipt)
        return true;
      const std::string hash(RecordView(frame.records[0].bytes).text("intent_hash"));
      if (forgotten_.contains(hash)) take_frame(seq, 0);
      return true;
    });
  }

  World& world_;
  std::map<Cause, Link> links_;
  std::vector<std::string> emitted_;  // intents, in order
  std::map<std::string, Cause> emitted_at_;
  std::set<uint64_t> frames_;        // of receipts, not yet read
  std::set<std::string> forgotten_;  // intents without an item, whose receipt has not been met
  std::map<std::pair<std::string, std::string>, std::string>
      touched_;  // instance -> its last status
  bool cut_ = false;
};

// What a client writes for a scalar: text without quotes, everything else as JSON.
bool prints_as(const Type& type, const cbor::Item& item, std::string_view wanted) {
  std::string text;
  append_json(text, type, item);
  if (!text.starts_with('"')) return text == wanted;
  const auto doc = json::parse(text);
  return doc.ok() && doc.value().root().equals(wanted);
}

class Correlation {
 public:
  Correlation(const Program& program, const TraceQuery& query)
      : query_(query), type_(program.types.find(query.schema)) {}

  bool matches(const JournalRecord& entry) const {
    if (record_kind(entry) != RecordKind::DomainEvent) return false;
    const RecordView record(entry.bytes);
    if (record.text("schema") != query_.schema) return false;
    if (query_.correlate_by.empty()) return true;
    if (type_ == nullptr) return false;
    // An event of an earlier program may not be of the schema's present type.
    const std::string_view bytes = record.bytes("value");
    const auto fits = from_cbor(*type_, bytes);
    if (!fits.ok() || fits.value() != bytes) return false;
    const auto value = cbor::read(bytes);
    if (!value.ok()) return false;
    const Place place = find_path(*type_, value.value(), query_.correlate_by);
    return place.item != nullptr && place.type != nullptr &&
           prints_as(*place.type, *place.item, query_.value);
  }

 private:
  const TraceQuery& query_;
  const std::shared_ptr<const Type> type_;
};

// The first match, among the newest frames: where it all began.
std::optional<Cause> find_event(World& world, const Program& program, const TraceQuery& query) {
  const Head head = world.head();
  const uint64_t from = std::max(
      head.first_kept, head.height > kScanFramesMax ? head.height - kScanFramesMax + 1 : 1);
  const Correlation correlation(program, query);
  std::optional<Cause> found;
  world.each_shown_frame(from, [&](uint64_t seq, const FrameRecords& frame) {
    for (uint32_t n = 0; n < frame.records.size() && !found; ++n)
      if (correlation.matches(frame.records[n])) found = Cause{seq, n};
    return !found;
  });
  return found;
}

}  // namespace

Result<std::string> trace_json(World& world, const Program& program, const TraceQuery& query) {
  std::optional<Cause> root;
  if (query.seq) {
    if (world.shown_frame(*query.seq)) root = Cause{*query.seq, 0};
  } else {
    root = find_event(world, program, query);
  }
  if (!root) return refusal(ErrorCode::NotFound, "trace.unknown", "the journal has no such event");
  Chain chain(world);
  chain.follow(*root);

  std::string out;
  json::Writer w(out);
  w.begin_object().key("root").begin_object();
  write_nat(w, "seq", root->seq);
  write_nat(w, "n", root->n);
  w.end_object();
  chain.write(w);
  chain.write_live_wait(w);
  w.field("terminal_state", chain.terminal_state());
  if (chain.cut()) w.field_bool("cut", true);
  w.end_object();
  return out;
}

}  // namespace pawl::worlds
