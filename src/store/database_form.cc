#include "store/database_form.h"

#include <array>
#include <string_view>

#include "store/page_sum.h"
#include "store/raw_file.h"
#include "store/sqlite_connection.h"

namespace pawl {
namespace {

constexpr std::string_view kMagic{"SQLite format 3", 16};
constexpr size_t kPageSizeAt = 16;
constexpr size_t kReservedAt = 20;

Error damaged(const std::string& path) {
  return Error{ErrorCode::Corrupt,
               "the header of " + path + " is damaged, or another program's; restore a backup"};
}

}  // namespace

Result<std::optional<DatabaseForm>> read_form(sqlite3_vfs* vfs, const std::string& path) {
  const auto failed = [&](int code) {
    return sqlite_error(code, "reading the header of " + path, sqlite3_errstr(code));
  };
  int there = 0;
  int code = vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &there);
  if (code != SQLITE_OK) return failed(code);
  if (there == 0) return std::optional<DatabaseForm>{};
  RawFile file(vfs, path, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB);
  std::array<char, 100> head{};
  code = file.code();
  if (code == SQLITE_OK) code = file.read(head.data(), head.size(), 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return failed(code);
  // SQLite itself rejects files that are no database; the first page may also be in a rollback
  // journal.
  if (std::string_view(head.data(), kMagic.size()) != kMagic) return std::optional<DatabaseForm>{};

  const auto byte = [&](size_t at) { return uint32_t{static_cast<uint8_t>(head[at])}; };
  const uint32_t stored = byte(kPageSizeAt) << 8 | byte(kPageSizeAt + 1);
  DatabaseForm form{.page_bytes = stored == 1 ? 65536 : stored,
                    .sums = byte(kReservedAt) == kPageSumBytes};
  if (!is_page_size(form.page_bytes) || (!form.sums && byte(kReservedAt) != 0))
    return damaged(path);
  if (!form.sums) {  // unless it only says so
    std::array<char, kPageSumBytes> tail{};
    code = file.read(tail.data(), tail.size(), form.page_bytes - kPageSumBytes);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return failed(code);
    if (has_page_tag({tail.data(), tail.size()})) return damaged(path);
  }
  return std::optional<DatabaseForm>{form};
}

}  // namespace pawl
