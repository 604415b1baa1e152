// Uuid: 128 bits, ordered as their text is. Typed ids (JobId, RunId …) wrap it so that two kinds
// cannot be swapped.
//
// Server-made ids are version 7: milliseconds first, so ids sort by creation and rows append at the
// right edge of the store's tree. The last 16 bits name the partition that owns the entity.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

struct Uuid {
  uint64_t hi = 0;
  uint64_t lo = 0;

  auto operator<=>(const Uuid&) const = default;
  bool is_nil() const { return hi == 0 && lo == 0; }
  uint16_t partition() const { return static_cast<uint16_t>(lo & 0xffff); }
  int64_t unix_ms() const { return static_cast<int64_t>(hi >> 16); }
  bool is_v7() const { return ((hi >> 12) & 0xf) == 7 && (lo >> 62) == 2; }

  void append_text(std::string& out) const;  // 8-4-4-4-12, lower case
  std::string text() const;
  void append_bytes(std::string& out) const;  // 16 bytes, big-endian: byte order is id order
  std::string bytes() const;

  // Lower-case hex with dashes only; anything else is no id.
  static std::optional<Uuid> parse(std::string_view text);
  static std::optional<Uuid> from_bytes(std::string_view bytes);
  static Uuid v7(int64_t unix_ms, uint64_t entropy_a, uint64_t entropy_b, uint16_t partition);
};

template <typename Tag>
struct TypedId : Uuid {
  TypedId() = default;
  explicit TypedId(Uuid uuid) : Uuid(uuid) {}
  auto operator<=>(const TypedId&) const = default;
  static std::optional<TypedId> parse(std::string_view text) {
    auto uuid = Uuid::parse(text);
    return uuid ? std::optional<TypedId>(TypedId(*uuid)) : std::nullopt;
  }
};

using JobId = TypedId<struct JobTag>;
using RunId = TypedId<struct RunTag>;

}  // namespace pawl
