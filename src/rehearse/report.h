// Reports for machines: JSON for scripts, JUnit for CI. Pure text; any thread.
#pragma once

#include <string>
#include <vector>

#include "plan/definition.h"
#include "rehearse/suite.h"

namespace pawl::rehearse {

struct FileResult {
  std::string file;
  std::vector<plan::Fault> errors;  // if any, no case was run
  std::vector<CaseResult> cases;
};

// All complaints about a case, one line each, without indentation.
std::vector<std::string> complaints(const CaseResult& result);
// "+3s  charge  attempt 1  1s  completed {…}", in columns.
std::vector<std::string> timeline_lines(const Rehearsed& run);

std::string json_report(const std::vector<FileResult>& files);
std::string junit_report(const std::vector<FileResult>& files);

}  // namespace pawl::rehearse
