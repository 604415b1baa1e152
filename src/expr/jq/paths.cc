// Values by path: reading, setting and deleting.
#include <algorithm>
#include <cmath>

#include "expr/jq/machine.h"
#include "expr/text.h"

namespace pawl::expr::jq {
namespace {

bool cannot_index(const Datum& of, const Datum& key, Budget& budget, std::string& error) {
  error = "Cannot index " + std::string(type_name(of)) + " with " +
          (key.is_string() ? json_text(key, budget).substr(0, 80) : std::string(type_name(key)));
  return false;
}

// Where a bound of a slice lies, between 0 and size.
size_t bound(const Datum& at, size_t size, bool up, size_t otherwise) {
  if (!at.is_number()) return otherwise;
  double place = up ? std::ceil(at.as_double()) : std::floor(at.as_double());
  if (std::isnan(place)) return otherwise;
  if (place < 0) place += static_cast<double>(size);
  return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(size)));
}

struct Bounds {
  size_t from = 0;
  size_t to = 0;
};

bool slice_bounds(const Datum& from, const Datum& to, size_t size, Bounds& out,
                  std::string& error) {
  if ((!from.is_null() && !from.is_number()) || (!to.is_null() && !to.is_number())) {
    error = "Start and end indices of an array slice must be numbers";
    return false;
  }
  out.from = bound(from, size, false, 0);
  out.to = std::max(out.from, bound(to, size, true, size));
  return true;
}

Datum member_or_null(const Datum& of, std::string_view key) {
  const Datum* const found = of.as_object().find(key);
  return found == nullptr ? Datum() : *found;
}

// Every place where the part occurs, overlaps included.
bool indices_of(const Datum::Array& in, const Datum::Array& part, Datum& out, Budget& budget) {
  Datum::Array found;
  for (size_t i = 0; !part.empty() && i + part.size() <= in.size(); ++i) {
    size_t same = 0;
    while (same < part.size() && compare(in[i + same], part[same], budget) == 0 &&
           budget.exceeded() == Budget::Exceeded::None)
      ++same;
    if (budget.exceeded() != Budget::Exceeded::None) return false;
    if (same == part.size()) found.push_back(Datum::integer(static_cast<int64_t>(i)));
  }
  out = part.empty() ? Datum() : Datum::array(std::move(found), budget);
  return true;
}

bool set_slice(Datum& root, const Datum& key, const Datum::Array& path, size_t at, Datum value,
               Budget& budget, std::string& error);

bool set_at(Datum& root, const Datum::Array& path, size_t at, Datum value, Budget& budget,
            std::string& error) {
  if (at == path.size()) {
    root = std::move(value);
    return true;
  }
  const Datum& key = path[at];
  if (key.is_string() && (root.is_object() || root.is_null())) {
    if (root.is_null()) root = Datum::object({}, budget);
    if (!root.is_object() || !budget.spend_bytes(sizeof(Datum::Member))) return false;
    Datum child;
    Datum::Object& members = root.edit_object(budget);
    if (Datum* const old = members.find(key.as_string()); old != nullptr) child = std::move(*old);
    const bool ok = set_at(child, path, at + 1, std::move(value), budget, error);
    root.edit_object(budget).set(key.as_text(), child);
    root.deepen(child, budget);
    return ok;
  }
  if (key.is_number() && (root.is_array() || root.is_null())) {
    if (root.is_null()) root = Datum::array({}, budget);
    if (!root.is_array()) return false;
    const size_t size = root.as_array().size();
    double place = std::floor(key.as_double());
    if (place < 0) place += static_cast<double>(size);
    if (!(place >= 0)) {
      error = "Out of bounds negative array index";
      return false;
    }
    if (place > 536870911) {
      error = "Array index too large";
      return false;
    }
    const size_t index = static_cast<size_t>(place);
    if (index >= size && (!budget.spend_bytes((index + 1 - size) * sizeof(Datum)) ||
                          !budget.spend_steps((index + 1 - size) / 8)))
      return false;
    Datum::Array& elements = root.edit_array(budget);
    if (index >= size) elements.resize(index + 1);
    Datum child = std::move(elements[index]);
    const bool ok = set_at(child, path, at + 1, std::move(value), budget, error);
    elements[index] = child;
    root.deepen(child, budget);
    return ok;
  }
  if (key.is_object() && (root.is_array() || root.is_null()))
    return set_slice(root, key, path, at, std::move(value), budget, error);
  return cannot_index(root, key, budget, error);
}

bool set_slice(Datum& root, const Datum& key, const Datum::Array& path, size_t at, Datum value,
               Budget& budget, std::string& error) {
  const Datum::Array empty;
  const Datum::Array& elements = root.is_array() ? root.as_array() : empty;
  Bounds bounds;
  if (!slice_bounds(member_or_null(key, "start"), member_or_null(key, "end"), elements.size(),
                    bounds, error))
    return false;
  const auto begin = elements.begin();
  const auto from = begin + static_cast<std::ptrdiff_t>(bounds.from);
  const auto to = begin + static_cast<std::ptrdiff_t>(bounds.to);
  Datum part = Datum::array(Datum::Array(from, to), budget);
  if (!set_at(part, path, at + 1, std::move(value), budget, error)) return false;
  if (!part.is_array()) {
    error = "A slice of an array can only be assigned another array";
    return false;
  }
  if (!budget.spend_bytes((elements.size() + part.as_array().size()) * sizeof(Datum))) return false;
  Datum::Array result(begin, from);
  result.insert(result.end(), part.as_array().begin(), part.as_array().end());
  result.insert(result.end(), to, elements.end());
  root = Datum::array(std::move(result), budget);
  return true;
}

using Paths = std::vector<const Datum::Array*>;

bool delete_at(Datum& root, const Paths& paths, size_t at, Budget& budget, std::string& error);

bool delete_members(Datum& root, const std::vector<std::pair<Datum, Paths>>& groups, size_t at,
                    Budget& budget, std::string& error) {
  for (const auto& [key, paths] : groups) {
    if (!key.is_string()) {
      error = "Cannot delete field at object index of " + std::string(type_name(key));
      return false;
    }
    if (root.as_object().find(key.as_string()) == nullptr) continue;
    Datum::Object& members = root.edit_object(budget);
    if (paths.front()->size() == at + 1) {
      if (!budget.spend_steps(1 + members.size())) return false;
      members.erase(key.as_string());
      continue;
    }
    Datum child = std::move(*members.find(key.as_string()));
    const bool ok = delete_at(child, paths, at + 1, budget, error);
    members.set(key.as_text(), std::move(child));
    if (!ok) return false;
  }
  return true;
}

bool delete_elements(Datum& root, const std::vector<std::pair<Datum, Paths>>& groups, size_t at,
                     Budget& budget, std::string& error) {
  const size_t size = root.as_array().size();
  if (!budget.spend_bytes(size * sizeof(Datum)) || !budget.spend_steps(size)) return false;
  std::vector<bool> gone(size);
  for (const auto& [key, paths] : groups) {
    const bool whole = paths.front()->size() == at + 1;
    if (key.is_object() && whole) {
      Bounds bounds;
      if (!slice_bounds(member_or_null(key, "start"), member_or_null(key, "end"), size, bounds,
                        error))
        return false;
      if (!budget.spend_steps((bounds.to - bounds.from) / 8)) return false;
      for (size_t i = bounds.from; i < bounds.to; ++i) gone[i] = true;
      continue;
    }
    if (!key.is_number()) {
      error = "Cannot delete field at array index of " + std::string(type_name(key));
      return false;
    }
    double place = std::floor(key.as_double());
    if (place < 0) place += static_cast<double>(size);
    if (!(place >= 0 && place < static_cast<double>(size))) continue;
    const size_t index = static_cast<size_t>(place);
    if (whole) {
      gone[index] = true;
      continue;
    }
    Datum child = std::move(root.edit_array(budget)[index]);
    const bool ok = delete_at(child, paths, at + 1, budget, error);
    root.edit_array(budget)[index] = std::move(child);
    if (!ok) return false;
  }
  if (std::find(gone.begin(), gone.end(), true) == gone.end()) return true;
  Datum::Array kept;
  for (size_t i = 0; i < size; ++i) {
    if (!gone[i]) kept.push_back(root.as_array()[i]);
  }
  root = Datum::array(std::move(kept), budget);
  return true;
}

// All paths have the same elements before `at`; they are sorted, so that equal keys are adjacent
// and a shorter path comes before longer ones that it makes redundant.
bool delete_at(Datum& root, const Paths& paths, size_t at, Budget& budget, std::string& error) {
  if (root.is_null()) return true;
  std::vector<std::pair<Datum, Paths>> groups;
  for (const Datum::Array* path : paths) {
    if (!budget.spend_steps(1)) return false;
    const Datum& key = (*path)[at];
    if (groups.empty() || compare(groups.back().first, key, budget) != 0)
      groups.push_back({key, {}});
    groups.back().second.push_back(path);
  }
  if (root.is_object()) return delete_members(root, groups, at, budget, error);
  if (root.is_array()) return delete_elements(root, groups, at, budget, error);
  return cannot_index(root, groups.front().first, budget, error);
}

}  // namespace

bool index_value(const Datum& of, const Datum& key, Datum& out, Budget& budget,
                 std::string& error) {
  if (of.is_object() && key.is_string()) {
    if (!budget.spend_steps(price::reading(key.as_string().size()))) return false;
    out = member_or_null(of, key.as_string());
    return true;
  }
  if (of.is_array() && key.is_number()) {
    const double size = static_cast<double>(of.as_array().size());
    double place = std::floor(key.as_double());
    if (place < 0) place += size;
    out = place >= 0 && place < size ? of.as_array()[static_cast<size_t>(place)] : Datum();
    return true;
  }
  if (of.is_null() && (key.is_string() || key.is_number() || key.is_null())) {
    out = Datum();
    return true;
  }
  if (key.is_object() && (of.is_null() || of.is_array() || of.is_string()))
    return slice_value(of, member_or_null(key, "start"), member_or_null(key, "end"), out, budget,
                       error);
  if (of.is_array() && key.is_array())
    return indices_of(of.as_array(), key.as_array(), out, budget);
  return cannot_index(of, key, budget, error);
}

bool slice_value(const Datum& of, const Datum& from, const Datum& to, Datum& out, Budget& budget,
                 std::string& error) {
  Bounds bounds;
  if (of.is_null()) {
    out = Datum();
    return slice_bounds(from, to, 0, bounds, error);
  }
  if (of.is_array()) {
    const Datum::Array& elements = of.as_array();
    if (!slice_bounds(from, to, elements.size(), bounds, error)) return false;
    if (!budget.spend_steps(price::copying(bounds.to - bounds.from)) ||
        !budget.spend_bytes((bounds.to - bounds.from) * sizeof(Datum)))
      return false;
    out = Datum::array(Datum::Array(elements.begin() + static_cast<std::ptrdiff_t>(bounds.from),
                                    elements.begin() + static_cast<std::ptrdiff_t>(bounds.to)),
                       budget);
    return true;
  }
  if (!of.is_string()) {
    error = "Cannot index " + std::string(type_name(of)) + " with object";
    return false;
  }
  const std::string& text = of.as_string();
  if (!budget.spend_steps(price::scanning(3 * text.size()))) return false;
  if (!slice_bounds(from, to, count_code_points(text), bounds, error)) return false;
  const size_t begin = offset_of_code_point(text, bounds.from);
  const size_t end = offset_of_code_point(text, bounds.to);
  out = Datum::string(text.substr(begin, end - begin), budget);
  return true;
}

bool get_path(const Datum& of, const Datum& path, Datum& out, Budget& budget, std::string& error) {
  if (!path.is_array()) {
    error = "Path must be specified as an array";
    return false;
  }
  out = of;
  for (const Datum& key : path.as_array()) {
    if (out.is_null()) return true;
    Datum next;
    if (!budget.spend_steps(1) || !index_value(out, key, next, budget, error)) return false;
    out = std::move(next);
  }
  return true;
}

bool set_path(Datum& root, const Datum& path, Datum value, Budget& budget, std::string& error) {
  if (!path.is_array()) {
    error = "Path must be specified as an array";
    return false;
  }
  if (path.as_array().size() > kDatumDepthMax) return budget.allow_depth(UINT32_MAX);
  return budget.spend_steps(path.as_array().size()) &&
         set_at(root, path.as_array(), 0, std::move(value), budget, error);
}

bool delete_paths(Datum& root, const Datum::Array& paths, Budget& budget, std::string& error) {
  Datum::Array sorted = paths;
  if (!budget.spend_bytes(paths.size() * sizeof(Datum))) return false;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Datum& a, const Datum& b) { return compare(a, b, budget) < 0; });
  Paths all;
  for (const Datum& path : sorted) {
    if (!path.is_array()) {
      error = "Path must be specified as an array";
      return false;
    }
    if (path.as_array().empty()) {
      root = Datum();
      return true;
    }
    if (path.as_array().size() > kDatumDepthMax) return budget.allow_depth(UINT32_MAX);
    all.push_back(&path.as_array());
  }
  return budget.exceeded() == Budget::Exceeded::None &&
         (all.empty() || delete_at(root, all, 0, budget, error));
}

Datum path_datum(const PathPtr& path, Budget& budget) {
  Datum::Array keys;
  for (const Path* at = path.get(); at->length > 0; at = at->up.get()) keys.push_back(at->key);
  std::reverse(keys.begin(), keys.end());
  return Datum::array(std::move(keys), budget);
}

Datum slice_key(const Datum& from, const Datum& to, Budget& budget) {
  static const auto* const kStart = new Datum::Text(std::make_shared<const std::string>("start"));
  static const auto* const kEnd = new Datum::Text(std::make_shared<const std::string>("end"));
  Datum::Object key;
  key.set(*kStart, from);
  key.set(*kEnd, to);
  return Datum::object(std::move(key), budget);
}

}  // namespace pawl::expr::jq
