#include "store/gathered_writes.h"

namespace pawl {

int GatheredWrites::write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  const auto size = static_cast<size_t>(bytes);
  const bool follows = at == at_ + static_cast<sqlite3_int64>(waiting_.size());
  if (!waiting_.empty() && (!follows || waiting_.size() + size > kGatheredMax))
    if (const int code = flush(file); code != SQLITE_OK) return code;
  if (size > kGatheredMax) return file->pMethods->xWrite(file, from, bytes, at);
  if (waiting_.empty()) at_ = at;
  waiting_.append(static_cast<const char*>(from), size);
  return SQLITE_OK;
}

int GatheredWrites::flush(sqlite3_file* file) {
  if (waiting_.empty()) return SQLITE_OK;
  const int code =
      file->pMethods->xWrite(file, waiting_.data(), static_cast<int>(waiting_.size()), at_);
  waiting_.clear();
  return code;
}

}  // namespace pawl
