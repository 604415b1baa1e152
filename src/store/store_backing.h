// Test support for the conformance suite: storage that survives closing the Store, and a way to
// make the disk fail.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "store/memory_store.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_store.h"

namespace pawl {

class TempDirectory {
 public:
  explicit TempDirectory(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "pawl-store-XXXXXX").string();
    PAWL_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The database of a store without checksums, as plain SQLite sees it.
class PlainDatabase {
 public:
  explicit PlainDatabase(std::string path) : path_(std::move(path)) {}
  uint64_t ask(const std::string& sql) const { return open().query_number(sql).value(); }
  void run(const std::string& sql) const {
    const Status status = open().execute(sql);
    PAWL_CHECK(status.ok());
  }

 private:
  Connection open() const { return Connection::open(path_, SQLITE_OPEN_READWRITE, "unix").value(); }
  std::string path_;
};

class Backing {
 public:
  virtual ~Backing() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  std::atomic<bool> disk_fails = false;  // nothing reaches the disk while set
};

class MemoryBacking : public Backing {
 public:
  MemoryBacking() {
    disk->fault = [this](uint64_t) {
      return disk_fails ? CommitFault::FailBefore : CommitFault::Ok;
    };
  }
  Result<std::unique_ptr<Store>> open() override { return open_memory(disk); }

  const std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
};

class SqliteBacking : public Backing {
 public:
  Result<std::unique_ptr<Store>> open() override {
    SqliteOptions options;
    // Small, so that every larger test also runs through many checkpoints.
    options.checkpoint = {.start_bytes = 256 << 10, .finish_bytes = 64 << 10, .max_bytes = 1 << 20};
    options.fault = [this](DiskOp, DiskFile) {
      return disk_fails ? SQLITE_IOERR_WRITE : SQLITE_OK;
    };
    return open_sqlite(directory / "data", options);
  }

  const TempDirectory directory;
};

}  // namespace pawl
