// KeyedList: how every list of named things (pools, schemas, rate limits, cron entries) is
// answered: one page in the order of their names, of the caller's tenant only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/app.h"
#include "api/paging.h"

namespace pawl::api {

class KeyedList {
 public:
  KeyedList(std::string& items, PageWindow& window, std::string_view tenant)
      : writer_(items), window_(window), tenant_(tenant) {}

  // Whether the entry of this scoped name belongs to the page; then it is to be written. Ask once
  // for each, in order.
  bool takes(std::string_view scoped);
  json::Writer& writer() { return writer_; }

 private:
  json::Writer writer_;
  PageWindow& window_;
  std::string_view tenant_;
};

// Answers {name: […], "pagination": …}, with the same array under each of the names: clients differ
// in what they look for. walk offers all entries there are.
void answer_keyed_list(App& app, Call&& call, std::vector<std::string_view> names,
                       size_t limit_default, void (*walk)(const Frame&, KeyedList&));

}  // namespace pawl::api
