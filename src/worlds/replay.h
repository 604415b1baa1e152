// Replay: a world built again from what is on its disk, frame by frame. Each frame's input is
// decided once more with the stamp that was recorded, and the records must come out the same, byte
// for byte.
//
// Two things are read instead of being decided again: from the journal, that a step ran out of real
// time; from the disk, the nodes of a proposal and the report of a shadow run.
//
// A difference is Conflict with replay.divergence, bytes that cannot be read with journal.corrupt,
// frames that retention took with replay.genesis_gone; the first two with `seq`. Unavailable says
// nothing of the world: there was no runtime, or the machine was too slow for a step. Nothing is
// written.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/commands.h"
#include "worlds/record_view.h"

namespace pawl::worlds {

// The items that frames bring about, in memory; contents and settings (b, n, a) and the frames are
// those of the disk. What is put under those keys is dropped, except frames that only a baseline
// holds.
class ReplayTable final : public Table {
 public:
  explicit ReplayTable(Table& disk) : disk_(disk) {}
  std::optional<std::string> get(std::string_view key) override;
  void scan(std::string_view prefix, std::string_view from,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void put(std::string key, std::string value) { items_[std::move(key)] = std::move(value); }
  // Takes over what a frame wrote.
  void fold(Overlay::Writes writes);

 private:
  Table& disk_;
  std::map<std::string, std::string, std::less<>> items_;
};

class Replay {
 public:
  Replay(World& disk, ModuleHost& host);

  // Where it begins. Genesis: before frame 1. Baseline: before the frame of the newest snapshot
  // record, if that is not past `until`; if there is none, at genesis.
  Status begin(ReplayFrom from, uint64_t until);
  // Decides the frames up to `until` again, that one included. `go_on` is called before each; false
  // ends the replay with Unavailable.
  Status run(uint64_t until, FunctionRef<bool()> go_on);
  // Compares the items of the replay with those on disk: replay.divergence if they differ.
  Status compare_items();
  // The live program, and the code of its modules.
  Result<std::shared_ptr<const Program>> load(std::string_view manifest_hash);
  // Checks that the frames from `seq` up to the height can be read.
  Status read_frames(uint64_t seq);

  World& world() { return world_; }
  Table& table() { return table_; }
  const std::shared_ptr<const Program>& program() const { return program_; }
  uint64_t frames() const { return frames_; }

 private:
  Status begin_at_genesis();
  Status begin_at_baseline(uint64_t seq);
  Status step(uint64_t seq);
  Result<FrameRecords> read_frame(uint64_t seq);
  void read_ahead(uint64_t seq);
  Status decide(Deciding& deciding, const FrameRecords& frame);
  Status decide_genesis(Deciding& deciding, const RecordView& record);
  Status decide_intent(Deciding& deciding, const FrameRecords& frame);
  Status decide_governance(Deciding& deciding, const FrameRecords& frame);
  Status decide_instance(Deciding& deciding, const FrameRecords& frame);
  Status decide_legacy(Deciding& deciding, const FrameRecords& frame);

  World& disk_;
  ModuleHost& host_;
  ReplayTable table_;
  World world_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> applied_;  // by the frame that is being decided
  const Head live_;
  uint64_t next_ = 1;  // the frame to come
  // Frames from next_ on, as far as they were read.
  std::deque<std::pair<uint64_t, FrameRecords>> ahead_;
  uint64_t frames_ = 0;
};

// The frame at which a replay found the journal not to hold; nothing: the error says nothing of it.
std::optional<uint64_t> broken_frame(const Error& error);

// A world whose journal does not hold is quarantined: reads work, writes are refused with
// world.quarantined. The first finding stays.
void quarantine(World& world, Overlay& writes, std::string_view code, std::string_view message,
                uint64_t seq);
void end_quarantine(World& world, Overlay& writes);

}  // namespace pawl::worlds
