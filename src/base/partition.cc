#include "base/partition.h"

#include "base/clock.h"
#include "base/hash.h"

namespace pawl {

uint16_t home_of(NameKind kind, std::string_view tenant, std::string_view name,
                 uint16_t partitions) {
  if (partitions == 1) return 0;
  const uint64_t of_tenant = hash64(tenant, mix64(static_cast<uint64_t>(kind)));
  return static_cast<uint16_t>(hash64(name, of_tenant) % partitions);
}

}  // namespace pawl
