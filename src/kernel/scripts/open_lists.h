// The open lists and effects of a run, in the order in which they were opened. A run may have ten
// thousand of each, and every end removes one, so both are found by name in logarithmic time. In a
// row they are stored as lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"

namespace pawl {

// Goes through the values of a map.
template <class Map>
class ValueIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename Map::mapped_type;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  ValueIterator() = default;
  explicit ValueIterator(typename Map::const_iterator at) : at_(at) {}
  reference operator*() const { return at_->second; }
  pointer operator->() const { return &at_->second; }
  ValueIterator& operator++() { return ++at_, *this; }
  ValueIterator operator++(int) { return ValueIterator(at_++); }
  bool operator==(const ValueIterator& other) const { return at_ == other.at_; }

 private:
  typename Map::const_iterator at_;
};

class OpenLists {
  using ByOrder = std::map<uint64_t, std::string>;

 public:
  using Element = std::string;

  void add(std::string path) {
    auto [at, is_new] = orders_.emplace(path, next_);
    if (is_new) by_order_.emplace(next_++, std::move(path));
  }
  void erase(std::string_view path) {
    auto at = orders_.find(path);
    if (at == orders_.end()) return;
    by_order_.erase(at->second);
    orders_.erase(at);
  }
  void clear() {
    by_order_.clear();
    orders_.clear();
  }

  bool empty() const { return orders_.empty(); }
  size_t size() const { return orders_.size(); }
  ValueIterator<ByOrder> begin() const { return ValueIterator<ByOrder>(by_order_.begin()); }
  ValueIterator<ByOrder> end() const { return ValueIterator<ByOrder>(by_order_.end()); }
  std::vector<std::string> copy() const { return {begin(), end()}; }

  // Those with this prefix, in the order in which they were opened.
  std::vector<std::string> with_prefix(std::string_view prefix) const {
    std::map<uint64_t, std::string_view> found;
    for (auto at = orders_.lower_bound(prefix);
         at != orders_.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at)
      found.emplace(at->second, at->first);
    std::vector<std::string> paths;
    paths.reserve(found.size());
    for (const auto& [order, path] : found) paths.emplace_back(path);
    return paths;
  }

 private:
  uint64_t next_ = 0;
  ByOrder by_order_;
  std::map<std::string, uint64_t, std::less<>> orders_;
};

// An unanswered effect and the step that waits for it.
struct OpenEffect {
  uint32_t effect = 0;
  std::string step;

  static void fields(auto& self, auto&& visit) {
    visit(1, "effect", self.effect);
    visit(2, "step", self.step);
  }
};

// Effects are numbered in the order of their requests.
class OpenEffects {
  using ByNumber = std::map<uint32_t, OpenEffect>;

 public:
  using Element = OpenEffect;

  void add(OpenEffect open) {
    uint32_t number = open.effect;
    by_number_.insert_or_assign(number, std::move(open));
  }
  void erase(uint32_t effect) { by_number_.erase(effect); }
  void clear() { by_number_.clear(); }

  bool empty() const { return by_number_.empty(); }
  size_t size() const { return by_number_.size(); }
  ValueIterator<ByNumber> begin() const { return ValueIterator<ByNumber>(by_number_.begin()); }
  ValueIterator<ByNumber> end() const { return ValueIterator<ByNumber>(by_number_.end()); }
  const OpenEffect* find(uint32_t effect) const {
    auto at = by_number_.find(effect);
    return at == by_number_.end() ? nullptr : &at->second;
  }

 private:
  ByNumber by_number_;
};

}  // namespace pawl
