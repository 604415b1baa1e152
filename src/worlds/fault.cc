#include "worlds/fault.h"

#include <utility>

namespace pawl::worlds {

Error refusal(ErrorCode status, std::string_view wire, std::string message) {
  Error error{status, std::move(message)};
  error.wire = wire;
  return error;
}

}  // namespace pawl::worlds
