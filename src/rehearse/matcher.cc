#include "rehearse/matcher.h"

#include "base/quote.h"
#include "expr/cel/program.h"

namespace pawl::rehearse {
namespace {

constexpr size_t kShownMax = 300;
constexpr std::string_view kMatchers[] = {"$any", "$cel", "$contains", "$matches"};

const Value::Member* matcher_of(const Value& wanted) {
  if (!wanted.is_object() || wanted.as_object().size() != 1) return nullptr;
  const Value::Member& only = wanted.as_object().at(0);
  const bool is_value = only.key.empty() || only.key[0] != '$' || only.key == "$tag";
  return is_value ? nullptr : &only;
}

Result<bool> test(const std::string& source, const Value& value, const Value& pattern) {
  PAWL_TRY(auto program, expr::Program::compile(source, expr::CompileOptions::workflow()));
  expr::Variables names;
  names.json("value", value).json("pattern", pattern);
  expr::Budget budget;
  return program->test(names, budget);
}

bool matches(const Value& wanted, const Value& got) {
  std::vector<Difference> found;
  compare("", wanted, &got, Members::All, found);
  return found.empty();
}

bool contains(const Value& part, const Value& whole) {
  if (whole.is_string())
    return part.is_string() && whole.as_string().find(part.as_string()) != std::string::npos;
  if (whole.is_array()) {
    for (const Value& element : whole.as_array())
      if (matches(part, element)) return true;
  }
  return false;
}

void add(std::vector<Difference>& into, const std::string& path, std::string wanted,
         std::string got) {
  if (into.size() < kDifferencesMax) into.push_back({path, std::move(wanted), std::move(got)});
}

void compare_by(const std::string& path, const Value::Member& matcher, const Value& got,
                std::vector<Difference>& into) {
  if (matcher.key == "$any") return;
  if (matcher.key == "$contains") {
    if (matcher.value.is_object() && got.is_object())
      return compare(path, matcher.value, &got, Members::AtLeast, into);
    if (!contains(matcher.value, got))
      add(into, path, "something that contains " + shown(matcher.value), shown(got));
    return;
  }
  bool regex = matcher.key == "$matches";
  auto holds = regex ? test("value.matches(pattern)", got, matcher.value)
                     : test(matcher.value.is_string() ? matcher.value.as_string() : "", got, {});
  if (holds.ok() && *holds) return;
  add(into, path,
      regex ? "text that matches " + shown(matcher.value)
            : "a value for which " + (matcher.value.is_string() ? matcher.value.as_string() : ""),
      shown(got) + (holds.ok() || regex ? "" : " (" + holds.error().message + ")"));
}

std::string member_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

}  // namespace

std::string shown(const Value& value) {
  std::string text = value.json();
  if (text.size() <= kShownMax) return text;
  size_t end = kShownMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void compare(const std::string& path, const Value& wanted, const Value* got, Members members,
             std::vector<Difference>& into) {
  if (got == nullptr) return add(into, path, shown(wanted), "nothing");
  if (const Value::Member* matcher = matcher_of(wanted))
    return compare_by(path, *matcher, *got, into);
  if (wanted.is_object() && got->is_object()) {
    for (const Value::Member& member : wanted.as_object())
      compare(member_path(path, member.key), member.value, got->find(member.key), members, into);
    for (const Value::Member& member : got->as_object())
      if (members == Members::All && !wanted.as_object().contains(member.key))
        add(into, member_path(path, member.key), "nothing", shown(member.value));
    return;
  }
  if (wanted.is_array() && got->is_array()) {
    const Value::Array& have = got->as_array();
    size_t count = std::max(wanted.as_array().size(), have.size());
    for (size_t i = 0; i < count; ++i) {
      std::string place = path + "[" + std::to_string(i) + "]";
      if (i < wanted.as_array().size())
        compare(place, wanted.as_array()[i], i < have.size() ? &have[i] : nullptr, members, into);
      else
        add(into, place, "nothing", shown(have[i]));
    }
    return;
  }
  if (!(wanted == *got)) add(into, path, shown(wanted), shown(*got));
}

void check_matchers(plan::Findings& findings, const plan::Cursor& at) {
  if (at.is_array())
    for (const plan::Cursor& entry : at.entries()) check_matchers(findings, entry);
  if (!at.is_object()) return;
  const Value::Member* matcher = matcher_of(at.value());
  if (matcher == nullptr || matcher->key == "$contains") {
    for (size_t i = 0; i < at.value().as_object().size(); ++i)
      check_matchers(findings, at.member(i));
    return;
  }
  if (matcher->key == "$any") return;
  if (matcher->key != "$cel" && matcher->key != "$matches") {
    findings.only(at, kMatchers, "a matcher");
    return;
  }
  std::string text = findings.text(at.member(0));
  bool regex = matcher->key == "$matches";
  auto holds = regex ? test("value.matches(pattern)", Value(""), Value(text)) : Result<bool>(true);
  if (!holds.ok()) return findings.error(at.member(0), "expression", holds.error().message);
  if (regex) return;
  auto program = expr::Program::compile(text, expr::CompileOptions::workflow());
  if (!program.ok()) findings.error(at.member(0), "expression", program.error().message);
}

}  // namespace pawl::rehearse
