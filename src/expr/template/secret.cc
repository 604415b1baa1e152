#include "expr/template/secret.h"

#include <algorithm>

#include "expr/cel/program.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kSecrets = "secrets";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

std::optional<std::string_view> plain_secret(std::string_view expression) {
  expression = trimmed(expression);
  if (!expression.starts_with(kSecrets)) return std::nullopt;
  expression.remove_prefix(kSecrets.size());
  if (expression.size() < 2 || expression[0] != '.') return std::nullopt;
  expression.remove_prefix(1);
  if (!std::all_of(expression.begin(), expression.end(), is_name_character)) return std::nullopt;
  return expression;
}

bool touches_secrets(std::string_view expression) {
  expression = trimmed(expression);
  if (expression.find(kSecrets) == std::string_view::npos) return false;
  // A dotted path need not be CEL: secrets.a-b, secrets.a.b c
  if (expression.starts_with(kSecrets) &&
      (expression.size() == kSecrets.size() || expression[kSecrets.size()] == '.'))
    return true;
  const auto program = Program::compile(expression, CompileOptions::workflow());
  return program.ok() && std::binary_search((*program)->variables().begin(),
                                            (*program)->variables().end(), kSecrets);
}

bool is_secret_denied(const Error& error) {
  return !error.complaints.empty() && error.complaints[0].code == "secret_denied";
}

}  // namespace pawl::expr
