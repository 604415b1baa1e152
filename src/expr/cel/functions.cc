#include "expr/cel/functions.h"

#include <re2/re2.h>

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

constexpr int64_t kRegexBytesMax = 256 << 10;
constexpr size_t kPatternBytesMax = 4096;
constexpr size_t kClassesMax = 64;  // of Unicode, in one pattern

// What compiling costs, measured: reading the pattern some 1 µs a byte, a Unicode class (\pL: 600
// ranges) some 150 µs, each instruction 0.4 µs; giving up on too large a program some 3 ms.
constexpr uint64_t kRegexSteps = 400;
constexpr uint64_t kByteSteps = 20;
constexpr uint64_t kClassSteps = 3'000;
constexpr uint64_t kInstructionSteps = 8;
constexpr uint64_t kTooLargeSteps = 60'000;

size_t unicode_classes(std::string_view pattern) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;
    if (pattern[i] == 'p' || pattern[i] == 'P') ++count;
  }
  return count;
}

// A counted repetition can make the largest program of a few bytes. What it costs is known when it
// is compiled: a budget that could not pay for that is spent without trying.
bool can_pay_for_repetitions(std::string_view pattern, Budget& budget) {
  if (pattern.find('{') == std::string_view::npos) return true;
  if (budget.limits().steps_max - budget.steps_spent() >= kTooLargeSteps) return true;
  return budget.spend_steps(kTooLargeSteps);
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

std::shared_ptr<const re2::RE2> compile_regex(std::string_view pattern, Budget& budget,
                                              Val& error) {
  if (pattern.size() > kPatternBytesMax) {
    error = Val::error("the regular expression is longer than " + std::to_string(kPatternBytesMax) +
                       " bytes");
    return nullptr;
  }
  const size_t classes = unicode_classes(pattern);
  if (classes > kClassesMax) {
    error = Val::error("the regular expression names more than " + std::to_string(kClassesMax) +
                       " Unicode classes");
    return nullptr;
  }
  if (!budget.spend_steps(kRegexSteps + kByteSteps * pattern.size() + kClassSteps * classes) ||
      !can_pay_for_repetitions(pattern, budget)) {
    error = exhausted();
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexBytesMax);
  auto regex =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (regex->ok()) {
    // Known only now, and bounded by kRegexBytesMax.
    if (budget.spend_steps(kInstructionSteps * static_cast<uint64_t>(regex->ProgramSize())))
      return regex;
    error = exhausted();
    return nullptr;
  }
  if (regex->error_code() == re2::RE2::ErrorPatternTooLarge &&
      !budget.spend_steps(kTooLargeSteps)) {
    error = exhausted();
    return nullptr;
  }
  error = Val::error("invalid regular expression '" + std::string(pattern.substr(0, 80)) +
                     "': " + regex->error());
  return nullptr;
}

Val match_regex(CallContext& context, const re2::RE2& regex, std::string_view text) {
  const uint64_t size = static_cast<uint64_t>(regex.ProgramSize());
  if (!context.budget.spend_steps(price::matching(size, text.size()))) return exhausted();
  return Val::boolean(re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), regex));
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
