// The journal format in force in a database (pawl_meta) rises by one when every node speaks the
// next one, so that nodes can be replaced one by one, and a newer one does not write what an older
// one could not read. It never falls. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pawl::cluster {

// The format that may be in force from now on; nothing: it stays. `spoken`: the newest that each
// node of the last ten minutes speaks.
std::optional<uint64_t> risen_format(uint64_t in_force, const std::vector<uint64_t>& spoken);

}  // namespace pawl::cluster
