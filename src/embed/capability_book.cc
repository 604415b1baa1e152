#include "embed/capability_book.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "expr/schema/json_schema.h"

namespace pawl::embed {
namespace {

actions::ActionOutcome called(const Capability& capability, const actions::ActionRequest& request,
                              const std::string& instance) {
  CapabilityCall call;
  call.capability_id = request.name;
  call.params = request.params.is_null() ? "{}" : request.params.json();
  call.instance_id = instance;
  call.step_id = request.step_id;
  call.idempotency_key = request.idempotency_key;
  CapabilityResult result;
  try {
    result = capability(call);
  } catch (const std::exception& thrown) {
    return actions::ActionOutcome::failure("CAPABILITY_ERROR", thrown.what(), true);
  }
  if (!result.success)
    return actions::ActionOutcome::failure(result.code.empty() ? "CAPABILITY_ERROR" : result.code,
                                           result.error, result.retryable);
  auto output = Value::parse(result.result.empty() ? "null" : result.result);
  if (!output.ok())
    return actions::ActionOutcome::failure(
        "CAPABILITY_ERROR", "the result is no JSON: " + output.error().message, false);
  return actions::ActionOutcome::success(std::move(output).value());
}

}  // namespace

Status CapabilityBook::add(const std::string& name, const std::string& schema,
                           Capability capability) {
  if (!capability) return Error{ErrorCode::InvalidRequest, "there is no function to call"};
  actions::ActionInfo info;
  info.name = name;
  info.params_schema = Value::Object{{"type", "object"}};
  if (!schema.empty()) {
    PAWL_TRY(info.params_schema, Value::parse(schema));
    PAWL_TRY_DO(expr::JsonSchema::compile(info.params_schema));
  }
  return runner_.add(std::move(info), [capability = std::move(capability), name, count = count_,
                                       &instances = names_,
                                       tallies = tallies_](const actions::ActionRequest& request) {
    auto begun = std::chrono::steady_clock::now();
    actions::ActionOutcome outcome = called(capability, request, instances.of(request.run_id));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    if (count) note(*tallies, name, outcome.ok, took.count());
    return outcome;
  });
}

bool CapabilityBook::remove(const std::string& name) { return runner_.remove(name).ok(); }

std::vector<std::string> CapabilityBook::names() const {
  std::vector<std::string> names;
  for (const actions::ActionInfo& info : runner_.list())
    if (actions::find_action(info.name) == nullptr) names.push_back(info.name);
  return names;
}

void CapabilityBook::note(Tallies& tallies, const std::string& name, bool success, double seconds) {
  std::lock_guard lock(tallies.mutex);
  Tally& tally = tallies.of[name];
  bool first = tally.successes + tally.failures == 0;
  ++(success ? tally.successes : tally.failures);
  tally.seconds += seconds;
  tally.seconds_min = first ? seconds : std::min(tally.seconds_min, seconds);
  tally.seconds_max = std::max(tally.seconds_max, seconds);
}

Value CapabilityBook::metrics() const {
  Value::Object out;
  std::lock_guard lock(tallies_->mutex);
  for (const auto& [name, tally] : tallies_->of) {
    int64_t total = tally.successes + tally.failures;
    auto calls = static_cast<double>(total);
    out.set(name, Value::Object{{"total_executions", total},
                                {"successes", tally.successes},
                                {"failures", tally.failures},
                                {"success_rate", static_cast<double>(tally.successes) / calls},
                                {"avg_execution_time", tally.seconds / calls},
                                {"min_execution_time", tally.seconds_min},
                                {"max_execution_time", tally.seconds_max}});
  }
  return out;
}

}  // namespace pawl::embed
