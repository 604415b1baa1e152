// The embedded store: one SQLite database `pawl.db` in a data directory of its own, in WAL mode
// with synchronous=FULL, held by one process (file LOCK). docs/adr/0001-storage.md has the figures
// behind it. A directory of several partitions has a database for each: `pawl.db` is partition 0,
// `pawl-<k>.db` are the others.
//
//   kv(space INTEGER, key BLOB, value BLOB)     primary key (space, key), without rowid; large
//                                               values are elsewhere (sqlite_large.h)
//   journal(number INTEGER PRIMARY KEY, record BLOB)
//   meta(name TEXT PRIMARY KEY, value)          'schema': version of this layout; 'partition' of
//                                               how many 'partitions'
//
// Data that the disk has changed makes the reading call fail with Corrupt and is never returned.
//
// One writer connection (the committing thread), a pool of read-only ones (sqlite_readers.h), and
// one of the checkpoint thread (sqlite_checkpoint.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/packing.h"
#include "store/sqlite_checkpoint.h"
#include "store/sqlite_vfs.h"
#include "store/store.h"

namespace pawl {

struct SqliteOptions {
  CheckpointLimits checkpoint;
  uint64_t page_bytes = 8192;                 // of a new database; an existing one keeps its own
  uint64_t cache_bytes = uint64_t{16} << 20;  // of the writer
  // Of a new database: every page carries a checksum (page_sum.h). An older database keeps its
  // format.
  bool page_sums = true;
  size_t readers_kept = 8;
  SelfChecked self_checked = {};                // SqliteVfs::set_self_checked()
  uint64_t packed_bytes_min = kPackedBytesMin;  // records and large values from here on
  // A VFS that the caller has registered, instead of the disk. Nothing else is touched:
  // no directory is made, and no lock file taken.
  std::string base_vfs = {};
  uint64_t reserve_bytes = uint64_t{8} << 20;  // must be free before a full disk is tried again
  DiskFault fault;                             // tests only
  // Tests only: called inside commit(), once other connections can see the batch.
  std::function<void()> on_visible = {};
};

// Creates `directory` and the database if needed. Unavailable (naming the pid) while another store
// holds the directory; Unsupported if a newer Pawl wrote it; Corrupt if it is damaged or not ours;
// StoreFailed if the disk refuses. Takes milliseconds for any size, plus the time to make the log
// left by a crash durable, so that a power cut cannot remove what an open store has shown.
// InvalidRequest if the directory holds several partitions.
Result<std::unique_ptr<Store>> open_sqlite(const std::string& directory,
                                           SqliteOptions options = {});

// All partitions of a directory, in their order; it is free once the last store is closed. Their
// number is fixed when the directory is made: 0 takes as many as it has (1 in a new one), another
// number than it has is an InvalidRequest that names both. Corrupt if a database is missing or
// stands under the name of another. Else as open_sqlite().
Result<std::vector<std::unique_ptr<Store>>> open_sqlite_partitions(
    const std::string& directory, uint16_t partitions, const SqliteOptions& options = {});
// "pawl.db", "pawl-1.db", …
std::string sqlite_file(uint16_t partition);

}  // namespace pawl
