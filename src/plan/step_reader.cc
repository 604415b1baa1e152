#include "plan/step_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/quote.h"
#include "plan/choices.h"
#include "plan/field_names.h"
#include "plan/nearest.h"
#include "plan/secret_rule.h"

namespace pawl::plan {
namespace {

constexpr size_t kIdBytesMax = 200;
// Of the ids on the way to a nested list, and of its rounds: its rows are stored under them.
constexpr size_t kPathBytesMax = 2000;
constexpr size_t kRoundBytesMax = 16;  // ".iter_4294967295"
constexpr int64_t kRetriesMax = 1000;
constexpr uint32_t kRetriesUsual = 10;
constexpr auto kMultiplierMax = 1000.0;

enum class Strategy : uint8_t { Ignore, Fail, Fallback, Retry, Skip, Rollback };
constexpr Named<Strategy> kStrategies[] = {{"ignore", Strategy::Ignore},
                                           {"fail_workflow", Strategy::Fail},
                                           {"fallback_step", Strategy::Fallback},
                                           {"retry", Strategy::Retry},
                                           {"skip", Strategy::Skip},
                                           {"rollback", Strategy::Rollback}};
constexpr Named<Strategy> kParallelOnFailures[] = {{"fail", Strategy::Fail},
                                                   {"retry", Strategy::Retry},
                                                   {"skip", Strategy::Skip},
                                                   {"rollback", Strategy::Rollback}};

RetryPolicy exponential(uint32_t max) { return {max, Backoff::Exponential, 1000, 60'000, 2000}; }

RetryPolicy usual(uint32_t max) {
  RetryPolicy policy = exponential(max);
  policy.by_default = true;
  return policy;
}

OnError on_error_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::Ignore:
      return OnError::Ignore;
    case Strategy::Fail:
      return OnError::Fail;
    case Strategy::Fallback:
      return OnError::Fallback;
    case Strategy::Retry:
      return OnError::Propagate;
    case Strategy::Skip:
      return OnError::Skip;
    case Strategy::Rollback:
      return OnError::Rollback;
  }
  return OnError::Propagate;
}

// "undo", "undo_2", …
std::string made_id(std::string_view made, size_t index) {
  if (made.empty()) return {};
  return index == 0 ? std::string(made) : std::string(made) + "_" + std::to_string(index + 1);
}

}  // namespace

uint32_t StepReader::read_list(const Cursor& at, Role role, uint32_t owner, std::string_view made) {
  const auto list = static_cast<uint32_t>(script_.lists.size());
  script_.lists.push_back({{}, owner});
  if (at.value().is_null()) return list;  // a branch with nothing in it
  if (!at.is_array() && !at.is_object()) {
    findings_.error(at, "type",
                    "must be a list of steps, not " + std::string(kind_name(at.value())));
    return list;
  }
  if (depth_ >= options_.limits.depth_max) {
    findings_.error(
        at, "too_deep",
        "steps are nested deeper than " + std::to_string(options_.limits.depth_max) + " lists");
    return list;
  }
  const size_t outside = path_bytes_;
  if (owner != kNoStep) path_bytes_ += script_.steps[owner].id.size() + kRoundBytesMax;
  if (path_bytes_ > kPathBytesMax) {
    path_bytes_ = outside;
    findings_.error(at, "too_deep",
                    "the ids on the way to this list are longer than " +
                        std::to_string(kPathBytesMax) + " bytes together",
                    "use shorter ids");
    return list;
  }
  ++depth_;
  const std::vector<Cursor> entries = at.entries();
  std::vector<Draft> drafts;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (script_.steps.size() >= options_.limits.steps_max) {
      if (!full_) {
        findings_.error(
            entries[i], "too_large",
            "there are more than " + std::to_string(options_.limits.steps_max) + " steps");
      }
      full_ = true;
      break;
    }
    const auto place = static_cast<uint32_t>(script_.steps.size());
    script_.steps.emplace_back();
    script_.steps[place].list = list;
    script_.steps[place].position = static_cast<uint32_t>(i);
    script_.lists[list].steps.push_back(place);
    if (role == Role::Root) accepted_ = i < options_.steps_accepted;
    if (role == Role::Hook) accepted_ = options_.steps_accepted > 0;
    read_step(entries[i], role, place, made_id(made, i), drafts.emplace_back());
  }
  script_.index(list);
  settle_order(script_, list, role != Role::Root, drafts, entries, findings_);
  --depth_;
  path_bytes_ = outside;
  return list;
}

void StepReader::read_step(const Cursor& at, Role role, uint32_t place, std::string made,
                           Draft& draft) {
  Step step;
  step.list = script_.steps[place].list;
  step.position = script_.steps[place].position;
  step.line = at.line();
  if (findings_.expect_object(at)) {
    read_names(at, made, step);
    read_type(at, step);
    read_policy(at, role, step, draft);
    script_.steps[place] = step;  // the inner lists may refer to it
    read_content(at, place, step);
    read_compensate(at, place, step);
  }
  step.params_text = step.params.json();
  script_.steps[place] = std::move(step);
}

void StepReader::read_names(const Cursor& at, const std::string& made, Step& step) {
  const std::optional<Cursor> id = findings_.pick(at, {"id", "step_id"});
  const std::optional<Cursor> name = at.field("name");
  const std::optional<Cursor> label = at.field("label");
  const std::optional<Cursor> description = at.field("description");
  if (id) {
    step.id = findings_.text(*id);
    check_id(*id, step.id);
  } else if (name) {
    step.id = findings_.text(*name);
    check_id(*name, step.id);
  } else if (!made.empty()) {
    step.id = made;
  } else {
    required(at, "a step", "id");
  }
  if (label) {
    step.label = findings_.text(*label);
  } else if (id && name) {
    step.label = findings_.text(*name);
  } else if (description) {
    step.label = findings_.text(*description);
  }
}

void StepReader::check_id(const Cursor& at, const std::string& id) {
  if (!at.is_string()) return;
  const bool control = std::any_of(id.begin(), id.end(), [](char c) { return c >= 0 && c < 0x20; });
  if (id.empty()) {
    findings_.error(at, "value", "an id cannot be empty");
  } else if (id.find('.') != std::string::npos) {
    std::string other = id;
    std::replace(other.begin(), other.end(), '.', '-');
    findings_.error(
        at, "value",
        "the id " + in_quotes(id) + " holds a '.', which separates the parts of nested ids",
        "use '" + other + "'");
  } else if (control || id.size() > kIdBytesMax) {
    findings_.error(at, "value",
                    "an id is one line of at most " + std::to_string(kIdBytesMax) + " bytes");
  }
}

void StepReader::read_policy(const Cursor& at, Role role, Step& step, Draft& draft) {
  read_depends_on(at, draft);
  if (role == Role::Hook && !draft.depends_on.empty() && checked_) {
    findings_.warning(at, "no_effect",
                      "a hook runs after all steps: depends_on names other hooks only");
  }
  if (const std::optional<Cursor> trigger = at.field("trigger")) {
    step.trigger = findings_.choice(*trigger, kTriggers).value_or(Trigger::NoneFailed);
  }
  if (const std::optional<Cursor> condition = at.field("condition")) {
    step.condition = expression(*condition);
    if (checked_ && step.condition == "false") {
      findings_.warning(*condition, "unreachable",
                        "Step '" + step.id + "' can never run: its condition is false");
    }
  }
  if (const std::optional<Cursor> timeout = at.field("timeout")) {
    step.timeout_ms = findings_.duration_ms(*timeout);
  }
  const std::optional<Cursor> retry = findings_.pick(at, {"retry", "retry_config"});
  if (retry) {
    read_retry(*retry, at.field("retry_config").has_value(), step);
  } else if (role == Role::Compensation) {
    step.retry = exponential(5);
  }
  read_on_error(at, step, draft);
}

void StepReader::read_depends_on(const Cursor& at, Draft& draft) {
  const std::optional<Cursor> field = findings_.pick(at, {"depends_on", "dependencies"});
  if (!field) return;
  draft.depends_field = at.field("depends_on") ? "depends_on" : "dependencies";
  if (!field->is_array() && !field->is_string()) {
    findings_.expect_array(*field);
    return;
  }
  for (const Cursor& entry : field->entries()) draft.depends_on.push_back(findings_.text(entry));
}

void StepReader::read_retry(const Cursor& at, bool second_dialect, Step& step) {
  if (!findings_.expect_object(at)) return;
  findings_.only(at, names::kRetry, "a retry policy");
  const bool attempts = second_dialect || at.field("max_attempts") || at.field("initial_delay") ||
                        at.field("backoff_multiplier");
  RetryPolicy policy = attempts ? exponential(2) : RetryPolicy();
  if (const auto max = findings_.pick(at, {"max", "max_attempts"})) {
    const bool total = !at.field("max");
    const int64_t given = findings_.whole(*max, 0, kRetriesMax, 0);
    policy.max = static_cast<uint32_t>(total && given > 0 ? given - 1 : given);
    if (checked_ && policy.max > kRetriesUsual) {
      findings_.warning(*max, "value",
                        "more than " + std::to_string(kRetriesUsual) + " retries are unusual");
    }
  }
  if (const auto delay = findings_.pick(at, {"delay", "initial_delay"})) {
    policy.delay_ms = findings_.duration_ms(*delay);
    if (!attempts && policy.delay_ms > 0) policy.backoff = Backoff::Constant;
  }
  if (const auto backoff = at.field("backoff")) {
    policy.backoff = findings_.choice(*backoff, kBackoffs).value_or(Backoff::None);
  }
  if (const auto max_delay = at.field("max_delay")) {
    policy.max_delay_ms = findings_.duration_ms(*max_delay);
  }
  if (const auto multiplier = findings_.pick(at, {"multiplier", "backoff_multiplier"})) {
    const bool number = multiplier->value().is_number();
    const auto given = number ? multiplier->value().as_double() : 0.0;
    if (number && given >= 1.0 && given <= kMultiplierMax) {
      policy.multiplier_milli = static_cast<uint32_t>(given * 1000.0 + 0.5);
    } else {
      findings_.error(*multiplier, number ? "value" : "type",
                      "must be a number between 1 and 1000");
    }
  }
  step.retry = policy;
}

void StepReader::read_on_error(const Cursor& at, Step& step, Draft& draft) {
  const std::optional<Cursor> on_error = at.field("on_error");
  const std::optional<Cursor> on_failure = at.field("on_failure");
  if (on_error && on_failure) {
    findings_.error(*on_failure, "duplicate", "'on_failure' says the same as 'on_error'",
                    "give one of them");
  }
  const bool has_retry = at.field("retry") || at.field("retry_config");
  if (on_failure && !on_error) {
    const auto strategy = findings_.choice(*on_failure, kParallelOnFailures);
    if (strategy) step.on_error = on_error_of(*strategy);
    // Three attempts in all, as the second dialect has it.
    if (strategy == Strategy::Retry && !has_retry) step.retry = usual(kUsualRetriesOnFailure);
  }
  if (!on_error) return;
  std::optional<Cursor> name = *on_error;
  std::optional<Cursor> fallback;
  if (!on_error->is_string()) {
    if (!findings_.expect_object(*on_error)) return;
    findings_.only(*on_error, names::kOnError, "an error handler");
    name = on_error->field("strategy");
    fallback = on_error->field("fallback_step");
  }
  if (!name) return required(*on_error, "an error handler", "strategy");
  const std::optional<Strategy> strategy = findings_.choice(*name, kStrategies);
  if (!strategy) return;
  step.on_error = on_error_of(*strategy);
  if (strategy == Strategy::Retry && !has_retry) step.retry = usual(kUsualRetriesOnError);
  if (strategy != Strategy::Fallback) {
    if (fallback && !(fallback->value() == Value(""))) {
      findings_.warning(*fallback, "no_effect",
                        "only the strategy fallback_step has a fallback_step");
    }
    return;
  }
  draft.fallback = text_of(fallback);
  if (draft.fallback.empty()) required(*on_error, "the strategy fallback_step", "fallback_step");
}

void StepReader::read_compensate(const Cursor& at, uint32_t place, Step& step) {
  const auto field = findings_.pick(at, {"compensate", "compensation", "rollback"});
  if (!field) return;
  if (undoing_) {
    findings_.error(*field, "value", "what undoes a step cannot be undone itself");
    return;
  }
  const bool clash =
      std::any_of(step.branches.begin(), step.branches.end(),
                  [](const Branch& branch) { return branch.key == kCompensateName; });
  if (clash) {
    findings_.error(*field, "value",
                    "a step with a branch named 'compensate' cannot have a compensation too");
  }
  undoing_ = true;
  step.compensate = read_list(*field, Role::Compensation, place, "undo");
  undoing_ = false;
}

void StepReader::required(const Cursor& at, std::string_view what, std::string_view field) {
  findings_.error(at, "required", std::string(what) + " needs '" + std::string(field) + "'");
}

std::string StepReader::text_of(const std::optional<Cursor>& at) {
  if (!at) return "";
  if (checked_) check_secrets(findings_, *at, {});
  return findings_.text(*at);
}

Value StepReader::templated(const Cursor& at, std::string_view action) {
  if (checked_) check_templates(findings_, at);
  if (checked_) check_secrets(findings_, at, action);
  return at.value();
}

}  // namespace pawl::plan
