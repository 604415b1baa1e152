// A record of a world's journal as one line for people.
#pragma once

#include <string>

#include "base/json.h"

namespace pawl::cli {

// Of {seq,n,kind,record}: position, time (of the records that have a stamp), kind, and what counts.
// Unknown kinds show their JSON.
std::string world_record_line(json::View entry, bool colours);

}  // namespace pawl::cli
