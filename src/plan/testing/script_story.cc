#include "plan/testing/script_story.h"

#include <sstream>

namespace pawl::plan {

std::string story(const Step& step) {
  std::ostringstream out;
  out << step.id << '|' << step.label << '|' << int(step.type) << '|' << step.type_name << '|'
      << step.list << '|' << step.position << "|on";
  for (const uint32_t on : step.depends_on) out << ' ' << on;
  out << "|by";
  for (const uint32_t by : step.dependents) out << ' ' << by;
  out << '|' << step.dormant << '|' << int(step.trigger) << '|' << step.condition << '|'
      << step.timeout_ms << "|retry " << step.retry.max << ' ' << int(step.retry.backoff) << ' '
      << step.retry.delay_ms << ' ' << step.retry.max_delay_ms << ' ' << step.retry.multiplier_milli
      << (step.retry.by_default ? " by default" : "") << '|' << int(step.on_error) << '|'
      << step.fallback << '|' << step.compensate << '|' << step.action << '|' << step.params.json()
      << '|' << step.expression << "|branches";
  for (const Branch& branch : step.branches) out << ' ' << branch.key << '=' << branch.list;
  out << '|' << step.otherwise << '|' << int(step.loop_mode) << '|' << step.over.json() << '|'
      << step.body << '|' << step.max_iterations << '|' << step.concurrency << '|'
      << int(step.parallel_mode) << '|' << step.duration_ms << '|' << step.duration << '|'
      << step.until << '|' << step.signal << '|' << step.wait_timeout_ms << '|'
      << int(step.on_timeout) << '|' << step.prompt << "|inject";
  for (const auto& [name, path] : step.inject) out << ' ' << name << '=' << path;
  out << "|options";
  for (const Option& option : step.options) out << ' ' << option.id << '=' << option.description;
  out << '|' << step.fallback_choice << '|' << step.has_fallback_choice << '|' << step.target_agent
      << '|' << step.job_type << '|' << step.queue << '|' << step.options_body.json() << '|'
      << step.definition << '|' << step.version;
  return out.str();
}

std::string story(const Script& script) {
  std::ostringstream out;
  out << script.name << '|' << script.version << '|' << script.description << '|' << script.root
      << '|' << script.on_complete << '|' << script.on_error << '|' << script.inputs.json() << '|'
      << script.input_schema.json() << '|' << script.timeout_ms << '|' << int(script.on_timeout)
      << '|' << int(script.on_failure) << "|outputs";
  for (const Output& output : script.outputs)
    out << ' ' << output.name << '=' << output.value.json();
  out << '|' << script.metadata.json() << '|' << script.text_mode << '|' << script.priority << '|'
      << script.max_concurrent << '|' << script.reject_at_limit << '\n';
  for (const Step& step : script.steps) out << story(step) << '\n';
  for (const List& list : script.lists) {
    out << "list of " << list.owner << ':';
    for (const uint32_t place : list.steps) out << ' ' << place;
    out << '\n';
  }
  return out.str();
}

}  // namespace pawl::plan
