// JSON laid out for people: what fits on a line stays on one, the rest is indented by two.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl::cli {

std::string laid_out(const Value& value);
// The text as it is if it is no JSON.
std::string laid_out_json(std::string_view json);
// {"format", "diagram"}: a picture for a program.
std::string diagram_json(std::string_view format, std::string_view picture);

}  // namespace pawl::cli
