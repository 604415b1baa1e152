// Val to JSON, and to the text that a template shows. The other way is Val::json(), which borrows.
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"
#include "expr/cel/val.h"

namespace pawl::expr {

// Bytes become base64, timestamps RFC 3339, durations "1.5s", addresses and types their text, an
// optional its value or null, and map keys their text. InvalidContent for what JSON cannot say:
// NaN, infinities, integers above int64, two keys with one text. TooLarge when the budget is spent.
Result<Value> to_json(const Val& value, Budget& budget);

// The text of a map key; for other values, the name of the type.
std::string key_text(const Val& key);

// A string as it is, numbers without exponent, null as "null", lists and maps as compact JSON.
Result<std::string> to_text(const Val& value, Budget& budget);

}  // namespace pawl::expr
