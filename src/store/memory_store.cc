#include "store/memory_store.h"

#include <mutex>
#include <utility>

namespace pawl {

class MemoryStore : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(std::shared_ptr<MemoryDisk> disk) {
    std::unique_lock lock(disk->mutex_);
    if (disk->opened_) {
      return Error{ErrorCode::Unavailable, "the memory disk is in use by another store"};
    }
    disk->opened_ = true;
    lock.unlock();
    return std::unique_ptr<Store>(new MemoryStore(std::move(disk)));
  }

  ~MemoryStore() override {
    std::unique_lock lock(disk_->mutex_);
    disk_->opened_ = false;
  }

  Status commit(const Batch& batch) override {
    std::unique_lock lock(disk_->mutex_);
    if (failed_) return failure();
    PAWL_TRY_DO(check_batch(batch, last()));
    if (batch.number == 0 && batch.writes.empty() && batch.trim_journal_before <= first()) {
      return ok_status();
    }
    const uint64_t commit_no = ++disk_->commit_no_;
    const CommitFault fault = disk_->fault ? disk_->fault(commit_no) : CommitFault::Ok;
    failed_ = fault != CommitFault::Ok;
    if (fault == CommitFault::FailBefore) return failure();
    apply(batch);
    if (failed_) return failure();
    ++stats_.commits;
    stats_.journal_bytes += batch.journal.size();
    return ok_status();
  }

  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override {
    std::shared_lock lock(disk_->mutex_);
    const auto rows = disk_->spaces_.find(space);
    if (rows == disk_->spaces_.end()) return std::optional<std::string>{};
    const auto row = rows->second.find(key);
    if (row == rows->second.end()) return std::optional<std::string>{};
    return std::optional<std::string>{row->second};
  }

  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    for (const auto& [key, value] : rows(space, from, to, reverse, limit)) {
      if (!visit(key, value)) break;
    }
    return ok_status();
  }

  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override {
    std::vector<std::pair<uint64_t, std::string>> found;
    {
      std::shared_lock lock(disk_->mutex_);
      auto record = disk_->journal_.lower_bound(from);
      for (; record != disk_->journal_.end() && found.size() < limit; ++record) {
        found.emplace_back(*record);
      }
    }
    for (const auto& [number, record] : found) {
      if (!visit(number, record)) break;
    }
    return ok_status();
  }

  uint64_t journal_first() const override {
    std::shared_lock lock(disk_->mutex_);
    return first();
  }
  uint64_t journal_last() const override {
    std::shared_lock lock(disk_->mutex_);
    return last();
  }

  Status backup(const std::string&, FunctionRef<void(uint64_t, uint64_t)>) override {
    return Error{ErrorCode::Unsupported, "a memory store has no file to back up"};
  }

  // Tries the disk as a commit would: a disk that still fails makes reopen() fail.
  Status reopen() override {
    std::unique_lock lock(disk_->mutex_);
    const uint64_t commit_no = ++disk_->commit_no_;
    failed_ = disk_->fault && disk_->fault(commit_no) != CommitFault::Ok;
    return failed_ ? Status(failure()) : ok_status();
  }

  StoreStats stats() const override {
    std::shared_lock lock(disk_->mutex_);
    StoreStats stats = stats_;
    stats.file_bytes = disk_->bytes_;
    return stats;
  }

 private:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  static Error failure() {
    return Error{ErrorCode::StoreFailed, "the memory disk failed; reopen the store"};
  }

  uint64_t first() const { return disk_->journal_.empty() ? 0 : disk_->journal_.begin()->first; }
  uint64_t last() const { return disk_->journal_.empty() ? 0 : disk_->journal_.rbegin()->first; }

  void apply(const Batch& batch) {
    for (const Write& write : batch.writes) put(write);
    auto& journal = disk_->journal_;
    if (batch.number != 0) {
      journal.emplace(batch.number, batch.journal);
      disk_->bytes_ += batch.journal.size();
    }
    if (journal.empty()) return;
    const uint64_t end = trim_end(journal.begin()->first, last(), batch.trim_journal_before,
                                  [&](uint64_t number) { return journal.at(number).size(); });
    while (journal.begin()->first < end) {
      disk_->bytes_ -= journal.begin()->second.size();
      journal.erase(journal.begin());
    }
  }

  void put(const Write& write) {
    auto& rows = disk_->spaces_[write.space];
    const auto row = rows.find(write.key);
    if (row != rows.end()) disk_->bytes_ -= row->first.size() + row->second.size();
    const std::string* bytes = write.bytes();
    if (bytes == nullptr) {
      if (row != rows.end()) rows.erase(row);
      return;
    }
    disk_->bytes_ += write.key.size() + bytes->size();
    if (row != rows.end()) {
      row->second = *bytes;
    } else {
      rows.emplace(write.key, *bytes);
    }
  }

  // A copy, so that `visit` may call the store and no lock is held meanwhile.
  std::vector<std::pair<std::string, std::string>> rows(uint8_t space, std::string_view from,
                                                        std::string_view to, bool reverse,
                                                        size_t limit) {
    std::vector<std::pair<std::string, std::string>> found;
    std::shared_lock lock(disk_->mutex_);
    const auto at = disk_->spaces_.find(space);
    if (at == disk_->spaces_.end() || (!to.empty() && to <= from)) return found;
    const auto begin = at->second.lower_bound(from);
    const auto end = to.empty() ? at->second.end() : at->second.lower_bound(to);
    if (reverse) {
      for (auto row = end; row != begin && found.size() < limit;) found.emplace_back(*--row);
    } else {
      for (auto row = begin; row != end && found.size() < limit; ++row) found.emplace_back(*row);
    }
    return found;
  }

  const std::shared_ptr<MemoryDisk> disk_;
  bool failed_ = false;
  StoreStats stats_;
};

Result<std::unique_ptr<Store>> open_memory(std::shared_ptr<MemoryDisk> disk) {
  return MemoryStore::open(std::move(disk));
}

}  // namespace pawl
