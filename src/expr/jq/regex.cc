// Regular expressions: jq's flags and match objects on RE2.
#include <re2/re2.h>

#include <algorithm>

#include "expr/jq/machine.h"
#include "expr/text.h"

namespace pawl::expr::jq {
namespace {

constexpr size_t kRegexesMax = 64;  // kept by one run
constexpr size_t kGroupsMax = 64;

// RE2 has no x flag: removes blanks and comments, except in classes and after a backslash.
std::string without_blanks(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      out.append(pattern.substr(i++, 2));
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (!in_class && c == '#') {
      i = std::min(pattern.find('\n', i), pattern.size());
    } else if (in_class || std::string_view(" \t\n\r").find(c) == std::string_view::npos) {
      out += c;
    }
  }
  return out;
}

bool read_arguments(Machine& m, const Datum& pattern, const Datum& flags, std::string& text,
                    std::string& letters) {
  Datum what = pattern;
  Datum how = flags;
  if (pattern.is_array()) {
    const Datum::Array& both = pattern.as_array();
    what = both.empty() ? Datum() : both[0];
    if (both.size() > 1) how = both[1];
  }
  if (!what.is_string())
    return m.raise(described(what, m.budget) + " cannot be matched, as it is not a string");
  if (!how.is_null() && !how.is_string())
    return m.raise(described(how, m.budget) + " is not a string of flags");
  text = what.as_string();
  letters = how.is_null() ? "" : how.as_string();
  if (letters.find_first_not_of("gimnpsxl") != std::string::npos)
    return m.raise(letters.substr(0, 40) + " is not a valid modifier string");
  return true;
}

Datum::Text key(const char* name) { return std::make_shared<const std::string>(name); }

Datum match_object(Machine& m, const std::string& text, const Match& match, const re2::RE2& regex) {
  static const auto* const kOffset = new Datum::Text(key("offset"));
  static const auto* const kLength = new Datum::Text(key("length"));
  static const auto* const kString = new Datum::Text(key("string"));
  static const auto* const kName = new Datum::Text(key("name"));
  static const auto* const kCaptures = new Datum::Text(key("captures"));
  const auto describe = [&](const Match::Range& range) {
    Datum::Object object;
    const bool absent = range.begin == SIZE_MAX;
    const std::string_view all = text;
    const auto points = [&](size_t from, size_t to) {
      return Datum::integer(static_cast<int64_t>(count_code_points(all.substr(from, to - from))));
    };
    (void)m.step(absent ? 0 : range.end / 64);
    object.set(*kOffset, absent ? Datum::integer(-1) : points(0, range.begin));
    object.set(*kLength, absent ? Datum::integer(0) : points(range.begin, range.end));
    object.set(*kString,
               absent ? Datum()
                      : Datum::string(text.substr(range.begin, range.end - range.begin), m.budget));
    return object;
  };
  Datum::Object whole = describe(match.groups[0]);
  Datum::Array captures;
  const auto& names = regex.CapturingGroupNames();
  for (size_t i = 1; i < match.groups.size(); ++i) {
    Datum::Object group = describe(match.groups[i]);
    const auto name = names.find(static_cast<int>(i));
    group.set(*kName, name == names.end() ? Datum() : Datum::string(name->second, m.budget));
    captures.push_back(Datum::object(std::move(group), m.budget));
  }
  whole.set(*kCaptures, Datum::array(std::move(captures), m.budget));
  return Datum::object(std::move(whole), m.budget);
}

bool match_array(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::vector<Match> matches;
  const re2::RE2* regex = nullptr;
  if (!find_matches(m, in, args[0], args[1], false, matches, regex)) return false;
  Datum::Array objects;
  for (const Match& match : matches) {
    objects.push_back(match_object(m, in.as_string(), match, *regex));
    if (m.spent()) return false;
  }
  out = Datum::array(std::move(objects), m.budget);
  return true;
}

bool test_regex(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::vector<Match> matches;
  const re2::RE2* regex = nullptr;
  if (!find_matches(m, in, args[0], args.size() > 1 ? args[1] : Datum(), false, matches, regex))
    return false;
  out = Datum::boolean(!matches.empty());
  return true;
}

bool split_by_regex(Machine& m, const Datum& in, Arguments args, Datum& out) {
  std::vector<Match> matches;
  const re2::RE2* regex = nullptr;
  if (!find_matches(m, in, args[0], args[1], true, matches, regex)) return false;
  Datum::Array parts;
  size_t at = 0;
  for (const Match& match : matches) {
    parts.push_back(Datum::string(in.as_string().substr(at, match.groups[0].begin - at), m.budget));
    at = match.groups[0].end;
  }
  parts.push_back(Datum::string(in.as_string().substr(at), m.budget));
  out = Datum::array(std::move(parts), m.budget);
  return true;
}

}  // namespace

const re2::RE2* Machine::regex(const std::string& pattern, std::string_view flags) {
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  std::string text;
  if (has('i')) text += "(?i)";
  if (has('s') || has('p')) text += "(?s)";
  text += has('x') ? without_blanks(pattern) : pattern;
  const auto known = regexes_.find(text);
  if (known != regexes_.end()) return known->second.get();
  Result<Regex> compiled = compile_ecma_regex(text, budget);
  if (spent()) return nullptr;
  if (!compiled.ok()) {
    raise(compiled.error().message);
    return nullptr;
  }
  if ((*compiled)->NumberOfCapturingGroups() > static_cast<int>(kGroupsMax)) {
    raise(std::string("the regular expression has more than 64 groups"));
    return nullptr;
  }
  if (regexes_.size() >= kRegexesMax) regexes_.clear();
  return (regexes_[text] = *compiled).get();
}

bool find_matches(Machine& machine, const Datum& in, const Datum& pattern, const Datum& flags,
                  bool global, std::vector<Match>& out, const re2::RE2*& regex) {
  if (!in.is_string())
    return machine.raise(described(in, machine.budget) +
                         " cannot be matched, as it is not a string");
  std::string text;
  std::string letters;
  if (!read_arguments(machine, pattern, flags, text, letters)) return false;
  regex = machine.regex(text, letters);
  if (regex == nullptr) return false;
  global = global || letters.find('g') != std::string::npos;
  const bool skip_empty = letters.find('n') != std::string::npos;
  const re2::StringPiece subject(in.as_string());
  const int groups = regex->NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> found(static_cast<size_t>(groups));
  for (size_t at = 0; at <= subject.size();) {
    // Charged up to the end, since the search for the longest match may read that far.
    const auto size = static_cast<uint64_t>(regex->ProgramSize());
    if (!machine.step(price::matching(size, subject.size() - at))) return false;
    if (!regex->Match(subject, at, subject.size(), re2::RE2::UNANCHORED, found.data(), groups))
      break;
    Match match;
    for (const re2::StringPiece& group : found) {
      Match::Range range;
      if (group.data() != nullptr) {
        range.begin = static_cast<size_t>(group.data() - subject.data());
        range.end = range.begin + group.size();
      }
      match.groups.push_back(range);
    }
    const Match::Range whole = match.groups[0];
    const bool empty = whole.begin == whole.end;
    if (!machine.budget.spend_bytes(match.groups.size() * sizeof(Match::Range) + 32)) return false;
    if (!empty || !skip_empty) out.push_back(std::move(match));
    if (!global) break;
    at = whole.end;
    if (!empty) continue;
    do {
      ++at;
    } while (at < subject.size() && (subject[at] & 0xC0) == 0x80);
  }
  return true;
}

Datum captured(Machine& machine, const std::string& text, const Match& match,
               const re2::RE2& regex) {
  Datum::Object object;
  for (const auto& [index, name] : regex.CapturingGroupNames()) {
    const Match::Range range = match.groups[static_cast<size_t>(index)];
    object.set(
        key(name.c_str()),
        range.begin == SIZE_MAX
            ? Datum()
            : Datum::string(text.substr(range.begin, range.end - range.begin), machine.budget));
  }
  return Datum::object(std::move(object), machine.budget);
}

std::vector<NativeEntry> regex_natives() {
  return {
      {"_match", 2, match_array},
      {"test", 1, test_regex},
      {"test", 2, test_regex},
      {"split", 2, split_by_regex},
  };
}

}  // namespace pawl::expr::jq
