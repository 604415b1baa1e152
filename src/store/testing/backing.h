// Test support for the conformance suite: storage that survives closing the Store, and a way to
// make the disk fail.
#pragma once

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
  explicit TempDirectory(const std::filesystem::path& in = std::filesystem::temp_directory_path());
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
  void run(const std::string& sql) const;

 private:
  Connection open() const { return Connection::open(path_, SQLITE_OPEN_READWRITE, "unix").value(); }
  std::string path_;
};

class Backing {
 public:
  virtual ~Backing() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  std::atomic<bool> disk_fails = false;  // nothing reaches the disk while set
  // A trim takes all it was asked for at once: nothing is deleted by it.
  bool trims_whole = false;
};

class MemoryBacking : public Backing {
 public:
  MemoryBacking();
  Result<std::unique_ptr<Store>> open() override { return open_memory(disk); }

  const std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
};

class SqliteBacking : public Backing {
 public:
  Result<std::unique_ptr<Store>> open() override;

  const TempDirectory directory;
};

}  // namespace pawl
