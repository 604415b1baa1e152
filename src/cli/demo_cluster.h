// pawl demo cluster: three nodes over one PostgreSQL on this machine, clients that call any of
// them, a node that is killed with -9, another one that stands still; at the end everything
// acknowledged is looked for.
#pragma once

#include <string>

namespace pawl::cli {

// `store`: an empty database; "" = a PostgreSQL server on a temporary directory. Returns the exit
// code.
int demo_cluster(const std::string& store);

}  // namespace pawl::cli
