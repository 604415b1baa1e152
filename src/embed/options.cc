#include "embed/options.h"

#include <cmath>

#include "base/quote.h"
#include "plan/source.h"

namespace pawl::embed {
namespace {

constexpr uint32_t kConcurrentMax = 1'000'000;
constexpr uint32_t kThreadsMax = 1'024;
constexpr uint32_t kStepTimeoutMax = 366u * 24 * 3600;
constexpr uint32_t kAttemptsMax = 1'000;

Error wrong(const std::string& key, const std::string& what) {
  return Error{ErrorCode::InvalidContent, key + " " + what};
}

Status set(const std::string& key, const Value& value, bool& out) {
  if (!value.is_bool()) return wrong(key, "must be true or false");
  out = value.as_bool();
  return ok_status();
}

Status set(const std::string& key, const Value& value, uint32_t& out) {
  if (!value.is_int() || value.as_int() < 0 || value.as_int() > UINT32_MAX)
    return wrong(key, "must be a whole number that is not negative");
  out = static_cast<uint32_t>(value.as_int());
  return ok_status();
}

Status set(const std::string& key, const Value& value, double& out) {
  if (!value.is_number()) return wrong(key, "must be a number");
  out = value.as_double();
  return ok_status();
}

Status set(const std::string& key, const Value& value, std::string& out) {
  if (!value.is_string()) return wrong(key, "must be text");
  out = value.as_string();
  return ok_status();
}

// Sets every member of one level through `choose`, which returns false for an unknown name.
// bool choose(name, value, Status&)
Status each(const std::string& prefix, const Value& object, auto choose) {
  if (!object.is_object())
    return wrong(prefix.empty() ? "the configuration" : prefix, "must be a mapping");
  for (const Value::Member& member : object.as_object()) {
    std::string key = prefix.empty() ? member.key : prefix + "." + member.key;
    Status status = ok_status();
    if (!choose(member.key, key, member.value, status))
      return wrong(in_quotes(key), "is no key of the configuration");
    if (!status.ok()) return status;
  }
  return ok_status();
}

#define PAWL_OPTION(label, target) \
  if (name == label) return status = set(key, value, target), true

Status read_section(EngineOptions& options, const std::string& section, const Value& object) {
  return each(
      section, object,
      [&](const std::string& name, const std::string& key, const Value& value, Status& status) {
        if (section == "execution") {
          PAWL_OPTION("parallel_steps", options.execution.parallel_steps);
          PAWL_OPTION("threads", options.execution.threads);
          PAWL_OPTION("step_timeout", options.execution.step_timeout);
        } else if (section == "retry") {
          PAWL_OPTION("default_max_attempts", options.retry.default_max_attempts);
          PAWL_OPTION("default_backoff", options.retry.default_backoff);
          PAWL_OPTION("default_initial_delay", options.retry.default_initial_delay);
        } else if (section == "monitoring") {
          PAWL_OPTION("track_metrics", options.monitoring.track_metrics);
          PAWL_OPTION("log_executions", options.monitoring.log_executions);
        } else {
          PAWL_OPTION("shell", options.actions.shell);
          PAWL_OPTION("private_addresses", options.actions.private_addresses);
          PAWL_OPTION("any_file", options.actions.any_file);
        }
        return false;
      });
}

Status read_all(EngineOptions& options, const Value& object) {
  return each(
      "", object,
      [&](const std::string& name, const std::string& key, const Value& value, Status& status) {
        PAWL_OPTION("max_concurrent", options.max_concurrent);
        PAWL_OPTION("persistence", options.persistence);
        PAWL_OPTION("state_backend", options.state_backend);
        PAWL_OPTION("data_dir", options.data_dir);
        for (const char* section : {"execution", "retry", "monitoring", "actions"})
          if (name == section) return status = read_section(options, section, value), true;
        return false;
      });
}

#undef PAWL_OPTION

bool within(double value, double least, double most) {
  return std::isfinite(value) && value >= least && value <= most;
}

}  // namespace

Result<EngineOptions> parse_options(std::string_view text) {
  plan::Source source = plan::read_source(text, {});
  if (!source.faults.empty())
    return Error{ErrorCode::InvalidContent,
                 "the configuration cannot be read: " + source.faults[0].message};
  const Value* inner = &source.value;
  if (const Value* wrapped = source.value.find("workflow");
      wrapped != nullptr && source.value.as_object().size() == 1)
    inner = wrapped;
  EngineOptions options;
  PAWL_TRY_DO(read_all(options, *inner));
  PAWL_TRY_DO(check_options(options));
  return options;
}

Status check_options(const EngineOptions& options) {
  const std::string& backend = options.state_backend;
  if (backend != "json" && backend != "sqlite" && backend != "db")
    return wrong("state_backend", "must be json or sqlite, not " + in_quotes(backend));
  if (options.persistence && options.data_dir.empty()) return wrong("data_dir", "is required");
  if (options.max_concurrent > kConcurrentMax)
    return wrong("max_concurrent", "must be at most " + std::to_string(kConcurrentMax));
  if (options.execution.threads < 1 || options.execution.threads > kThreadsMax)
    return wrong("execution.threads", "must be 1 to " + std::to_string(kThreadsMax));
  if (options.execution.step_timeout > kStepTimeoutMax)
    return wrong("execution.step_timeout", "must be at most a year, in seconds");
  if (options.retry.default_max_attempts < 1 || options.retry.default_max_attempts > kAttemptsMax)
    return wrong("retry.default_max_attempts", "must be 1 to " + std::to_string(kAttemptsMax));
  if (!within(options.retry.default_backoff, 1, 1000))
    return wrong("retry.default_backoff", "must be 1 to 1000");
  if (!within(options.retry.default_initial_delay, 0, 86400))
    return wrong("retry.default_initial_delay", "must be 0 to 86400 seconds");
  return ok_status();
}

}  // namespace pawl::embed
