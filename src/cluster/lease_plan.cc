#include "cluster/lease_plan.h"

#include <algorithm>
#include <utility>

#include "cluster/balance.h"

namespace pawl::cluster {
namespace {

const HeldPartition* find_held(const std::vector<HeldPartition>& held, uint16_t id) {
  const auto found = std::find_if(held.begin(), held.end(),
                                  [&](const HeldPartition& one) { return one.id == id; });
  return found == held.end() ? nullptr : &*found;
}

bool is_in_use(const HeldPartition& held) {
  return held.stage == PartitionStage::Recovering || held.stage == PartitionStage::Serving;
}

}  // namespace

LeasePlan::LeasePlan(std::string name, std::string incarnation, std::string former,
                     LeaseTimes times)
    : name_(std::move(name)),
      incarnation_(std::move(incarnation)),
      former_(std::move(former)),
      times_(times),
      liveness_(times.lease_ms, times.gap_ms) {}

void LeasePlan::begin_anew(std::string incarnation) {
  former_ = std::exchange(incarnation_, std::move(incarnation));
}

void LeasePlan::note_failure(uint16_t partition, int64_t now_ms) {
  Failures& failures = failures_[partition];
  failures.pause_ms = std::clamp(2 * failures.pause_ms, times_.retry_ms, times_.retry_ms_max);
  failures.not_before_ms = now_ms + failures.pause_ms;
}

// A node that is there again as another incarnation has joined: its partitions move back soon
// enough by themselves.
void LeasePlan::count_nodes(const BeatRead& read) {
  std::map<std::string, std::string> live, draining;
  for (const NodeSeen& node : read.seen.nodes)
    if (!liveness_.is_dead(node.name, node.incarnation))
      (node.draining ? draining : live).emplace(node.name, node.incarnation);
  if (live.empty()) live = std::move(draining);
  bool joined = false;
  for (const auto& [name, incarnation] : live) {
    const auto before = incarnations_.find(name);
    if (before == incarnations_.end() || before->second != incarnation) joined = true;
  }
  if (joined) {
    last_join_ms_ = read.answered_ms;
    handed_over_ms_.clear();  // what came back may go to it
  }
  incarnations_ = std::move(live);
  nodes_.clear();
  for (const auto& [name, incarnation] : incarnations_) nodes_.insert(name);
}

// A draining node leaves those of its former start to the others, which see that it is over.
bool LeasePlan::is_own_already(const PartitionSeen& partition) const {
  if (partition.node != name_) return false;
  return partition.incarnation == incarnation_ ||
         (partition.incarnation == former_ && nodes_.contains(name_));
}

// A store that reopens raises the epoch of its own partition. A lower one was read before the
// partition was taken; or else the database has forgotten that it was.
bool LeasePlan::is_lost(const HeldPartition& held, const PartitionSeen& seen,
                        int64_t sent_ms) const {
  if (seen.epoch < held.epoch) return sent_ms > held.taken_ms;
  return seen.incarnation != incarnation_;
}

LeaseDecision LeasePlan::decide(const BeatRead& read, const std::vector<HeldPartition>& held,
                                bool leaving) {
  liveness_.observe(read.answered_ms, read.seen);
  count_nodes(read);
  LeaseDecision decision;
  if (!read.seen.beaten) {
    decision.enter_anew = true;
    for (const HeldPartition& one : held)
      if (is_in_use(one)) decision.drop.push_back(one.id);
    free_.clear();
    return decision;
  }
  const std::vector<std::string> owners = named_owners(read.seen.partitions.size(), nodes_);
  decision.lease_goes_on = true;
  for (const PartitionSeen& partition : read.seen.partitions) {
    const HeldPartition* own = find_held(held, partition.id);
    if (own == nullptr) {
      const bool named = partition.id < owners.size() && owners[partition.id] == name_;
      if (leaving) continue;
      consider_taking(partition, read.answered_ms, named, decision);
      if ((named && is_expected(partition, read.seen, read.answered_ms)) ||
          is_on_its_way(partition, read.answered_ms))
        decision.look_soon = true;
      continue;
    }
    expected_.erase(partition.id);
    free_.erase(partition.id);
    const bool lost = is_in_use(*own) && is_lost(*own, partition, read.sent_ms);
    if (lost) decision.drop.push_back(partition.id);
    if (lost || own->stage == PartitionStage::Ending) decision.lease_goes_on = false;
  }
  if (!leaving) hand_over(held, owners, read.answered_ms, decision);
  return decision;
}

void LeasePlan::consider_taking(const PartitionSeen& partition, int64_t now_ms, bool named,
                                LeaseDecision& decision) {
  const auto failed = failures_.find(partition.id);
  const bool paused = failed != failures_.end() && now_ms < failed->second.not_before_ms;
  if (is_own_already(partition)) {
    if (!paused) decision.take.push_back({partition.id, {partition.epoch, std::nullopt}});
    return;
  }
  if (!partition.node.empty() && !liveness_.is_dead(partition.node, partition.incarnation)) {
    free_.erase(partition.id);
    return;
  }
  Free& free = free_.try_emplace(partition.id, Free{partition.epoch, now_ms}).first->second;
  if (free.epoch != partition.epoch) free = {partition.epoch, now_ms};
  const bool may_take = nodes_.contains(name_) && !paused;
  if (!may_take || (!named && now_ms - free.since_ms < times_.others_ms)) return;
  FreePartition seen{partition.epoch, std::nullopt};
  const uint64_t* beat = liveness_.beat_of(partition.node, partition.incarnation);
  if (beat != nullptr) seen.owner_beat = *beat;
  decision.take.push_back({partition.id, seen});
}

// This node gave it up, and does not know yet who has it.
bool LeasePlan::is_on_its_way(const PartitionSeen& partition, int64_t now_ms) const {
  const auto given = handed_over_ms_.find(partition.id);
  return partition.node.empty() && given != handed_over_ms_.end() &&
         now_ms - given->second < times_.soon_ms_max;
}

// Its owner lives, and is about to give it up.
bool LeasePlan::is_expected(const PartitionSeen& partition, const ClusterSeen& seen,
                            int64_t now_ms) {
  const auto owner = std::find_if(seen.nodes.begin(), seen.nodes.end(), [&](const NodeSeen& node) {
    return node.name == partition.node && node.incarnation == partition.incarnation;
  });
  const auto hands_over = [&](const PartitionReport& report) {
    return report.id == partition.id && report.stage == PartitionStage::HandingOver;
  };
  const bool announced =
      owner != seen.nodes.end() && owner->name != name_ &&
      (owner->draining || std::any_of(owner->reports.begin(), owner->reports.end(), hands_over));
  if (!announced) {
    expected_.erase(partition.id);
    return false;
  }
  Free& since = expected_.try_emplace(partition.id, Free{partition.epoch, now_ms}).first->second;
  if (since.epoch != partition.epoch) since = {partition.epoch, now_ms};
  return now_ms - since.since_ms < times_.soon_ms_max;
}

void LeasePlan::hand_over(const std::vector<HeldPartition>& held,
                          const std::vector<std::string>& owners, int64_t now_ms,
                          LeaseDecision& decision) {
  const auto is_dropped = [&](uint16_t id) {
    return std::find(decision.drop.begin(), decision.drop.end(), id) != decision.drop.end();
  };
  const bool draining = !nodes_.contains(name_);
  const auto in_use = std::count_if(held.begin(), held.end(), [&](const HeldPartition& one) {
    return is_in_use(one) && !one.announced && !is_dropped(one.id);
  });
  const bool surplus = in_use > share_of_node(owners.size(), nodes_.size()) &&
                       now_ms - last_join_ms_ >= times_.settled_ms &&
                       now_ms - last_hand_over_ms_ >= times_.between_hand_overs_ms;
  if (owners.empty() || (!draining && !surplus)) return;
  for (const HeldPartition& one : held) {
    if (one.stage != PartitionStage::Serving || one.announced || is_dropped(one.id)) continue;
    if (one.id >= owners.size() || owners[one.id] == name_) continue;
    const auto before = handed_over_ms_.find(one.id);
    if (!draining && before != handed_over_ms_.end() &&
        now_ms - before->second < times_.same_again_ms)
      continue;
    decision.hand_over.push_back(one.id);
    handed_over_ms_[one.id] = last_hand_over_ms_ = now_ms;
    if (!draining) return;
  }
}

}  // namespace pawl::cluster
