// Paging: which part of a list a call wants, and how the reply says where the next part begins.
//
// Clients ask by cursor (exact, whatever changes meanwhile), by offset, or by page number; a limit
// above kPageLimitMax is lowered to it, anything that is no number is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/router.h"
#include "base/json_writer.h"
#include "base/result.h"

namespace pawl::api {

constexpr size_t kPageLimitUsual = 50;
constexpr size_t kPageLimitMax = 1000;
constexpr size_t kPageOffsetMax = 1'000'000;

struct Page {
  size_t limit = kPageLimitUsual;
  size_t offset = 0;  // of offset=, or of page=
  size_t number = 1;
  std::string cursor;  // "" = from the start
};

Result<Page> parse_page(const Call& call, size_t limit_default = kPageLimitUsual);

struct PageEnd {
  std::optional<uint64_t> total;
  bool total_is_estimate = false;
  std::string next_cursor;  // "" = this was the last part
};

// "pagination": {…} and, if there is more, "next_cursor" beside it.
void write_pagination(json::Writer& w, const Page& page, const PageEnd& end);

// Picks one page of a list that is walked in key order. Its cursor is the last key shown.
class PageWindow {
 public:
  // InvalidRequest if the cursor is none of ours.
  static Result<PageWindow> open(const Page& page);

  // Whether the entry with this key belongs to the page. Ask once for each, in order.
  bool takes(std::string_view key);
  PageEnd end() const;

 private:
  PageWindow(const Page& page, std::string after) : page_(page), after_(std::move(after)) {}

  Page page_;
  std::string after_;
  std::string last_;
  uint64_t total_ = 0;
  size_t skipped_ = 0;
  size_t taken_ = 0;
  bool more_ = false;
};

}  // namespace pawl::api
