#include "api/paging.h"

#include <algorithm>

#include "api/part_call.h"
#include "base/hash.h"
#include "base/read_number.h"

namespace pawl::api {
namespace {

constexpr size_t kCursorBytesMax = 2048;

Result<size_t> number(const Call& call, std::string_view name, size_t fallback, size_t least) {
  std::string text = call.query(name);
  if (text.empty()) return fallback;
  size_t value = 0;
  if (read_number(text, value) && value >= least) return value;
  return Error{ErrorCode::InvalidRequest,
               std::string(name) + " must be a whole number from " + std::to_string(least)};
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Result<Page> parse_page(const Call& call, size_t limit_default) {
  Page page;
  PAWL_TRY(size_t per_page, number(call, "per_page", limit_default, 1));
  PAWL_TRY(page.limit, number(call, "limit", per_page, 1));
  page.limit = std::min(page.limit, kPageLimitMax);
  if (size_t asked = 0; read_number(call.request.header(kPartLimitHeader), asked))
    page.limit = std::clamp<size_t>(asked, page.limit, kPartLimitMax);
  PAWL_TRY(page.offset, number(call, "offset", 0, 0));
  PAWL_TRY(page.number, number(call, "page", page.offset / page.limit + 1, 1));
  if (page.number > kPageOffsetMax || page.offset > kPageOffsetMax)
    return Error{ErrorCode::InvalidRequest, "too far into the list; use the cursor instead"};
  if (page.offset == 0) page.offset = (page.number - 1) * page.limit;
  page.cursor = call.query("cursor");
  if (page.cursor.size() > kCursorBytesMax)
    return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  if (!page.cursor.empty()) page.offset = 0;
  return page;
}

std::optional<std::string> key_of_cursor(std::string_view cursor) {
  if (cursor.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t at = 0; at < cursor.size(); at += 2) {
    int high = nibble(cursor[at]);
    int low = nibble(cursor[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

std::string cursor_of_key(std::string_view key) { return to_hex(key); }

void write_pagination(json::Writer& w, const Page& page, const PageEnd& end) {
  w.key("pagination").begin_object();
  if (end.total) w.field_int("total", *end.total);
  if (end.total_is_estimate) w.field_bool("total_is_estimate", true);
  w.field_int("page", page.number);
  w.field_int("per_page", page.limit);
  w.field_int("limit", page.limit);
  w.field_int("offset", page.offset);
  w.field_bool("has_more", !end.next_cursor.empty());
  if (!end.next_cursor.empty()) w.field("next_cursor", end.next_cursor);
  w.end_object();
  if (!end.next_cursor.empty()) w.field("next_cursor", end.next_cursor);
}

Result<PageWindow> PageWindow::open(const Page& page, const std::string& out) {
  auto after = key_of_cursor(page.cursor);
  if (!after) return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  return PageWindow(page, std::move(*after), out);
}

bool PageWindow::takes(std::string_view key) {
  ++total_;
  if (!after_.empty() && key <= after_) return false;
  if (skipped_ < page_.offset) return ++skipped_, false;
  if (more_ || fill_.full()) return more_ = true, false;
  fill_.take();
  last_ = key;
  return true;
}

void PageWindow::cut(std::string_view key) {
  cut_ = true;
  if (more_ || key <= after_) return;
  more_ = true;
  last_ = key;
}

PageEnd PageWindow::end() const {
  PageEnd end{.total = std::nullopt, .next_cursor = more_ ? cursor_of_key(last_) : ""};
  if (!cut_) end.total = total_;
  return end;
}

}  // namespace pawl::api
