// The rows of a damaged page, as far as it takes to tell whose byte was changed: SQLite's format of
// b-tree pages, read without trusting any of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

struct RowName {
  uint8_t space = 0;
  std::string key;
};

// The row of table kv in whose value the byte at this offset of the page stands; nothing: it stands
// elsewhere. `page` without the bytes reserved at its end.
std::optional<RowName> row_with_value_at(std::string_view page, uint32_t offset);

// Whether that byte stands in a record, if the page is one of table journal.
bool is_in_record(std::string_view page, uint32_t offset);

// Whether that byte is part of nothing: rows that were removed or moved leave theirs in the page,
// and SQLite never reads them again.
bool is_unused(std::string_view page, uint32_t offset);

// Whether that byte stands in the rest of a row that did not fit into its page.
bool is_in_overflow(std::string_view page, uint32_t offset);

// Whether a row of table kv with so many bytes of key and value may be too large for its page.
bool may_overflow(uint64_t key_and_value_bytes, uint32_t page_bytes);

}  // namespace pawl
