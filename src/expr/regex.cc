#include "expr/regex.h"

#include <re2/re2.h>

#include "base/quote.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kSpent = "the evaluation budget is spent";
constexpr int64_t kRegexBytesMax = 256 << 10;
constexpr size_t kPatternBytesMax = 4096;
constexpr size_t kClassesMax = 64;  // of Unicode, in one pattern

// Measured costs of compiling: reading the pattern some 1 µs a byte, a Unicode class (\pL: 600
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

// A counted repetition of a few bytes can give the largest program. Its cost is known only after
// compiling: if the budget could not pay for that, it is spent without trying.
bool can_pay_for_repetitions(std::string_view pattern, Budget& budget) {
  if (pattern.find('{') == std::string_view::npos) return true;
  if (budget.limits().steps_max - budget.steps_spent() >= kTooLargeSteps) return true;
  return budget.spend_steps(kTooLargeSteps);
}

// The name of a construct after "(?" that no automaton can match.
std::string_view look_around(std::string_view rest) {
  if (rest.starts_with("=") || rest.starts_with("!")) return "look-ahead";
  if (rest.starts_with("<=") || rest.starts_with("<!")) return "look-behind";
  return "";
}

Result<std::string> in_re2_spelling(std::string_view text) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      const char next = text[i + 1];
      if (next == 'u' && i + 5 < text.size() &&
          text.substr(i + 2, 4).find_first_not_of("0123456789abcdefABCDEF") ==
              std::string_view::npos) {
        out.append("\\x{").append(text.substr(i + 2, 4)).append("}");
        i += 5;
        continue;
      }
      if (!in_class && ((next >= '1' && next <= '9') || next == 'k')) {
        return Error{ErrorCode::InvalidContent,
                     "the pattern " + in_quotes(text) +
                         " uses a back reference, which this engine's regular expressions (RE2) "
                         "do not have"};
      }
      out.append(text.substr(i, 2));
      ++i;
      continue;
    }
    if (text[i] == '[') in_class = true;
    if (text[i] == ']') in_class = false;
    if (!in_class && text.substr(i).starts_with("(?")) {
      if (const std::string_view what = look_around(text.substr(i + 2)); !what.empty()) {
        return Error{ErrorCode::InvalidContent, "the pattern " + in_quotes(text) + " uses " +
                                                    std::string(what) +
                                                    ", which this engine's regular expressions "
                                                    "(RE2) do not have"};
      }
      if (text.substr(i).starts_with("(?<")) {
        out += "(?P<";
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace

Regex compile_regex(std::string_view pattern, Budget& budget, std::string& error) {
  if (pattern.size() > kPatternBytesMax) {
    error = "the regular expression is longer than " + std::to_string(kPatternBytesMax) + " bytes";
    return nullptr;
  }
  const size_t classes = unicode_classes(pattern);
  if (classes > kClassesMax) {
    error = "the regular expression names more than " + std::to_string(kClassesMax) +
            " Unicode classes";
    return nullptr;
  }
  if (!budget.spend_steps(kRegexSteps + kByteSteps * pattern.size() + kClassSteps * classes) ||
      !can_pay_for_repetitions(pattern, budget)) {
    error = kSpent;
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
    error = kSpent;
    return nullptr;
  }
  if (regex->error_code() == re2::RE2::ErrorPatternTooLarge &&
      !budget.spend_steps(kTooLargeSteps)) {
    error = kSpent;
    return nullptr;
  }
  error =
      "invalid regular expression '" + std::string(pattern.substr(0, 80)) + "': " + regex->error();
  return nullptr;
}

std::optional<bool> match_regex(const re2::RE2& regex, std::string_view text, Budget& budget) {
  const uint64_t size = static_cast<uint64_t>(regex.ProgramSize());
  if (!budget.spend_steps(price::matching(size, text.size()))) return std::nullopt;
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), regex);
}

Result<Regex> compile_ecma_regex(std::string_view pattern, Budget& budget) {
  if (!budget.spend_steps(price::scanning(pattern.size())))
    return Error{ErrorCode::TooLarge, "the patterns take too many steps to compile"};
  PAWL_TRY(const std::string spelled, in_re2_spelling(pattern));
  std::string error;
  Regex regex = compile_regex(spelled, budget, error);
  if (budget.exceeded() != Budget::Exceeded::None)
    return Error{ErrorCode::TooLarge, "the patterns take too many steps to compile"};
  if (regex == nullptr) {
    return Error{
        ErrorCode::InvalidContent,
        error + " (patterns are run by RE2, which has no look-around and no back references)"};
  }
  return regex;
}

}  // namespace pawl::expr
