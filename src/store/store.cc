#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl {

Status Store::reopen() {
  return Error{ErrorCode::StoreFailed, "this store cannot be reopened in place"};
}

Status Store::scan_keys(uint8_t space, std::string_view from, std::string_view to, size_t limit,
                        FunctionRef<bool(std::string_view)> visit) {
  return scan(space, from, to, false, limit,
              [&](std::string_view key, std::string_view) { return visit(key); });
}

Status check_batch(const Batch& batch, uint64_t last) {
  if (batch.number == 0) {
    if (!batch.journal.empty()) {
      return Error{ErrorCode::Conflict, "journal record without a number"};
    }
  } else if (batch.number != last + 1 && !(batch.begins_journal && last == 0)) {
    return Error{
        ErrorCode::Conflict,
        fmt::format("journal record {} refused: the next number is {}", batch.number, last + 1)};
  }
  if (batch.journal.size() > kStoreValueBytesMax) {
    return Error{ErrorCode::TooLarge,
                 fmt::format("journal record of {} bytes; at most {} are stored",
                             batch.journal.size(), kStoreValueBytesMax)};
  }
  for (const Write& write : batch.writes) {
    if (write.key.size() > kStoreKeyBytesMax) {
      return Error{ErrorCode::TooLarge, fmt::format("key of {} bytes; at most {} are stored",
                                                    write.key.size(), kStoreKeyBytesMax)};
    }
    if (const std::string* bytes = write.bytes(); bytes && bytes->size() > kStoreValueBytesMax) {
      return Error{ErrorCode::TooLarge, fmt::format("value of {} bytes; at most {} are stored",
                                                    bytes->size(), kStoreValueBytesMax)};
    }
  }
  return ok_status();
}

uint64_t trim_end(uint64_t first, uint64_t last, uint64_t wanted,
                  FunctionRef<size_t(uint64_t number)> record_bytes) {
  const uint64_t stop = std::min({wanted, last, first + kStoreTrimRecordsMax});
  uint64_t end = first;
  size_t bytes = 0;
  while (end < stop) {
    bytes += record_bytes(end);
    if (bytes > kStoreTrimBytesMax && end > first) break;
    ++end;
  }
  return end;
}

}  // namespace pawl
