// Gathering: asks several partitions, each for its part, and waits for all answers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "front/passing.h"

namespace pawl::front {

struct Part {
  uint16_t partition = 0;
  std::string body = {};
  std::string target = {};  // "": that of the request
};

// `done` gets the answers in the order of the parts, on the thread that brings the last one.
using Gathered = std::function<void(std::vector<http::Response>&& answers)>;
void gather(Passing& passing, const http::RequestParts& request, const api::Route& route,
            std::vector<Part> parts, Gathered done);

}  // namespace pawl::front
