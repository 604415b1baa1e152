// Placement: in which partition a call is decided. Pure: the same on every node.
//
// What is created lives where the first of these points: the home of its concurrency key, of its
// Idempotency-Key, the partition of the id that the client gave, the home of its unique key. So
// each of these is exact as long as only one of them is used. Jobs without any go to the home of
// their queue, where their order is exact, or, while that queue has more than one partition can
// take (QueueHeat), anywhere; runs of a stored definition to the home of its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/router.h"
#include "base/json.h"
#include "http/request.h"

namespace pawl::front {

// A call, as far as its place depends on it.
struct Placed {
  const api::Route& route;
  const http::Request& request;
  std::vector<std::string> params;  // of the path
  std::string tenant;
};

// Of Routing::ById and ByName: from the path.
uint16_t place_by_path(const Placed& call, uint16_t partitions);
// Of an id in a text; a text that is no id has a home.
uint16_t place_of_id(std::string_view text, uint16_t partitions);

struct CreatePlace {
  // Nothing: any partition may take it.
  std::optional<uint16_t> partition = {};
  // It went to the home of this queue (scoped), because nothing else was asked for.
  std::string queue = {};
};
CreatePlace place_to_create(const Placed& call, uint16_t partitions);

}  // namespace pawl::front
