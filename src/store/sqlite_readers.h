// ReaderPool: read-only connections with their prepared queries, lent to one reader at a time. They
// are separate from the writer's, so a read neither waits for a commit nor sees part of one.
//
// Up to `kept` idle connections are kept. A reader that finds none gets a new one, so a read never
// waits for a read (a visit that reads again cannot deadlock); the number is bounded by the reading
// threads. Thread: any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/sqlite_connection.h"

namespace pawl {

struct Reader {
  Connection connection;  // first member: outlives the statements
  Statement get;
  Statement scan_up, scan_up_to;      // without and with an upper end
  Statement scan_down, scan_down_to;  // descending
  Statement large;                    // kReadLarge
  Statement journal;
};

class ReaderPool {
 public:
  ReaderPool(std::string path, const char* vfs, size_t kept)
      : path_(std::move(path)), vfs_(vfs), kept_(kept) {}

  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<Reader> reader)
        : pool_(&pool), reader_(std::move(reader)) {}
    ~Lease() {
      if (reader_) pool_->give_back(std::move(reader_));
    }
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    Reader* operator->() const { return reader_.get(); }

   private:
    ReaderPool* pool_;
    std::unique_ptr<Reader> reader_;
  };

  Result<Lease> take();
  // A read-only connection for a longer job; not counted among the kept ones.
  Result<Connection> connect() const;

 private:
  Result<std::unique_ptr<Reader>> open() const;
  void give_back(std::unique_ptr<Reader> reader);

  const std::string path_;
  const char* const vfs_;
  const size_t kept_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;  // guarded by mutex_
};

}  // namespace pawl
