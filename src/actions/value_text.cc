#include "actions/value_text.h"

#include <cmath>

#include "base/quote.h"
#include "base/time.h"
#include "base/utf8.h"

namespace pawl::actions {
namespace {

constexpr double kWholeMax = 9007199254740992.0;  // 2^53: up to here doubles are exact integers

}  // namespace

std::optional<std::string> scalar_text(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_double()) {
    double number = value.as_double();
    if (std::abs(number) <= kWholeMax && std::trunc(number) == number)
      return std::to_string(static_cast<int64_t>(number));
    return value.json();
  }
  if (value.is_bool() || value.is_int()) return value.json();
  return std::nullopt;
}

std::string text_of(const Value& value) {
  if (value.is_null()) return "";
  auto text = scalar_text(value);
  return text ? *text : value.json();
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t length = utf8::sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t length = utf8::sequence_length(bytes);
    if (length == 0) {
      utf8::append(out, 0xfffd);
      bytes.remove_prefix(1);
      continue;
    }
    out.append(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

std::string string_param(const Value& params, std::string_view name, std::string_view missing) {
  const Value* value = params.find(name);
  if (value == nullptr || value->is_null()) return std::string(missing);
  return text_of(*value);
}

bool bool_param(const Value& params, std::string_view name, bool missing) {
  const Value* value = params.find(name);
  return value != nullptr && value->is_bool() ? value->as_bool() : missing;
}

int64_t int_param(const Value& params, std::string_view name, int64_t missing) {
  const Value* value = params.find(name);
  if (value == nullptr || !value->is_number()) return missing;
  if (value->is_int()) return value->as_int();
  double number = value->as_double();
  return std::abs(number) <= kWholeMax ? static_cast<int64_t>(number) : missing;
}

Result<int64_t> duration_param(const Value& params, std::string_view name, int64_t missing_ms) {
  const Value* value = params.find(name);
  if (value == nullptr || value->is_null()) return missing_ms;
  int64_t ms = 0;
  if (value->is_number()) {
    double wanted_ms = value->as_double() * 1000;
    if (!(wanted_ms > 0 && wanted_ms <= static_cast<double>(kDurationMsMax)))
      return Error{ErrorCode::InvalidContent, std::string(name) + " must be a positive duration"};
    ms = static_cast<int64_t>(std::ceil(wanted_ms));
  } else {
    std::string text = text_of(*value);
    if (text.empty()) return missing_ms;
    // Digits alone are seconds, also after interpolation into text.
    bool digits = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 12;
    auto parsed = parse_duration_ms(digits ? text + "s" : text);
    if (!parsed.ok())
      return Error{ErrorCode::InvalidContent,
                   std::string(name) + ": " + std::move(parsed).error().message};
    ms = *parsed;
  }
  if (ms <= 0)
    return Error{ErrorCode::InvalidContent, std::string(name) + " must be a positive duration"};
  return ms;
}

}  // namespace pawl::actions
