// Store: where a batch becomes durable. An ordered key-value space (256 spaces of byte-string keys,
// in memcmp order) beside a journal of numbered records. Bytes only: there is no logic below this
// interface.
//
// commit() is atomic and ordered. After a crash a prefix of the committed batches is there, and
// every batch that returned ok lies in that prefix (I1). A failed write or sync is final: what
// reached the disk is unknown, so the store refuses every later commit with StoreFailed until it is
// reopened (reopen(), or a new store); a retry could write twice. The failed batch itself may or
// may not be there after reopening. Reads continue after a failure. A batch that breaks the
// contract (journal number, sizes) is refused before anything is written and fails nothing else.
//
// Threads: commit() by one thread at a time; everything else by any thread, also during a commit. A
// read sees every batch whose commit() returned before it began, and never a part of a batch.
//
// Errors: StoreFailed (the disk: full, unwritable, failing), Corrupt (what is on it is not ours or
// is damaged), Conflict (journal number not the next one), TooLarge (a bound below).
//
// Each implementation must pass store_conformance_test.cc; what that test does not check is not
// promised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace pawl {

inline constexpr size_t kStoreKeyBytesMax = 2560;  // what a page of PostgreSQL's index takes
inline constexpr size_t kStoreValueBytesMax = size_t{256} << 20;  // also of a journal record
inline constexpr size_t kStoreTrimRecordsMax = 256;               // per commit
inline constexpr size_t kStoreTrimBytesMax = size_t{4}
                                             << 20;  // per commit; one record may exceed it

struct Write {
  uint8_t space = 0;
  std::string key = {};
  std::optional<std::string> value = {};  // nullopt deletes; deleting what is not there is no error
  std::shared_ptr<const std::string> text = {};  // the value without a copy, if set

  // The value after the write.
  const std::string* bytes() const { return text ? text.get() : value ? &*value : nullptr; }
};

struct Batch {
  uint64_t number = 0;       // of the record: 1 more than journal_last(). 0: rows only, no record
  std::string journal = {};  // the record's bytes, opaque, already checksummed by the caller
  bool begins_journal = false;     // of a copy: the first record of a journal may have any number
  std::vector<Write> writes = {};  // applied in order, in the same transaction
  // Also delete the oldest journal records below this number, at most kStoreTrimRecordsMax and
  // kStoreTrimBytesMax per commit: the caller repeats it until journal_first() is reached. The
  // newest record always stays, since the numbering continues from it. A store that deletes nothing
  // by it takes all at once.
  uint64_t trim_journal_before = 0;
};

// Counters run from open(). A store without files reports 0 for what it does not have.
struct StoreStats {
  uint64_t commits = 0;
  uint64_t fsyncs = 0;
  uint64_t journal_bytes = 0;  // appended
  uint64_t file_bytes = 0;
  uint64_t wal_bytes = 0;  // in use; the file may be longer
  uint64_t sync_ns_total = 0;
  uint64_t sync_ns_p50 = 0;  // over the last 1024 fsyncs
  uint64_t sync_ns_p99 = 0;
  uint64_t retries = 0;  // commits tried again, since the database chose another transaction
};

class Store {
 public:
  virtual ~Store() = default;

  // Durable on return. An empty batch costs nothing.
  virtual Status commit(const Batch& batch) = 0;

  virtual Result<std::optional<std::string>> get(uint8_t space, std::string_view key) = 0;

  // Visits up to `limit` rows with from <= key < to ("" as `to`: no end), ascending, or descending
  // from the end if `reverse`, from one consistent state. Ends early when `visit` returns false.
  // The views live until `visit` returns. `visit` may call the store, but should be quick: it holds
  // back the reuse of log space.
  virtual Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse,
                      size_t limit,
                      FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
  // The keys that an ascending scan would visit. A store that can leaves the values unread.
  virtual Status scan_keys(uint8_t space, std::string_view from, std::string_view to, size_t limit,
                           FunctionRef<bool(std::string_view key)> visit);

  // Visits up to `limit` records ascending, starting at the first whose number is at least `from`.
  // Never a record beyond journal_last(), even during its commit: a record that was read once lies
  // within journal_first() to journal_last() from then on, until it is trimmed.
  virtual Status read_journal(
      uint64_t from, size_t limit,
      FunctionRef<bool(uint64_t number, std::string_view record)> visit) = 0;

  // 0 and 0 while no record was ever written.
  virtual uint64_t journal_first() const = 0;
  virtual uint64_t journal_last() const = 0;

  // Copies one consistent state into a new file while commits continue; log space is not reused
  // meanwhile. Conflict if `path` exists; a failed backup leaves no file and does not fail the
  // store. Unsupported by a store without files.
  virtual Status backup(const std::string& path,
                        FunctionRef<void(uint64_t done, uint64_t total)> progress) = 0;

  virtual StoreStats stats() const = 0;

  // Checkpoints lag behind commits: further megabytes would make a commit wait. Any thread. Never
  // true for long: not while a reader pins the log, nor once the store has failed, which only a
  // commit detects.
  virtual bool congested() const { return false; }

  // After a failed commit: makes the store take commits again, in place. Ok means that everything
  // that is there now is durable, that the disk was written and synced to prove it, and that there
  // is room for more than a few batches; the failed batch is there completely or not at all,
  // permanently, and journal_last() tells which. StoreFailed: the disk still refuses, try again
  // later. Corrupt is final. By the committing thread; reads continue meanwhile.
  virtual Status reopen();
};

// The part of the contract that needs no disk: refuses a batch whose number is not `last` + 1 or
// which exceeds a bound. Every implementation calls it before it writes.
Status check_batch(const Batch& batch, uint64_t last);

// The number before which a commit may delete records: adds up record sizes from `first`, the
// oldest, within the bounds above; never past `last`. Every implementation trims to here.
uint64_t trim_end(uint64_t first, uint64_t last, uint64_t wanted,
                  FunctionRef<size_t(uint64_t number)> record_bytes);

}  // namespace pawl
