// /v1/schedules: runs of definitions, and jobs, started by the clock.
#include "api/schedules.h"

#include "api/app.h"
#include "api/body.h"
#include "api/definition_faults.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "api/schedule_body.h"
#include "base/quote.h"
#include "base/url.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr size_t kSchedulesMax = 10'000;

Error no_such_schedule(std::string_view key) {
  return {ErrorCode::NotFound, "schedule " + in_quotes(schedule_name(key)) + " not found"};
}

std::string body_of(const State& state, const Cron& cron) {
  std::string body;
  json::Writer w(body);
  render_schedule(w, state, cron);
  return body;
}

bool has_room(const State& state, size_t more) {
  size_t count = 0;
  state.each_cron([&](const Cron&) { return ++count < kSchedulesMax; });
  return count + more <= kSchedulesMax;
}

Reply put_decided(Frame& frame, const CronSpec& spec) {
  const State& state = frame.state();
  StoredDefinition stored;
  if (!spec.definition.empty() &&
      find_definition(state, spec.definition, spec.version, stored) == nullptr)
    return Error{ErrorCode::InvalidContent,
                 "definition " + in_quotes(spec.definition) +
                     (spec.version.empty() ? "" : " version " + in_quotes(spec.version)) +
                     " not found",
                 {{"$.definition", "is not known", "not_found"}}};
  const Cron* existing = state.find_cron(spec.name);
  if (existing != nullptr && existing->spec.source == CronSource::Trigger)
    return Error{ErrorCode::Conflict, "schedule " + in_quotes(schedule_name(spec.name)) +
                                          " belongs to its definition; change its triggers"};
  if (existing == nullptr && !has_room(state, 1))
    return Error{ErrorCode::Overloaded, "the server has as many schedules as it may hold"};
  PAWL_TRY(bool created, put_cron(frame, spec));
  http::Response response =
      json_response(Surface::V1, created ? 201 : 200, body_of(state, *state.find_cron(spec.name)));
  if (created)
    response.headers.emplace_back("Location",
                                  "/v1/schedules/" + percent_encode(schedule_name(spec.name)));
  return response;
}

void put_schedule(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  refuse_unknown(call, fields,
                 {"name", "definition", "job", "version", "inputs", "cron", "every", "at",
                  "timezone", "overlap", "jitter", "paused", "description"});
  PAWL_TRY_CALL(call, auto spec, parse_schedule(fields, call.tenant));
  app.decide(std::move(call), [spec](Frame& frame) { return put_decided(frame, spec); });
}

void list_schedules(App& app, Call&& call) {
  std::string definition = call.query("definition");
  answer_keyed_list(app, std::move(call), {"schedules"}, kPageLimitUsual,
                    [definition](const Frame& frame, KeyedList& list_schedules) {
                      frame.state().each_cron([&](const Cron& cron) {
                        const CronSpec& spec = cron.spec;
                        bool wanted = spec.source != CronSource::Cron &&
                                      (definition.empty() || spec.definition == definition);
                        if (wanted && list_schedules.takes(spec.name))
                          render_schedule(list_schedules.writer(), frame.state(), cron);
                        return true;
                      });
                    });
}

// Changes one existing schedule by `act`; the answer shows the changed schedule.
// act: Status(Frame&, const std::string& key)
void change_schedule(App& app, Call&& call, auto act) {
  std::string key = schedule_key(call.tenant, call.params[0]);
  app.decide(std::move(call), [key, act](Frame& frame) -> Reply {
    if (frame.state().find_cron(key) == nullptr) return no_such_schedule(key);
    PAWL_TRY_DO(act(frame, key));
    return json_response(Surface::V1, 200, body_of(frame.state(), *frame.state().find_cron(key)));
  });
}

void get_schedule(App& app, Call&& call) {
  change_schedule(app, std::move(call), [](Frame&, const std::string&) { return ok_status(); });
}
void pause_schedule(App& app, Call&& call) {
  change_schedule(app, std::move(call),
                  [](Frame& f, const std::string& key) { return pause_cron(f, key, true); });
}
void resume_schedule(App& app, Call&& call) {
  change_schedule(app, std::move(call),
                  [](Frame& f, const std::string& key) { return pause_cron(f, key, false); });
}

void remove_schedule(App& app, Call&& call) {
  std::string key = schedule_key(call.tenant, call.params[0]);
  app.decide(std::move(call), [key](Frame& frame) -> Reply {
    if (!delete_cron(frame, key).ok()) return no_such_schedule(key);
    json::ObjectWriter w;
    w.field("name", schedule_name(key)).field_bool("deleted", true);
    return json_response(Surface::V1, 200, w.close());
  });
}

void trigger_schedule(App& app, Call&& call) {
  std::string key = schedule_key(call.tenant, call.params[0]);
  app.decide(std::move(call), [key](Frame& frame) -> Reply {
    if (frame.state().find_cron(key) == nullptr) return no_such_schedule(key);
    PAWL_TRY(CronStarted begun, start_cron(frame, key));
    json::ObjectWriter w;
    if (!begun.run.is_nil()) w.key("run_id").uuid(begun.run);
    if (!begun.job.is_nil()) w.key("job_id").uuid(begun.job);
    w.key("schedule");
    render_schedule(w, frame.state(), *frame.state().find_cron(key));
    return json_response(Surface::V1, 201, w.close());
  });
}

}  // namespace

Status put_triggers(Frame& frame, const std::string& definition, const std::string& tenant,
                    const std::vector<CronSpec>& triggers) {
  const State& state = frame.state();
  for (const CronSpec& spec : triggers) {
    const Cron* existing = state.find_cron(spec.name);
    if (existing != nullptr && existing->spec.source != CronSource::Trigger)
      return Error{ErrorCode::Conflict, "a schedule named " + in_quotes(schedule_name(spec.name)) +
                                            " is there already and is none of this definition"};
    if (spec.at_ms != 0 && spec.at_ms <= frame.now_ms() && existing == nullptr)
      return Error{ErrorCode::InvalidContent,
                   "triggers: " + spec.expression + " has passed already",
                   {{"triggers", spec.expression + " has passed already", "value"}}};
  }
  if (!triggers.empty() && !has_room(state, triggers.size()))
    return Error{ErrorCode::Overloaded, "the server has as many schedules as it may hold"};
  for (CronSpec spec : triggers) {
    const Cron* existing = state.find_cron(spec.name);
    if (existing != nullptr) spec.paused = spec.paused || existing->spec.paused;
    (void)put_cron(frame, std::move(spec));  // a one-time schedule that has passed stays unchanged
  }
  for (size_t i = triggers.size(); i < kTriggersMax; ++i) {
    std::string key = schedule_key(tenant, trigger_name(definition, i));
    const Cron* cron = state.find_cron(key);
    if (cron == nullptr) break;
    if (cron->spec.source == CronSource::Trigger) (void)delete_cron(frame, key);
  }
  return ok_status();
}

void add_schedule_routes(Router& router) {
  router.add({"GET", "/v1/schedules", Permission::Read, Routing::Settings, list_schedules});
  router.add({"POST", "/v1/schedules", Permission::Write, Routing::Settings, put_schedule});
  router.add({"GET", "/v1/schedules/{name}", Permission::Read, Routing::Settings, get_schedule});
  router.add(
      {"DELETE", "/v1/schedules/{name}", Permission::Write, Routing::Settings, remove_schedule});
  router.add({"POST", "/v1/schedules/{name}/pause", Permission::Operate, Routing::Settings,
              pause_schedule});
  router.add({"POST", "/v1/schedules/{name}/resume", Permission::Operate, Routing::Settings,
              resume_schedule});
  router.add({"POST", "/v1/schedules/{name}/trigger", Permission::Write, Routing::Settings,
              trigger_schedule});
}

}  // namespace pawl::api
