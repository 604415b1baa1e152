#include "store/page_rows.h"

#include <array>

namespace pawl {
namespace {

constexpr char kIndexLeaf = 10, kTableLeaf = 13;
constexpr size_t kPageBytesMin = 500;
constexpr uint32_t kLeafHeaderBytes = 8;
constexpr uint64_t kBlobFrom = 12;  // serial types from here on: even = bytes, odd = text

// Reads forward in a page; every answer past its end is 0, and `ok` says so.
struct PageReader {
  std::string_view page;
  uint64_t at = 0;
  bool ok = true;

  uint8_t byte() {
    ok = ok && at < page.size();
    return ok ? static_cast<uint8_t>(page[at++]) : 0;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      const uint8_t next = byte();
      value = value << 7 | (next & 0x7f);
      if ((next & 0x80) == 0) return value;
    }
    return value << 8 | byte();
  }
  uint32_t big_endian_16() {
    const uint32_t high = byte();
    return high << 8 | byte();
  }
};

// The part of a row's bytes that stands in its leaf; the rest is in overflow pages.
uint64_t local_bytes(uint64_t bytes, uint64_t usable, char leaf) {
  const uint64_t most = leaf == kTableLeaf ? usable - 35 : (usable - 12) * 64 / 255 - 23;
  if (bytes <= most) return bytes;
  const uint64_t least = (usable - 12) * 32 / 255 - 23;
  const uint64_t kept = least + (bytes - least) % (usable - 4);
  return kept <= most ? kept : least;
}

struct Column {
  uint64_t type = 0, begin = 0, end = 0;
  bool is_blob() const { return type >= kBlobFrom && type % 2 == 0; }
  bool holds(uint64_t offset) const { return offset >= begin && offset < end; }
};

uint64_t bytes_of_type(uint64_t type) {
  constexpr uint64_t kNumbers[kBlobFrom] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < kBlobFrom ? kNumbers[type] : (type - kBlobFrom) / 2;
}

// The three columns of the row that begins here, if `offset` stands in it.
std::optional<std::array<Column, 3>> columns_at(std::string_view page, uint64_t begin,
                                                uint32_t offset) {
  PageReader in{page, begin};
  const uint64_t bytes = in.varint();
  if (page[0] == kTableLeaf) in.varint();  // the row's number
  const uint64_t body = in.at, local_end = body + local_bytes(bytes, page.size(), page[0]);
  if (!in.ok || bytes > UINT32_MAX || local_end > page.size()) return std::nullopt;
  if (offset < body || offset >= local_end) return std::nullopt;
  const uint64_t values = body + in.varint();
  std::array<Column, 3> columns;
  uint64_t at = values;
  for (Column& column : columns) {
    column.type = in.varint();
    const uint64_t size = bytes_of_type(column.type);
    if (size > bytes) return std::nullopt;
    column.begin = at;
    column.end = at += size;
  }
  // The lengths add up, unless the changed byte is among them.
  if (!in.ok || in.at != values || at != body + bytes) return std::nullopt;
  return columns;
}

std::optional<std::array<Column, 3>> row_around(std::string_view page, uint32_t offset, char leaf) {
  if (page.size() < kPageBytesMin || page[0] != leaf) return std::nullopt;
  PageReader head{page, 3};
  const uint32_t rows = head.big_endian_16();
  PageReader pointers{page, kLeafHeaderBytes};
  for (uint32_t i = 0; i < rows && pointers.ok; ++i)
    if (auto columns = columns_at(page, pointers.big_endian_16(), offset)) return columns;
  return std::nullopt;
}

}  // namespace

// Columns: space, key, value.
std::optional<RowName> row_with_value_at(std::string_view page, uint32_t offset) {
  const auto row = row_around(page, offset, kIndexLeaf);
  if (!row) return std::nullopt;
  const auto& [space, key, value] = *row;
  if (!key.is_blob() || !value.is_blob() || !value.holds(offset)) return std::nullopt;
  if (key.end > page.size()) return std::nullopt;
  RowName name{0, std::string(page.substr(key.begin, key.end - key.begin))};
  if (space.type == 1) {
    name.space = static_cast<uint8_t>(page[space.begin]);
  } else if (space.type == 9) {  // 1, which needs no byte
    name.space = 1;
  } else {
    return std::nullopt;
  }
  return name;
}

// Columns: number (it is the row's), record, unpacked.
bool is_in_record(std::string_view page, uint32_t offset) {
  const auto row = row_around(page, offset, kTableLeaf);
  return row && (*row)[0].type == 0 && (*row)[1].is_blob() && (*row)[1].holds(offset);
}

}  // namespace pawl
