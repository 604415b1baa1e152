#include "store/page_rows.h"

#include <array>

#include "store/page_sum.h"

namespace pawl {
namespace {

// A table without rowid is an index: its inner pages hold rows too. Those of a table with rowid
// hold numbers only.
constexpr char kIndexInner = 2, kTableInner = 5, kIndexLeaf = 10, kTableLeaf = 13;
constexpr size_t kPageBytesMin = 500;
constexpr uint32_t kHeaderBytes = 8;
constexpr uint32_t kChildBytes = 4;  // of an inner page: in its header, and before each row
constexpr uint32_t kFreeBlockHeaderBytes = 4;
constexpr uint32_t kOverflowPointerBytes = 4;
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

bool is_index(std::string_view page) { return page[0] == kIndexLeaf || page[0] == kIndexInner; }
bool is_inner(std::string_view page) { return page[0] == kIndexInner || page[0] == kTableInner; }

uint32_t pointers_begin(std::string_view page) {
  return kHeaderBytes + (is_inner(page) ? kChildBytes : 0);
}

// The part of a row's bytes that stands in its page; the rest is in overflow pages.
uint64_t local_bytes(uint64_t bytes, uint64_t usable, char kind) {
  const uint64_t most = kind == kTableLeaf ? usable - 35 : (usable - 12) * 64 / 255 - 23;
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
  PageReader in{page, begin + (is_inner(page) ? kChildBytes : 0)};
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

// The end of the row that begins here; nothing: it does not lie in the page.
std::optional<uint64_t> end_of_row(std::string_view page, uint64_t begin) {
  PageReader in{page, begin + (is_inner(page) ? kChildBytes : 0)};
  const uint64_t bytes = in.varint();
  if (page[0] == kTableInner) return in.ok ? std::optional(in.at) : std::nullopt;
  if (page[0] == kTableLeaf) in.varint();  // the row's number
  if (!in.ok || bytes > UINT32_MAX) return std::nullopt;
  const uint64_t local = local_bytes(bytes, page.size(), page[0]);
  const uint64_t end = in.at + local + (local < bytes ? kOverflowPointerBytes : 0);
  if (end > page.size()) return std::nullopt;
  return end;
}

std::optional<std::array<Column, 3>> row_around(std::string_view page, uint32_t offset) {
  PageReader head{page, 3};
  const uint32_t rows = head.big_endian_16();
  PageReader pointers{page, pointers_begin(page)};
  for (uint32_t i = 0; i < rows && pointers.ok; ++i)
    if (auto columns = columns_at(page, pointers.big_endian_16(), offset)) return columns;
  return std::nullopt;
}

}  // namespace

// Columns: space, key, value.
std::optional<RowName> row_with_value_at(std::string_view page, uint32_t offset) {
  if (page.size() < kPageBytesMin || !is_index(page)) return std::nullopt;
  const auto row = row_around(page, offset);
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
  if (page.size() < kPageBytesMin || page[0] != kTableLeaf) return false;
  const auto row = row_around(page, offset);
  return row && (*row)[0].type == 0 && (*row)[1].is_blob() && (*row)[1].holds(offset);
}

// One byte is another than was written, so all that is read here is as it was, or the byte stands
// in what is read and counts as used.
bool is_unused(std::string_view page, uint32_t offset) {
  if (page.size() < kPageBytesMin) return false;
  if (!is_index(page) && page[0] != kTableLeaf && page[0] != kTableInner) return false;
  PageReader head{page, 1};
  uint32_t free_block = head.big_endian_16();
  const uint32_t rows = head.big_endian_16();
  if (offset >= page.size() || offset < pointers_begin(page) + 2 * rows) return false;
  PageReader pointers{page, pointers_begin(page)};
  for (uint32_t i = 0; i < rows; ++i) {
    const uint32_t begin = pointers.big_endian_16();
    const auto end = end_of_row(page, begin);
    if (!end || (offset >= begin && offset < *end)) return false;
  }
  // Free blocks are linked, each to one further on.
  while (free_block != 0) {
    if (offset >= free_block && offset < free_block + kFreeBlockHeaderBytes) return false;
    PageReader block{page, free_block};
    const uint32_t next = block.big_endian_16();
    if (!block.ok || (next != 0 && next <= free_block)) return false;
    free_block = next;
  }
  return true;
}

// It begins with the number of the next page; no tree has a page of type 0, and no file of ours so
// many pages.
bool is_in_overflow(std::string_view page, uint32_t offset) {
  return page.size() >= kPageBytesMin && page[0] == 0 && offset >= kOverflowPointerBytes;
}

bool may_overflow(uint64_t key_and_value_bytes, uint32_t page_bytes) {
  constexpr uint64_t kRowHeaderBytesMax = 16;
  const uint64_t bytes = key_and_value_bytes + kRowHeaderBytesMax;
  return local_bytes(bytes, page_bytes - kPageSumBytes, kIndexLeaf) < bytes;
}

}  // namespace pawl
