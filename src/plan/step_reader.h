// StepReader: reads lists of steps into the Script.
//
// A list is read completely, then its order is resolved (list_order.h); inner lists are read with
// the step that holds them. Faults go to the Findings; a faulty step still takes its place, so that
// the rest can be checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/definition.h"
#include "plan/expressions.h"
#include "plan/findings.h"
#include "plan/list_order.h"
#include "plan/script.h"

namespace pawl::plan {

class StepReader {
 public:
  // The role of a list, which determines the rules for its steps.
  enum class Role : uint8_t { Root, Inner, Hook, Compensation };

  // `checked`: expressions, templates and action names are checked too.
  StepReader(Script& script, Findings& findings, const ReadOptions& options, bool checked)
      : script_(script), findings_(findings), options_(options), checked_(checked) {}

  // Reads the list at `at`: an array of steps, or one step. `made`: the generated id of steps
  // without one; "" where an id is required.
  uint32_t read_list(const Cursor& at, Role role, uint32_t owner, std::string_view made = {});

 private:
  // Where the fields of a step's type are: under config, or under parameters in the second dialect.
  struct Config {
    std::optional<Cursor> config;
    std::optional<Cursor> parameters;

    bool given() const { return config || parameters; }
  };

  void read_step(const Cursor& at, Role role, uint32_t place, std::string made, Draft& draft);
  void read_names(const Cursor& at, const std::string& made, Step& step);
  void check_id(const Cursor& at, const std::string& id);
  void read_type(const Cursor& at, Step& step);
  void read_policy(const Cursor& at, Role role, Step& step, Draft& draft);
  void read_depends_on(const Cursor& at, Draft& draft);
  void read_retry(const Cursor& at, bool second_dialect, Step& step);
  void read_on_error(const Cursor& at, Step& step, Draft& draft);
  void read_on_failure(const Cursor& at, Step& step);
  void read_compensate(const Cursor& at, uint32_t place, Step& step);

  void read_content(const Cursor& at, uint32_t place, Step& step);
  void read_config(const Cursor& at, const Config& config, uint32_t place, Step& step);
  void check_config(const Cursor& at, const Config& config, const Step& step);
  void read_action(const Cursor& at, Step& step);
  void check_action(const Cursor& at, const std::string& action);
  void read_condition(const Cursor& at, const Config& config, uint32_t place, Step& step);
  void read_loop(const Cursor& at, const Config& config, uint32_t place, Step& step);
  void read_over_or_condition(const Cursor& at, const Config& config, Step& step);
  void read_parallel(const Cursor& at, const Config& config, uint32_t place, Step& step);
  void read_sequence(const Cursor& at, const Config& config, uint32_t place, Step& step);
  void read_wait(const Cursor& at, const Config& config, Step& step);
  void read_decision(const Cursor& at, const Config& config, Step& step);
  void read_options(const Cursor& options, Step& step);
  void read_fallback_choice(const Config& config, Step& step);
  void read_inject(const Cursor& inject, Step& step);
  void read_test(const Cursor& at, const Config& config, Step& step);
  void read_job(const Cursor& at, const Config& config, Step& step);
  void read_agent(const Cursor& at, const Config& config, Step& step);
  void read_composition(const Cursor& at, const Config& config, Step& step);
  void read_subworkflow(const Cursor& at, const Config& config, Step& step);

  std::optional<Cursor> pick(const Config& config, std::initializer_list<std::string_view> names);
  bool has(const Config& config, std::string_view name) const;
  void required(const Cursor& at, std::string_view what, std::string_view field);
  std::string expression(const Cursor& at) { return read_expression(findings_, at, checked_); }
  // The value itself; its templates are checked. `action`: the action whose parameters they are,
  // since some may hold secrets; "" = none.
  Value templated(const Cursor& at, std::string_view action = {});
  // Names and descriptions, none of which may hold a secret; "" without a field.
  std::string text_of(const std::optional<Cursor>& at);

  Script& script_;
  Findings& findings_;
  const ReadOptions& options_;
  const bool checked_;
  uint32_t depth_ = 0;
  size_t path_bytes_ = 0;  // of the ids of the steps around the list that is read
  bool undoing_ = false;   // inside a compensation
  bool full_ = false;      // the bound on steps was met and reported
  bool accepted_ = false;  // inside a step that was accepted before
};

}  // namespace pawl::plan
