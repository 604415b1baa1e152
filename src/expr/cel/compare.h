// Equality, order and hashing of values as CEL defines them.
//
// Numbers compare by mathematical value across int, uint and double; NaN equals nothing. Values of
// different kinds are simply unequal; ordering them is an error.
#pragma once

#include <cstddef>
#include <string_view>

#include "expr/budget.h"
#include "expr/cel/val.h"

namespace pawl::expr {

// Spends a step per element compared; when the budget runs out the answer is meaningless.
bool equal(const Val& a, const Val& b, Budget& budget);
// For values that hold no others: map keys, numbers, text.
bool equal_scalars(const Val& a, const Val& b);

enum class Order : uint8_t { Less, Equal, Greater, Unordered, Incomparable };
// Unordered: a NaN is involved. Incomparable: there is no such overload.
Order compare(const Val& a, const Val& b);

// Keys that are equal hash alike, whatever their number type.
size_t hash_key(const Val& key);
size_t hash_text(std::string_view text);

}  // namespace pawl::expr
