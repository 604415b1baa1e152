// Findings: collects the faults of a definition while it is read, and reads single typed fields,
// where most faults occur.
//
// Every reader reports faults and returns a usable value, so that reading continues and finds the
// rest.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named.h"
#include "expr/budget.h"
#include "plan/cursor.h"
#include "plan/definition.h"
#include "plan/references.h"

namespace pawl::plan {

class Findings {
 public:
  // A longer list of faults would not help.
  static constexpr size_t kFaultsMax = 200;

  explicit Findings(bool lenient, uint64_t compile_steps_max = expr::kCompileStepsMax)
      : lenient_(lenient), compiling_(expr::BudgetLimits{.steps_max = compile_steps_max}) {}

  void error(const Cursor& at, std::string_view code, std::string message, std::string hint = {});
  void warning(const Cursor& at, std::string_view code, std::string message, std::string hint = {});
  // A fault that is only a warning in lenient mode.
  void complaint(const Cursor& at, std::string_view code, std::string message,
                 std::string hint = {});
  void warn(std::vector<Fault> warnings);

  References& references() { return references_; }
  // The budget for everything that is compiled while reading.
  expr::Budget& compiling() { return compiling_; }
  // True, with a fault at the first place, once the compile budget is spent: the rest is not
  // compiled.
  bool too_costly(const Cursor& at);

  bool failed() const { return !errors_.empty(); }
  // No more faults will be listed, so looking for hints is not worth the time.
  bool full() const { return errors_.size() > kFaultsMax; }
  std::vector<Fault> take_errors() { return std::move(errors_); }
  std::vector<Fault> take_warnings() { return std::move(warnings_); }

  // Complains about members that are not known. `elsewhere`: names that belong under `place`.
  void only(const Cursor& object, std::span<const std::string_view> known, std::string_view what,
            std::span<const std::string_view> elsewhere = {}, std::string_view place = {});
  // The member that has one of these names; two at once are an error.
  std::optional<Cursor> pick(const Cursor& object, std::initializer_list<std::string_view> names);

  bool expect_object(const Cursor& at);
  bool expect_array(const Cursor& at);
  // Text, or "" after a fault.
  std::string text(const Cursor& at);
  // Milliseconds of "1h30m", "PT5S" or a number of seconds; 0 after a fault, and for empty text.
  int64_t duration_ms(const Cursor& at);
  // A whole number within the bounds, or `otherwise` after a fault.
  int64_t whole(const Cursor& at, int64_t min, int64_t max, int64_t otherwise);

  template <class Choice, size_t N>
  std::optional<Choice> choice(const Cursor& at, const Named<Choice> (&table)[N]) {
    const std::string given = text(at);
    std::vector<std::string_view> names;
    for (const Named<Choice>& entry : table) {
      if (entry.name == given) return entry.value;
      names.push_back(entry.name);
    }
    if (at.is_string()) refuse_choice(at, given, names);
    return std::nullopt;
  }

 private:
  void refuse_choice(const Cursor& at, std::string_view given,
                     std::span<const std::string_view> names);
  void keep(std::vector<Fault>& list, const Cursor& at, std::string_view code, std::string message,
            std::string hint);

  bool lenient_;
  std::vector<Fault> errors_;
  std::vector<Fault> warnings_;
  References references_;
  expr::Budget compiling_;
  bool said_too_costly_ = false;
};

std::string_view kind_name(const Value& value);  // "text", "a number", "a list", …

}  // namespace pawl::plan
