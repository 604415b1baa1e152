// Storage of values that are too large for the tree of all rows.
//
// SQLite compares whole records when it looks for a key in a table without rowid: a lookup beside
// rows of many megabytes would read them all. So the value column of such a row holds a number, and
// the bytes are stored under it in a table that is searched by number alone:
//
//   large(number INTEGER PRIMARY KEY, bytes BLOB, unpacked INTEGER)     packing.h
//   large_spaces(space INTEGER PRIMARY KEY)                             the spaces that ever held
//   one
//
// Only writes to those spaces check for a value to replace.
#pragma once

#include <bitset>

#include "store/packing.h"
#include "store/sqlite_connection.h"

namespace pawl {

inline constexpr size_t kLargeValueBytes = 16u << 10;

// Writes large values inside the caller's transaction.
class LargeWriter {
 public:
  LargeWriter() = default;
  static Result<LargeWriter> open(Connection& db, uint64_t packed_bytes_min);

  // Removes the stored bytes of a value that is about to be replaced or removed. Returns SQLITE_OK
  // or an error code, like all functions here.
  int forget(uint64_t space, std::string_view key);
  int keep(uint64_t space, std::string_view bytes, uint64_t& number);

 private:
  Statement find_, remove_, insert_, note_space_;
  sqlite3* db_ = nullptr;
  uint64_t packed_bytes_min_ = 0;
  std::bitset<256> spaces_;
};

// Binds the bytes and, after them, their unpacked size or null. Both must live until the statement
// is reset.
void bind_packed(Statement& statement, int index, std::string_view bytes, uint64_t packed_bytes_min,
                 PackingRoom& room);
// The bytes in `column`, packed if the next column says so.
Packed packed_in(const Statement& row, int column);

// The value in `column` of `row`, wherever its bytes are. `large` reads them (kReadLarge); it must
// be reset before it is used again, and the view lives until then, or until the room is used again.
inline constexpr std::string_view kReadLarge =
    "SELECT bytes, unpacked FROM large WHERE number = ?1";
Result<std::string_view> whole_value(const Connection& db, const Statement& row, int column,
                                     Statement& large, PackingRoom& room);

}  // namespace pawl
