#include "worlds/record_view.h"

#include <limits>
#include <utility>

namespace pawl::worlds {

RecordView::RecordView(std::string_view bytes) {
  if (auto item = cbor::read(bytes); item.ok()) item_ = std::move(item).value();
}

bool RecordView::is_null(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return item == nullptr || item->is_null();
}

std::string_view RecordView::text(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return item != nullptr && item->is_text() ? item->string : std::string_view();
}

std::string_view RecordView::bytes(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return item != nullptr && item->is_bytes() ? item->string : std::string_view();
}

std::optional<std::string> RecordView::maybe_bytes(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  if (item == nullptr || !item->is_bytes()) return std::nullopt;
  return std::string(item->string);
}

std::optional<std::string> RecordView::maybe_text(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  if (item == nullptr || !item->is_text()) return std::nullopt;
  return std::string(item->string);
}

std::optional<int64_t> RecordView::maybe_int(std::string_view name) const {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const cbor::Item* item = item_.find(name);
  if (item == nullptr || item->number > kMax) return std::nullopt;
  if (item->kind == cbor::Kind::Nat) return static_cast<int64_t>(item->number);
  if (item->kind == cbor::Kind::Negative) return -1 - static_cast<int64_t>(item->number);
  return std::nullopt;
}

uint64_t RecordView::nat(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return item != nullptr && item->kind == cbor::Kind::Nat ? item->number : 0;
}

bool RecordView::boolean(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return item != nullptr && item->kind == cbor::Kind::True;
}

RecordView RecordView::member(std::string_view name) const {
  const cbor::Item* item = item_.find(name);
  return RecordView(item != nullptr ? *item : cbor::Item());
}

std::optional<Cause> RecordView::cause() const {
  const cbor::Item* item = item_.find("cause");
  if (item == nullptr || !item->is_array() || item->items.size() != 2) return std::nullopt;
  const cbor::Item& n = item->items[1];
  if (item->items[0].kind != cbor::Kind::Nat || n.kind != cbor::Kind::Nat ||
      n.number > std::numeric_limits<uint32_t>::max())
    return std::nullopt;
  return Cause{item->items[0].number, static_cast<uint32_t>(n.number)};
}

}  // namespace pawl::worlds
