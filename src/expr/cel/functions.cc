#include "expr/cel/functions.h"

#include <unordered_map>

namespace pawl::expr {
namespace {

using Table = std::unordered_map<std::string_view, std::vector<const Function*>>;

const Table& table() {
  static const Table* const kTable = [] {
    auto* built = new Table;
    for (const auto family : {conversion_functions(), string_functions(), format_functions(),
                              math_functions(), time_functions(), list_functions(),
                              optional_functions(), network_functions(), encoder_functions()}) {
      for (const Function& function : family) (*built)[function.name].push_back(&function);
    }
    return built;
  }();
  return *kTable;
}

}  // namespace

const Function* find_function(std::string_view name, bool receiver, size_t arguments) {
  const auto found = table().find(name);
  if (found == table().end()) return nullptr;
  for (const Function* function : found->second) {
    if (function->receiver == receiver && arguments >= function->arguments_min &&
        arguments <= function->arguments_max) {
      return function;
    }
  }
  return nullptr;
}

bool is_function_name(std::string_view name) { return table().contains(name); }

Val no_overload(std::string_view name, Arguments arguments) {
  std::string message = "no such overload: " + std::string(name) + "(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) message += ", ";
    message += type_name(arguments[i].kind());
  }
  return Val::error(message + ")");
}

Val exhausted() {
  static const Val* const kError = new Val(Val::error("the evaluation budget is spent"));
  return *kError;
}

Val paid_string(CallContext& context, std::string text) {
  if (!context.budget.spend_bytes(text.size() + 48)) return exhausted();
  return Val::string(std::move(text));
}

Val paid_list(CallContext& context, std::vector<Val> elements) {
  if (!context.budget.spend_bytes(elements.size() * sizeof(Val) + 48)) return exhausted();
  return Val::list(std::move(elements));
}

}  // namespace pawl::expr
