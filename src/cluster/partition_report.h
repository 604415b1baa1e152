// What a node tells the others of the partitions that it has, beside its beat: what it does with
// each, and how far its journal goes. For people and for lists; nothing is decided by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cluster {

enum class PartitionStage : uint8_t {
  Taking,      // asked for; it may or may not be ours
  Recovering,  // ours, and not served yet
  Serving,
  HandingOver,  // ours until everything decided is committed
  Ending,       // not ours any more, and still being closed here
};

struct PartitionReport {
  uint16_t id = 0;
  PartitionStage stage = PartitionStage::Serving;
  uint64_t journal_head = 0;

  bool operator==(const PartitionReport&) const = default;
};

// "0 s 17,3 r 0". Of a newer node, what is not understood is left out.
std::string write_reports(const std::vector<PartitionReport>& reports);
std::vector<PartitionReport> read_reports(std::string_view text);

}  // namespace pawl::cluster
