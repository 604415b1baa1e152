// The field names of the language, one list per object: the reader accepts them, misspelt names are
// compared with them, and the published schema is tested against them.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace pawl::plan::names {

using Name = std::string_view;

inline constexpr std::array<Name, 9> kFile = {"name",     "description",  "category",
                                              "features", "input_schema", "output_schema",
                                              "triggers", "version",      "definition"};

inline constexpr std::array<Name, 24> kDefinition = {
    "$schema",  "name",       "workflow_id",    "version",      "description",   "category",
    "features", "steps",      "inputs",         "input_schema", "output_schema", "triggers",
    "timeout",  "on_timeout", "on_complete",    "on_error",     "on_failure",    "outputs",
    "metadata", "priority",   "max_concurrent", "on_limit",     "compat",        "timeout_action"};

inline constexpr std::array<Name, 26> kStep = {
    "id",        "step_id",      "name",         "label",         "description", "type",
    "step_type", "action",       "capability",   "capability_id", "params",      "parameters",
    "inputs",    "depends_on",   "dependencies", "condition",     "trigger",     "timeout",
    "retry",     "retry_config", "on_error",     "on_failure",    "config",      "compensate",
    "rollback",  "compensation"};

inline constexpr std::array<Name, 8> kRetry = {"max",        "max_attempts",      "backoff",
                                               "delay",      "max_delay",         "initial_delay",
                                               "multiplier", "backoff_multiplier"};

inline constexpr std::array<Name, 2> kOnError = {"strategy", "fallback_step"};

inline constexpr std::array<Name, 2> kCapability = {"capability_id", "params"};
inline constexpr std::array<Name, 3> kCondition = {"expression", "branches", "default"};
inline constexpr std::array<Name, 8> kLoop = {"mode",        "over",           "condition",
                                              "body",        "max_iter",       "max_iterations",
                                              "concurrency", "max_concurrency"};
inline constexpr std::array<Name, 5> kMap = {"over", "body", "concurrency", "max_concurrency",
                                             "max_iter"};
inline constexpr std::array<Name, 3> kParallel = {"mode", "branches", "steps"};
inline constexpr std::array<Name, 2> kSequence = {"steps", "body"};
inline constexpr std::array<Name, 5> kWait = {"duration", "until", "signal", "timeout",
                                              "on_timeout"};
inline constexpr std::array<Name, 8> kReasoning = {"prompt_context", "prompt",      "data_inject",
                                                   "inject",         "options",     "timeout",
                                                   "fallback",       "target_agent"};
// PACE's decision may be a test, a condition or a question.
inline constexpr std::array<Name, 12> kDecision = {
    "condition",   "expression", "branches", "default", "prompt_context", "prompt",
    "data_inject", "inject",     "options",  "timeout", "fallback",       "target_agent"};
inline constexpr std::array<Name, 4> kJob = {"type", "args", "queue", "options"};
inline constexpr std::array<Name, 5> kAgent = {"task_type", "params", "queue", "options",
                                               "target_agent"};
inline constexpr std::array<Name, 7> kSubworkflow = {
    "definition", "template_name", "workflow_id", "version", "inputs", "params", "name"};
inline constexpr std::array<Name, 2> kOption = {"id", "description"};

}  // namespace pawl::plan::names
