// A case file: one run that once broke an invariant, kept as a regression test. Lines of "name
// value"; '#' begins a comment.
//
//   # I4 callback: a callback was called twice
//   seed 812
//   steps 300
//   only 3 17 29
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/simulation.h"

namespace pawl::sim {

std::string write_case(const SimOptions& options, const SimReport& report);
// InvalidRequest, naming the line, for an unknown name or value.
Result<SimOptions> read_case(std::string_view text);
Result<SimOptions> read_case_file(const std::string& path);

}  // namespace pawl::sim
