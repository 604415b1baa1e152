#include "store/testing/backing.h"

#include <stdlib.h>

namespace pawl {

TempDirectory::TempDirectory(const std::filesystem::path& in) {
  std::string name = (in / "pawl-store-XXXXXX").string();
  PAWL_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

void PlainDatabase::run(const std::string& sql) const {
  const Status status = open().execute(sql);
  PAWL_CHECK(status.ok());
}

MemoryBacking::MemoryBacking() {
  disk->fault = [this](uint64_t) { return disk_fails ? CommitFault::FailBefore : CommitFault::Ok; };
}

Result<std::unique_ptr<Store>> SqliteBacking::open() {
  SqliteOptions options;
  // Small, so that every larger test also runs through many checkpoints.
  options.checkpoint = {.start_bytes = 256 << 10, .finish_bytes = 64 << 10, .max_bytes = 1 << 20};
  options.fault = [this](DiskOp, DiskFile) { return disk_fails ? SQLITE_IOERR_WRITE : SQLITE_OK; };
  return open_sqlite(directory / "data", options);
}

}  // namespace pawl
