// Matchers: compare expected and actual values, and list the differences.
//
// A value matches its equal. An object with one member whose name begins with $ is a matcher:
// {$any: true}        any value
//   {$cel: "value > 3"} an expression over value
//   {$contains: x}      text that holds x; a list with an element that matches x; an object with
//                       these members and perhaps more
//   {$matches: regex}   text in which the expression (RE2) is found
// An object with only $tag is no matcher: it is an arm of a variant that has nothing in it.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "plan/findings.h"

namespace pawl::rehearse {

struct Difference {
  std::string path;  // outputs.items[2].sku
  std::string wanted;
  std::string got;

  bool operator==(const Difference&) const = default;
};

enum class Members : uint8_t { All, AtLeast };  // of objects: no others, or others too

// `got` null: no value. At most kDifferencesMax are reported.
inline constexpr size_t kDifferencesMax = 20;
void compare(const std::string& path, const Value& wanted, const Value* got, Members members,
             std::vector<Difference>& into);

// Unknown or broken matchers anywhere inside are faults of the test file.
void check_matchers(plan::Findings& findings, const plan::Cursor& at);

// JSON on one line, cut where it gets long.
std::string shown(const Value& value);

}  // namespace pawl::rehearse
