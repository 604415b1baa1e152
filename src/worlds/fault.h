// Codes of the contract, in one place: what an input is refused with, and what a step or receipt
// fails with.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::worlds {

// A refusal of a request: `wire` is the code that the client sees; the ErrorCode gives the HTTP
// status.
Error refusal(ErrorCode status, std::string_view wire, std::string message);

// Why a step (or an instance) failed. `detail` never holds text of the runtime.
struct Fault {
  std::string code;
  std::string detail;
};

}  // namespace pawl::worlds
