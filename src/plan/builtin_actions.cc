#include "plan/builtin_actions.h"

#include <algorithm>

namespace pawl::plan {
namespace {

// "http." of "http.get"; the whole name where there is no dot.
std::string_view family_of_action(std::string_view name) {
  size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot + 1);
}

}  // namespace

const BuiltinAction* find_builtin(std::string_view name) {
  for (const BuiltinAction& action : kBuiltinActions)
    if (action.name == name) return &action;
  return nullptr;
}

bool is_builtin_family(std::string_view name) {
  return std::any_of(std::begin(kBuiltinActions), std::end(kBuiltinActions),
                     [family = family_of_action(name)](const BuiltinAction& action) {
                       return family_of_action(action.name) == family;
                     });
}

}  // namespace pawl::plan
