// KeyedList: answers every list of entities with a key (pools, schemas, cron entries, definitions,
// decisions, …): one page in key order, of the entries that the caller may see.
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

  // Whether the entry of this scoped name is in the caller's tenant and on the page, and must be
  // written. Call once for each, in order.
  bool takes(std::string_view scoped);
  // The same for a key without a tenant: the walk must leave out entries that the caller may not
  // see.
  bool takes_unscoped(std::string_view key);
  // The entry of the last key that was taken is not written after all.
  void leave_out() { taken_.pop_back(); }

  // Offers the keys of all documents of a kind, those of the page first, until visit returns false.
  // Reads none of them.
  void each_key(const State& state, DocKind kind, size_t scan_max,
                FunctionRef<bool(std::string_view key)> visit);
  // Counts the bytes read for the entry of this key. False: enough for one call; the walk ends
  // here, and the cursor continues.
  bool spend(std::string_view key, size_t bytes);

  json::Writer& writer() { return writer_; }
  std::string_view tenant() const { return tenant_; }               // the caller's; "" sees all
  const std::vector<std::string>& taken() const { return taken_; }  // the keys on the page
  // From now on hashes of all keys are kept, on the page or not.
  void keep_hashes() { keeps_hashes_ = true; }
  const std::string& hashes() const { return hashes_; }  // eight bytes each; "" = too many

 private:
  json::Writer writer_;
  PageWindow& window_;
  std::string_view tenant_;
  size_t bytes_read_ = 0;
  std::vector<std::string> taken_;
  bool keeps_hashes_ = false;
  std::string hashes_;
};

// Answers {name: […], "pagination": …}, with the same array under each of the names: clients expect
// different names. walk offers all entries. A part of a list (part_call.h) also gets the keys of
// its entries, "part_keys", and hashes of all keys, "part_hashes", if it asks for names.
void answer_keyed_list(App& app, Call&& call, std::vector<std::string_view> names,
                       size_t limit_default, std::function<void(const Frame&, KeyedList&)> walk);

}  // namespace pawl::api
