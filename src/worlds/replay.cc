#include "worlds/replay.h"

#include <algorithm>
#include <charconv>

#include "base/unreadable.h"
#include "worlds/frame.h"
#include "worlds/governance.h"
#include "worlds/hash.h"
#include "worlds/recorded.h"
#include "worlds/retention.h"
#include "worlds/snapshot.h"

namespace pawl::worlds {
namespace {

bool is_of_disk(std::string_view key) {
  return key.starts_with('b') || key.starts_with('n') || key.starts_with('a');
}

constexpr size_t kFramesAhead = 512;
constexpr size_t kBytesAhead = 1u << 20;

constexpr std::string_view kCorrupt = "journal.corrupt";
constexpr std::string_view kDivergence = "replay.divergence";

Error broken(uint64_t seq, std::string_view wire, std::string message) {
  Error error = refusal(ErrorCode::Conflict, wire, std::move(message));
  error.json_details.emplace_back("seq", std::to_string(seq));
  return error;
}

Error corrupt(uint64_t seq, std::string message) {
  return broken(seq, kCorrupt, std::move(message));
}

Error diverged(uint64_t seq, std::string message) {
  return broken(seq, kDivergence, std::move(message));
}

Error genesis_gone(uint64_t first_kept) {
  return refusal(ErrorCode::Conflict, "replay.genesis_gone",
                 "retention took the frames before " + std::to_string(first_kept) +
                     ": only a replay from the baseline is possible");
}

// Whether an error says nothing of the world: what was asked may go well another time.
bool passes_on(const Error& error) { return worth_retrying(error.code); }

RecordView first_of(const FrameRecords& frame) {
  return RecordView(frame.records.empty() ? std::string_view() : frame.records[0].bytes);
}

std::vector<uint64_t> timeouts_of(const FrameRecords& frame) {
  std::vector<uint64_t> ordinals;
  for (const JournalRecord& entry : frame.records) {
    if (record_kind(entry) != RecordKind::StepFailed) continue;
    const RecordView record(entry.bytes);
    if (record.text("code") == "step.timeout") ordinals.push_back(record.nat("ordinal"));
  }
  return ordinals;
}

std::string record_name(const std::vector<JournalRecord>& records, size_t n) {
  return n < records.size() ? std::string(record_kind_name(record_kind(records[n]))) : "no record";
}

Status compare_frames(uint64_t seq, const FrameRecords& stored, const FrameRecords& derived) {
  const size_t most = std::max(stored.records.size(), derived.records.size());
  for (size_t n = 0; n < most; ++n) {
    if (n < stored.records.size() && n < derived.records.size() &&
        stored.records[n].kind == derived.records[n].kind &&
        stored.records[n].bytes == derived.records[n].bytes)
      continue;
    return diverged(seq, "frame " + std::to_string(seq) + ", record " + std::to_string(n) +
                             ": the journal has " + record_name(stored.records, n) +
                             ", a replay gives another " + record_name(derived.records, n));
  }
  if (stored.written_ms == derived.written_ms) return ok_status();
  return diverged(seq, "frame " + std::to_string(seq) + ": its time is not that of its stamp");
}

}  // namespace

std::optional<std::string> ReplayTable::get(std::string_view key) {
  if (const auto at = items_.find(key); at != items_.end()) return at->second;
  return is_of_disk(key) || key.starts_with('f') ? disk_.get(key) : std::nullopt;
}

void ReplayTable::scan(std::string_view prefix, std::string_view from,
                       FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  if (is_of_disk(prefix) || prefix.starts_with('f')) return disk_.scan(prefix, from, visit);
  for (auto at = items_.lower_bound(std::max(prefix, from)); at != items_.end(); ++at)
    if (!at->first.starts_with(prefix) || !visit(at->first, at->second)) return;
}

void ReplayTable::fold(Overlay::Writes writes) {
  while (!writes.empty()) {
    auto item = writes.extract(writes.begin());
    if (is_of_disk(item.key()) || item.key().starts_with('f') || item.key().starts_with('s'))
      continue;
    if (item.mapped()) {
      items_.insert_or_assign(std::move(item.key()), *std::move(item.mapped()));
    } else {
      items_.erase(item.key());
    }
  }
}

Replay::Replay(World& disk, ModuleHost& host)
    : disk_(disk), host_(host), table_(disk.table()), world_(table_), live_(disk.head()) {}

Result<std::shared_ptr<const Program>> Replay::load(std::string_view manifest_hash) {
  auto program =
      load_program(manifest_hash, [&](std::string_view hash) { return disk_.node(hash); });
  if (!program.ok()) {
    if (passes_on(program.error())) return std::move(program).failure();
    return corrupt(next_, "manifest " + std::string(manifest_hash) +
                              " cannot be loaded: " + program.error().message);
  }
  for (const auto& [name, module] : program.value()->modules) {
    const auto code = disk_.blob(module.wasm_hash);
    if (!code) return corrupt(next_, "the code of " + name + " is missing");
    if (hash_of_bytes(*code) != module.wasm_hash)
      return corrupt(next_, "the code of " + name + " is not what its hash says");
  }
  return program;
}

Status Replay::begin(ReplayFrom from, uint64_t until) {
  const uint64_t snapshot = live_.last_snapshot;
  if (from == ReplayFrom::Baseline && snapshot != 0 && snapshot <= until + 1 &&
      disk_.table().get(baseline_key(snapshot, 0)))
    return begin_at_baseline(snapshot);
  return begin_at_genesis();
}

Status Replay::begin_at_genesis() {
  if (live_.first_kept > 1) return genesis_gone(live_.first_kept);
  next_ = 1;
  return ok_status();
}

Status Replay::begin_at_baseline(uint64_t seq) {
  next_ = seq;
  const Status read = each_baseline_item(
      disk_.table(), seq,
      [&](std::string key, std::string value) { table_.put(std::move(key), std::move(value)); });
  if (!read.ok()) return corrupt(seq, read.error().message);
  PAWL_TRY(program_, load(world_.head().manifest_hash));
  if (world_.head().height + 1 != seq)
    return corrupt(seq, "the baseline is not of the state before frame " + std::to_string(seq));
  return ok_status();
}

// A page of frames: asking for each would wait for the engine's thread as often.
void Replay::read_ahead(uint64_t seq) {
  size_t bytes = 0;
  try {
    disk_.each_frame(seq, [&](uint64_t at, FrameRecords frame) {
      for (const JournalRecord& record : frame.records) bytes += record.bytes.size();
      ahead_.emplace_back(at, std::move(frame));
      return ahead_.size() < kFramesAhead && bytes < kBytesAhead;
    });
  } catch (const Unreadable&) {
    if (ahead_.empty()) throw;  // else it is met again when the frames before it are done
  }
}

Result<FrameRecords> Replay::read_frame(uint64_t seq) {
  try {
    if (ahead_.empty()) read_ahead(seq);
    if (ahead_.empty() || ahead_.front().first != seq)
      return corrupt(seq, "frame " + std::to_string(seq) + " is missing");
    FrameRecords frame = std::move(ahead_.front().second);
    ahead_.pop_front();
    return frame;
  } catch (const Unreadable& hole) {
    if (passes_on(hole.error)) return hole.error;
    return corrupt(seq, "frame " + std::to_string(seq) + ": " + hole.error.message);
  }
}

Status Replay::run(uint64_t until, FunctionRef<bool()> go_on) {
  for (; next_ <= until; ++next_) {
    if (!go_on()) return Error{ErrorCode::Unavailable, "the replay was stopped before its end"};
    PAWL_TRY_DO(step(next_));
    ++frames_;
  }
  return ok_status();
}

Status Replay::step(uint64_t seq) {
  PAWL_TRY(const FrameRecords stored, read_frame(seq));
  if (stored.records.empty()) return corrupt(seq, "frame " + std::to_string(seq) + " is empty");
  if (seq == 1) {
    PAWL_TRY(program_, load(first_of(stored).text("manifest_hash")));
  }
  const std::vector<uint64_t> timed_out = timeouts_of(stored);
  Deciding deciding(table_, program_, host_, recorded_stamp(stored, world_.head().logical_now_ns));
  deciding.timed_out = &timed_out;
  Status decided = ok_status();
  std::optional<FrameRecords> derived;
  try {
    decided = decide(deciding, stored);
    if (decided.ok()) derived = deciding.world().frame(seq);
  } catch (const Unreadable& hole) {
    decided = hole.error;
  }
  if (!decided.ok()) {
    const Error& error = decided.error();
    if (passes_on(error) || error.wire == kCorrupt || error.wire == kDivergence) return decided;
    if (error.code == ErrorCode::Corrupt) return corrupt(seq, error.message);
    return diverged(seq, "frame " + std::to_string(seq) + ": " + error.message);
  }
  if (!derived) return diverged(seq, "frame " + std::to_string(seq) + ": its input gives no frame");
  if (timeouts_of(*derived) != timed_out)
    return Error{ErrorCode::Unavailable,
                 "a step of frame " + std::to_string(seq) +
                     " took more real time than it may: try again when the machine is less busy"};
  PAWL_TRY_DO(compare_frames(seq, stored, *derived));
  if (applied_) program_ = std::move(applied_);
  table_.fold(deciding.writes().take());
  return ok_status();
}

// --- what a frame's input asks for

Status Replay::decide(Deciding& deciding, const FrameRecords& frame) {
  const RecordView first = first_of(frame);
  switch (record_kind(frame.records[0])) {
    case RecordKind::Manifest:
      return decide_genesis(deciding, first);
    case RecordKind::DomainEvent: {
      PAWL_TRY(const Event event, recorded_event(deciding.program(), first));
      PAWL_TRY_DO(post_event(deciding, event));
      return ok_status();
    }
    case RecordKind::EffectReceipt:
      PAWL_TRY_DO(take_receipt(deciding, recorded_receipt(first)));
      return ok_status();
    case RecordKind::CapDecision:
    case RecordKind::PolicyDecision:
    case RecordKind::EffectIntent:
      return decide_intent(deciding, frame);
    case RecordKind::Instance:
      return decide_instance(deciding, frame);
    case RecordKind::Snapshot:
      write_snapshot(deciding);
      return ok_status();
    case RecordKind::LegacyPlanStarted:
    case RecordKind::LegacyPlanResult:
    case RecordKind::LegacyPlanEnded:
      return decide_legacy(deciding, frame);
    case RecordKind::Step:
    case RecordKind::StepFailed:
    case RecordKind::DeliverySkipped:
    case RecordKind::ReceiptFault:
    case RecordKind::Governance:
      break;
  }
  return diverged(next_, "frame " + std::to_string(next_) +
                             " begins with no input: " + record_name(frame.records, 0));
}

Status Replay::decide_genesis(Deciding& deciding, const RecordView& record) {
  if (next_ != 1) return diverged(next_, "a manifest alone is only genesis");
  ProgramText text;  // nodes and code are on the disk
  text.manifest_hash = record.text("manifest_hash");
  text.program = program_;
  create_world(deciding,
               {.id = live_.id,
                .name = live_.name,
                .created_ms = live_.created_ms,
                .test = live_.test,
                .seed = live_.seed,
                .test_now_ns = live_.test_now_ns},
               text);
  return ok_status();
}

// Of the system, or a verb of governance: they begin with decisions, or with the intent itself.
Status Replay::decide_intent(Deciding& deciding, const FrameRecords& frame) {
  const auto at = std::find_if(frame.records.begin(), frame.records.end(), [](const auto& entry) {
    return record_kind(entry) == RecordKind::EffectIntent;
  });
  if (at == frame.records.end()) return diverged(next_, "a frame of decisions has no intent");
  const RecordView intent(at->bytes);
  const std::string_view origin = intent.member("origin").text("kind");
  if (origin == origin_name(OriginKind::Governance)) return decide_governance(deciding, frame);
  if (origin != origin_name(OriginKind::System))
    return diverged(next_, "an intent of a module is no input");
  const Effect* effect = deciding.program().effect(intent.text("kind"));
  const std::string_view params = intent.bytes("params");
  if (effect == nullptr) return diverged(next_, "the manifest has no such effect");
  const auto canonical = from_cbor(*effect->params_type, params);
  if (!canonical.ok() || *canonical != params)
    return diverged(next_, "the params are not of the effect's schema");
  // Canonical bytes and their sugar say the same.
  std::string sugar;
  append_json(sugar, *effect->params_type, params);
  PAWL_TRY(const json::Doc doc, json::parse(sugar));
  PAWL_TRY_DO(emit_system_effect(deciding, effect->kind, doc.root(), intent.text("cap_name")));
  return ok_status();
}

Status Replay::decide_governance(Deciding& deciding, const FrameRecords& frame) {
  if (frame.records.size() < 2 || record_kind(frame.records[1]) != RecordKind::Governance)
    return diverged(next_, "a verb of governance has no record");
  const RecordView record(frame.records[1].bytes);
  const std::string_view action = record.text("action"), id = record.text("proposal_id");
  if (action == "proposed") {
    // What it was described as is in no record: it is told to people, and decides nothing.
    const auto live = disk_.proposal(next_);
    PAWL_TRY_DO(write_proposed(deciding, record.text("manifest_hash"), record.text("base"),
                               live ? live->description : std::string()));
    return ok_status();
  }
  if (action == "shadow_report") {
    PAWL_TRY(Proposal proposal, shadowable_proposal(deciding.world(), deciding.program(), id));
    const auto report = disk_.blob(record.text("report"));
    if (!report || hash_of_bytes(*report) != record.text("report"))
      return corrupt(next_, "the report of a shadow is not what its hash says");
    write_shadowed(deciding, std::move(proposal), record.text("report"));
    return ok_status();
  }
  if (action == "approved") {
    PAWL_TRY_DO(approve(deciding, id));
    return ok_status();
  }
  if (action == "rejected") {
    PAWL_TRY_DO(reject(deciding, id));
    return ok_status();
  }
  if (action != "applied") return diverged(next_, "no verb of governance is recorded so");
  PAWL_TRY(auto candidate, load(record.text("manifest_hash")));
  // Work that waits for adapters is outside of the journal; there was none, or it would not have
  // been applied.
  PAWL_TRY_DO(apply_program(deciding, id, candidate, {.queued = 0}));
  applied_ = std::move(candidate);
  return ok_status();
}

Status Replay::decide_instance(Deciding& deciding, const FrameRecords& frame) {
  const RecordView first = first_of(frame);
  const std::string_view action = first.text("action");
  if (action == "terminated")
    return terminate_instance(deciding, first.text("module"), first.bytes("key"));
  if (action == "retried")
    return retry_instance(deciding, first.text("module"), first.bytes("key"));
  if (action != "forgotten") return diverged(next_, "no act on an instance is recorded so");
  Forgotten forgotten;
  for (const JournalRecord& entry : frame.records) {
    const RecordView record(entry.bytes);
    if (record.text("module").empty()) {
      forgotten.settled = record.nat("dropped");
    } else {
      forgotten.instances.emplace_back(record.text("module"), record.bytes("key"));
    }
  }
  forget(deciding, forgotten);
  return ok_status();
}

// Kept as they are: no command makes them.
Status Replay::decide_legacy(Deciding& deciding, const FrameRecords& frame) {
  Frame again(deciding, Frame::Clock::Stays);
  for (const JournalRecord& entry : frame.records) {
    if (!is_legacy(record_kind(entry))) return diverged(next_, "a legacy frame has other records");
    again.append(record_kind(entry), entry.bytes);
  }
  again.finish();
  return ok_status();
}

// --- the end

Status Replay::compare_items() {
  const uint64_t height = live_.height;
  if (disk_.table().get(frame_key(height + 1)))
    return corrupt(height + 1, "there is a frame past the world's height");
  std::optional<std::string> broken;
  disk_.each_instance(
      "", "",
      [&](std::string_view, const std::string& module, const std::string&,
          const Instance& instance) {
        if (instance.has_state && hash_of_bytes(instance.state) != instance.state_hash)
          broken = module;
        return !broken;
      });
  if (broken)
    return diverged(height,
                    "the state of an instance of " + *broken + " is not what its hash says");
  if (snapshot_bytes(world_) == snapshot_bytes(disk_)) return ok_status();
  return diverged(height, "every frame holds, but what the world keeps of them is another");
}

Status Replay::read_frames(uint64_t seq) {
  try {
    disk_.each_frame(seq, [&](uint64_t found, const FrameRecords&) {
      if (found != seq) return false;
      return seq++ < live_.height;
    });
  } catch (const Unreadable& hole) {
    if (passes_on(hole.error)) return hole.error;
    return corrupt(seq, "frame " + std::to_string(seq) + ": " + hole.error.message);
  }
  if (seq > live_.height) return ok_status();
  return corrupt(seq, "frame " + std::to_string(seq) + " is missing");
}

Status check_opened(World& world, ModuleHost& host, uint64_t frames_max) {
  const Head head = world.head();
  Replay reading(world, host);
  const uint64_t newest = head.height > frames_max ? head.height - frames_max + 1 : 1;
  PAWL_TRY_DO(reading.load(head.manifest_hash));
  return reading.read_frames(std::max({newest, head.last_snapshot, head.first_kept, uint64_t{1}}));
}

Result<Replayed> replay(World& world, ModuleHost& host, ReplayFrom from,
                        FunctionRef<bool()> go_on) {
  uint64_t seq = 0;
  try {
    Replay again(world, host);
    seq = world.head().height;
    PAWL_TRY_DO(again.begin(from, seq));
    PAWL_TRY_DO(again.run(seq, go_on));
    PAWL_TRY_DO(again.compare_items());
    return Replayed{digest_of(again.world()), again.frames()};
  } catch (const Unreadable& hole) {
    // Of items; frames are read where their numbers are known.
    if (hole.error.code != ErrorCode::Corrupt) return hole.error;
    return corrupt(seq, hole.error.message);
  }
}

std::optional<uint64_t> broken_frame(const Error& error) {
  if (error.wire != kCorrupt && error.wire != kDivergence) return std::nullopt;
  uint64_t seq = 0;
  for (const auto& [name, json] : error.json_details)
    if (name == "seq") std::from_chars(json.data(), json.data() + json.size(), seq);
  return seq;
}

void quarantine(World& world, Overlay& writes, std::string_view code, std::string_view message,
                uint64_t seq) {
  Head head = world.head();
  if (!head.quarantine_code.empty()) return;
  head.quarantine_code = code;
  head.quarantine_message = message;
  head.quarantine_seq = seq;
  writes.put(head_key(), codec::encoded(head));
}

void end_quarantine(World& world, Overlay& writes) {
  Head head = world.head();
  head.quarantine_code.clear();
  head.quarantine_message.clear();
  head.quarantine_seq = 0;
  writes.put(head_key(), codec::encoded(head));
}

}  // namespace pawl::worlds
