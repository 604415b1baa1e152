// Builtins on strings.
#include "expr/text.h"

#include <algorithm>

#include "base/utf8.h"
#include "expr/jq/machine.h"
#include "expr/text_search.h"

namespace pawl::expr::jq {
namespace {

bool demand_string(Machine& m, const Datum& value, std::string_view what) {
  if (value.is_string()) return m.step(1 + price::scanning(value.as_string().size()));
  return m.raise(std::string(what) + " input must be a string, not " + described(value, m.budget));
}

bool byte_length(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_string())
    return m.raise(described(in, m.budget) + " only strings have UTF-8 byte length");
  out = Datum::integer(static_cast<int64_t>(in.as_string().size()));
  return true;
}

template <bool Start>
bool has_end(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_string() || !args[0].is_string())
    return m.raise(std::string(Start ? "startswith" : "endswith") + "() requires string inputs");
  out = Datum::boolean(Start ? in.as_string().starts_with(args[0].as_string())
                             : in.as_string().ends_with(args[0].as_string()));
  return true;
}

template <bool Start, bool End>
bool trim_text(Machine& m, const Datum& in, Arguments args, Datum& out) {
  out = in;
  if (!in.is_string() || !args[0].is_string() || args[0].as_string().empty()) return true;
  std::string_view text = in.as_string();
  const std::string& part = args[0].as_string();
  if (Start && text.starts_with(part)) text.remove_prefix(part.size());
  if (End && text.ends_with(part)) text.remove_suffix(part.size());
  if (text.size() != in.as_string().size()) out = Datum::string(std::string(text), m.budget);
  return true;
}

template <bool Start, bool End>
bool trim_blanks(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_string()) return m.raise(described(in, m.budget) + " cannot be trimmed");
  const std::string_view blanks = " \t\n\r\v\f";
  std::string_view text = in.as_string();
  if (Start) text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  if (End) text = text.substr(0, text.find_last_not_of(blanks) + 1);
  out = Datum::string(std::string(text), m.budget);
  return true;
}

bool explode(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_string(m, in, "explode")) return false;
  const std::string& text = in.as_string();
  const size_t count = count_code_points(text);
  if (!m.step(price::scanning(text.size()) + count) || !m.budget.spend_bytes(count * sizeof(Datum)))
    return false;
  Datum::Array points;
  points.reserve(count);
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      points.push_back(Datum::integer(code_point_at(text, i)));
  }
  out = Datum::array(std::move(points), m.budget);
  return true;
}

bool implode(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_array()) return m.raise("implode input must be an array");
  std::string text;
  for (const Datum& point : in.as_array()) {
    if (!point.is_number()) return m.raise("Unicode codepoint must be numeric");
    const double value = point.as_double();
    const bool valid = value >= 0 && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF);
    if (!m.step() || !m.budget.spend_bytes(2)) return false;
    utf8::append(text, valid ? static_cast<uint32_t>(value) : 0xFFFD);
  }
  out = Datum::string(std::move(text), m.budget);
  return true;
}

bool split_by_text(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_string() || !args[0].is_string())
    return m.raise("split input and separator must be strings");
  std::string error;
  return arithmetic(Op::Divide, in, args[0], out, m.budget, error) || m.raise(std::move(error));
}

bool join(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_array()) return m.raise("Cannot iterate over " + described(in, m.budget));
  if (!args[0].is_string() && !in.as_array().empty())
    return m.raise(described(args[0], m.budget) + " cannot join");
  std::string text;
  for (const Datum& element : in.as_array()) {
    const size_t bytes =
        args[0].as_string().size() + (element.is_string() ? element.as_string().size() : 0);
    if (!m.step(1 + price::reading(bytes)) || !m.budget.spend_bytes(bytes)) return false;
    if (&element != &in.as_array().front()) text += args[0].as_string();
    if (element.is_string()) {
      text += element.as_string();
    } else if (element.is_number() || element.is_bool()) {
      text += json_text(element, m.budget);
    } else if (!element.is_null()) {
      return m.raise(described(element, m.budget) + " cannot be joined");
    }
  }
  out = Datum::string(std::move(text), m.budget);
  return true;
}

template <bool Up>
bool ascii_case(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_string(m, in, Up ? "ascii_upcase" : "ascii_downcase")) return false;
  std::string text = in.as_string();
  for (char& c : text) {
    if (Up && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!Up && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  out = Datum::string(std::move(text), m.budget);
  return true;
}

bool indices(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::string error;
  if (in.is_null()) return true;
  if (in.is_string() && args[0].is_string()) {
    Datum::Array found;
    const std::string& text = in.as_string();
    const std::string& part = args[0].as_string();
    if (part.empty()) return true;
    if (!m.step(price::scanning(2 * (text.size() + part.size()))) ||
        !m.budget.spend_bytes(4 * part.size()))
      return false;
    size_t points = 0;
    size_t counted = 0;
    Places places(text, part);
    for (size_t at = places.next(); at != kNoPlace; at = places.next()) {
      if (!m.step(2) || !m.budget.spend_bytes(sizeof(Datum))) return false;
      points += count_code_points(std::string_view(text).substr(counted, at - counted));
      counted = at;
      found.push_back(Datum::integer(static_cast<int64_t>(points)));
    }
    out = Datum::array(std::move(found), m.budget);
    return true;
  }
  const Datum part =
      in.is_array() && !args[0].is_array() ? Datum::array({args[0]}, m.budget) : args[0];
  return index_value(in, part, out, m.budget, error) || m.raise(std::move(error));
}

template <bool First>
bool index_of(Machine& m, const Datum& in, Arguments args, Datum& out) {
  Datum all;
  if (!indices(m, in, args, all)) return false;
  const bool none = !all.is_array() || all.as_array().empty();
  out = none ? Datum() : First ? all.as_array().front() : all.as_array().back();
  return true;
}

}  // namespace

std::vector<NativeEntry> text_natives() {
  return {
      {"utf8bytelength", 0, byte_length},
      {"startswith", 1, has_end<true>},
      {"endswith", 1, has_end<false>},
      {"ltrimstr", 1, trim_text<true, false>},
      {"rtrimstr", 1, trim_text<false, true>},
      {"trimstr", 1, trim_text<true, true>},
      {"trim", 0, trim_blanks<true, true>},
      {"ltrim", 0, trim_blanks<true, false>},
      {"rtrim", 0, trim_blanks<false, true>},
      {"explode", 0, explode},
      {"implode", 0, implode},
      {"split", 1, split_by_text},
      {"join", 1, join},
      {"ascii_downcase", 0, ascii_case<false>},
      {"ascii_upcase", 0, ascii_case<true>},
      {"indices", 1, indices},
      {"index", 1, index_of<true>},
      {"rindex", 1, index_of<false>},
  };
}

}  // namespace pawl::expr::jq
