// What clients ask of queues: which there are, how full they are, pause and resume.
#include "api/app.h"
#include "api/keyed_list.h"
#include "api/ojs/event_projection.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "kernel/settings.h"

namespace pawl::api {
namespace {

// Lists the queues that the caller may see under `name` ("queues", or "items" for the admin API).
void list(App& app, Call&& call, std::string_view name) {
  answer_keyed_list(app, std::move(call), {name}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list) {
                      frame.state().each_queue([&](const Queue& queue) {
                        bool hidden = is_internal_queue(queue.name) || queue.settings.deleted;
                        if (hidden || !list.takes(queue.name)) return true;
                        list.writer().begin_object();
                        render_queue_members(list.writer(), queue.name, &queue);
                        list.writer().end_object();
                        return true;
                      });
                    });
}

void list_queues(App& app, Call&& call) { list(app, std::move(call), "queues"); }
void list_for_admin(App& app, Call&& call) { list(app, std::move(call), "items"); }

// {"queue": {…}}; with stats also {"stats": {…}}.
std::string queue_body(const State& state, const std::string& scoped, bool stats) {
  const Queue* queue = state.find_queue(scoped);
  std::string body;
  json::Writer w(body);
  w.begin_object().key("queue").begin_object();
  render_queue_members(w, scoped, queue);
  w.end_object();
  if (stats) {
    w.key("stats").begin_object().field("queue", queue_of_scoped(scoped));
    render_queue_members(w, scoped, queue);
    w.end_object();
  }
  w.end_object();
  return body;
}

void read_queue(App& app, Call&& call, bool stats) {
  auto scoped = queue_of_path(call);
  if (!scoped.ok()) return call.fail(scoped.error());
  app.decide(std::move(call), [scoped = *scoped, stats](Frame& frame) -> Result<http::Response> {
    return json_response(Surface::Ojs, 200, queue_body(frame.state(), scoped, stats));
  });
}

void get_queue(App& app, Call&& call) { read_queue(app, std::move(call), false); }
void get_stats(App& app, Call&& call) { read_queue(app, std::move(call), true); }

void set_paused(App& app, Call&& call, bool paused) {
  auto scoped = queue_of_path(call);
  if (!scoped.ok()) return call.fail(scoped.error());
  app.decide(std::move(call), [scoped = *scoped, paused](Frame& frame) -> Result<http::Response> {
    PAWL_TRY_DO(
        configure_queue(frame, scoped, [&](QueueSettings& settings) { settings.paused = paused; }));
    std::string body = queue_body(frame.state(), scoped, false);
    body.pop_back();
    json::Writer w(body);
    w.field("name", queue_of_scoped(scoped)).field_bool("paused", paused);
    w.field("status", paused ? "paused" : "active");
    w.field_time(paused ? "paused_at" : "resumed_at", frame.now_ms()).end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void pause(App& app, Call&& call) { set_paused(app, std::move(call), true); }
void resume(App& app, Call&& call) { set_paused(app, std::move(call), false); }

}  // namespace

void add_queue_routes(Router& router) {
  router.add({"GET", "/ojs/v1/queues", Scope::Read, Surface::Ojs, list_queues});
  router.add({"GET", "/ojs/v1/queues/{q}", Scope::Read, Surface::Ojs, get_queue});
  router.add({"GET", "/ojs/v1/queues/{q}/stats", Scope::Read, Surface::Ojs, get_stats});
  router.add({"POST", "/ojs/v1/queues/{q}/pause", Scope::Operate, Surface::Ojs, pause});
  router.add({"POST", "/ojs/v1/queues/{q}/resume", Scope::Operate, Surface::Ojs, resume});
  router.add({"GET", "/ojs/v1/admin/queues", Scope::Read, Surface::Ojs, list_for_admin});
  router.add({"POST", "/ojs/v1/admin/queues/{q}/pause", Scope::Operate, Surface::Ojs, pause});
  router.add({"POST", "/ojs/v1/admin/queues/{q}/resume", Scope::Operate, Surface::Ojs, resume});
}

}  // namespace pawl::api
