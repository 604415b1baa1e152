// Commands that work locally, without a server. Those on a data directory (keys, backup, restore,
// verify) take its lock, so none of them runs beside a server that uses it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "store/store.h"

namespace pawl {

std::vector<cli::Command> key_commands();          // local_keys.cc: over HTTP, or with --data here
std::vector<cli::Command> backup_commands();       // local_backup.cc: backup, restore, verify
cli::Command verify_command();                     // local_verify.cc
std::vector<cli::Command> cluster_key_commands();  // local_cluster.cc: cluster rekey
std::vector<cli::Command> store_commands();        // local_migrate.cc: store migrate
std::vector<cli::Command> run_file_commands();     // run_command.cc: run
std::vector<cli::Command> test_commands();         // test_command.cc: test
std::vector<cli::Command> world_test_commands();   // world_test_command.cc: worlds test
std::vector<cli::Command> world_project_commands();  // world_project_command.cc: worlds init, types
std::vector<cli::Command> definition_commands();     // local_definitions.cc: validate, graph, eval

// --data, PAWL_DATA or ./pawl-data.
std::string data_of(const cli::Invocation& given);
// All partitions of a directory. NotFound: opening a store would create a missing directory, which
// a reading command must not.
Result<std::vector<std::unique_ptr<Store>>> open_existing_data(const std::string& directory);

}  // namespace pawl
