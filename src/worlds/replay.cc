#include "worlds/replay.h"

#include <algorithm>

#include "base/unreadable.h"
#include "worlds/frame.h"
#include "worlds/governance.h"
#include "worlds/hash.h"
#include "worlds/record_view.h"
#include "worlds/snapshot.h"

namespace pawl::worlds {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kEntropyBytes = 64;

bool is_of_disk(std::string_view key) {
  return key.starts_with('b') || key.starts_with('n') || key.starts_with('a');
}

Error corrupt(uint64_t seq, std::string message) {
  return refusal(ErrorCode::Conflict, "journal.corrupt", std::move(message))
      .with("seq", std::to_string(seq));
}

Error diverged(uint64_t seq, std::string message) {
  return refusal(ErrorCode::Conflict, "replay.divergence", std::move(message))
      .with("seq", std::to_string(seq));
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

Stamp stamp_of(const FrameRecords& frame, int64_t last_logical_ns) {
  const RecordView first = first_of(frame);
  const RecordView stamp = first.member("stamp");
  Stamp out;
  if (stamp.is_map()) {
    out = {stamp.integer("now_ns"), stamp.integer("logical_now_ns"),
           std::string(stamp.bytes("entropy"))};
  } else {
    out.now_ns = frame.written_ms * kNsPerMs;
    out.logical_now_ns =
        first.maybe_int("logical_now_ns").value_or(std::max(out.now_ns, last_logical_ns));
  }
  out.entropy.resize(kEntropyBytes, '\0');
  return out;
}

std::vector<uint64_t> timeouts_of(const FrameRecords& frame) {
  std::vector<uint64_t> ordinals;
  for (const JournalRecord& entry : frame.records) {
    if (kind_of(entry) != RecordKind::StepFailed) continue;
    const RecordView record(entry.bytes);
    if (record.text("code") == "step.timeout") ordinals.push_back(record.nat("ordinal"));
  }
  return ordinals;
}

std::string record_name(const std::vector<JournalRecord>& records, size_t n) {
  return n < records.size() ? std::string(record_kind_name(kind_of(records[n]))) : "no record";
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
  auto program = load_program(manifest_hash, [&](std::string_view hash) { return disk_.node(hash); });
  if (!program.ok()) {
    if (passes_on(program.error())) return std::move(program).failure();
    return corrupt(next_, "manifest " + std::string(manifest_hash) +
                              " cannot be loaded: " + program.error().message);
  }
  for (const auto& [name, module] : program.value()->modules) {
    const auto code = disk_.blob(module.wasm_hash);
    if (code && hash_of_bytes(*code) != module.wasm_hash)
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
  const Status read = each_baseline_item(disk_.table(), seq, [&](std::string key, std::string value) {
    table_.put(std::move(key), std::move(value));
  });
  if (!read.ok()) return corrupt(seq, read.error().message);
  PAWL_TRY(program_, load(world_.head().manifest_hash));
  if (world_.head().height + 1 != seq)
    return corrupt(seq, "the baseline is not of the state before frame " + std::to_string(seq));
  return ok_status();
}

Result<FrameRecords> Replay::read_frame(uint64_t seq) {
  try {
    if (auto frame = disk_.frame(seq)) return *std::move(frame);
    return corrupt(seq, "frame " + std::to_string(seq) + " is missing");
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
  Deciding deciding(table_, program_, host_, stamp_of(stored, world_.head().logical_now_ns));
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
    if (passes_on(error) || !error.wire.empty()) return decided;
    if (error.code == ErrorCode::Corrupt) return corrupt(seq, error.message);
    return diverged(seq, "frame " + std::to_string(seq) + ": " + error.message);
  }
  if (!derived) return diverged(seq, "frame " + std::to_string(seq) + ": its input gives no frame");
  if (timeouts_of(*derived) != timed_out)
    return Error{ErrorCode::Unavailable,
                 "a step of frame " + std::to_string(seq) +
                     " took more real time than it may: try again when the machine is less busy"};
  PAWL_TRY_DO(compare_frames(seq, stored, *derived));
  table_.fold(deciding.writes().take());
  return ok_status();
}

}  // namespace pawl::worlds
