// The limit of open files, and its division between connections and the server.
//
// A connection is an open file. So that clients cannot use up the files that the server itself
// needs (for the database, actions and outgoing HTTP), connections are capped below the limit, with
// a reserve.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl {

struct FileLimit {
  uint64_t before = 0;  // the soft limit that the process was started with
  uint64_t now = 0;
};

// Raises the soft limit to the hard one. Commands should get `before`: some programs close every
// possible descriptor.
FileLimit raise_file_limit();

// Connections that fit below `files`, `wanted` at most.
size_t connections_within(uint64_t files, size_t wanted);

}  // namespace pawl
