// JudgedRows: which rows a reader may give out while pages changed by the disk are let through.
//
// An overflow page does not tell whose row it continues, so the VFS lets a changed one through and
// notes it (ReadingRows). The row that was read then is given out if its reader checks the value
// itself, or if no part of it can stand in such a page; otherwise it is Corrupt.
//
// Thread: of the reader, whose statements are reset before it ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_vfs.h"

namespace pawl {

class JudgedRows {
 public:
  // `connection` and `vfs` outlive it.
  JudgedRows(Connection& connection, const SqliteVfs& vfs) : connection_(connection), vfs_(vfs) {}
  ~JudgedRows() { (void)take_changed_page(); }
  JudgedRows& operator=(JudgedRows&&) = delete;

  // Of the row that was just read.
  Status judge(uint8_t space, std::string_view key, std::string_view value);

 private:
  uint64_t take_changed_page();

  ReadingRows rows_;
  Connection& connection_;
  const SqliteVfs& vfs_;
};

}  // namespace pawl
