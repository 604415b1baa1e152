// Builtins on any value: size, keys, order, entries, paths, conversion.
#include <algorithm>
#include <cmath>

#include "base/read_number.h"
#include "expr/jq/machine.h"
#include "expr/text.h"
#include "expr/text_search.h"

namespace pawl::expr::jq {
namespace {

Datum::Text key_text(const char* name) { return std::make_shared<const std::string>(name); }

bool length(Machine& m, const Datum& in, Arguments, Datum& out) {
  switch (in.kind()) {
    case Value::Kind::Null:
      out = Datum::integer(0);
      return true;
    case Value::Kind::Bool:
      return m.raise(described(in, m.budget) + " has no length");
    case Value::Kind::Int:
      out = in.as_int() < 0 && in.as_int() != INT64_MIN ? Datum::integer(-in.as_int()) : in;
      return true;
    case Value::Kind::Double:
      out = Datum::real(std::fabs(in.as_double()));
      return true;
    case Value::Kind::String:
      out = Datum::integer(static_cast<int64_t>(count_code_points(in.as_string())));
      return m.step(in.as_string().size() / 64);
    case Value::Kind::Array:
      out = Datum::integer(static_cast<int64_t>(in.as_array().size()));
      return true;
    case Value::Kind::Object:
      out = Datum::integer(static_cast<int64_t>(in.as_object().size()));
      return true;
  }
  return true;
}

bool negation(Machine&, const Datum& in, Arguments, Datum& out) {
  out = Datum::boolean(!in.truthy());
  return true;
}

template <bool Sorted>
bool keys(Machine& m, const Datum& in, Arguments, Datum& out) {
  Datum::Array names;
  if (in.is_object()) {
    if (!(Sorted ? pay_sorting(in.as_object(), m.budget) : m.step(in.as_object().size() / 2)))
      return false;
    if (Sorted) {
      for (const Datum::Member* member : in.as_object().sorted())
        names.push_back(Datum::text(member->key));
    } else {
      for (const Datum::Member& member : in.as_object().members())
        names.push_back(Datum::text(member.key));
    }
  } else if (in.is_array()) {
    if (!m.step(price::copying(in.as_array().size())) ||
        !m.budget.spend_bytes(in.as_array().size() * sizeof(Datum)))
      return false;
    for (size_t i = 0; i < in.as_array().size(); ++i)
      names.push_back(Datum::integer(static_cast<int64_t>(i)));
  } else {
    return m.raise(described(in, m.budget) + " has no keys");
  }
  out = Datum::array(std::move(names), m.budget);
  return true;
}

bool has(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (in.is_object() && args[0].is_string()) {
    out = Datum::boolean(in.as_object().find(args[0].as_string()) != nullptr);
    return true;
  }
  if (in.is_array() && args[0].is_number()) {
    const double at = args[0].as_double();
    out = Datum::boolean(at >= 0 && at < static_cast<double>(in.as_array().size()));
    return true;
  }
  return m.raise("Cannot check whether " + std::string(type_name(in)) + " has a " +
                 std::string(type_name(args[0])) + " key");
}

bool contains_value(Machine& m, const Datum& a, const Datum& b) {
  if (!m.step()) return false;
  if (a.is_string() && b.is_string()) {
    const uint64_t bytes = a.as_string().size() + b.as_string().size();
    return m.step(price::scanning(bytes)) && has_part(a.as_string(), b.as_string());
  }
  if (a.is_object() && b.is_object()) {
    for (const Datum::Member& member : b.as_object().members()) {
      if (!m.step(1 + price::reading(member.key->size()))) return false;
      const Datum* const twin = a.as_object().find(*member.key);
      if (twin == nullptr || !contains_value(m, *twin, member.value)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    return std::all_of(b.as_array().begin(), b.as_array().end(), [&](const Datum& part) {
      return std::any_of(a.as_array().begin(), a.as_array().end(), [&](const Datum& element) {
        return !m.spent() && contains_value(m, element, part);
      });
    });
  }
  return compare(a, b, m.budget) == 0;
}

bool contains(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (type_name(in) != type_name(args[0]))
    return m.raise(described(in, m.budget) + " and " + described(args[0], m.budget) +
                   " cannot have their containment checked");
  out = Datum::boolean(contains_value(m, in, args[0]));
  return true;
}

bool add_elements(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array() && !in.is_object())
    return m.raise("Cannot iterate over " + described(in, m.budget));
  std::string error;
  const auto append = [&](const Datum& value) {
    Datum next;
    if (!m.step() || !arithmetic(Op::Add, std::move(out), value, next, m.budget, error))
      return m.raise(std::move(error));
    out = std::move(next);
    return true;
  };
  out = Datum();
  if (in.is_array()) return std::all_of(in.as_array().begin(), in.as_array().end(), append);
  for (const Datum::Member& member : in.as_object().members()) {
    if (!append(member.value)) return false;
  }
  return true;
}

bool flatten_into(Machine& m, const Datum& in, double depth, Datum::Array& out) {
  for (const Datum& element : in.as_array()) {
    if (!m.step() || !m.budget.spend_bytes(sizeof(Datum))) return false;
    if (element.is_array() && depth > 0) {
      if (!flatten_into(m, element, depth - 1, out)) return false;
    } else {
      out.push_back(element);
    }
  }
  return true;
}

bool flatten(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_array()) return m.raise("Cannot iterate over " + described(in, m.budget));
  if (!args.empty() && (!args[0].is_number() || args[0].as_double() < 0))
    return m.raise("flatten depth must not be negative");
  Datum::Array flat;
  if (!flatten_into(m, in, args.empty() ? 1e9 : args[0].as_double(), flat)) return false;
  out = Datum::array(std::move(flat), m.budget);
  return true;
}

bool type(Machine& m, const Datum& in, Arguments, Datum& out) {
  out = Datum::string(std::string(type_name(in)), m.budget);
  return true;
}

template <bool Unique>
bool sort(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array())
    return m.raise(described(in, m.budget) + " cannot be sorted, as it is not an array");
  if (!m.step(price::copying(in.as_array().size())) ||
      !m.budget.spend_bytes(in.as_array().size() * sizeof(Datum)))
    return false;
  Datum::Array sorted = in.as_array();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Datum& a, const Datum& b) { return compare(a, b, m.budget) < 0; });
  if (Unique && !m.spent()) {
    sorted.erase(
        std::unique(sorted.begin(), sorted.end(),
                    [&](const Datum& a, const Datum& b) { return compare(a, b, m.budget) == 0; }),
        sorted.end());
  }
  out = Datum::array(std::move(sorted), m.budget);
  return true;
}

template <int Sign>
bool extreme(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array()) return m.raise("Cannot iterate over " + described(in, m.budget));
  if (!m.step(price::copying(in.as_array().size()))) return false;
  const Datum* best = nullptr;
  for (const Datum& element : in.as_array()) {
    const int order = best == nullptr ? Sign : compare(element, *best, m.budget) * Sign;
    if (best == nullptr || order > 0 || (order == 0 && Sign > 0)) best = &element;
  }
  out = best == nullptr ? Datum() : *best;
  return true;
}

bool reverse(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (in.is_string()) {
    if (!m.step(price::scanning(2 * in.as_string().size())) ||
        !m.budget.spend_bytes(in.as_string().size()))
      return false;
    out = Datum::string(reversed(in.as_string()), m.budget);
    return true;
  }
  if (in.is_null()) {
    out = Datum::array({}, m.budget);
    return true;
  }
  if (!in.is_array()) return m.raise("Cannot reverse " + described(in, m.budget));
  if (!m.step(price::copying(2 * in.as_array().size())) ||
      !m.budget.spend_bytes(in.as_array().size() * sizeof(Datum)))
    return false;
  out = Datum::array(Datum::Array(in.as_array().rbegin(), in.as_array().rend()), m.budget);
  return true;
}

bool to_entries(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_object()) return m.raise(described(in, m.budget) + " has no keys");
  static const auto* const kKey = new Datum::Text(key_text("key"));
  static const auto* const kValue = new Datum::Text(key_text("value"));
  Datum::Array entries;
  for (const Datum::Member& member : in.as_object().members()) {
    Datum::Object entry;
    entry.set(*kKey, Datum::text(member.key));
    entry.set(*kValue, member.value);
    entries.push_back(Datum::object(std::move(entry), m.budget));
    if (!m.step(8) || !m.budget.spend_bytes(sizeof(Datum))) return false;
  }
  out = Datum::array(std::move(entries), m.budget);
  return true;
}

const Datum* entry_part(const Datum& entry, std::initializer_list<std::string_view> names) {
  const Datum* last = nullptr;
  for (const std::string_view name : names) {
    const Datum* const found = entry.as_object().find(name);
    if (found != nullptr && found->truthy()) return found;
    if (found != nullptr && (last == nullptr || !found->is_null())) last = found;
  }
  return last;
}

bool from_entries(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array()) return m.raise("Cannot iterate over " + described(in, m.budget));
  Datum::Object members;
  for (const Datum& entry : in.as_array()) {
    if (!entry.is_object()) return m.raise("Cannot index " + std::string(type_name(entry)));
    const Datum* key = entry_part(entry, {"key", "k", "name", "Name", "Key", "K"});
    const Datum* const value = entry_part(entry, {"value", "v", "Value", "V"});
    Datum::Text name;
    if (key == nullptr || key->is_null()) {
      name = key_text("null");
    } else if (key->is_string()) {
      name = key->as_text();
    } else if (key->is_number() || key->is_bool()) {
      name = std::make_shared<const std::string>(json_text(*key, m.budget));
    } else {
      return m.raise("Cannot use " + described(*key, m.budget) + " as object key");
    }
    if (!m.step(8 + price::reading(name->size()))) return false;
    members.set(std::move(name), value == nullptr ? Datum() : *value);
    if (!m.step() || !m.budget.spend_bytes(sizeof(Datum::Member))) return false;
  }
  out = Datum::object(std::move(members), m.budget);
  return true;
}

bool set_path_native(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::string error;
  out = in;
  if (!set_path(out, args[0], args[1], m.budget, error)) return m.raise(std::move(error));
  return true;
}

bool delete_paths_native(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::string error;
  out = in;
  if (!args[0].is_array()) return m.raise("Paths must be specified as an array");
  if (!delete_paths(out, args[0].as_array(), m.budget, error)) return m.raise(std::move(error));
  return true;
}

bool transpose(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array()) return m.raise("Cannot transpose " + described(in, m.budget));
  size_t width = 0;
  if (!m.step(in.as_array().size())) return false;
  for (const Datum& row : in.as_array()) {
    if (!row.is_array()) return m.raise("Cannot transpose " + described(row, m.budget));
    width = std::max(width, row.as_array().size());
  }
  Datum::Array columns;
  for (size_t i = 0; i < width; ++i) {
    Datum::Array column;
    if (!m.step(1 + in.as_array().size()) ||
        !m.budget.spend_bytes(in.as_array().size() * sizeof(Datum)))
      return false;
    for (const Datum& row : in.as_array())
      column.push_back(i < row.as_array().size() ? row.as_array()[i] : Datum());
    columns.push_back(Datum::array(std::move(column), m.budget));
  }
  out = Datum::array(std::move(columns), m.budget);
  return true;
}

bool to_string(Machine& m, const Datum& in, Arguments, Datum& out) {
  out = in.is_string() ? in : Datum::string(json_text(in, m.budget), m.budget);
  return true;
}

bool to_json(Machine& m, const Datum& in, Arguments, Datum& out) {
  out = Datum::string(json_text(in, m.budget), m.budget);
  return true;
}

bool from_json(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_string()) return m.raise(described(in, m.budget) + " cannot be parsed");
  if (in.as_string() == "nan") {
    out = Datum::real(std::nan(""));
    return true;
  }
  if (!pay_parsing(in.as_string(), m.budget)) return false;
  const Result<Value> parsed = Value::parse(in.as_string());
  if (!parsed.ok())
    return m.raise(parsed.error().message + " (while parsing '" + in.as_string().substr(0, 60) +
                   "')");
  out = Datum::from(*parsed, m.budget);
  return true;
}

bool to_number(Machine& m, const Datum& in, Arguments, Datum& out) {
  out = in;
  if (in.is_number()) return true;
  if (!in.is_string()) return m.raise(described(in, m.budget) + " cannot be parsed as a number");
  const std::string& text = in.as_string();
  int64_t whole = 0;
  if (read_number(text, whole)) {
    out = Datum::integer(whole);
    return true;
  }
  double real = 0;
  if (!read_number(text, real))
    return m.raise(described(in, m.budget) + " cannot be parsed as a number");
  out = Datum::real(real);
  return true;
}

bool error0(Machine& m, const Datum& in, Arguments, Datum&) { return m.raise(in); }
bool error1(Machine& m, const Datum&, Arguments args, Datum&) { return m.raise(args[0]); }

bool to_array(Machine& m, const Datum& in, Arguments, Datum& out) {
  out = in.is_array() ? in : Datum::array({in}, m.budget);
  return true;
}

bool binary_search(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_array())
    return m.raise(described(in, m.budget) + " cannot be searched from, as it is not an array");
  const Datum::Array& list = in.as_array();
  const auto at =
      std::lower_bound(list.begin(), list.end(), args[0],
                       [&](const Datum& a, const Datum& b) { return compare(a, b, m.budget) < 0; });
  const int64_t index = at - list.begin();
  const bool found = at != list.end() && compare(*at, args[0], m.budget) == 0;
  out = Datum::integer(found ? index : -1 - index);
  return true;
}

}  // namespace

std::vector<NativeEntry> core_natives() {
  return {
      {"length", 0, length},
      {"not", 0, negation},
      {"keys", 0, keys<true>},
      {"keys_unsorted", 0, keys<false>},
      {"has", 1, has},
      {"contains", 1, contains},
      {"add", 0, add_elements},
      {"flatten", 0, flatten},
      {"flatten", 1, flatten},
      {"type", 0, type},
      {"sort", 0, sort<false>},
      {"unique", 0, sort<true>},
      {"min", 0, extreme<-1>},
      {"max", 0, extreme<1>},
      {"reverse", 0, reverse},
      {"to_entries", 0, to_entries},
      {"from_entries", 0, from_entries},
      {"setpath", 2, set_path_native},
      {"delpaths", 1, delete_paths_native},
      {"transpose", 0, transpose},
      {"tostring", 0, to_string},
      {"tojson", 0, to_json},
      {"fromjson", 0, from_json},
      {"tonumber", 0, to_number},
      {"error", 0, error0},
      {"error", 1, error1},
      {"toarray", 0, to_array},
      {"bsearch", 1, binary_search},
  };
}

}  // namespace pawl::expr::jq
