#include "store/sqlite_readers.h"

#include <utility>

#include "store/sqlite_large.h"

namespace pawl {

Result<ReaderPool::Lease> ReaderPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Reader> reader = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(reader));
    }
  }
  PAWL_TRY(std::unique_ptr<Reader> reader, open());
  return Lease(*this, std::move(reader));
}

void ReaderPool::give_back(std::unique_ptr<Reader> reader) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < kept_) idle_.push_back(std::move(reader));
}

Result<Connection> ReaderPool::connect() const {
  PAWL_TRY(Connection connection, Connection::open(path_, SQLITE_OPEN_READONLY, vfs_));
  // Readers find a lock only for an instant, when the log restarts.
  sqlite3_busy_timeout(connection.handle(), 1000);
  return connection;
}

Result<std::unique_ptr<Reader>> ReaderPool::open() const {
  auto reader = std::make_unique<Reader>();
  PAWL_TRY(reader->connection, connect());
  Connection& db = reader->connection;
  PAWL_TRY(reader->get, db.prepare("SELECT value FROM kv WHERE space = ?1 AND key = ?2"));
  PAWL_TRY(reader->scan_up, db.prepare("SELECT key, value FROM kv WHERE space = ?1 AND key >= ?2"
                                       " ORDER BY key"));
  PAWL_TRY(reader->scan_up_to, db.prepare("SELECT key, value FROM kv WHERE space = ?1 AND key >= ?2"
                                          " AND key < ?3 ORDER BY key"));
  PAWL_TRY(reader->scan_down, db.prepare("SELECT key, value FROM kv WHERE space = ?1 AND key >= ?2"
                                         " ORDER BY key DESC"));
  PAWL_TRY(reader->scan_down_to,
           db.prepare("SELECT key, value FROM kv WHERE space = ?1 AND key >= ?2"
                      " AND key < ?3 ORDER BY key DESC"));
  PAWL_TRY(reader->large, db.prepare(kReadLarge));
  PAWL_TRY(reader->journal,
           db.prepare(
               "SELECT number, record, unpacked FROM journal WHERE number >= ?1 ORDER BY number"));
  return reader;
}

}  // namespace pawl
