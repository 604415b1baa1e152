#include "store/copy_store.h"

#include <utility>

namespace pawl {
namespace {

constexpr int kSpaces = 256;
constexpr size_t kRowsPerCommit = 256;
constexpr size_t kBytesPerCommit = size_t{1} << 20;

// Rows on their way, written a page at a time.
class RowWriter {
 public:
  explicit RowWriter(Store& to) : to_(to) {}

  Status add(uint8_t space, std::string_view key, std::string_view value) {
    bytes_ += key.size() + value.size();
    page_.writes.push_back({space, std::string(key), std::string(value)});
    if (page_.writes.size() < kRowsPerCommit && bytes_ < kBytesPerCommit) return ok_status();
    return flush();
  }
  Status flush() {
    bytes_ = 0;
    Batch page = std::exchange(page_, {});
    return to_.commit(page);
  }

 private:
  Store& to_;
  Batch page_;
  size_t bytes_ = 0;
};

}  // namespace

Result<bool> is_empty(Store& store) {
  bool found = store.journal_last() != 0;
  for (int space = 0; space < kSpaces && !found; ++space)
    PAWL_TRY_DO(store.scan_keys(static_cast<uint8_t>(space), "", "", 1,
                                [&](std::string_view) { return found = true; }));
  return !found;
}

Result<Copied> copy_store(Store& from, Store& to, FunctionRef<void(const Copied&)> progress) {
  PAWL_TRY(const bool empty, is_empty(to));
  if (!empty) return Error{ErrorCode::Conflict, "the target holds data already"};
  Copied copied;
  RowWriter rows(to);
  Status written = ok_status();
  for (int space = 0; space < kSpaces; ++space) {
    PAWL_TRY_DO(from.scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX,
                          [&](std::string_view key, std::string_view value) {
                            written = rows.add(static_cast<uint8_t>(space), key, value);
                            ++copied.rows;
                            return written.ok();
                          }));
    PAWL_TRY_DO(written);
    progress(copied);
  }
  PAWL_TRY_DO(rows.flush());
  PAWL_TRY_DO(from.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    written = to.commit(Batch{
        .number = number, .journal = std::string(record), .begins_journal = copied.records == 0});
    ++copied.records;
    progress(copied);
    return written.ok();
  }));
  PAWL_TRY_DO(written);
  return copied;
}

}  // namespace pawl
