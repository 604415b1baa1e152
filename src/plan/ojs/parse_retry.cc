// Retry policies. There are five spellings: ISO durations (initial_interval), milliseconds
// (initial_interval_ms), camelCase (initialInterval), and two older ones (initial_delay_ms with
// strategy, base_delay_ms with backoff).
#include <algorithm>

#include "base/json_writer.h"
#include "base/named.h"
#include "base/time.h"
#include "plan/ojs/parse_job.h"

namespace pawl {
namespace {

// The first entry counts: constant waits are read as None, as which they are stored.
constexpr Named<BackoffStrategy> kBackoffNames[] = {
    {"exponential", BackoffStrategy::Exponential}, {"linear", BackoffStrategy::Linear},
    {"polynomial", BackoffStrategy::Polynomial},   {"none", BackoffStrategy::None},
    {"constant", BackoffStrategy::None},           {"fixed", BackoffStrategy::None},
    {"constant", BackoffStrategy::Constant}};

Error bad(std::string_view member, std::string_view message) {
  std::string text = "retry." + std::string(member) + " " + std::string(message);
  return Error{ErrorCode::InvalidContent,
               text,
               {{"$.options.retry." + std::string(member), std::string(message)}}};
}

std::optional<json::View> member(json::View object, std::initializer_list<std::string_view> names,
                                 std::string& used) {
  for (std::string_view name : names) {
    auto value = object.find(name);
    if (!value || value->is_null()) continue;
    used = name;
    return value;
  }
  return std::nullopt;
}

Result<int64_t> interval(json::View retry, std::initializer_list<std::string_view> names,
                         int64_t fallback) {
  std::string used;
  auto value = member(retry, names, used);
  if (!value) return fallback;
  if (auto number = value->as_int()) {
    if (*number >= 0) return *number;
  } else if (value->is_string()) {
    auto parsed = parse_iso_duration_ms(value->string());
    if (parsed.ok() && *parsed >= 0) return *parsed;
  }
  return bad(used, "must be an ISO 8601 duration such as PT1S, or milliseconds, and not negative");
}

Result<BackoffStrategy> strategy(json::View retry) {
  std::string used;
  auto value = member(
      retry, {"backoff_strategy", "strategy", "backoff", "backoff_type", "backoffStrategy"}, used);
  if (!value) return BackoffStrategy::Exponential;
  for (const auto& [name, which] : kBackoffNames)
    if (value->equals(name)) return which;
  return bad(used, "must be exponential, linear, polynomial, constant or none");
}

Result<uint32_t> coefficient_milli(json::View retry) {
  std::string used;
  auto value = member(
      retry, {"backoff_coefficient", "backoff_multiplier", "multiplier", "backoffCoefficient"},
      used);
  if (!value) return 2000;
  auto number = value->as_double();
  if (!number || !(*number >= 1) || *number > 1000)
    return bad(used, "must be a number from 1 to 1000");
  return static_cast<uint32_t>(*number * 1000 + 0.5);
}

// Milliseconds as "PT1.5S".
std::string iso_duration(int64_t ms) {
  std::string text = "PT" + std::to_string(ms / 1000);
  if (ms % 1000 != 0) {
    std::string rest = std::to_string(1000 + ms % 1000).substr(1);
    text += "." + rest.substr(0, rest.find_last_not_of('0') + 1);
  }
  return text + "S";
}

}  // namespace

Result<RetryPolicy> parse_retry(json::View retry, OnExhaustion unsaid) {
  if (!retry.is_object())
    return Error{ErrorCode::InvalidContent,
                 "retry must be an object",
                 {{"$.options.retry", "must be an object"}}};
  RetryPolicy policy = RetryPolicy::standard();
  policy.on_exhaustion = unsaid;
  std::string used;
  if (auto value = member(retry, {"max_attempts", "maxAttempts"}, used)) {
    auto number = value->as_int();
    if (!number || *number < 0 || *number > 100'000)
      return bad(used, "must be a whole number from 0 to 100000");
    policy.max_attempts = std::max<uint32_t>(1, static_cast<uint32_t>(*number));
  }
  PAWL_TRY(policy.initial_ms,
           interval(retry,
                    {"initial_interval", "initial_interval_ms", "initial_delay_ms", "base_delay_ms",
                     "delay_ms", "initialInterval", "initialIntervalMs"},
                    1000));
  PAWL_TRY(policy.max_ms, interval(retry,
                                   {"max_interval", "max_interval_ms", "max_delay_ms",
                                    "maxInterval", "maxIntervalMs"},
                                   300'000));
  PAWL_TRY(policy.coefficient_milli, coefficient_milli(retry));
  PAWL_TRY(policy.backoff, strategy(retry));
  if (auto jitter = retry.find("jitter"); jitter && !jitter->is_null()) {
    if (!jitter->is_bool()) return bad("jitter", "must be true or false");
    policy.no_jitter = !jitter->is_true();
  }
  if (auto value = member(retry, {"on_exhaustion", "onExhaustion"}, used)) {
    if (!value->equals("discard") && !value->equals("dead_letter"))
      return bad(used, "must be discard or dead_letter");
    policy.on_exhaustion =
        value->equals("dead_letter") ? OnExhaustion::DeadLetter : OnExhaustion::Discard;
  }
  if (auto value = member(retry, {"non_retryable_errors", "nonRetryableErrors"}, used)) {
    bool good = value->is_array() && value->size() <= 100;
    value->each_element([&](json::View entry) {
      good &= entry.is_string();
      if (entry.is_string()) policy.non_retryable.push_back(entry.string());
    });
    if (!good) return bad(used, "must be an array of at most 100 strings");
  }
  return policy;
}

std::string policy_text(const RetryPolicy& policy, bool always_strategy) {
  json::ObjectWriter w;
  w.field_int("max_attempts", policy.max_attempts);
  w.field("initial_interval", iso_duration(policy.initial_ms));
  w.key("backoff_coefficient").real(policy.coefficient_milli / 1000.0);
  w.field("max_interval", iso_duration(policy.max_ms)).field_bool("jitter", !policy.no_jitter);
  if (always_strategy || policy.backoff != BackoffStrategy::Exponential)
    w.field("backoff_strategy", name_of(kBackoffNames, policy.backoff));
  w.key("non_retryable_errors").begin_array();
  for (const std::string& type : policy.non_retryable) w.string(type);
  w.end_array().field("on_exhaustion",
                      policy.on_exhaustion == OnExhaustion::DeadLetter ? "dead_letter" : "discard");
  return w.close();
}

std::string retry_text(json::View retry, const RetryPolicy& policy) {
  bool as_specified = true;
  retry.each_member([&](json::View key, json::View) {
    bool known = false;
    for (std::string_view name :
         {"max_attempts", "initial_interval", "backoff_coefficient", "max_interval", "jitter",
          "non_retryable_errors", "on_exhaustion", "backoff_strategy"})
      known |= key.equals(name);
    as_specified &= known;
  });
  return as_specified ? std::string(retry.raw()) : policy_text(policy, false);
}

}  // namespace pawl
