// The page format of a database, read from its first page before any connection opens it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace pawl {

struct DatabaseForm {
  uint32_t page_bytes = 0;
  bool sums = false;  // each page ends with a checksum (page_sum.h)
};

// Nothing: there is no database yet, or none that was ever complete. Corrupt: its header is
// damaged, or no Pawl wrote it. Only while this process has no connection to it: closing the file
// drops the locks that the process holds on it.
Result<std::optional<DatabaseForm>> read_form(sqlite3_vfs* vfs, const std::string& path);

}  // namespace pawl
