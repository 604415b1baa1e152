// MergeMetrics: the figures of the partitions that a node serves, as one page of Prometheus text.
//
// Samples of the same name and labels add up, but for those that are no amounts: of ages and
// latencies the largest counts, and numbers of journal records get a label `partition`. The samples
// of a family stay together. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::front {

struct MetricsPart {
  uint16_t partition = 0;
  std::string_view text;
};

std::string merge_metrics(const std::vector<MetricsPart>& parts);

}  // namespace pawl::front
