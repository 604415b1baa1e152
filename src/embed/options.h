// EngineOptions, read and checked. Pure; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "pawl/options.h"

namespace pawl::embed {

// InvalidContent names the key.
Result<EngineOptions> parse_options(std::string_view text);
Status check_options(const EngineOptions& options);

}  // namespace pawl::embed
