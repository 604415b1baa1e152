// Completion scripts for bash, zsh and fish, made from the command table.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace pawl::cli {

// InvalidRequest for another shell.
Result<std::string> completion(const std::string& shell, const std::vector<Command>& commands);

}  // namespace pawl::cli
