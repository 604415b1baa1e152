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
  // Another start of the node stands in its place: this one is over.
  if (found->second.incarnation != incarnation) return true;
  return last_read_ms_ - found->second.since_ms >= lease_ms_;
}

const uint64_t* Liveness::beat_of(const std::string& node, const std::string& incarnation) const {
  const auto found = watched_.find(node);
  const bool here =
      found != watched_.end() && found->second.present && found->second.incarnation == incarnation;
  return here ? &found->second.beat : nullptr;
}

}  // namespace pawl::cluster
