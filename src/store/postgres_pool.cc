#include "store/postgres_pool.h"

#include <utility>

namespace pawl::pg {

Result<Pool::Lease> Pool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(connection));
    }
  }
  PAWL_TRY(Connection connection, Connection::open(access_));
  return Lease(*this, std::move(connection));
}

void Pool::give_back(Connection connection) {
  if (!connection.idle()) return;  // broken, or left within a transaction
  std::lock_guard lock(mutex_);
  if (idle_.size() < kept_) idle_.push_back(std::move(connection));
}

}  // namespace pawl::pg
