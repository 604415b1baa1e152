#include "worldhost/upkeep.h"

#include "base/log.h"
#include "base/plant.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "worldhost/state_table.h"
#include "worlds/replay.h"

namespace pawl {
namespace {

constexpr uint64_t kFramesCheckedMax = 10'000;  // of a world that is opened
constexpr size_t kForgottenPerSweep = 1'000;
constexpr size_t kFramesPerSweep = 2'000;
constexpr size_t kPurgedPerTask = 1'000;
constexpr int kFramesPerSample = 1'000;

// Frames before the last snapshot that are old enough: a baseline replay does without them.
void trim_frames(WorldSession& session, int64_t older_than_ms) {
  worlds::Head head = session.world().head();
  uint64_t first = head.first_kept;
  session.world().each_frame(first, [&](uint64_t seq, const worlds::FrameRecords& frame) {
    if ((seq >= head.last_snapshot && !has_bug(Bug::FramesTrimmedTooFar)) ||
        frame.written_ms > older_than_ms || seq - head.first_kept >= kFramesPerSweep)
      return false;
    first = seq + 1;
    return true;
  });
  if (first == head.first_kept) return;
  for (uint64_t seq = head.first_kept; seq < first; ++seq) session.remove(worlds::frame_key(seq));
  head.first_kept = first;
  session.put(worlds::head_key(), codec::encoded(head));
}

// One part of a deleted world; asks for the next when it is durable.
class PurgeTask : public Task, public std::enable_shared_from_this<PurgeTask> {
 public:
  PurgeTask(EngineLine& line, std::string key, const Uuid& world)
      : line_(line), key_(std::move(key)), world_(world) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    std::vector<std::string> keys;
    StateTable(frame.state(), world_)
        .scan("", "", [&](std::string_view key, std::string_view value) {
          forget_run(frame, key, value);
          keys.emplace_back(key);
          return keys.size() < kPurgedPerTask;
        });
    for (const std::string& key : keys)
      frame.emit(DocDeleted{DocKind::WorldItem, item_doc_key(world_, key)});
    is_done_ = keys.size() < kPurgedPerTask;
    if (is_done_) (void)delete_doc(frame, DocKind::World, key_).ok();
    return std::nullopt;
  }
  void durable(Wakes&) override {
    if (!is_done_) (void)line_.submit(std::make_shared<PurgeTask>(line_, key_, world_)).ok();
  }
  void refuse(const Error&) override {}  // the next start goes on

 private:
  void forget_run(Frame& frame, std::string_view key, std::string_view value) {
    InstanceMoved gone;
    worlds::Instance instance;
    if (!worlds::split_instance_key(key, gone.module, gone.key) || !codec::decode(value, instance))
      return;
    gone.run = RunId(instance.run_id);
    gone.world = world_;
    gone.to = InstanceState::Forgotten;
    frame.emit(gone);
  }

  EngineLine& line_;
  const std::string key_;
  const Uuid world_;
  bool is_done_ = false;
};

}  // namespace

OpenedWorld read_open_intents(WorldSession& session) {
  OpenedWorld found;
  if (!session.exists()) return found;
  session.world().each_open(
      "", [&](std::string_view, const std::string& hash, const worlds::Intent& intent) {
        if (has_bug(Bug::TimerLostAtRestart) && intent.kind == "timer.set") return true;
        found.open.push_back({.hash = hash,
                              .kind = intent.kind,
                              .seq = intent.seq,
                              .n = intent.n,
                              .deliver_at_ns = intent.deliver_at_ns});
        return true;
      });
  const std::string prefix = worlds::adapter_key("");
  session.table().scan(prefix, "", [&](std::string_view key, std::string_view value) {
    worlds::Adapter adapter;
    if (codec::decode(value, adapter))
      found.adapters.emplace_back(key.substr(prefix.size()), std::move(adapter));
    return true;
  });
  return found;
}

void quarantine_broken(WorldSession& session, const Error& error) {
  if (const auto seq = worlds::broken_frame(error))
    worlds::quarantine(session.world(), session.items(), error.wire, error.message, *seq);
}

Status check_opened_world(WorldSession& session) {
  if (!session.exists() || session.is_checked()) return ok_status();
  if (!session.world().head().quarantine_code.empty()) return ok_status();
  const Status checked =
      worlds::check_opened(session.world(), session.modules(), kFramesCheckedMax);
  session.is_checked() = checked.ok();
  if (checked.ok()) return ok_status();
  if (!worlds::broken_frame(checked.error())) return checked;
  log::error("a world is quarantined", {{"world", std::string(shown_world(session.name()))},
                                        {"error", checked.error().message}});
  quarantine_broken(session, checked.error());
  return ok_status();
}

Status sweep_world(WorldSession& session, const WorldRetention& retention) {
  if (!session.exists()) return ok_status();
  const worlds::Head head = session.world().head();
  if (!head.quarantine_code.empty()) return ok_status();
  // Its clock is not this one, and its journal holds only what its script brought about.
  if (head.test) return ok_status();
  if (retention.finished_ms != 0) {
    Result<size_t> forgotten = session.frame([&](worlds::Deciding& deciding) -> Result<size_t> {
      return worlds::forget_old(deciding, session.now_ms() - retention.finished_ms,
                                kForgottenPerSweep);
    });
    PAWL_TRY_DO(forgotten);
  }
  if (retention.journal_ms != 0) trim_frames(session, session.now_ms() - retention.journal_ms);
  return ok_status();
}

Status verify_sample(WorldSession& session, FunctionRef<bool()> go_on) {
  if (!session.exists() || !session.world().head().quarantine_code.empty()) return ok_status();
  int frames = 0;
  const auto replayed =
      worlds::replay(session.world(), session.modules(), worlds::ReplayFrom::Baseline,
                     [&] { return ++frames <= kFramesPerSample && go_on(); });
  // Stopped early, or without a runtime, it says nothing of the world.
  if (!replayed.ok()) quarantine_broken(session, replayed.error());
  return ok_status();
}

bool is_deleted_world(std::string_view key) { return key.starts_with('\x01'); }

void purge_world(EngineLine& line, const std::string& key) {
  if (auto world = Uuid::parse(key.substr(1)))
    (void)line.submit(std::make_shared<PurgeTask>(line, key, *world)).ok();
}

}  // namespace pawl
