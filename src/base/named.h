// Names of values, mostly of an enum: one table serves writing and reading.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace pawl {

template <class Choice>
struct Named {
  std::string_view name;
  Choice value;
};

// "" for a value that the table does not name.
template <class Choice, size_t N>
constexpr std::string_view name_of(const Named<Choice> (&table)[N],
                                   std::type_identity_t<Choice> value) {
  for (const Named<Choice>& entry : table)
    if (entry.value == value) return entry.name;
  return "";
}

}  // namespace pawl
