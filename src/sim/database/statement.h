// The statements that Pawl sends to PostgreSQL, and how a simulated database carries them out. It
// knows their texts: one that production code changes or adds is refused until it is known here, so
// what is simulated is what is sent.
//
// The semantics are those of READ COMMITTED: a statement sees what was committed when it began,
// looks again at a row that it had to wait for, and changes nothing before it is committed.
//
// Thread: one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/database/row_locks.h"
#include "sim/database/tables.h"

namespace pawl::sim {

// A statement's rows, or the SQLSTATE of its refusal.
struct StatementResult {
  std::string sql_state = {};
  std::string message = {};
  std::vector<std::vector<std::optional<std::string>>> rows = {};
};

// A change that a transaction makes when it is committed.
struct Change {
  std::function<void(Tables&)> make;
  std::function<bool(const Tables&)> breaks_key = {};  // unset: it cannot
};

// What a statement needs of the session and the database that carry it out.
class StatementHost {
 public:
  virtual ~StatementHost() = default;
  virtual const Tables& tables() const = 0;
  // The rows of pawl_kv that the session's transaction sees.
  virtual std::shared_ptr<const KvRows> kv_seen(uint16_t partition) = 0;
  virtual void change(Change change) = 0;
  // False: not granted in time, or the session was ended.
  virtual bool lock(const std::string& row, RowLock mode) = 0;
  virtual int64_t now_ms() const = 0;
  virtual bool begin() = 0;
  virtual void set_lock_timeout_ms(int64_t ms) = 0;
  virtual void set_idle_timeout_ms(int64_t ms) = 0;
  virtual void end_sessions(const std::string& application) = 0;
  // Of an epoch that was taken, and of a record that was written: for those who check.
  virtual void note_taken(uint16_t partition) = 0;
  virtual void note_record(uint16_t partition, uint64_t epoch, uint64_t number) = 0;
  virtual void note_rows(uint16_t partition, uint64_t epoch) = 0;
};

std::string partition_row(uint16_t partition);
std::string node_row(std::string_view node);

// COMMIT and ROLLBACK are not statements here: the session ends its transaction.
StatementResult carry_out(StatementHost& host, std::string_view sql,
                          std::span<const std::string> values);
// It only reads committed rows: nothing can hold it up, and nothing comes of it.
bool only_reads_rows(std::string_view sql);

}  // namespace pawl::sim
