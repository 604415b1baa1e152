// Support for tests of rehearsals: a test file as text, and the results of its cases.
#pragma once

#include <string>

#include "rehearse/report.h"
#include "rehearse/suite.h"

namespace pawl::rehearse {

Loader no_files();

TestFile valid(const std::string& text);

// Every fault as "line path code", in order.
std::string faults_of(const std::string& text);

// "passed", or all complaints.
std::string verdict(const CaseResult& result);

CaseResult first_case(const std::string& text, const SuiteOptions& options = {});
std::string verdict(const std::string& text, const SuiteOptions& options = {});

}  // namespace pawl::rehearse
