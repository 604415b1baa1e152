// Runs the cases of a WorldTestFile and gives the verdicts, in the form of those of definitions, so
// that both have one report.
//
// Every script ends with a replay of its journal from genesis: a world that cannot be brought to
// the same state again fails the case, whatever it expects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rehearse/suite.h"
#include "rehearse/worlds/world_test_file.h"
#include "worlds/module_host.h"

namespace pawl::rehearse {

// The program in this folder, as {"manifest":…, "nodes":[…]}.
using LoadProgram = std::function<Result<std::string>(const std::string& folder)>;

struct WorldSuite {
  worlds::ModuleHost& host;
  std::string program;    // that the file is about
  LoadProgram load = {};  // for scripts that apply another
};

// Why no world can be made of the program; nothing if one can. Paths point into its text.
std::vector<Complaint> program_faults(const WorldSuite& suite);

CaseResult run_step_case(const WorldSuite& suite, const StepCase& given);
CaseResult run_script_case(const WorldSuite& suite, const ScriptCase& given);

}  // namespace pawl::rehearse
