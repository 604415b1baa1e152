// Serving: one node with one partition, from the moment it tries to take it until it has given it
// up: the store (store/postgres_store.h) and the engine's core, driven as the engine drives them.
//
// Two fibers of the node: one decides, the other commits. Either may be left standing anywhere by a
// node that is frozen, and goes on as if nothing had been.
//
// Thread: one.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/lease_plan.h"
#include "sim/cluster/partition_books.h"
#include "sim/database/sim_database.h"
#include "store/postgres_store.h"

namespace pawl::sim {

class SimNode;

struct ClusterParts {
  Timeline& timeline;
  SimDatabase& database;
  Verdict& verdict;
  const Plants& plants;
  uint16_t partitions = 1;
  const int64_t& wall_jump_ms;  // by how much all wall clocks were set forward
  const uint64_t& losses;       // how often the database has lost commits
};

class Serving {
 public:
  using AllBooks = std::vector<std::unique_ptr<PartitionBooks>>;
  Serving(ClusterParts parts, SimNode& node, const AllBooks& books, uint16_t partition,
          uint64_t seed);
  ~Serving();

  // Takes the partition as it was seen, and serves it; returns when it is over. In a fiber.
  void run(const FreePartition& seen);
  // `asked_head`: up to where clients had been told when the request was sent.
  void submit(const std::shared_ptr<SimTask>& task, uint64_t asked_head);
  void drop();
  void hand_over();
  uint16_t partition() const { return partition_; }
  bool over() const { return stage_ == Stage::Over; }
  bool serves() const { return stage_ == Stage::Serving; }
  bool failed() const { return failed_; }  // it was not served, and not because of somebody else
  // Nothing is waited for here, and nothing is due.
  bool at_rest();
  cluster::HeldPartition held() const;
  uint64_t epoch() const { return store_ ? store_->epoch() : 0; }
  const Core* core() const { return core_.get(); }
  int64_t now_ms() const;  // wall time there

 private:
  class Gate;
  class Effects;
  class CoreStore;
  enum class Stage : uint8_t { Taking, Recovering, Serving, HandingOver, Ending, Over };
  struct InFlight {
    ClosedBatch closed;
    Status status = ok_status();
    bool done = false;
  };

  bool take(const FreePartition& seen);
  bool may_read() const;
  bool open_core();
  void begin_life();
  void check_begins_from_all();
  bool is_current() const;
  PartitionBooks& books() const { return *all_books_[partition_]; }
  bool goes_on() const;
  void serve();
  void decide_inputs();
  void close_batch();
  void take_commit_end();
  void release(ClosedBatch& closed);
  void go_down(const Error& error);
  bool come_back();
  void refuse_all(const Error& error);
  void keep_up();
  void rest();

  const ClusterParts parts_;
  SimNode& node_;
  const AllBooks& all_books_;
  const uint16_t partition_;
  SimRandom random_;
  Stage stage_ = Stage::Taking;
  int64_t taken_ms_ = 0;
  // Since when its effects are asked for: of these books, the how manieth. After a loss there are
  // others, and what this node remembers may be what was lost.
  uint64_t life_ = 0;
  const PartitionBooks* life_books_ = nullptr;
  uint64_t losses_ = 0;  // before the store was opened
  bool dropped_ = false;
  bool failed_ = false;
  bool hand_over_ = false;
  int64_t keep_up_at_us_ = 0;
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<CoreStore> core_store_;
  std::unique_ptr<Effects> effects_;
  std::unique_ptr<Core> core_;
  std::shared_ptr<InFlight> in_flight_;
  std::deque<std::shared_ptr<Gate>> inbox_;
  std::vector<std::weak_ptr<Gate>> waiting_;
  std::optional<Timeline::Ticket> ticket_;  // of the deciding fiber while it rests
};

}  // namespace pawl::sim
