// The tables of functions that SQLite wants of a VFS and of its files, filled from a class whose
// static functions are those calls.
#pragma once

#include <sqlite3.h>

#include <string>

#include "base/check.h"

namespace pawl {

// SQLite asks to map pages into memory and reads them when it is told that there is no mapping.
struct UnmappedFile {
  static int fetch(sqlite3_file*, sqlite3_int64, int, void** page) {
    *page = nullptr;
    return SQLITE_OK;
  }
  static int unfetch(sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; }
};

template <class File>
constexpr sqlite3_io_methods methods_of() {
  return {.iVersion = 3,
          .xClose = File::close,
          .xRead = File::read,
          .xWrite = File::write,
          .xTruncate = File::truncate,
          .xSync = File::sync,
          .xFileSize = File::size,
          .xLock = File::lock,
          .xUnlock = File::unlock,
          .xCheckReservedLock = File::check_reserved,
          .xFileControl = File::control,
          .xSectorSize = File::sector_size,
          .xDeviceCharacteristics = File::characteristics,
          .xShmMap = File::shm_map,
          .xShmLock = File::shm_lock,
          .xShmBarrier = File::shm_barrier,
          .xShmUnmap = File::shm_unmap,
          .xFetch = File::fetch,
          .xUnfetch = File::unfetch};
}

// `vfs` and `name` stay as long as it is registered; owner is what its calls find in pAppData.
template <class Calls>
void register_vfs(sqlite3_vfs& vfs, const std::string& name, void* owner, int file_bytes,
                  int path_bytes_max) {
  vfs.iVersion = 2;
  vfs.szOsFile = file_bytes;
  vfs.mxPathname = path_bytes_max;
  vfs.zName = name.c_str();
  vfs.pAppData = owner;
  vfs.xOpen = Calls::open;
  vfs.xDelete = Calls::remove;
  vfs.xAccess = Calls::access;
  vfs.xFullPathname = Calls::full_pathname;
  vfs.xRandomness = Calls::randomness;
  vfs.xSleep = Calls::sleep;
  vfs.xCurrentTime = Calls::current_time;
  vfs.xGetLastError = Calls::last_error;
  vfs.xCurrentTimeInt64 = Calls::current_time_int64;
  PAWL_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

}  // namespace pawl
