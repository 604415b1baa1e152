// The output of `pawl test`: a line per case, and below it the reasons of a failure.
#pragma once

#include <string>

#include "rehearse/report.h"

namespace pawl {

struct TestReportOptions {
  bool verbose = false;  // the timeline of every case
  bool colours = false;
};

// The heading of a file, and every fault in it.
std::string file_text(const rehearse::FileResult& file, const TestReportOptions& options);
std::string case_text(const std::string& file, const rehearse::CaseResult& result,
                      const TestReportOptions& options);
std::string summary_text(const std::vector<rehearse::FileResult>& files,
                         const TestReportOptions& options);

}  // namespace pawl
