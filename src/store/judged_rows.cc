#include "store/judged_rows.h"

#include <fmt/format.h>

#include "store/page_rows.h"

namespace pawl {

// In the cache of the connection, other rows would be read from it unjudged.
uint64_t JudgedRows::take_changed_page() {
  const uint64_t page = rows_.take_changed_page();
  if (page != 0) connection_.release_pages();
  return page;
}

Status JudgedRows::judge(uint8_t space, std::string_view key, std::string_view value) {
  const uint64_t page = take_changed_page();
  if (page == 0 || vfs_.is_self_checked(space, key)) return ok_status();
  if (!may_overflow(key.size() + value.size(), vfs_.form().page_bytes)) return ok_status();
  return Error{
      ErrorCode::Corrupt,
      fmt::format("reading a row: the database is damaged (page {} of pawl.db is damaged); "
                  "restore a backup",
                  page)};
}

}  // namespace pawl
