#include "engine/store_cold.h"

#include "base/hash.h"

namespace pawl {
namespace {

std::string cut_key(std::string_view key) {
  const std::array<uint8_t, 32> hash = sha256(key);
  std::string cut(key.substr(0, kStoreKeyBytesMax - hash.size()));
  return cut.append(hash.begin(), hash.end());
}

}  // namespace

Write write_of(Row row) {
  if (row.key.size() > kStoreKeyBytesMax) row.key = cut_key(row.key);
  return {static_cast<uint8_t>(row.space), std::move(row.key), std::move(row.value),
          std::move(row.text)};
}

std::optional<std::string> StoreCold::get(Space space, std::string_view key) {
  const bool fits = key.size() <= kStoreKeyBytesMax;
  auto value = store_.get(static_cast<uint8_t>(space), fits ? key : cut_key(key));
  if (!value.ok()) throw Unreadable{value.error()};
  return std::move(value).value();
}

void StoreCold::scan(Space space, std::string_view from, std::string_view to, bool reverse,
                     size_t limit, FunctionRef<bool(std::string_view, std::string_view)> visit) {
  Status status = store_.scan(static_cast<uint8_t>(space), from, to, reverse, limit, visit);
  if (!status.ok()) throw Unreadable{status.error()};
}

void StoreCold::scan_keys(Space space, std::string_view from, std::string_view to, size_t limit,
                          FunctionRef<bool(std::string_view)> visit) {
  Status status = store_.scan_keys(static_cast<uint8_t>(space), from, to, limit, visit);
  if (!status.ok()) throw Unreadable{status.error()};
}

}  // namespace pawl
