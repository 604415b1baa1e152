// Cron entries: jobs pushed by the clock.
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/ojs/parse_cron.h"
#include "api/ojs/render_job.h"
#include "api/routes.h"
#include "kernel/cron_jobs.h"

namespace pawl::api {
namespace {

constexpr size_t kCronsMax = 10'000;
constexpr size_t kListedUsual = 100;

// Schedules of the other surface are none of this one's.
const Cron* find_entry(const State& state, const std::string& scoped) {
  const Cron* cron = state.find_cron(scoped);
  return cron != nullptr && cron->spec.source == CronSource::Cron ? cron : nullptr;
}

std::string no_such(std::string_view scoped) {
  return "cron '" + std::string(queue_of_scoped(scoped)) + "' not found";
}

// "cron": {…} and, for clients of the other spelling, the same under "cron_job".
void write_both(json::Writer& w, const Cron& cron) {
  for (std::string_view name : {"cron", "cron_job"}) {
    w.key(name);
    render_cron(w, cron);
  }
}

std::string body_of(const Cron& cron) {
  std::string body;
  json::Writer w(body);
  w.begin_object();
  write_both(w, cron);
  w.end_object();
  return body;
}

Status has_room(const State& state, const std::string& scoped) {
  if (state.find_cron(scoped) != nullptr) return ok_status();
  size_t count = 0;
  state.each_cron([&](const Cron&) { return ++count < kCronsMax; });
  if (count < kCronsMax) return ok_status();
  return Error{ErrorCode::Overloaded, "the server has as many cron entries as it may hold"};
}

void put(App& app, Call&& call) {
  auto doc = parse_body(call);
  if (!doc.ok()) return call.fail(doc.error());
  std::string name = call.params.empty() ? "" : call.params[0];
  auto cron = parse_cron(*doc, name, call.tenant);
  if (!cron.ok()) return call.fail(cron.error());
  app.decide(std::move(call), [cron = *cron](Frame& frame) -> Result<http::Response> {
    PAWL_TRY_DO(has_room(frame.state(), cron.name));
    PAWL_TRY(bool created, put_cron(frame, cron));
    return json_response(Surface::Ojs, created ? 201 : 200,
                         body_of(*frame.state().find_cron(cron.name)));
  });
}

void list(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"crons", "cron_jobs"}, kListedUsual,
                    [](const Frame& frame, KeyedList& list) {
                      frame.state().each_cron([&](const Cron& cron) {
                        if (cron.spec.source == CronSource::Cron && list.takes(cron.spec.name))
                          render_cron(list.writer(), cron);
                        return true;
                      });
                    });
}

// Calls about one entry that exists. act changes it; the answer shows it as it is then.
void one(App& app, Call&& call, Status (*act)(Frame&, const Cron&)) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped, act](Frame& frame) -> Result<http::Response> {
    const Cron* cron = find_entry(frame.state(), scoped);
    if (cron == nullptr) return Error{ErrorCode::NotFound, no_such(scoped)};
    if (act != nullptr) PAWL_TRY_DO(act(frame, *cron));
    return json_response(Surface::Ojs, 200, body_of(*frame.state().find_cron(scoped)));
  });
}

Status set_paused(Frame& frame, const Cron& cron, bool paused) {
  if (cron.spec.paused == paused) return ok_status();
  CronSpec spec = cron.spec;
  spec.paused = paused;
  PAWL_TRY_DO(put_cron(frame, std::move(spec)));
  return ok_status();
}

void get(App& app, Call&& call) { one(app, std::move(call), nullptr); }
void pause(App& app, Call&& call) {
  one(app, std::move(call), [](Frame& frame, const Cron& c) { return set_paused(frame, c, true); });
}
void resume(App& app, Call&& call) {
  one(app, std::move(call),
      [](Frame& frame, const Cron& c) { return set_paused(frame, c, false); });
}

void remove(App& app, Call&& call) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped](Frame& frame) -> Result<http::Response> {
    const Cron* cron = find_entry(frame.state(), scoped);
    if (cron == nullptr) return Error{ErrorCode::NotFound, no_such(scoped)};
    std::string body;
    json::Writer w(body);
    w.begin_object().field_bool("deleted", true).field("name", queue_of_scoped(scoped));
    write_both(w, *cron);
    w.end_object();
    PAWL_TRY_DO(delete_cron(frame, scoped));
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void trigger(App& app, Call&& call) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped](Frame& frame) -> Result<http::Response> {
    if (find_entry(frame.state(), scoped) == nullptr)
      return Error{ErrorCode::NotFound, no_such(scoped)};
    PAWL_TRY(JobId id, trigger_cron(frame, scoped));
    std::string body;
    json::Writer w(body);
    w.begin_object().field_bool("triggered", true).key("job_id").uuid(id).key("job");
    render_job(w, *frame.state().find_job(id));
    write_both(w, *frame.state().find_cron(scoped));
    w.end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

}  // namespace

void add_cron_routes(Router& router) {
  constexpr Surface kOjs = Surface::Ojs;
  router.add({"GET", "/ojs/v1/cron", Scope::Read, kOjs, list});
  router.add({"POST", "/ojs/v1/cron", Scope::Write, kOjs, put});
  router.add({"GET", "/ojs/v1/cron/{name}", Scope::Read, kOjs, get});
  router.add({"PUT", "/ojs/v1/cron/{name}", Scope::Write, kOjs, put});
  router.add({"DELETE", "/ojs/v1/cron/{name}", Scope::Write, kOjs, remove});
  router.add({"POST", "/ojs/v1/cron/{name}/trigger", Scope::Write, kOjs, trigger});
  router.add({"POST", "/ojs/v1/cron/{name}/pause", Scope::Operate, kOjs, pause});
  router.add({"POST", "/ojs/v1/cron/{name}/resume", Scope::Operate, kOjs, resume});
  router.add({"POST", "/ojs/v1/cron/{name}/disable", Scope::Operate, kOjs, pause});
  router.add({"POST", "/ojs/v1/cron/{name}/enable", Scope::Operate, kOjs, resume});
}

}  // namespace pawl::api
