// Retry policies. Four spellings are about: ISO durations (initial_interval), milliseconds
// (initial_interval_ms), and two older ones (initial_delay_ms with strategy, base_delay_ms with
// backoff).
#include <algorithm>

#include "api/ojs/parse_job.h"
#include "base/time.h"

namespace pawl::api {
namespace {

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
  auto value = member(retry, {"backoff_strategy", "strategy", "backoff", "backoff_type"}, used);
  if (!value) return BackoffStrategy::Exponential;
  for (auto [name, which] :
       {std::pair{"exponential", BackoffStrategy::Exponential},
        std::pair{"linear", BackoffStrategy::Linear},
        std::pair{"polynomial", BackoffStrategy::Polynomial},
        std::pair{"none", BackoffStrategy::None}, std::pair{"constant", BackoffStrategy::None},
        std::pair{"fixed", BackoffStrategy::None}})
    if (value->equals(name)) return which;
  return bad(used, "must be exponential, linear, polynomial, constant or none");
}

Result<uint32_t> coefficient_milli(json::View retry) {
  std::string used;
  auto value = member(retry, {"backoff_coefficient", "backoff_multiplier", "multiplier"}, used);
  if (!value) return 2000;
  auto number = value->as_double();
  if (!number || !(*number >= 1) || *number > 1000)
    return bad(used, "must be a number from 1 to 1000");
  return static_cast<uint32_t>(*number * 1000 + 0.5);
}

}  // namespace

Result<RetryPolicy> parse_retry(json::View retry) {
  if (!retry.is_object())
    return Error{ErrorCode::InvalidContent,
                 "retry must be an object",
                 {{"$.options.retry", "must be an object"}}};
  RetryPolicy policy = RetryPolicy::standard();
  if (auto value = retry.find("max_attempts"); value && !value->is_null()) {
    auto number = value->as_int();
    if (!number || *number < 0 || *number > 100'000)
      return bad("max_attempts", "must be a whole number from 0 to 100000");
    policy.max_attempts = std::max<uint32_t>(1, static_cast<uint32_t>(*number));
  }
  PAWL_TRY(policy.initial_ms, interval(retry,
                                       {"initial_interval", "initial_interval_ms",
                                        "initial_delay_ms", "base_delay_ms", "delay_ms"},
                                       1000));
  PAWL_TRY(policy.max_ms,
           interval(retry, {"max_interval", "max_interval_ms", "max_delay_ms"}, 300'000));
  PAWL_TRY(policy.coefficient_milli, coefficient_milli(retry));
  PAWL_TRY(policy.backoff, strategy(retry));
  if (auto jitter = retry.find("jitter"); jitter && !jitter->is_null()) {
    if (!jitter->is_bool()) return bad("jitter", "must be true or false");
    policy.no_jitter = !jitter->is_true();
  }
  if (auto value = retry.find("on_exhaustion"); value && !value->is_null()) {
    if (!value->equals("discard") && !value->equals("dead_letter"))
      return bad("on_exhaustion", "must be discard or dead_letter");
    policy.on_exhaustion =
        value->equals("dead_letter") ? OnExhaustion::DeadLetter : OnExhaustion::Discard;
  }
  if (auto value = retry.find("non_retryable_errors"); value && !value->is_null()) {
    bool good = value->is_array() && value->size() <= 100;
    value->each_element([&](json::View entry) {
      good &= entry.is_string();
      if (entry.is_string()) policy.non_retryable.push_back(entry.string());
    });
    if (!good) return bad("non_retryable_errors", "must be an array of at most 100 strings");
  }
  return policy;
}

}  // namespace pawl::api
