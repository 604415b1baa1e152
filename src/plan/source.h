// Source: the text of a definition as a tree of values, with the line of each value.
//
// JSON and YAML give the same tree. Text that is neither ends in faults, never in an exception.
// Size, depth and number of values are bounded before anything is built from them; a YAML alias
// counts as often as it is used, so a few lines cannot expand to gigabytes. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/value.h"
#include "plan/definition.h"

namespace pawl::plan {

// The shape of a Value: one entry for each element or member, in its order. Empty where no lines
// are known.
struct Lines {
  uint32_t line = 0;  // 1-based; of a member: the line of its key
  std::vector<Lines> of;
};

struct Source {
  Value value;
  Lines lines;
  std::vector<Fault> faults;  // if any, the value is meaningless
};

// Depth of nested values: a nested list of steps takes four levels, and parameters nest further.
inline constexpr uint32_t kValueDepthMax = 160;
inline constexpr uint32_t kValuesMax = 1'000'000;
// The YAML scanner looks ahead without bound inside of brackets: hostile text costs it hundreds of
// times its size.
inline constexpr size_t kYamlBytesMax = 1u << 20;

Source read_source(std::string_view text, const DefinitionLimits& limits);

// The part of read_source for YAML.
Source read_yaml(std::string_view text);

}  // namespace pawl::plan
