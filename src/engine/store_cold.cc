#include "engine/store_cold.h"

namespace pawl {

std::optional<std::string> StoreCold::get(Space space, std::string_view key) {
  auto value = store_.get(static_cast<uint8_t>(space), key);
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
