// Commands that work on a data directory themselves, without a server: keys, backup, restore,
// verify. Each takes the directory's lock, so none of them ever works beside a server that runs on
// it.
#pragma once

#include <vector>

#include "cli/command.h"

namespace pawl {

std::vector<cli::Command> key_commands();     // local_keys.cc: over HTTP, or with --data here
std::vector<cli::Command> backup_commands();  // local_backup.cc: backup, restore, verify

}  // namespace pawl
