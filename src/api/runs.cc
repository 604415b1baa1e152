// GET /v1/runs, /v1/runs/{id} (?at: past_run.h) and /v1/runs/{id}/explain: any kind of run, in the
// form of /v1; and /v1/jobs/{id}/explain.
#include "api/runs.h"

#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/explain.h"
#include "api/paging.h"
#include "api/past_run.h"
#include "api/routes.h"
#include "api/run_view.h"
#include "base/time.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state.h"
#include "kernel/worlds/instance_run.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_job.h"
#include "wire/render_workflow.h"
#include "worldhost/state_table.h"
#include "worldhost/world_host.h"

namespace pawl::api {
namespace {

constexpr size_t kListScanMax = 5000;

}  // namespace

std::string run_body(const State& state, const Run& run, const StepWindow& window) {
  return view_of(run).body(state, run, window);
}

Result<const Run*> visible_run(const State& state, std::string_view text, std::string_view tenant) {
  const Run* run = state.find_run(workflow_id(text, state.partitions()));
  if (run == nullptr || (!tenant.empty() && run->tenant != tenant))
    return Error{ErrorCode::NotFound, "run " + std::string(text.substr(0, 128)) + " not found"};
  return run;
}

namespace {

void get_run(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto page, parse_page(call, kStepsShownUsual));
  StepWindow window{
      .from = 0, .count = static_cast<uint32_t>(page.limit), .fields = call.query("fields")};
  if (!page.cursor.empty()) {
    char* end = nullptr;
    window.from = static_cast<uint32_t>(std::strtoul(page.cursor.c_str(), &end, 10));
    if (*end != '\0')
      return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  }
  if (!call.query("at").empty()) return answer_past_run(app, std::move(call), window);
  bool pace = call.query("format") == "pace";
  decide_on(app, std::move(call), visible_run,
            [window, pace](Frame& frame, const Run* run) -> Reply {
              if (auto body = pace ? view_of(*run).pace(frame.state(), *run) : std::nullopt)
                return json_response(Surface::V1, 200, std::move(*body));
              return json_response(Surface::V1, 200, run_body(frame.state(), *run, window));
            });
}

struct RunFilter {
  std::string status;
  std::string kind;
  std::string name;
  std::string tenant;
  std::optional<RunId> parent;
  std::string text = {};  // somewhere in its id or name
  int64_t since_ms = 0;   // created then or later
  int64_t until_ms = INT64_MAX;
  std::string world = {};

  bool takes(const Run& run) const {
    if (run.created_ms < since_ms || run.created_ms > until_ms) return false;
    if (!text.empty() && run.name.find(text) == std::string::npos &&
        workflow_id_text(run).find(text) == std::string::npos)
      return false;
    if (!world.empty() && (run.instance == nullptr || run.instance->world_name != world))
      return false;
    return (status.empty() || family_of(run).status(run) == status) &&
           (kind.empty() || kind_name(run.kind) == kind) && (name.empty() || run.name == name) &&
           (tenant.empty() || run.tenant == tenant) && run.parent.run == parent.value_or(RunId());
  }
};

void list_runs(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto page, parse_page(call));
  std::string name = call.query("definition");
  RunFilter filter{call.query("status"),
                   call.query("kind"),
                   name.empty() ? call.query("name") : name,
                   call.tenant,
                   {}};
  if (std::string parent = call.query("parent"); !parent.empty())
    filter.parent = workflow_id(parent, app.config().partitions);
  filter.text = call.query("text");
  filter.world = call.query("world");
  for (auto [member, bound] : {std::pair{"since", &filter.since_ms}, {"until", &filter.until_ms}}) {
    std::string text = call.query(member);
    if (text.empty()) continue;
    auto when = parse_rfc3339(text);
    if (!when.ok())
      return call.fail(
          {ErrorCode::InvalidRequest, std::string(member) + ": " + when.error().message});
    *bound = *when;
  }
  auto from = page.cursor.empty() ? std::optional<RunId>(RunId()) : RunId::parse(page.cursor);
  if (!from)
    return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  app.decide_list(
      std::move(call), [filter, limit = page.limit, start = *from](Frame& frame) -> Reply {
        json::ObjectWriter w;
        w.key("runs").begin_array();
        PageFill fill(w.out(), limit);
        RunId beyond;
        RunId go_on = frame.state().each_run(start, true, kListScanMax, [&](const Run& run) {
          if (!filter.takes(run)) return true;
          if (fill.full()) return beyond = run.id, false;
          fill.take();
          view_of(run).begin(w, frame.state(), run);
          w.end_object();
          return true;
        });
        w.end_array();
        RunId next = beyond.is_nil() ? go_on : beyond;
        if (!next.is_nil()) w.field("next_cursor", next.text());
        return json_response(Surface::V1, 200, w.close());
      });
}

// --- explain

// How and when a run or job ended; empty if it has not.
struct Ended {
  std::string_view status;
  int64_t at_ms = 0;
  std::string reason = {};
  JobError error = {};
};

Ended end_of(const Run& run) { return {family_of(run).status(run), run.finished_ms, run.reason}; }

Ended end_of(const Job& job) {
  Ended ended{state_name(job.state), job.finished_ms};
  if (job.expired) ended.reason = "it expired before a worker took it";
  if (job.state == JobState::Discarded && job.extras && !job.extras->errors.empty())
    ended.error = job.extras->errors.back();
  return ended;
}

void render_wait(json::Writer& w, const Wait& wait) {
  w.begin_object();
  if (!wait.step_id.empty()) w.field("step_id", wait.step_id);
  w.field("reason", wait.reason);
  if (wait.since_ms) w.field_time("since", *wait.since_ms);
  w.field_time_if_set("until", wait.until_ms);
  if (wait.detail_json.empty()) {
    w.field("detail", wait.detail);
  } else {
    w.field_raw("detail", wait.detail_json);
  }
  if (!wait.job.is_nil()) w.key("job_id").uuid(wait.job);
  if (!wait.run.is_nil()) w.key("run_id").uuid(wait.run);
  if (!wait.queue.empty()) w.field("queue", wait.queue);
  if (!wait.worker.empty()) w.field("worker_id", wait.worker);
  if (!wait.key.empty()) w.field("key", wait.key);
  if (wait.jobs_ahead >= 0) w.field_int("jobs_ahead", wait.jobs_ahead);
  w.field_time_if_set("worker_last_asked_at", wait.worker_asked_ms);
  w.end_object();
}

std::string explanation_body(std::string_view id, const Ended& ended, int64_t created_ms,
                             const Explanation& explanation) {
  json::ObjectWriter w;
  w.field("id", id).field("status", ended.status);
  if (ended.at_ms != 0) {
    w.key("ended").begin_object().field("status", ended.status).field_time("at", ended.at_ms);
    w.field_int("after_ms", ended.at_ms - created_ms);
    if (!ended.reason.empty()) w.field("reason", ended.reason);
    if (!ended.error.code.empty()) {
      w.key("error");
      render_error(w, ended.error);
    }
    w.end_object();
  }
  w.key("waiting_for").begin_array();
  for (const Wait& wait : explanation.waits) render_wait(w, wait);
  w.end_array().field_int("waiting_total", explanation.waits_total);
  w.key("next").begin_array();
  for (const NextStep& next : explanation.next) {
    w.begin_object().field("step_id", next.step_id).field("type", next.type);
    if (!next.after.empty()) w.field("after", next.after);
    w.end_object();
  }
  w.end_array().field_int("next_total", explanation.next_total);
  return w.close();
}

void explain_run(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_run, [&app](Frame& frame, const Run* run) -> Reply {
    Explainer explainer(frame.state(), app.workers(), frame.now_ms());
    explainer.ask_for_effects([&app](const Run& instance, const std::string& intent) {
      const std::string world = scoped_world(instance.tenant, instance.instance->world_name);
      return app.worlds() != nullptr && app.worlds()->work_of(world, intent).inflight;
    });
    Explanation explanation = explainer.run(*run);
    return json_response(
        Surface::V1, 200,
        explanation_body(workflow_id_text(*run), end_of(*run), run->created_ms, explanation));
  });
}

void explain_job(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [&app](Frame& frame, const Job* job) -> Reply {
    Explanation explanation = Explainer(frame.state(), app.workers(), frame.now_ms()).job(*job);
    return json_response(
        Surface::V1, 200,
        explanation_body(job->id.text(), end_of(*job), job->created_ms, explanation));
  });
}

}  // namespace

void add_run_routes(Router& router) {
  router.add({"GET", "/v1/runs", Permission::Read, Routing::Gather, list_runs, "runs"});
  router.add({"GET", "/v1/runs/{id}", Permission::Read, Routing::ById, get_run, "run"});
  router.add({"GET", "/v1/runs/{id}/explain", Permission::Read, Routing::ById, explain_run});
  router.add({"GET", "/v1/jobs/{id}/explain", Permission::Read, Routing::ById, explain_job});
}

}  // namespace pawl::api
