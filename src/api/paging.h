// Paging: the requested part of a list, and the cursor of the next part in the reply.
//
// Clients give a cursor (exact even if the list changes), an offset, or a page number; a limit
// above kPageLimitMax is lowered to it, anything but a number is refused.
//
// A page is bounded by its bytes too: entries are rendered on the engine thread, and one of them
// may have megabytes. Such a page ends early, with a cursor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/router.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "wire/reply_room.h"

namespace pawl::api {

constexpr size_t kPageLimitUsual = 50;
constexpr size_t kPageLimitMax = 1000;
constexpr size_t kPageOffsetMax = 1'000'000;
constexpr size_t kPageReadBytesMax = 32u << 20;  // documents that one call reads to fill a page

struct Page {
  size_t limit = kPageLimitUsual;
  size_t offset = 0;  // of offset=, or of page=
  size_t number = 1;
  std::string cursor;  // "" = from the start
};

// Of a part of a list (part_call.h), the limit may be larger.
Result<Page> parse_page(const Call& call, size_t limit_default = kPageLimitUsual);

// Where a list continues: behind the key that its cursor names. Nothing if it is none.
std::optional<std::string> key_of_cursor(std::string_view cursor);
std::string cursor_of_key(std::string_view key);

// Tracks how full a page is, by entries and by their bytes in `out`.
class PageFill {
 public:
  PageFill(const std::string& out, size_t limit) : out_(out), begun_(out.size()), limit_(limit) {}

  bool full() const {
    return taken_ >= limit_ || (taken_ > 0 && out_.size() - begun_ >= kPageBytesMax);
  }
  void take() { ++taken_; }  // before the entry is written
  size_t taken() const { return taken_; }

 private:
  const std::string& out_;
  const size_t begun_;
  const size_t limit_;
  size_t taken_ = 0;
};

struct PageEnd {
  std::optional<uint64_t> total;
  bool total_is_estimate = false;
  std::string next_cursor;  // "" = this was the last part
};

// "pagination": {…} and, if there is more, "next_cursor" beside it.
void write_pagination(json::Writer& w, const Page& page, const PageEnd& end);

// Picks one page of a list that is walked in key order, written to `out`. Its cursor is the last
// key shown.
class PageWindow {
 public:
  // InvalidRequest if the cursor is invalid. `out` outlives it.
  static Result<PageWindow> open(const Page& page, const std::string& out);

  // Whether the entry with this key belongs to the page. Call once for each, in order; keys up to
  // after() may come last, since they are only counted.
  bool takes(std::string_view key);
  const std::string& after() const { return after_; }
  // Ends the walk at this key although there are more: the next page begins after it, and the total
  // is unknown.
  void cut(std::string_view key);
  PageEnd end() const;

 private:
  PageWindow(const Page& page, std::string after, const std::string& out)
      : page_(page), after_(std::move(after)), fill_(out, page.limit) {}

  Page page_;
  std::string after_;
  PageFill fill_;
  std::string last_;
  uint64_t total_ = 0;
  size_t skipped_ = 0;
  bool more_ = false;
  bool cut_ = false;
};

}  // namespace pawl::api
