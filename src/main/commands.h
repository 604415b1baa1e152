// Every command of the program: those that speak to a server (cli/) and those that work here.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace pawl {

std::vector<cli::Command> all_commands();
std::string version_line();  // "pawl 0.1.0"

}  // namespace pawl
