// Unique jobs: a digest of the canonical JSON of those parts of a job that make two jobs equal.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "plan/ojs/job_spec.h"

namespace pawl {

struct UniqueSource {
  std::string_view type;
  std::string_view queue;
  std::string_view tenant;
  json::View args;
  std::optional<json::View> meta;
};

Result<UniquePolicy> parse_unique(json::View unique, const UniqueSource& source);

}  // namespace pawl
