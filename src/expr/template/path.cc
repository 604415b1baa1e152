#include "expr/template/path.h"

#include <algorithm>
#include <vector>

#include "base/read_number.h"

namespace pawl::expr {
namespace {

constexpr size_t kSegmentsMax = 32;
constexpr size_t kNamesShown = 20;

bool in_plain_path(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string listed(std::vector<std::string> names) {
  if (names.empty()) return "nothing";
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamesShown; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamesShown ? text + ", …" : text;
}

std::string keys_of(const Val& value) {
  std::vector<std::string> names;
  if (value.is(Kind::List)) return "indexes below " + std::to_string(value.list_size());
  if (!value.is(Kind::Map))
    return "no fields, it is of type " + std::string(type_name(value.kind()));
  for (size_t i = 0; i < value.map_size() && i < 4 * kNamesShown; ++i) {
    const Val key = value.map_at(i).first;
    if (key.is(Kind::String)) names.emplace_back(key.as_string().substr(0, 60));
  }
  return listed(std::move(names));
}

class Walk {
 public:
  Walk(std::string_view path, Budget& budget) : path_(path), budget_(budget) {
    for (size_t from = 0; from <= path.size();) {
      const size_t dot = std::min(path.find('.', from), path.size());
      starts_.push_back(from);
      ends_.push_back(dot);
      from = dot + 1;
    }
  }

  size_t segments() const { return starts_.size(); }
  std::string_view between(size_t first, size_t last) const {
    return path_.substr(starts_[first], ends_[last - 1] - starts_[first]);
  }

  // Follows the segments from `at` on; records how far it got.
  Val follow(const Val& value, size_t at) {
    if (at == segments()) return value;
    if (!budget_.spend_steps(1)) return Val();
    if (at >= reached_) {
      reached_ = at;
      stuck_ = value;
    }
    if (value.is(Kind::Map)) {
      for (size_t last = segments(); last > at; --last) {
        const Val next = value.map_find(between(at, last));
        if (next.is_absent()) continue;
        if (at == 1) after_step_ = last;
        if (Val found = follow(next, last); !found.is_absent()) return found;
      }
    } else if (value.is(Kind::List)) {
      const std::string_view segment = between(at, at + 1);
      size_t index = 0;
      if (read_number(segment, index) && index < value.list_size()) {
        return follow(value.list_at(index), at + 1);
      }
    }
    // steps.<id>.output: the output is the value of the step itself.
    if (at == after_step_ && between(0, 1) == "steps" && between(at, at + 1) == "output") {
      return follow(value, at + 1);
    }
    return Val();
  }

  size_t reached() const { return reached_; }
  const Val& stuck() const { return stuck_; }

 private:
  std::string_view path_;
  Budget& budget_;
  std::vector<size_t> starts_;
  std::vector<size_t> ends_;
  size_t reached_ = 0;
  Val stuck_;
  size_t after_step_ = 0;  // where the segments behind the step's id begin
};

}  // namespace

PathLookup look_up_path(std::string_view path, const Activation& activation, Budget& budget) {
  PathLookup lookup;
  if (path.empty() || path.front() == '.' || path.back() == '.') return lookup;
  if (std::count(path.begin(), path.end(), '.') >= static_cast<std::ptrdiff_t>(kSegmentsMax))
    return lookup;
  const bool plain = std::all_of(path.begin(), path.end(), in_plain_path);
  Walk walk(path, budget);
  const std::string root(walk.between(0, 1));
  const Val base = activation.find(root);
  if (base.is_absent() || base.is_error()) {
    if (plain && base.is_absent() && walk.segments() > 1)
      lookup.problem = "unknown name '" + root + "'; available: " + listed(activation.names());
    return lookup;
  }
  lookup.value = walk.follow(base, 1);
  if (lookup.value.is_absent() && plain) {
    const size_t at = walk.reached();
    lookup.problem = "'" + std::string(walk.between(0, at)) + "' has no '" +
                     std::string(walk.between(at, at + 1)) +
                     "'; available: " + keys_of(walk.stuck());
  }
  return lookup;
}

}  // namespace pawl::expr
