// Reads a node or manifest of a request body into canonical CBOR, and complains of JSON values that
// this CBOR has no form for (a number that is no integer, for one).
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

  // The value at `path` of the body. A value without a form in CBOR is replaced by [], so that the
  // reader of that member complains of its shape. Nullopt, after a complaint, if the whole cannot
  // be read.
  std::optional<std::string> read(json::View value, const std::string& path);

  // Call when all readers are done: complains of the replaced values that no reader complained of.
  void finish();

 private:
  class Mender;

  std::vector<Complaint>& faults_;
  std::vector<Complaint> refused_;
};

}  // namespace pawl::worlds
