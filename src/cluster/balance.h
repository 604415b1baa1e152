// Which node should have which partition: rendezvous hashing with a bound, so that all nodes that
// see the same names agree without asking, and a node that joins or leaves moves few partitions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace pawl::cluster {

// The most that one of so many nodes should have: ⌈partitions / nodes⌉.
uint16_t share_of_node(size_t partitions, size_t nodes);

// For each partition the name of its node; numbers of any two nodes differ by one at most. Empty
// if there are no nodes.
std::vector<std::string> named_owners(size_t partitions, const std::set<std::string>& nodes);

}  // namespace pawl::cluster
