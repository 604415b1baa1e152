// SimStore: the simulator's store. It forwards to a store on a MemoryDisk, or to SQLite on a
// SimVfs, keeps a copy of every durable record (also of trimmed ones, for folding from genesis),
// fails when the world requests it, and implements the planted bugs below the engine.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/plants.h"
#include "sim/sim_vfs.h"
#include "sim/verdict.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace pawl::sim {

// The state that survives a crash.
struct SimDisk {
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  std::map<uint64_t, std::string> archive;  // every record that was ever acknowledged as durable
  std::unique_ptr<SimVfs> files;            // null: the memory store is used
  SqliteOptions sqlite;
  CommitFault next_fault = CommitFault::Ok;  // of the next commit
  uint64_t reads_until_fault = 0;            // 0: reads do not fail
};

class SimStore : public Store {
 public:
  static Result<std::unique_ptr<SimStore>> open(SimDisk& disk, const Plants& plants,
                                                Verdict& verdict);
  ~SimStore() override;

  Status commit(const Batch& batch) override;
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override;
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override;
  uint64_t journal_first() const override { return store_->journal_first(); }
  uint64_t journal_last() const override { return store_->journal_last(); }
  Status backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> progress) override {
    return store_->backup(path, progress);
  }
  StoreStats stats() const override { return store_->stats(); }
  Status reopen() override { return store_->reopen(); }

  // The highest acknowledged record.
  uint64_t durable_head() const {
    return disk_.archive.empty() ? 0 : disk_.archive.rbegin()->first;
  }
  // A batch whose commit failed turned out to be durable.
  void promise(const Batch& batch) { disk_.archive.emplace(batch.number, batch.journal); }
  // Reads count as rare paths only while the engine works, not while it recovers or is checked.
  void watch_reads(bool watch) { watching_ = watch; }

 private:
  SimStore(SimDisk& disk, std::unique_ptr<Store> store, const Plants& plants, Verdict& verdict)
      : disk_(disk), store_(std::move(store)), plants_(plants), verdict_(verdict) {}
  bool read_fails();
  Status write_held();

  SimDisk& disk_;
  std::unique_ptr<Store> store_;
  Plants plants_;
  Verdict& verdict_;
  bool watching_ = false;
  std::optional<Batch> held_;  // planted: reported as durable but not written
};

}  // namespace pawl::sim
