#include "cluster/liveness.h"

namespace pawl::cluster {

void Liveness::observe(int64_t now_ms, const ClusterSeen& seen) {
  const bool blind = last_read_ms_ == INT64_MIN || now_ms - last_read_ms_ > gap_ms_;
  last_read_ms_ = now_ms;
  std::map<std::string, Watched> now;
  auto carry = [&](const std::string& name, Watched fresh) {
    const auto before = watched_.find(name);
    const bool same = before != watched_.end() && before->second.incarnation == fresh.incarnation &&
                      before->second.beat == fresh.beat && before->second.present == fresh.present;
    fresh.since_ms = same && !blind ? before->second.since_ms : now_ms;
    now.insert_or_assign(name, std::move(fresh));
  };
  for (const NodeSeen& node : seen.nodes)
    carry(node.name, {.incarnation = node.incarnation, .beat = node.beat, .present = true});
  over_.clear();
  for (const Start& owner : owners_) {
    const auto row = now.find(owner.first);
    if (row != now.end() && row->second.incarnation != owner.second) over_.insert(owner);
  }
  owners_.clear();
  for (const PartitionSeen& partition : seen.partitions)
    if (!partition.node.empty()) owners_.emplace(partition.node, partition.incarnation);
  // Owners whose row is gone are watched too.
  for (const PartitionSeen& partition : seen.partitions) {
    if (partition.node.empty()) continue;
    const auto row = now.find(partition.node);
    if (row == now.end()) carry(partition.node, {.incarnation = partition.incarnation});
  }
  watched_ = std::move(now);
}

bool Liveness::is_dead(const std::string& node, const std::string& incarnation) const {
  const auto found = watched_.find(node);
  if (found == watched_.end()) return false;
  if (found->second.incarnation != incarnation) return over_.count({node, incarnation}) != 0;
  return last_read_ms_ - found->second.since_ms >= lease_ms_;
}

const uint64_t* Liveness::beat_of(const std::string& node, const std::string& incarnation) const {
  const auto found = watched_.find(node);
  const bool here =
      found != watched_.end() && found->second.present && found->second.incarnation == incarnation;
  return here ? &found->second.beat : nullptr;
}

}  // namespace pawl::cluster
