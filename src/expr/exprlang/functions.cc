// The functions of the expression language, and code that its operators share with them.
#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>

#include "base/read_number.h"
#include "expr/exprlang/ast.h"
#include "expr/text.h"
#include "expr/text_search.h"

namespace pawl::expr::lang {
namespace {

using Args = const std::vector<Datum>&;

Datum wrong_kind(CallState& state, const Datum& value, std::string_view wanted) {
  return refuse(state, "wants " + std::string(wanted) + ", not " + std::string(type_name(value)));
}

// Called before copying elements.
bool pay_copy(CallState& state, size_t elements) {
  return state.budget.spend_steps(price::copying(elements)) &&
         state.budget.spend_bytes(elements * sizeof(Datum));
}

bool spent(CallState& state) { return state.budget.exceeded() != Budget::Exceeded::None; }

bool pay_text(CallState& state, const Datum& text) {
  return state.budget.spend_steps(1 + text.as_string().size() / 64);
}

Datum length(CallState& state, Args args) {
  const Datum& value = args[0];
  if (value.is_array()) return Datum::integer(static_cast<int64_t>(value.as_array().size()));
  if (value.is_object()) return Datum::integer(static_cast<int64_t>(value.as_object().size()));
  if (!value.is_string()) return wrong_kind(state, value, "an array, a map or a string");
  if (!pay_text(state, value)) return {};
  return Datum::integer(static_cast<int64_t>(count_code_points(value.as_string())));
}

template <bool Keys>
Datum members(CallState& state, Args args) {
  if (!args[0].is_object()) return wrong_kind(state, args[0], "a map");
  if (!pay_copy(state, args[0].as_object().size())) return {};
  Datum::Array out;
  for (const Datum::Member& member : args[0].as_object().members())
    out.push_back(Keys ? Datum::text(member.key) : member.value);
  return Datum::array(std::move(out), state.budget);
}

Datum to_pairs(CallState& state, Args args) {
  if (!args[0].is_object()) return wrong_kind(state, args[0], "a map");
  Datum::Array out;
  for (const Datum::Member& member : args[0].as_object().members()) {
    if (!state.budget.spend_steps(2)) return {};
    out.push_back(Datum::array({Datum::text(member.key), member.value}, state.budget));
  }
  return Datum::array(std::move(out), state.budget);
}

Datum from_pairs(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array of pairs");
  Datum::Object out;
  for (const Datum& pair : args[0].as_array()) {
    if (!pair.is_array() || pair.as_array().size() != 2 || !pair.as_array()[0].is_string())
      return refuse(state, "wants an array of pairs of a string and a value");
    if (!state.budget.spend_steps(2 + price::reading(pair.as_array()[0].as_string().size())) ||
        !state.budget.spend_bytes(sizeof(Datum::Member)))
      return {};
    out.set(pair.as_array()[0].as_text(), pair.as_array()[1]);
  }
  return Datum::object(std::move(out), state.budget);
}

Datum sort(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  const bool descending = args.size() > 1 && args[1].is_string() && args[1].as_string() == "desc";
  if (args.size() > 1 && !descending && !(args[1].is_string() && args[1].as_string() == "asc"))
    return refuse(state, "the order is \"asc\" or \"desc\"");
  if (!pay_copy(state, args[0].as_array().size())) return {};
  Datum::Array out = args[0].as_array();
  std::stable_sort(out.begin(), out.end(), [&](const Datum& a, const Datum& b) {
    return compare(a, b, state.budget) * (descending ? -1 : 1) < 0;
  });
  return Datum::array(std::move(out), state.budget);
}

template <bool First>
Datum end_of(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  const Datum::Array& list = args[0].as_array();
  return list.empty() ? Datum() : First ? list.front() : list.back();
}

Datum take(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  if (!args[1].is_int() || args[1].as_int() < 0)
    return refuse(state, "wants a count that is not negative");
  const Datum::Array& list = args[0].as_array();
  const size_t count = std::min(list.size(), static_cast<size_t>(args[1].as_int()));
  if (!pay_copy(state, count)) return {};
  return Datum::array(Datum::Array(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count)),
                      state.budget);
}

void flatten_into(Datum::Array& out, const Datum& list, CallState& state) {
  for (const Datum& element : list.as_array()) {
    if (!state.budget.spend_steps(1) || !state.budget.spend_bytes(sizeof(Datum))) return;
    if (element.is_array()) {
      flatten_into(out, element, state);
    } else {
      out.push_back(element);
    }
  }
}

Datum flatten(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  Datum::Array out;
  flatten_into(out, args[0], state);
  return Datum::array(std::move(out), state.budget);
}

Datum unique(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  const Datum::Array& list = args[0].as_array();
  if (!pay_copy(state, list.size())) return {};
  std::vector<size_t> order(list.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return compare(list[a], list[b], state.budget) < 0; });
  std::vector<bool> repeated(list.size());
  for (size_t i = 1; i < order.size() && !spent(state); ++i)
    repeated[order[i]] = compare(list[order[i - 1]], list[order[i]], state.budget) == 0;
  Datum::Array out;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!repeated[i]) out.push_back(list[i]);
  }
  return Datum::array(std::move(out), state.budget);
}

Datum reverse(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  const Datum::Array& list = args[0].as_array();
  if (!pay_copy(state, list.size())) return {};
  return Datum::array(Datum::Array(list.rbegin(), list.rend()), state.budget);
}

Datum concat(CallState& state, Args args) {
  Datum::Array out;
  for (const Datum& list : args) {
    if (!list.is_array()) return wrong_kind(state, list, "arrays");
    if (!state.budget.spend_steps(1) || !pay_copy(state, list.as_array().size())) return {};
    out.insert(out.end(), list.as_array().begin(), list.as_array().end());
  }
  return Datum::array(std::move(out), state.budget);
}

Datum split(CallState& state, Args args) {
  if (!args[0].is_string() || !args[1].is_string())
    return wrong_kind(state, args[args[0].is_string() ? 1 : 0], "strings");
  const std::string& text = args[0].as_string();
  const std::string& separator = args[1].as_string();
  if (!state.budget.spend_steps(price::scanning(text.size() + separator.size()))) return {};
  int64_t left = args.size() > 2 && args[2].is_int() ? args[2].as_int() : -1;
  Datum::Array out;
  size_t at = 0;
  while (!spent(state) && left != 0 && left != 1) {
    const size_t end =
        separator.empty() ? at + (at < text.size() ? 1 : 0) : find_part(text, separator, at);
    if (end == std::string::npos || (separator.empty() && at >= text.size())) break;
    size_t stop = end;
    while (separator.empty() && stop < text.size() && (text[stop] & 0xC0) == 0x80) ++stop;
    if (separator.empty() && stop >= text.size()) break;
    out.push_back(Datum::string(text.substr(at, stop - at), state.budget));
    at = stop + separator.size();
    if (left > 0) --left;
    if (!state.budget.spend_steps(2)) return {};
  }
  if (left != 0 && !(separator.empty() && text.empty()))
    out.push_back(Datum::string(text.substr(at), state.budget));
  return Datum::array(std::move(out), state.budget);
}

Datum join(CallState& state, Args args) {
  if (!args[0].is_array()) return wrong_kind(state, args[0], "an array");
  if (args.size() > 1 && !args[1].is_string()) return wrong_kind(state, args[1], "a string");
  std::string out;
  for (const Datum& element : args[0].as_array()) {
    if (!element.is_string()) return wrong_kind(state, element, "an array of strings");
    const size_t bytes =
        element.as_string().size() + (args.size() > 1 ? args[1].as_string().size() : 0);
    if (!state.budget.spend_steps(1 + price::reading(bytes)) || !state.budget.spend_bytes(bytes))
      return {};
    if (&element != &args[0].as_array().front() && args.size() > 1) out += args[1].as_string();
    out += element.as_string();
  }
  return Datum::string(std::move(out), state.budget);
}

template <bool Upper>
Datum change_case(CallState& state, Args args) {
  if (!args[0].is_string()) return wrong_kind(state, args[0], "a string");
  if (!state.budget.spend_steps(price::scanning(args[0].as_string().size()))) return {};
  std::string out = args[0].as_string();
  for (char& c : out) {
    if (Upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!Upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return Datum::string(std::move(out), state.budget);
}

Datum trim(CallState& state, Args args) {
  if (!args[0].is_string()) return wrong_kind(state, args[0], "a string");
  if (args.size() > 1 && !args[1].is_string()) return wrong_kind(state, args[1], "a string");
  const std::string_view blanks =
      args.size() > 1 ? std::string_view(args[1].as_string()) : " \t\n\r\v\f";
  std::string_view text = args[0].as_string();
  if (!state.budget.spend_steps(price::scanning(text.size() + blanks.size()))) return {};
  std::bitset<256> blank;  // the set of blanks may be as long as the text
  for (const char c : blanks) blank.set(static_cast<unsigned char>(c));
  const auto is_blank = [&](char c) { return blank[static_cast<unsigned char>(c)]; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return Datum::string(std::string(text), state.budget);
}

template <bool Prefix>
Datum has_end(CallState& state, Args args) {
  if (!args[0].is_string() || !args[1].is_string())
    return wrong_kind(state, args[args[0].is_string() ? 1 : 0], "strings");
  const std::string& text = args[0].as_string();
  return Datum::boolean(Prefix ? text.starts_with(args[1].as_string())
                               : text.ends_with(args[1].as_string()));
}

template <bool Prefix>
Datum trim_end(CallState& state, Args args) {
  const Datum has = has_end<Prefix>(state, args);
  if (!has.is_bool() || !has.as_bool()) return args[0];
  const std::string& text = args[0].as_string();
  const size_t rest = text.size() - args[1].as_string().size();
  return Datum::string(Prefix ? text.substr(text.size() - rest) : text.substr(0, rest),
                       state.budget);
}

template <bool Last>
Datum index_of(CallState& state, Args args) {
  if (!args[0].is_string() || !args[1].is_string())
    return wrong_kind(state, args[args[0].is_string() ? 1 : 0], "strings");
  const std::string_view text = args[0].as_string();
  const std::string_view part = args[1].as_string();
  if (!state.budget.spend_steps(price::scanning(text.size() + part.size())) ||
      (Last && !state.budget.spend_bytes(4 * part.size())))
    return {};
  const size_t at = Last ? find_last_part(text, part) : find_part(text, part);
  if (at == kNoPlace) return Datum::integer(-1);
  return Datum::integer(static_cast<int64_t>(count_code_points(text.substr(0, at))));
}

Datum replace(CallState& state, Args args) {
  for (size_t i = 0; i < 3; ++i) {
    if (!args[i].is_string()) return wrong_kind(state, args[i], "strings");
  }
  const std::string& text = args[0].as_string();
  const std::string& from = args[1].as_string();
  if (from.empty()) return args[0];
  if (!state.budget.spend_steps(price::scanning(text.size() + from.size()))) return {};
  std::string out;
  size_t at = 0;
  for (size_t hit = find_part(text, from); hit != kNoPlace; hit = find_part(text, from, at)) {
    const size_t bytes = hit - at + args[2].as_string().size();
    if (!state.budget.spend_steps(1 + price::reading(bytes)) || !state.budget.spend_bytes(bytes))
      return {};
    out.append(text, at, hit - at).append(args[2].as_string());
    at = hit + from.size();
  }
  return Datum::string(out.append(text, at), state.budget);
}

Datum repeat(CallState& state, Args args) {
  if (!args[0].is_string()) return wrong_kind(state, args[0], "a string");
  if (!args[1].is_int() || args[1].as_int() < 0)
    return refuse(state, "wants a count that is not negative");
  const uint64_t count = static_cast<uint64_t>(args[1].as_int());
  const uint64_t size = args[0].as_string().size();
  if (size > 0 && count > state.budget.limits().bytes_max / size) {
    (void)state.budget.spend_bytes(UINT64_MAX);
    return {};
  }
  if (!state.budget.spend_bytes(size * count) ||
      !state.budget.spend_steps(1 + price::reading(size * count)))
    return {};
  return Datum::string(repeat_text(args[0].as_string(), size * count), state.budget);
}

Datum to_number(CallState& state, const Datum& value, std::string_view wanted) {
  if (value.is_number()) return value;
  if (!value.is_string()) return wrong_kind(state, value, wanted);
  const std::string& text = value.as_string();
  int64_t whole = 0;
  if (read_number(text, whole)) return Datum::integer(whole);
  double real = 0;
  if (read_number(text, real) && std::isfinite(real)) return Datum::real(real);
  return refuse(state, "the string is no number");
}

Datum to_int(CallState& state, Args args) {
  const Datum value = to_number(state, args[0], "a number or a string");
  if (!value.is_double()) return value;
  const double whole = std::trunc(value.as_double());
  if (!(std::abs(whole) < 9223372036854775808.0)) return refuse(state, "out of range");
  return Datum::integer(static_cast<int64_t>(whole));
}

Datum to_float(CallState& state, Args args) {
  const Datum value = to_number(state, args[0], "a number or a string");
  return value.is_int() ? Datum::real(value.as_double()) : value;
}

Datum to_string(CallState& state, Args args) {
  if (args[0].is_string()) return args[0];
  if (args[0].is_null()) return Datum::string("nil", state.budget);
  return Datum::string(json_text(args[0], state.budget), state.budget);
}

Datum to_json(CallState& state, Args args) {
  return Datum::string(json_text(args[0], state.budget), state.budget);
}

Datum from_json(CallState& state, Args args) {
  if (!args[0].is_string()) return wrong_kind(state, args[0], "a string");
  if (!pay_parsing(args[0].as_string(), state.budget)) return {};
  const Result<Value> parsed = Value::parse(args[0].as_string());
  if (!parsed.ok()) return refuse(state, parsed.error().message);
  return Datum::from(*parsed, state.budget);
}

template <double (*F)(double)>
Datum rounded(CallState& state, Args args) {
  if (!args[0].is_number()) return wrong_kind(state, args[0], "a number");
  return args[0].is_int() ? args[0] : number(F(args[0].as_double()));
}

Datum absolute(CallState& state, Args args) {
  if (!args[0].is_number()) return wrong_kind(state, args[0], "a number");
  if (args[0].is_double()) return Datum::real(std::abs(args[0].as_double()));
  if (args[0].as_int() == INT64_MIN) return refuse(state, "integer overflow");
  return Datum::integer(std::abs(args[0].as_int()));
}

// The arguments, or the elements of arrays among them: all must be numbers.
bool gather(CallState& state, Args args, Datum::Array& out) {
  for (const Datum& arg : args) {
    if (arg.is_array()) {
      if (!state.budget.spend_steps(arg.as_array().size()) ||
          !pay_copy(state, arg.as_array().size()))
        return false;
      out.insert(out.end(), arg.as_array().begin(), arg.as_array().end());
    } else {
      out.push_back(arg);
    }
  }
  for (const Datum& element : out) {
    if (element.is_number()) continue;
    wrong_kind(state, element, "numbers");
    return false;
  }
  return true;
}

template <int Sign>
Datum extreme(CallState& state, Args args) {
  Datum::Array numbers;
  if (!gather(state, args, numbers)) return {};
  if (numbers.empty()) return refuse(state, "wants at least one number");
  Datum best = numbers[0];
  for (const Datum& each : numbers) {
    if (compare(each, best, state.budget) * Sign > 0) best = each;
  }
  return best;
}

Datum mean(CallState& state, Args args) {
  Datum::Array numbers;
  if (!gather(state, args, numbers)) return {};
  double sum = 0;
  for (const Datum& each : numbers) sum += each.as_double();
  return numbers.empty() ? Datum::integer(0) : number(sum / static_cast<double>(numbers.size()));
}

Datum median(CallState& state, Args args) {
  Datum::Array numbers;
  if (!gather(state, args, numbers)) return {};
  if (numbers.empty()) return Datum::integer(0);
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](const Datum& a, const Datum& b) { return compare(a, b, state.budget) < 0; });
  const size_t half = numbers.size() / 2;
  if (numbers.size() % 2 == 1) return numbers[half];
  return number((numbers[half - 1].as_double() + numbers[half].as_double()) / 2);
}

Datum get(CallState&, Args args) {
  if (args[0].is_object() && args[1].is_string()) {
    const Datum* const found = args[0].as_object().find(args[1].as_string());
    return found == nullptr ? Datum() : *found;
  }
  if (!args[0].is_array() || !args[1].is_int()) return {};
  const int64_t size = static_cast<int64_t>(args[0].as_array().size());
  const int64_t at = args[1].as_int() < 0 ? args[1].as_int() + size : args[1].as_int();
  return at < 0 || at >= size ? Datum() : args[0].as_array()[static_cast<size_t>(at)];
}

Datum type_of(CallState& state, Args args) {
  const Datum& value = args[0];
  return Datum::string(value.is_null()     ? "nil"
                       : value.is_bool()   ? "bool"
                       : value.is_int()    ? "int"
                       : value.is_double() ? "float"
                       : value.is_object() ? "map"
                                           : std::string(type_name(value)),
                       state.budget);
}

constexpr Function kExprLangFunctions[] = {
    {"len", length, 1, 1},
    {"keys", members<true>, 1, 1},
    {"values", members<false>, 1, 1},
    {"toPairs", to_pairs, 1, 1},
    {"fromPairs", from_pairs, 1, 1},
    {"sort", sort, 1, 2},
    {"first", end_of<true>, 1, 1},
    {"last", end_of<false>, 1, 1},
    {"take", take, 2, 2},
    {"flatten", flatten, 1, 1},
    {"uniq", unique, 1, 1},
    {"reverse", reverse, 1, 1},
    {"concat", concat, 1, 250},
    {"split", split, 2, 3},
    {"join", join, 1, 2},
    {"upper", change_case<true>, 1, 1},
    {"lower", change_case<false>, 1, 1},
    {"trim", trim, 1, 2},
    {"trimPrefix", trim_end<true>, 2, 2},
    {"trimSuffix", trim_end<false>, 2, 2},
    {"hasPrefix", has_end<true>, 2, 2},
    {"hasSuffix", has_end<false>, 2, 2},
    {"indexOf", index_of<false>, 2, 2},
    {"lastIndexOf", index_of<true>, 2, 2},
    {"replace", replace, 3, 3},
    {"repeat", repeat, 2, 2},
    {"int", to_int, 1, 1},
    {"float", to_float, 1, 1},
    {"string", to_string, 1, 1},
    {"toJSON", to_json, 1, 1},
    {"fromJSON", from_json, 1, 1},
    {"abs", absolute, 1, 1},
    {"ceil", rounded<std::ceil>, 1, 1},
    {"floor", rounded<std::floor>, 1, 1},
    {"round", rounded<std::round>, 1, 1},
    {"min", extreme<-1>, 1, 250},
    {"max", extreme<1>, 1, 250},
    {"mean", mean, 1, 250},
    {"median", median, 1, 250},
    {"get", get, 2, 2},
    {"type", type_of, 1, 1},
};

}  // namespace

std::span<const Function> functions() { return kExprLangFunctions; }

const Function* find_function(std::string_view name) {
  for (const Function& function : kExprLangFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace pawl::expr::lang
