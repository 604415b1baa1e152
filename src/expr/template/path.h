// Dotted paths of templates: namespace.segment.segment, where a segment may hold anything but a
// dot.
#pragma once

#include <string>
#include <string_view>

#include "expr/budget.h"
#include "expr/cel/activation.h"
#include "expr/cel/val.h"

namespace pawl::expr {

struct PathLookup {
  Val value;            // Absent if the text is no path, or names nothing
  std::string problem;  // if it looks like a path: the missing name and the existing ones
};

// At each map the longest run of segments that is a literal key wins, so ids and keys with dots are
// found. Behind steps.<id>, a segment `output` may be superfluous. List elements are named by their
// index.
PathLookup look_up_path(std::string_view path, const Activation& activation, Budget& budget);

}  // namespace pawl::expr
