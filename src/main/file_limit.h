// How many files the process may have open, and how they are shared out.
//
// A connection is a file. So that clients cannot take the ones that the server needs for itself
// (the database, what actions read, write and run, outgoing HTTP), connections are capped below the
// limit, with a reserve.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl {

struct FileLimit {
  uint64_t before = 0;  // the soft limit that the process was started with
  uint64_t now = 0;
};

// Raises the soft limit to the hard one. What it starts (commands) should get `before` back: some
// programs close every descriptor that they might have.
FileLimit raise_file_limit();

// Connections that fit below `files`, `wanted` at most.
size_t connections_within(uint64_t files, size_t wanted);

}  // namespace pawl
