// Which partition owns what. A partition is a journal with all that lives in it; how many there are
// is fixed when a store is made.
//
// An id that the server made says where it was made: its last 16 bits. A name that clients chose
// has a home, which follows from its text alone, so that all nodes agree without asking.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/uuid.h"

namespace pawl {

inline constexpr uint16_t kPartitionsMax = 256;

// Kinds of names that clients choose. The numbers are part of the format on disk: with others a
// name would move to another home.
enum class NameKind : uint8_t {
  UniqueKey = 1,
  Limit = 2,
  Queue = 3,
  IdempotencyKey = 4,
  RunName = 5,  // an id of a run that is no UUID
  Cron = 6,     // schedules of definitions too
  World = 7,
  Definition = 8,
  Worker = 9,
  Id = 10,  // an id that a client chose: its home is partition_of()
};

inline uint16_t partition_of(const Uuid& id, uint16_t partitions) {
  return static_cast<uint16_t>(id.partition() % partitions);
}
// `tenant` is "" where the name has none, or holds it already (scoped names).
uint16_t home_of(NameKind kind, std::string_view tenant, std::string_view name,
                 uint16_t partitions);

}  // namespace pawl
