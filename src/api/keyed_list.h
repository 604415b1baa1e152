// KeyedList: how every list of things that have a key (pools, schemas, cron entries, definitions,
// decisions, …) is answered: one page in the order of the keys, of what the caller may see.
#pragma once

#include <functional>
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

  // Whether the entry of this scoped name is of the caller's tenant and belongs to the page; then
  // it is to be written. Ask once for each, in order.
  bool takes(std::string_view scoped);
  // The same for a key that names no tenant: whoever walks leaves out what the caller may not see.
  bool takes_unscoped(std::string_view key) { return window_.takes(key); }

  // Offers the keys of all documents of a kind, those of the page first, until visit returns false.
  // Reads none of them.
  void each_key(const State& state, DocKind kind, size_t scan_max,
                FunctionRef<bool(std::string_view key)> visit);
  // So many bytes were read for the entry of this key. False: that is enough for one call, the walk
  // ends here, and the cursor leads on.
  bool spend(std::string_view key, size_t bytes);

  json::Writer& writer() { return writer_; }
  std::string_view tenant() const { return tenant_; }  // the caller's; "" sees all

 private:
  json::Writer writer_;
  PageWindow& window_;
  std::string_view tenant_;
  size_t bytes_read_ = 0;
};

// Answers {name: […], "pagination": …}, with the same array under each of the names: clients differ
// in what they look for. walk offers all entries there are.
void answer_keyed_list(App& app, Call&& call, std::vector<std::string_view> names,
                       size_t limit_default, std::function<void(const Frame&, KeyedList&)> walk);

}  // namespace pawl::api
