#include "cluster/lease_keeper.h"

#include <time.h>

#include <algorithm>

#include "base/log.h"

namespace pawl::cluster {

int64_t machine_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

LeaseKeeper::LeaseKeeper(std::unique_ptr<NodeTable> table, NodeIdentity self, std::string former,
                         Lost lost, LeaseTimes times)
    : table_(std::move(table)),
      self_(std::move(self)),
      former_(std::move(former)),
      lost_(std::move(lost)),
      times_(times),
      liveness_(times.lease_ms, times.gap_ms) {}

LeaseKeeper::~LeaseKeeper() { stop(); }

// A row of this name that is not our former one belongs to a process that lives, or to one that
// died elsewhere: its beat tells.
Result<bool> LeaseKeeper::enter() {
  PAWL_TRY(const bool entered, table_->enter(self_, former_));
  if (entered) return true;
  PAWL_TRY(const ClusterSeen seen, table_->beat(self_));
  liveness_.observe(machine_ms(), seen);
  const auto row = std::find_if(seen.nodes.begin(), seen.nodes.end(),
                                [&](const NodeSeen& node) { return node.name == self_.name; });
  if (row == seen.nodes.end()) return false;  // it left in between
  if (!liveness_.is_dead(row->name, row->incarnation)) return false;
  return table_->enter(self_, row->incarnation);
}

Status LeaseKeeper::start() {
  const int64_t begun = machine_ms();
  for (;;) {
    PAWL_TRY(const bool entered, enter());
    if (entered) break;
    // By then a dead one has been seen to be dead.
    if (machine_ms() - begun > times_.lease_ms + 2 * times_.gap_ms)
      return Error{ErrorCode::Conflict, "a node with the name " + self_.name +
                                            " is alive; give this one another --node"};
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(times_.beat_ms));
  }
  thread_ = std::thread([this] { run(); });
  return ok_status();
}

void LeaseKeeper::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  lease_.end();
  if (Status left = table_->leave(self_); !left.ok())
    log::warning("the node's row stays until others remove it", {{"error", left.error().message}});
}

void LeaseKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    beat_once();
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(times_.beat_ms), [this] { return ending_; });
  }
}

void LeaseKeeper::beat_once() {
  const int64_t sent_ms = machine_ms();
  const auto seen = table_->beat(self_);
  // Nothing is concluded from a read that failed: the lease ends by itself.
  if (!seen.ok()) return;
  note(sent_ms, *seen);
}

void LeaseKeeper::note(int64_t sent_ms, const ClusterSeen& seen) {
  std::optional<Error> lost;
  {
    std::lock_guard lock(mutex_);
    liveness_.observe(machine_ms(), seen);
    seen_ = seen;
    ++reads_;
    bool current = true;
    for (const PartitionSeen& partition : seen.partitions)
      for (const Held& held : held_) {
        if (partition.id != held.partition) continue;
        // A store that reopens raises the epoch of its own partition. A lower one was read before
        // the partition was taken.
        if (partition.epoch < held.epoch) {
          current = false;
        } else if (partition.incarnation != self_.incarnation) {
          lost = Error{ErrorCode::Fenced, "another node has taken partition " +
                                              std::to_string(held.partition) + " over"};
        }
      }
    if (!lost && !seen.beaten) lost = Error{ErrorCode::Fenced, "the row of this node was replaced"};
    if (!lost && current) lease_.extend(sent_ms + times_.lease_ms - times_.margin_ms);
    if (lost) lease_.end();
    if (told_) lost.reset();
    told_ = told_ || lost;
  }
  changed_.notify_all();
  if (lost) lost_(*lost);
}

std::optional<FreePartition> LeaseKeeper::free_now(uint16_t partition) const {
  for (const PartitionSeen& one : seen_.partitions) {
    if (one.id != partition) continue;
    if (one.node.empty()) return FreePartition{one.epoch, std::nullopt};
    // Of the former start, or taken by this one when the answer was lost.
    const bool is_ours = one.node == self_.name &&
                         (one.incarnation == former_ || one.incarnation == self_.incarnation);
    if (is_ours) return FreePartition{one.epoch, std::nullopt};
    if (!liveness_.is_dead(one.node, one.incarnation)) return std::nullopt;
    const uint64_t* beat = liveness_.beat_of(one.node, one.incarnation);
    return FreePartition{one.epoch, beat != nullptr ? std::optional(*beat) : std::nullopt};
  }
  return std::nullopt;
}

Result<FreePartition> LeaseKeeper::wait_for(uint16_t partition,
                                            const std::function<bool()>& go_on) {
  std::unique_lock lock(mutex_);
  for (uint64_t looked = reads_; go_on();) {
    // Each answer counts once: what was free may have been taken, and taking it failed.
    if (reads_ != looked || looked == 0) {
      looked = reads_;
      if (const auto found = free_now(partition)) return *found;
    }
    changed_.wait_for(lock, std::chrono::milliseconds(times_.beat_ms));
  }
  return Error{ErrorCode::Unavailable, "stopped while it waited for its partition"};
}

ClusterView LeaseKeeper::view() const {
  std::lock_guard lock(mutex_);
  ClusterView view;
  view.nodes = seen_.nodes;
  view.partitions = seen_.partitions;
  for (const NodeSeen& node : seen_.nodes)
    if (liveness_.is_dead(node.name, node.incarnation)) view.dead.push_back(node.name);
  if (!lease_.holds()) view.warnings.push_back("the database does not answer this node");
  return view;
}

void LeaseKeeper::hold(uint16_t partition, uint64_t epoch) {
  std::lock_guard lock(mutex_);
  held_.push_back({partition, epoch});
}

}  // namespace pawl::cluster
