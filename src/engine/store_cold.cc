#include "engine/store_cold.h"

namespace pawl {

std::optional<std::string> StoreCold::get(Space space, std::string_view key) {
  auto value = store_.get(static_cast<uint8_t>(space), key);
  if (value.ok()) return std::move(value).value();
  if (!error_) error_ = value.error();
  return std::nullopt;
}

void StoreCold::scan(Space space, std::string_view from, std::string_view to, bool reverse,
                     size_t limit, FunctionRef<bool(std::string_view, std::string_view)> visit) {
  Status status = store_.scan(static_cast<uint8_t>(space), from, to, reverse, limit, visit);
  if (!status.ok() && !error_) error_ = status.error();
}

}  // namespace pawl
