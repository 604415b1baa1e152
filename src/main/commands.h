// Every command of the program: those that call a server (cli/) and local ones.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace pawl {

std::vector<cli::Command> all_commands();
std::string version_line();  // "pawl 0.1.0"

}  // namespace pawl
