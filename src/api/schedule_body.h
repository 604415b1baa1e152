// Schedules as clients send and see them.
//
//   {name, definition | job, version?, inputs?, cron | every | at, timezone?, overlap?, jitter?,
//    paused?, description?}
//
// A definition's own triggers are the same without name and target: {cron | every | at, inputs?,
// timezone?, overlap?, jitter?}, alone or in a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/body.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "journal/events.h"

namespace pawl {
class State;
struct Cron;
}  // namespace pawl

namespace pawl::api {

constexpr size_t kScheduleNameBytesMax = 600;  // a definition's name and the number of its trigger
constexpr size_t kTriggersMax = 100;

// InvalidContent names the wrong member. Unknown members are left to the caller.
Result<CronSpec> parse_schedule(Fields& fields, std::string_view tenant);

// The triggers of a definition, in the order of its list; the first is <definition>/trigger_0.
Result<std::vector<CronSpec>> parse_triggers(const std::string& json, const std::string& definition,
                                             std::string_view tenant, bool lenient);
std::string trigger_name(const std::string& definition, size_t index);

void render_schedule(json::Writer& w, const State& state, const Cron& cron);

}  // namespace pawl::api
