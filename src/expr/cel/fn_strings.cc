// contains startsWith endsWith matches, and the strings extension. Positions count code points.
#include <algorithm>

#include "base/utf8.h"
#include "expr/cel/functions.h"
#include "expr/text.h"
#include "expr/text_search.h"

namespace pawl::expr {
namespace {

bool all_strings(Arguments args) {
  return std::all_of(args.begin(), args.end(), [](const Val& arg) { return arg.is(Kind::String); });
}

// Pays for reading all strings among the arguments.
bool pay_reading(CallContext& context, Arguments args) {
  size_t bytes = 0;
  for (const Val& arg : args) {
    if (arg.is(Kind::String)) bytes += arg.as_string().size();
  }
  return context.budget.spend_steps(price::reading(bytes));
}

// Pays for searching the second string in the first.
bool pay_search(CallContext& context, Arguments args) {
  return context.budget.spend_steps(
      price::scanning(args[0].as_string().size() + args[1].as_string().size()));
}

Val out_of_range(int64_t index) {
  return Val::error("index out of range: " + std::to_string(index));
}

Val contains(CallContext& context, Arguments args) {
  if (!all_strings(args)) return no_overload("contains", args);
  if (!pay_search(context, args)) return exhausted();
  return Val::boolean(has_part(args[0].as_string(), args[1].as_string()));
}

Val starts_with(CallContext& context, Arguments args) {
  if (!all_strings(args)) return no_overload("startsWith", args);
  if (!pay_reading(context, args)) return exhausted();
  return Val::boolean(args[0].as_string().starts_with(args[1].as_string()));
}

Val ends_with(CallContext& context, Arguments args) {
  if (!all_strings(args)) return no_overload("endsWith", args);
  if (!pay_reading(context, args)) return exhausted();
  return Val::boolean(args[0].as_string().ends_with(args[1].as_string()));
}

Val matches(CallContext& context, Arguments args) {
  if (!all_strings(args)) return no_overload("matches", args);
  if (context.regex == nullptr || context.pattern != args[1].as_string()) {
    std::string error;
    context.regex = compile_regex(args[1].as_string(), context.budget, error);
    if (context.regex == nullptr) return Val::error(error);
    context.pattern = args[1].as_string();
  }
  const auto found = match_regex(*context.regex, args[0].as_string(), context.budget);
  return found ? Val::boolean(*found) : exhausted();
}

Val char_at(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String) || !args[1].is(Kind::Int)) return no_overload("charAt", args);
  const std::string_view text = args[0].as_string();
  if (!context.budget.spend_steps(price::scanning(text.size()))) return exhausted();
  const int64_t index = args[1].as_int();
  const size_t at = index < 0 ? kNoPlace : offset_of_code_point(text, static_cast<uint64_t>(index));
  if (at == kNoPlace) return out_of_range(index);
  if (at == text.size()) return Val::string("");
  return paid_string(context,
                     std::string(text.substr(at, offset_of_code_point(text.substr(at), 1))));
}

// indexOf and lastIndexOf, with an optional position where the search starts.
Val find_text(CallContext& context, Arguments args, bool last) {
  const std::string_view name = last ? "lastIndexOf" : "indexOf";
  if (!all_strings(args.first(2)) || (args.size() == 3 && !args[2].is(Kind::Int)))
    return no_overload(name, args);
  const std::string_view text = args[0].as_string();
  const std::string_view part = args[1].as_string();
  // The text is searched once and counted twice; searching backwards takes a table of the part.
  if (!context.budget.spend_steps(price::scanning(2 * (text.size() + part.size()))) ||
      (last && !context.budget.spend_bytes(4 * part.size())))
    return exhausted();
  size_t from = last ? text.size() : 0;
  if (args.size() == 3) {
    const int64_t index = args[2].as_int();
    from = index < 0 ? kNoPlace : offset_of_code_point(text, static_cast<uint64_t>(index));
    if (from == kNoPlace) return out_of_range(index);
  }
  const size_t found = part.empty() ? from
                       : last       ? find_last_part(text, part, from)
                                    : find_part(text, part, from);
  if (found == kNoPlace) return Val::integer(-1);
  return Val::integer(static_cast<int64_t>(count_code_points(text.substr(0, found))));
}

Val index_of(CallContext& context, Arguments args) { return find_text(context, args, false); }
Val last_index_of(CallContext& context, Arguments args) { return find_text(context, args, true); }

Val change_case(CallContext& context, Arguments args, std::string_view name, char from, char to) {
  if (!args[0].is(Kind::String)) return no_overload(name, args);
  if (!pay_reading(context, args)) return exhausted();
  std::string text(args[0].as_string());
  for (char& c : text) {
    if (c >= from && c <= from + 25) c = static_cast<char>(c - from + to);
  }
  return paid_string(context, std::move(text));
}

Val lower_ascii(CallContext& context, Arguments args) {
  return change_case(context, args, "lowerAscii", 'A', 'a');
}
Val upper_ascii(CallContext& context, Arguments args) {
  return change_case(context, args, "upperAscii", 'a', 'A');
}

Val replace(CallContext& context, Arguments args) {
  if (!all_strings(args.first(3)) || (args.size() == 4 && !args[3].is(Kind::Int)))
    return no_overload("replace", args);
  if (!pay_reading(context, args) || !pay_search(context, args)) return exhausted();
  const std::string_view text = args[0].as_string();
  const std::string_view from = args[1].as_string();
  const std::string_view to = args[2].as_string();
  int64_t left = args.size() == 4 ? args[3].as_int() : -1;
  std::string out;
  size_t at = 0;
  while (left != 0 && at <= text.size()) {
    // An empty search string matches before every code point and at the end.
    const size_t found = find_part(text, from, at);
    if (found == kNoPlace) break;
    const size_t step = from.empty()
                            ? (at < text.size() ? utf8::sequence_length(text.substr(at)) : 1)
                            : from.size();
    if (!context.budget.spend_bytes(to.size() + step) || !context.budget.spend_steps(1))
      return exhausted();
    out.append(text, at, found - at).append(to);
    if (from.empty() && at < text.size()) out.append(text, at, step);
    at = found + step;
    if (left > 0) --left;
  }
  if (at < text.size()) out.append(text.substr(at));
  return paid_string(context, std::move(out));
}

// Where the next part ends, npos if it is the last. An empty separator cuts behind every code
// point.
size_t next_cut(std::string_view text, std::string_view separator, size_t at) {
  if (!separator.empty()) return find_part(text, separator, at);
  const size_t end = at < text.size() ? at + utf8::sequence_length(text.substr(at)) : text.size();
  return end >= text.size() ? std::string_view::npos : end;
}

Val split(CallContext& context, Arguments args) {
  if (!all_strings(args.first(2)) || (args.size() == 3 && !args[2].is(Kind::Int)))
    return no_overload("split", args);
  if (!pay_search(context, args)) return exhausted();
  const std::string_view text = args[0].as_string();
  const std::string_view separator = args[1].as_string();
  const int64_t limit = args.size() == 3 ? args[2].as_int() : -1;
  std::vector<Val> parts;
  if (limit == 0 || (separator.empty() && text.empty())) return Val::list(std::move(parts));
  for (size_t at = 0;;) {
    const bool last = static_cast<int64_t>(parts.size()) + 1 == limit;
    const size_t cut = last ? std::string_view::npos : next_cut(text, separator, at);
    const std::string_view part = text.substr(at, cut - at);
    if (!context.budget.spend_bytes(part.size() + 64) || !context.budget.spend_steps(1))
      return exhausted();
    parts.push_back(Val::string(part));
    if (cut == std::string_view::npos) return paid_list(context, std::move(parts));
    at = cut + separator.size();
  }
}

Val substring(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String) || !args[1].is(Kind::Int) ||
      (args.size() == 3 && !args[2].is(Kind::Int)))
    return no_overload("substring", args);
  const std::string_view text = args[0].as_string();
  if (!context.budget.spend_steps(price::scanning(2 * text.size()))) return exhausted();
  const auto place = [&](int64_t index) {
    return index < 0 ? kNoPlace : offset_of_code_point(text, static_cast<uint64_t>(index));
  };
  const int64_t from = args[1].as_int();
  const size_t begin = place(from);
  if (begin == kNoPlace) return out_of_range(from);
  const size_t end = args.size() == 3 ? place(args[2].as_int()) : text.size();
  if (end == kNoPlace) return out_of_range(args[2].as_int());
  if (begin > end) {
    return Val::error("invalid substring range. start: " + std::to_string(from) +
                      ", end: " + std::to_string(args[2].as_int()));
  }
  return paid_string(context, std::string(text.substr(begin, end - begin)));
}

Val trim(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String)) return no_overload("trim", args);
  if (!pay_reading(context, args)) return exhausted();
  std::string_view text = args[0].as_string();
  while (!text.empty() && is_space(code_point_at(text, 0)))
    text.remove_prefix(utf8::sequence_length(text));
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_space(code_point_at(text, last))) break;
    text = text.substr(0, last);
  }
  return paid_string(context, std::string(text));
}

Val join(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List) || (args.size() == 2 && !args[1].is(Kind::String)))
    return no_overload("join", args);
  const std::string_view separator = args.size() == 2 ? args[1].as_string() : "";
  std::string out;
  for (size_t i = 0; i < args[0].list_size(); ++i) {
    const Val part = args[0].list_at(i);
    if (!part.is(Kind::String)) return no_overload("join", args);
    const size_t bytes = part.as_string().size() + separator.size();
    if (!context.budget.spend_bytes(bytes) ||
        !context.budget.spend_steps(1 + price::reading(bytes)))
      return exhausted();
    if (i > 0) out += separator;
    out += part.as_string();
  }
  return paid_string(context, std::move(out));
}

Val quote(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String)) return no_overload("strings.quote", args);
  if (!context.budget.spend_steps(price::scanning(2 * args[0].as_string().size())) ||
      !context.budget.spend_bytes(2 * args[0].as_string().size()))
    return exhausted();
  static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kTo = "abfnrtv\\\"";
  const std::string_view text = args[0].as_string();
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8::sequence_length(text.substr(i));
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (const size_t escape = kFrom.find(text[i]); escape != std::string_view::npos) {
      (out += '\\') += kTo[escape];
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return paid_string(context, out += '"');
}

constexpr Function kStringFunctions[] = {
    {"contains", contains, 1, 1, true},
    {"startsWith", starts_with, 1, 1, true},
    {"endsWith", ends_with, 1, 1, true},
    {"matches", matches, 1, 1, true},
    {"matches", matches, 2, 2, false},
    {"charAt", char_at, 1, 1, true},
    {"indexOf", index_of, 1, 2, true},
    {"lastIndexOf", last_index_of, 1, 2, true},
    {"lowerAscii", lower_ascii, 0, 0, true},
    {"upperAscii", upper_ascii, 0, 0, true},
    {"replace", replace, 2, 3, true},
    {"split", split, 1, 2, true},
    {"substring", substring, 1, 2, true},
    {"trim", trim, 0, 0, true},
    {"join", join, 0, 1, true},
    {"strings.quote", quote, 1, 1, false},
};

}  // namespace

// Lists reverse too, so list_functions() owns the name and comes here for text.
Val reverse_text(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String)) return no_overload("reverse", args);
  const std::string_view text = args[0].as_string();
  if (!context.budget.spend_steps(price::scanning(2 * text.size())) ||
      !context.budget.spend_bytes(text.size() + 48))
    return exhausted();
  return Val::string(reversed(text));
}

std::span<const Function> string_functions() { return kStringFunctions; }

}  // namespace pawl::expr
