#include "rehearse/testing/cases.h"

#include <gtest/gtest.h>

namespace pawl::rehearse {

Loader no_files() {
  return [](const std::string& path) -> Result<std::string> {
    return Error{ErrorCode::InvalidRequest, "cannot read " + path};
  };
}

TestFile valid(const std::string& text) {
  TestFileRead read = read_test_file(text, no_files());
  for (const plan::Fault& fault : read.errors)
    ADD_FAILURE() << fault.line << ": " << fault.path << ": " << fault.message;
  PAWL_CHECK(read.valid());
  return std::move(read.file);
}

std::string faults_of(const std::string& text) {
  std::string out;
  for (const plan::Fault& fault : read_test_file(text, no_files()).errors)
    out += (out.empty() ? "" : "; ") + std::to_string(fault.line) + " " + fault.path + " " +
           fault.code;
  return out;
}

std::string verdict(const CaseResult& result) {
  if (result.passed) return "passed";
  std::string out;
  for (const std::string& line : complaints(result)) out += (out.empty() ? "" : "; ") + line;
  return out.empty() ? "failed" : out;
}

CaseResult first_case(const std::string& text, const SuiteOptions& options) {
  TestFile file = valid(text);
  return run_case(file, file.cases[0], options);
}

std::string verdict(const std::string& text, const SuiteOptions& options) {
  return verdict(first_case(text, options));
}

}  // namespace pawl::rehearse
