// What the functions that carry out statements share: the values of a call, and cells of a result.
// Thread: one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/database/statement.h"

namespace pawl::sim::statements {

using Cell = std::optional<std::string>;
using Cells = std::vector<Cell>;

inline std::string number_cell(uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

inline StatementResult refused(std::string state, std::string message) {
  return {.sql_state = std::move(state), .message = std::move(message)};
}
inline StatementResult no_table(const std::string& name) {
  return refused("42P01", "relation \"" + name + "\" does not exist");
}
inline StatementResult held_row() {
  return refused("55P03", "canceling statement due to lock timeout");
}
inline StatementResult one_row(Cells cells) { return {.rows = {std::move(cells)}}; }

// The values of a statement, as they are sent.
struct Values {
  std::span<const std::string> list;

  const std::string& bytes(size_t i) const { return list[i]; }
  uint64_t number(size_t i) const { return read(list[i]); }
  static uint64_t read(std::string_view bytes) {
    uint64_t value = 0;
    for (char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  std::vector<std::string> array(size_t i) const {
    std::string_view rest = list[i];
    auto next = [&](size_t size) {
      const std::string_view part = rest.substr(0, size);
      rest.remove_prefix(size);
      return part;
    };
    std::vector<std::string> all;
    const bool empty = read(next(4)) == 0;
    next(8);
    if (empty) return all;
    for (uint64_t left = read(next(8)) >> 32; left > 0; --left)
      all.emplace_back(next(read(next(4))));
    return all;
  }
};

// A statement that is carried out.
struct Call {
  StatementHost& host;
  Values values;
  std::vector<uint32_t> numbers;  // of the text
  std::string_view sql;

  uint16_t partition() const { return static_cast<uint16_t>(values.number(0)); }
  const OwnerRow* owner_row() const {
    const auto found = host.tables().partitions.find(partition());
    return found == host.tables().partitions.end() ? nullptr : &found->second;
  }
};

}  // namespace pawl::sim::statements
