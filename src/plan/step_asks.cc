// StepReader: the types of steps that wait for time, signals, people, workers or other workflows.
#include <algorithm>

#include "base/quote.h"
#include "base/time.h"
#include "expr/template/template.h"
#include "plan/choices.h"
#include "plan/field_names.h"
#include "plan/nearest.h"
#include "plan/secret_rule.h"
#include "plan/step_reader.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kAgentQueue = "agents";
constexpr size_t kOptionsMax = 1000;

bool is_template(const Cursor& at) {
  return at.is_string() && expr::has_template(at.value().as_string());
}

bool is_empty(const std::optional<Cursor>& at) { return !at || at->value() == Value(""); }

}  // namespace

void StepReader::read_wait(const Cursor& at, const Config& config, Step& step) {
  const std::optional<Cursor> duration = pick(config, {"duration"});
  const std::optional<Cursor> until = pick(config, {"until"});
  const std::optional<Cursor> signal = pick(config, {"signal"});
  const int given =
      (is_empty(duration) ? 0 : 1) + (is_empty(until) ? 0 : 1) + (is_empty(signal) ? 0 : 1);
  if (given == 0) required(at, "a wait step", "config.duration', 'config.until' or 'config.signal");
  if (given > 1) {
    findings_.error(at, "value", "a wait step has one of duration, until and signal",
                    "a signal that comes too late has a 'timeout'");
  }
  if (!is_empty(duration)) {
    if (is_template(*duration)) {
      step.duration = templated(*duration).as_string();
    } else {
      step.duration_ms = findings_.duration_ms(*duration);
    }
  }
  if (!is_empty(until)) {
    step.until = findings_.text(*until);
    if (is_template(*until)) {
      templated(*until);
    } else if (until->is_string() && !parse_rfc3339(step.until).ok()) {
      findings_.error(*until, "value",
                      "must be a time like 2026-01-31T12:00:00Z, not " + in_quotes(step.until));
    }
  }
  if (!is_empty(signal)) step.signal = text_of(signal);
  if (const auto timeout = pick(config, {"timeout"})) {
    step.wait_timeout_ms = findings_.duration_ms(*timeout);
    if (checked_ && step.signal.empty() && step.wait_timeout_ms > 0) {
      findings_.warning(*timeout, "no_effect", "only the wait for a signal has a timeout");
    }
  }
  if (const auto on_timeout = pick(config, {"on_timeout"})) {
    step.on_timeout = findings_.choice(*on_timeout, kWaitTimeouts).value_or(OnTimeout::Fail);
  }
}

void StepReader::read_decision(const Cursor& at, const Config& config, Step& step) {
  const std::optional<Cursor> prompt = pick(config, {"prompt_context", "prompt"});
  if (prompt) {
    step.prompt = findings_.text(*prompt);
    templated(*prompt);
  } else if (step.type_name == "reasoning") {
    required(at, "a reasoning step", "config.prompt_context");
  } else {
    step.prompt = step.label.empty() ? step.id : step.label;
  }
  if (const auto inject = pick(config, {"data_inject", "inject"})) read_inject(*inject, step);
  if (const auto options = pick(config, {"options"})) read_options(*options, step);
  if (const auto timeout = pick(config, {"timeout"})) {
    step.wait_timeout_ms = findings_.duration_ms(*timeout);
    if (checked_ && script_.timeout_ms > 0 && step.wait_timeout_ms > script_.timeout_ms) {
      findings_.warning(*timeout, "value",
                        "the decision may take longer than the whole workflow may");
    }
  }
  read_fallback_choice(config, step);
  step.target_agent = text_of(pick(config, {"target_agent"}));
}

void StepReader::read_inject(const Cursor& inject, Step& step) {
  if (!findings_.expect_object(inject)) return;
  for (size_t i = 0; i < inject.value().as_object().size(); ++i) {
    const Cursor path = inject.member(i);
    step.inject.emplace_back(inject.value().as_object().at(i).key, findings_.text(path));
    templated(path);
    if (!checked_) continue;
    check_no_secrets(findings_, path, step.inject.back().second);
    findings_.references().note(path, step.inject.back().second, true);
  }
}

void StepReader::read_options(const Cursor& options, Step& step) {
  if (!findings_.expect_array(options)) return;
  if (options.value().as_array().size() > kOptionsMax) {
    findings_.error(options, "too_large",
                    "there are more than " + std::to_string(kOptionsMax) + " options");
    return;
  }
  for (size_t i = 0; i < options.value().as_array().size(); ++i) {
    const Cursor entry = options.element(i);
    Option option;
    if (entry.is_string()) {
      option.id = text_of(entry);
    } else if (findings_.expect_object(entry)) {
      findings_.only(entry, names::kOption, "an option");
      const std::optional<Cursor> id = entry.field("id");
      if (!id) required(entry, "an option", "id");
      option.id = text_of(id);
      option.description = text_of(entry.field("description"));
    }
    const bool twice = std::any_of(step.options.begin(), step.options.end(),
                                   [&](const Option& other) { return other.id == option.id; });
    if (twice && !option.id.empty()) {
      findings_.error(entry, "duplicate", "there are two options " + in_quotes(option.id));
    }
    step.options.push_back(std::move(option));
  }
}

void StepReader::read_fallback_choice(const Config& config, Step& step) {
  const std::optional<Cursor> fallback = pick(config, {"fallback"});
  if (is_empty(fallback)) return;
  step.fallback_choice = findings_.text(*fallback);
  step.has_fallback_choice = !step.fallback_choice.empty();
  if (!step.has_fallback_choice || step.options.empty()) return;
  std::vector<std::string_view> ids;
  for (const Option& option : step.options) ids.push_back(option.id);
  if (std::find(ids.begin(), ids.end(), step.fallback_choice) == ids.end()) {
    findings_.error(*fallback, "value",
                    "the fallback " + in_quotes(step.fallback_choice) + " is none of the options",
                    meant(step.fallback_choice, ids));
  }
}

void StepReader::read_job(const Cursor& at, const Config& config, Step& step) {
  step.job_type = text_of(pick(config, {"type"}));
  if (step.job_type.empty()) required(at, "a job step", "config.type");
  step.queue = text_of(pick(config, {"queue"}));
  step.params = Value(Value::Array());
  if (const auto args = pick(config, {"args"})) {
    step.params = templated(*args);
    // Open Job Spec arguments are a list: any other value becomes its only element.
    if (!args->is_array() && !is_template(*args)) step.params = Value::Array{args->value()};
  }
  if (const auto options = pick(config, {"options"});
      options && findings_.expect_object(*options)) {
    step.options_body = templated(*options);
  }
}

void StepReader::read_agent(const Cursor& at, const Config& config, Step& step) {
  step.job_type = text_of(pick(config, {"task_type"}));
  if (step.job_type.empty()) required(at, "an agent step", "config.task_type");
  step.queue = text_of(pick(config, {"queue"}));
  if (step.queue.empty()) step.queue = kAgentQueue;
  step.target_agent = text_of(pick(config, {"target_agent"}));
  const bool second_dialect = config.parameters && config.parameters->field("task_type");
  std::optional<Cursor> params = pick(config, {"params"});
  if (!second_dialect && config.parameters && !params) params = config.parameters;
  Value task = Value(Value::Object());
  if (params && (is_template(*params) || findings_.expect_object(*params)))
    task = templated(*params);
  step.params = Value::Array{std::move(task)};
  if (const auto options = pick(config, {"options"});
      options && findings_.expect_object(*options)) {
    step.options_body = templated(*options);
  }
}

void StepReader::read_composition(const Cursor& at, const Config& config, Step& step) {
  const Cursor& body = config.config ? *config.config : *config.parameters;
  if (!findings_.expect_object(body)) return;
  if (const auto type = body.field("type"); type && !(type->value() == Value(step.type_name))) {
    findings_.error(
        *type, "value",
        "the body of a " + step.type_name + " step has the type " + in_quotes(step.type_name));
  }
  const std::string_view wanted = step.type_name == "chain" ? "steps" : "jobs";
  const std::optional<Cursor> jobs = body.field(wanted);
  if (!jobs) {
    required(at, "a " + step.type_name + " step", "config." + std::string(wanted));
  } else if (findings_.expect_array(*jobs)) {
    if (jobs->value().as_array().empty()) {
      findings_.error(*jobs, "value", "there must be at least one job");
    }
    for (size_t i = 0; i < jobs->value().as_array().size(); ++i) {
      const Cursor job = jobs->element(i);
      if (findings_.expect_object(job) && !job.field("type")) required(job, "a job", "type");
    }
  }
  Value::Object whole;
  whole.set("type", Value(step.type_name));
  const Value given = templated(body);
  for (const Value::Member& member : given.as_object()) {
    if (member.key != "type") whole.set(member.key, member.value);
  }
  step.params = Value(std::move(whole));
}

void StepReader::read_subworkflow(const Cursor& at, const Config& config, Step& step) {
  const bool free_parameters = !has(Config{{}, config.parameters}, "definition") &&
                               !has(Config{{}, config.parameters}, "template_name") &&
                               !has(Config{{}, config.parameters}, "workflow_id");
  const Config named{config.config, free_parameters ? std::nullopt : config.parameters};
  step.definition = text_of(pick(named, {"definition", "template_name", "workflow_id", "name"}));
  if (step.definition.empty()) required(at, "a subworkflow step", "config.definition");
  step.version = text_of(pick(named, {"version"}));
  std::optional<Cursor> inputs = pick(named, {"inputs", "params"});
  if (!inputs) inputs = at.field("inputs");
  if (!inputs && free_parameters) inputs = config.parameters;
  step.params = Value(Value::Object());
  if (inputs && (is_template(*inputs) || findings_.expect_object(*inputs))) {
    step.params = templated(*inputs);
  }
}

}  // namespace pawl::plan
