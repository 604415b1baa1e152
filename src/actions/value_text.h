// Converts values to text and bytes to values, as actions do. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl::actions {

// A string as it is, null as "", a whole double without its fraction, everything else as JSON.
std::string text_of(const Value& value);
// The same for scalars: nothing for null, arrays and objects.
std::optional<std::string> scalar_text(const Value& value);

bool is_utf8(std::string_view bytes);
// Invalid UTF-8 becomes U+FFFD.
std::string repaired_utf8(std::string_view bytes);

// Members of a parameters object, with their defaults. check_params has checked their types.
std::string string_param(const Value& params, std::string_view name, std::string_view missing = "");
bool bool_param(const Value& params, std::string_view name, bool missing);
int64_t int_param(const Value& params, std::string_view name, int64_t missing);
// "1h30m", or a number of seconds. InvalidContent if it is no duration or not positive.
Result<int64_t> duration_param(const Value& params, std::string_view name, int64_t missing_ms);

}  // namespace pawl::actions
