// Formats JSON for people: values that fit on a line stay on one, others are indented by two.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl::cli {

std::string laid_out(const Value& value);
// The text as it is if it is no JSON.
std::string laid_out_json(std::string_view json);
// {"format", "diagram"}: a diagram for programs.
std::string diagram_json(std::string_view format, std::string_view picture);

}  // namespace pawl::cli
