#include "cluster/balance.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"

namespace pawl::cluster {
namespace {

struct Wish {
  uint64_t score;
  size_t partition;
  size_t node;
};

// All nodes of a cluster must find the same order, whatever their version: this is a format.
std::vector<Wish> wishes_in_order(size_t partitions, const std::vector<std::string>& nodes) {
  std::vector<Wish> wishes;
  wishes.reserve(partitions * nodes.size());
  for (size_t node = 0; node < nodes.size(); ++node)
    for (size_t partition = 0; partition < partitions; ++partition)
      wishes.push_back({hash64(nodes[node] + "/" + std::to_string(partition)), partition, node});
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
    return std::tie(b.score, a.partition, a.node) < std::tie(a.score, b.partition, b.node);
  });
  return wishes;
}

}  // namespace

uint16_t share_of_node(size_t partitions, size_t nodes) {
  return nodes == 0 ? 0 : static_cast<uint16_t>((partitions + nodes - 1) / nodes);
}

std::vector<std::string> named_owners(size_t partitions, const std::set<std::string>& nodes) {
  if (nodes.empty()) return {};
  const std::vector<std::string> names(nodes.begin(), nodes.end());
  const size_t least = partitions / names.size();
  size_t with_one_more = partitions % names.size();  // that many nodes have one partition more
  std::vector<size_t> counts(names.size(), 0);
  std::vector<std::string> owners(partitions);
  for (const Wish& wish : wishes_in_order(partitions, names)) {
    if (!owners[wish.partition].empty() || counts[wish.node] > least) continue;
    if (counts[wish.node] == least) {
      if (with_one_more == 0) continue;
      --with_one_more;
    }
    ++counts[wish.node];
    owners[wish.partition] = names[wish.node];
  }
  return owners;
}

}  // namespace pawl::cluster
