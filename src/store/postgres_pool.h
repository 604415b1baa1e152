// Pool: connections that are lent to one reader at a time. Up to `kept` idle ones are kept. A
// reader that finds none gets a new one, so a read never waits for a read (a visit that reads again
// cannot deadlock); the number is bounded by the reading threads. Thread: any.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "store/postgres_connection.h"

namespace pawl::pg {

class Pool {
 public:
  Pool(Access access, size_t kept) : access_(std::move(access)), kept_(kept) {}

  class Lease {
   public:
    Lease(Pool& pool, Connection connection) : pool_(&pool), connection_(std::move(connection)) {}
    ~Lease() { pool_->give_back(std::move(connection_)); }
    Lease(Lease&& other) noexcept
        : pool_(other.pool_), connection_(std::exchange(other.connection_, Connection())) {}
    Lease& operator=(Lease&&) = delete;
    Connection* operator->() { return &connection_; }
    Connection& operator*() { return connection_; }

   private:
    Pool* pool_;
    Connection connection_;
  };

  Result<Lease> take();

 private:
  void give_back(Connection connection);

  const Access access_;
  const size_t kept_;
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
};

}  // namespace pawl::pg
