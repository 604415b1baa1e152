// Commands that work locally, without a server. Those on a data directory (keys, backup, restore,
// verify) take its lock, so none of them runs beside a server that uses it.
#pragma once

#include <vector>

#include "cli/command.h"

namespace pawl {

std::vector<cli::Command> key_commands();         // local_keys.cc: over HTTP, or with --data here
std::vector<cli::Command> backup_commands();      // local_backup.cc: backup, restore, verify
std::vector<cli::Command> store_commands();       // local_migrate.cc: store migrate
std::vector<cli::Command> run_file_commands();    // run_command.cc: run
std::vector<cli::Command> test_commands();        // test_command.cc: test
std::vector<cli::Command> world_test_commands();  // world_test_command.cc: worlds test
std::vector<cli::Command> world_project_commands();  // world_project_command.cc: worlds init, types
std::vector<cli::Command> definition_commands();     // local_definitions.cc: validate, graph, eval

}  // namespace pawl
