// WorldSession: what a batch of orders reads and writes of its world. Each frame is decided over
// what the frames before it wrote; all together become one CommitTask.
//
// Reading may throw Unreadable (the engine cannot answer): the batch is given up.
//
// Thread: the worker that has the world.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worldhost/commit_task.h"
#include "worldhost/engine_items.h"
#include "worldhost/outbox.h"
#include "worlds/commands.h"

namespace pawl {

// Random bytes, from the system's secure source or the simulator's seed.
using FillRandom = std::function<void(char* out, size_t size)>;
void fill_from_system(char* out, size_t size);

// What a world's actor keeps between batches.
struct WorldMemory {
  explicit WorldMemory(size_t cache_bytes_max) : cache(cache_bytes_max) {}
  std::optional<Uuid> id;  // of the world of this name; nothing: not looked up, or there is none
  ItemCache cache;
  std::shared_ptr<const worlds::Program> program;
  // Batches of this world that were refused. A batch that began before the last refusal is stale:
  // it may have read from the cache what the refused one had written (WorldWrites::refusals).
  std::shared_ptr<std::atomic<uint64_t>> refusals = std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t refusals_seen = 0;
  bool is_checked = false;  // check_opened_world() found nothing
};

// What frames did, for the figures of a server (api/metrics_page.cc).
struct WorldCounts {
  uint64_t frames = 0, steps = 0, step_failures = 0, fuel = 0;
  uint64_t intents = 0, receipts_ok = 0, receipts_error = 0, receipts_timeout = 0, faults = 0;
  uint64_t cap_denials = 0, policy_denials = 0;

  void add(const WorldCounts& more);
};

// Changes of the outbox by the session's orders, to be made once they are durable.
struct OutboxChanges {
  std::vector<OpenIntent> opened;
  std::vector<std::string> settled;
  std::vector<std::pair<std::string, std::optional<worlds::Adapter>>> adapters;
  bool empty() const { return opened.empty() && settled.empty() && adapters.empty(); }
};

class WorldSession {
 public:
  WorldSession(EngineLine& line, WorldMemory& memory, std::string name, worlds::ModuleHost& modules,
               int64_t now_ms, const FillRandom& fill_random);

  const std::string& name() const { return name_; }
  bool exists() const { return memory_.id.has_value() && !writes_.removes; }
  const Uuid& id() const { return *memory_.id; }
  bool& is_checked() { return memory_.is_checked; }
  int64_t now_ms() const { return now_ms_; }
  worlds::World& world() { return world_; }
  worlds::Table& table() { return items_; }
  worlds::ModuleHost& modules() { return modules_; }
  void fill_random(char* out, size_t size) const { fill_random_(out, size); }
  // The live program. Corrupt if it cannot be loaded.
  Result<std::shared_ptr<const worlds::Program>> program();
  // Items that orders are about to read, in one go.
  void fetch(const std::vector<std::string>& keys) { base_->fetch(keys); }

  // Runs a command: Result<T>(worlds::Deciding&). What it wrote counts if it succeeds. clock_ns: of
  // a test world, for this frame; 0 = its clock as it stands.
  template <class Command>
  auto frame(Command&& command, int64_t clock_ns = 0) {
    worlds::Deciding deciding = begin_frame(clock_ns);
    auto outcome = command(deciding);
    if (outcome.ok()) keep(deciding);
    return outcome;
  }
  // Items that are no frames: blobs, adapters, the clock of a test world.
  void put(std::string_view key, std::string value) { items_.put(key, std::move(value)); }
  void remove(std::string_view key) { items_.remove(key); }
  // Intents that frames of this session opened.
  const std::vector<OpenIntent>& opened() const { return outbox_.opened; }
  void change_adapter(const std::string& id, std::optional<worlds::Adapter> adapter);

  // Whether another world has this id. One that is being deleted does not count: a world made now
  // begins when its items are gone.
  bool is_taken(const Uuid& id);
  // The world begins with this session. `write` is worlds::create_world().
  template <class Write>
  void create(const Uuid& id, Write&& write) {
    begin_world(id);
    worlds::Deciding deciding = begin_frame(0);
    write(deciding);
    keep(deciding);
  }
  void remove_world() { writes_.removes = true; }
  bool removes() const { return writes_.removes; }
  size_t written_bytes() const { return written_bytes_; }

  // Module and key of the instance that is this run; nothing if it is none of this world.
  std::optional<std::pair<std::string, std::string>> place_of(const Uuid& run);
  worlds::Overlay& items() { return items_; }

  // Answers that are kept for repeated calls, beside the world's items.
  std::optional<std::string> noted_answer(const std::string& key);
  void note_answer(const std::string& key, std::string value, int64_t expires_ms);

  // --- for the host
  WorldWrites take_writes();
  OutboxChanges take_outbox() { return std::move(outbox_); }
  WorldCounts counts();  // of its frames

 private:
  void look_up();
  void begin_world(const Uuid& id);
  worlds::Deciding begin_frame(int64_t clock_ns);
  void keep(worlds::Deciding& deciding);
  void note_moves(worlds::Deciding& deciding);

  EngineLine& line_;
  WorldMemory& memory_;
  const std::string name_;
  worlds::ModuleHost& modules_;
  const int64_t now_ms_;
  const FillRandom& fill_random_;  // of the host
  std::unique_ptr<EngineItems> base_;
  worlds::Overlay items_;
  worlds::World world_;
  WorldWrites writes_;
  OutboxChanges outbox_;
  size_t written_bytes_ = 0;
  worlds::Head before_;  // of the world, as the session began; of a new one empty
  uint64_t fuel_ = 0;
};

}  // namespace pawl
