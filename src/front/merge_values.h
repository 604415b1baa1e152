// Joining values: several objects that describe the same thing, each as one partition knows it,
// become one. A recipe says how each member is joined, by its name, at whatever depth it stands.
// Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace pawl::front {

enum class Join : uint8_t {
  First,     // the same everywhere, or only in one: settings, names. Also what no recipe names
  Sum,       // of numbers
  Most,      // the largest number
  Least,     // the smallest one
  Earliest,  // of times
  Latest,
  Any,     // true if one is
  Mean,    // of numbers, by the weights of their objects
  Counts,  // an object of counts by name: all names, each count the sum
  Names,   // an array of texts: each text once
};

// The entry of an array is the one of another part if it has the same key.
struct Recipe {
  struct Member {
    std::string_view name;
    Join join;
  };
  struct Entries {
    std::string_view name;  // of the array
    std::string_view key;   // the member of its entries that tells them apart
    std::string_view second_key = {};
    bool descending = false;
  };
  std::vector<Member> members = {};
  std::vector<Entries> arrays = {};
  std::vector<std::string_view> weights = {};  // members whose sum is the weight of an object
};

// There is at least one.
Value::Object join_objects(const Recipe& recipe, std::span<const Value::Object* const> parts);

}  // namespace pawl::front
