// MergeList: the pages of all partitions become one page of the whole list.
//
// Each partition gives its first entries behind the cursor, in the list's order, and tells where it
// stopped looking if it did not come to the list's end. Up to the first such place the entries of
// all are complete; there the page ends at the latest. Its cursor goes on from its last entry, or
// from that place, in all partitions. So every entry is shown once, whatever the limit, and
// whatever comes and goes meanwhile.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/paging.h"
#include "base/result.h"
#include "front/merge_values.h"
#include "http/answer_sink.h"

namespace pawl::front {

enum class ListOrder : uint8_t {
  NewestFirst,  // by id, downwards; the cursor is the id of the first entry not shown
  OldestFirst,  // by id, upwards; the same cursor
  ByKey,        // by a text; the cursor is the last one shown (api::PageWindow)
};

// How the page's end is told.
enum class ListEnd : uint8_t {
  Pagination,  // "pagination" and "next_cursor"
  WithTotal,   // and "total" beside it
  Workflows,   // and "next_cursor": null at the end of the list
  CursorOnly,  // "next_cursor"
};

struct ListRule {
  std::vector<std::string_view> names;  // under each of them stands the same array
  ListOrder order = ListOrder::ByKey;
  ListEnd end = ListEnd::Pagination;
  // How the entries of one key become one; null: a key is in one partition only.
  const Recipe* joins = nullptr;
  size_t limit_usual = api::kPageLimitUsual;
  // Puts the last touch to an entry that may have been joined; null: none is needed. `parts` are
  // the numbers of the partitions that know it, in the order of `from`.
  struct Joined {
    std::string_view key;
    const std::vector<uint16_t>& parts;
    const std::vector<Value::Object>& from;
  };
  void (*finish)(Value::Object& entry, const Joined& joined, const void* about) = nullptr;
};

// Changes the request so that the answers can be merged into the page it asks for. InvalidRequest
// if that lies too far into the list.
Status ask_for_list(const ListRule& rule, const api::Page& page, http::RequestParts& request);

// `bodies`: the answers, in the order of the partitions, each with status 200. `about` is what
// rule.finish gets. An answer that cannot be read is an error.
Result<std::string> merge_list(const ListRule& rule, const api::Page& page,
                               const std::vector<std::string_view>& bodies, const void* about);

}  // namespace pawl::front
