// A node or manifest of a body as canonical CBOR, with complaints of all that no CBOR of ours can
// say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl::worlds {

class GivenJson {
 public:
  explicit GivenJson(std::vector<Complaint>& faults) : faults_(faults) {}

  // The value at `path` of the body. In place of what cannot be said (a number that is no integer)
  // stands [], for readers to complain of as of any other shape. Nothing, after a complaint, if
  // there is no going on.
  std::optional<std::string> read(json::View value, const std::string& path);

  // When all readers are done: complains of what none of them complained of.
  void finish();

 private:
  class Mender;

  std::vector<Complaint>& faults_;
  std::vector<Complaint> refused_;
};

}  // namespace pawl::worlds
