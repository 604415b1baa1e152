#include "plan/findings.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/named.h"
#include "base/quote.h"
#include "base/time.h"
#include "plan/nearest.h"

namespace pawl::plan {
namespace {

constexpr Named<Value::Kind> kValueKindNames[] = {
    {"null", Value::Kind::Null},       {"a boolean", Value::Kind::Bool},
    {"a number", Value::Kind::Int},    {"a number", Value::Kind::Double},
    {"text", Value::Kind::String},     {"a list", Value::Kind::Array},
    {"an object", Value::Kind::Object}};

std::string joined(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string_view kind_name(const Value& value) { return name_of(kValueKindNames, value.kind()); }

void Findings::keep(std::vector<Fault>& list, const Cursor& at, std::string_view code,
                    std::string message, std::string hint) {
  if (list.size() > kFaultsMax) return;
  if (list.size() == kFaultsMax) {
    list.push_back({"", "too_many",
                    "there is more: only the first " + std::to_string(kFaultsMax) + " are listed",
                    "", 0});
    return;
  }
  list.push_back({at.path(), std::string(code), std::move(message), std::move(hint), at.line()});
}

void Findings::error(const Cursor& at, std::string_view code, std::string message,
                     std::string hint) {
  keep(errors_, at, code, std::move(message), std::move(hint));
}

void Findings::warning(const Cursor& at, std::string_view code, std::string message,
                       std::string hint) {
  keep(warnings_, at, code, std::move(message), std::move(hint));
}

void Findings::complaint(const Cursor& at, std::string_view code, std::string message,
                         std::string hint) {
  keep(lenient_ ? warnings_ : errors_, at, code, std::move(message), std::move(hint));
}

bool Findings::too_costly(const Cursor& at) {
  if (compiling_.exceeded() == expr::Budget::Exceeded::None) return false;
  if (!said_too_costly_) {
    error(at, "too_large",
          "the expressions, patterns and schemas of the definition take more than " +
              std::to_string(compiling_.limits().steps_max) +
              " steps to compile, all together up to here",
          "shorten them, or split the definition: a regular expression costs 400 steps and more");
  }
  said_too_costly_ = true;
  return true;
}

void Findings::warn(std::vector<Fault> warnings) {
  for (Fault& fault : warnings) {
    if (warnings_.size() < kFaultsMax) warnings_.push_back(std::move(fault));
  }
}

void Findings::only(const Cursor& object, std::span<const std::string_view> known,
                    std::string_view what, std::span<const std::string_view> elsewhere,
                    std::string_view place) {
  if (!object.is_object()) return;
  const Value::Object& members = object.value().as_object();
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string& name = members.at(i).key;
    if (contains(known, name) || name.starts_with("x-")) continue;  // x-…: the author's own
    if ((lenient_ ? warnings_ : errors_).size() > kFaultsMax) return;
    std::string hint = contains(elsewhere, name)
                           ? "'" + name + "' belongs under " + std::string(place)
                           : meant(name, known);
    complaint(object.member(i), "unknown_field",
              std::string(what) + " has no field " + in_quotes(name), std::move(hint));
  }
}

std::optional<Cursor> Findings::pick(const Cursor& object,
                                     std::initializer_list<std::string_view> names) {
  std::optional<Cursor> found;
  std::string_view first;
  for (const std::string_view name : names) {
    std::optional<Cursor> field = object.field(name);
    if (!field) continue;
    if (found) {
      error(*field, "duplicate",
            "'" + std::string(name) + "' says the same as '" + std::string(first) + "'",
            "give one of them");
      continue;
    }
    found = field;
    first = name;
  }
  return found;
}

bool Findings::expect_object(const Cursor& at) {
  if (at.is_object()) return true;
  error(at, "type", "must be an object, not " + std::string(kind_name(at.value())));
  return false;
}

bool Findings::expect_array(const Cursor& at) {
  if (at.is_array()) return true;
  error(at, "type", "must be a list, not " + std::string(kind_name(at.value())));
  return false;
}

std::string Findings::text(const Cursor& at) {
  if (at.is_string()) return at.value().as_string();
  const bool scalar = at.value().is_number() || at.value().is_bool();
  error(at, "type", "must be text, not " + std::string(kind_name(at.value())),
        scalar ? "put it in quotes" : "");
  return {};
}

int64_t Findings::duration_ms(const Cursor& at) {
  if (at.value().is_number()) {
    const auto ms = std::ceil(at.value().as_double() * 1000);
    if (ms >= 0 && ms <= static_cast<std::remove_const_t<decltype(ms)>>(kDurationMsMax)) {
      return static_cast<int64_t>(ms);
    }
    error(at, "duration", "must be a number of seconds that is not negative and not absurd");
    return 0;
  }
  const std::string given = text(at);
  if (given.empty()) return 0;
  const Result<int64_t> ms =
      given[0] == 'P' ? parse_iso_duration_ms(given) : parse_duration_ms(given);
  if (ms.ok()) return *ms;
  const bool digits = given.find_first_not_of("0123456789") == std::string::npos;
  error(at, "duration", ms.error().message,
        digits ? "it needs a unit: '" + given.substr(0, 20) + "s'"
               : "write it like 500ms, 30s or 1h30m");
  return 0;
}

int64_t Findings::whole(const Cursor& at, int64_t min, int64_t max, int64_t otherwise) {
  std::optional<int64_t> number;
  if (at.value().is_int()) number = at.value().as_int();
  if (at.value().is_double()) {
    const auto real = at.value().as_double();
    if (std::floor(real) == real && std::fabs(real) < 1e15) number = static_cast<int64_t>(real);
  }
  if (!number) {
    error(at, "type", "must be a whole number");
    return otherwise;
  }
  if (*number >= min && *number <= max) return *number;
  error(at, "value",
        "must be between " + std::to_string(min) + " and " + std::to_string(max) + ", not " +
            std::to_string(*number));
  return otherwise;
}

void Findings::refuse_choice(const Cursor& at, std::string_view given,
                             std::span<const std::string_view> names) {
  error(at, "value", "must be one of " + joined(names) + ", not " + in_quotes(given),
        meant(given, names));
}

}  // namespace pawl::plan
