// GET /v1/runs, /v1/runs/{id} (?at: past_run.h) and /v1/runs/{id}/explain: any kind of run, in the
// words of /v1; and /v1/jobs/{id}/explain.
#include "api/runs.h"

#include "api/app.h"
#include "api/body.h"
#include "api/explain.h"
#include "api/paging.h"
#include "api/past_run.h"
#include "api/routes.h"
#include "base/time.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/scripts/commands.h"
#include "wire/pace_state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_job.h"
#include "wire/render_script.h"
#include "wire/render_workflow.h"
#include "wire/reply_room.h"

namespace pawl::api {
namespace {

constexpr size_t kListScanMax = 5000;
constexpr size_t kStepBytesUsual = 512;  // of what is shown beside the output

std::string_view status_of(const Run& run) {
  if (run.script) return script_status_name(run.script->status);
  return run.state == RunState::Running ? "active" : state_name(run.state);
}

std::string_view status_of(const Run& run, ChildState child, const Job* job) {
  switch (child) {
    case ChildState::Waiting:
      return is_terminal(run.state) ? "cancelled" : "pending";
    case ChildState::Completed:
      return "completed";
    case ChildState::Failed:
      return "failed";
    case ChildState::Cancelled:
      return "cancelled";
    case ChildState::Skipped:
      return "skipped";
    case ChildState::Started:
      break;
  }
  if (job == nullptr || job->state == JobState::Active) return "running";
  if (job->state == JobState::Retryable) return "retrying";
  return job->state == JobState::Pending ? "suspended" : "scheduled";
}

// Members without the closing brace.
void begin_run(json::Writer& w, const Run& run) {
  w.begin_object().field("id", workflow_id_text(run)).field("kind", kind_name(run.kind));
  if (!run.name.empty()) w.field("name", run.name);
  w.field("status", status_of(run));
  double done = run.total == 0 ? 0 : static_cast<double>(run.done()) / run.total;
  w.key("progress").real(run.state == RunState::Completed ? 1 : done);
  w.key("counts").begin_object().field_int("total", run.total);
  w.field_int("completed", run.completed).field_int("failed", run.failed);
  w.field_int("cancelled", run.cancelled).field_int("jobs", run.job_count).end_object();
  w.field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  w.field_time_if_set("completed_at", run.finished_ms);
  w.field_time_if_set("times_out_at", run.due_ms());
  if (!run.parent.run.is_nil())
    w.key("parent")
        .begin_object()
        .key("run_id")
        .uuid(run.parent.run)
        .field_int("index", run.parent.node)
        .end_object();
  if (run.generation > 0) w.field_int("retries", run.generation);
  if (run.state == RunState::Failed)
    w.key("error").begin_object().field("message", run.reason).end_object();
  if (run.state == RunState::Cancelled) w.field("reason", run.reason);
}

// False: there is no room for it, and nothing is written.
bool render_step(json::Writer& w, const State& state, const Run& run, uint32_t index,
                 ReplyRoom& room) {
  if (room.full()) return false;
  ChildState child = run.child(index);
  Uuid id = child_of(state, run, index);
  const Job* job = child == ChildState::Waiting ? nullptr : state.find_job(JobId(id));
  if (job != nullptr) room.read(job->weight_bytes());
  if (!room.takes(kStepBytesUsual + (job == nullptr ? 0 : job->result.size()))) return false;
  const Run* nested =
      job != nullptr || child == ChildState::Waiting ? nullptr : state.find_run(RunId(id));
  w.key(step_id_of(state, run, index)).begin_object();
  w.field_int("index", index).field("status", status_of(run, child, job));
  if (job != nullptr) {
    w.field("type", type_of_spec(job->spec)).key("job_id").uuid(job->id);
    w.field_int("attempts", job->attempt);
    w.field_time_if_set("started_at", job->started_ms);
    w.field_time_if_set("completed_at", job->finished_ms);
    if (child == ChildState::Completed && !job->result.empty()) w.field_raw("output", job->result);
    if (child == ChildState::Failed && job->extras && !job->extras->errors.empty()) {
      w.key("error");
      render_error(w, job->extras->errors.back());
    }
  } else if (nested != nullptr) {
    w.field("type", kind_name(nested->kind)).field("run_id", workflow_id_text(*nested));
    w.field_time_if_set("started_at", nested->started_ms);
    w.field_time_if_set("completed_at", nested->finished_ms);
  } else if (PlanNode node; state.held_plan(run, index, node)) {
    NewJob planned;
    if (node.kind == NodeKind::Run) {
      w.field("type", kind_name(node.run_kind));
    } else if (codec::decode(node.job, planned)) {
      w.field("type", planned.type);
    }
  }
  // A reason of before a retry is no news of what has been done since.
  auto why = run.reasons.find(index);
  if (why != run.reasons.end() && child != ChildState::Started && child != ChildState::Completed)
    w.field("reason", why->second);
  w.end_object();
  return true;
}

}  // namespace

std::string run_body(const State& state, const Run& run, const StepWindow& window) {
  if (run.script) return script_run_body(state, run, {window.from, window.count, window.fields});
  ReplyRoom room;
  std::string body;
  json::Writer w(body);
  w.begin_object().key("run");
  begin_run(w, run);
  uint32_t from = std::min(window.from, run.total);
  uint32_t to = from + std::min(window.count, run.total - from);
  w.key("steps").begin_object();
  for (uint32_t i = from; i < to; ++i)
    if (!render_step(w, state, run, i, room)) to = i;
  w.end_object().key("current_steps").begin_array();
  for (uint32_t i = from; i < to; ++i)
    if (run.child(i) == ChildState::Started) w.string(step_id_of(state, run, i));
  w.end_array();
  if (to < run.total) w.field("next_cursor", std::to_string(to));
  w.end_object().end_object();
  return body;
}

Result<const Run*> visible_run(const State& state, const std::string& text,
                               const std::string& tenant) {
  const Run* run = state.find_run(workflow_id(text));
  if (run == nullptr || (!tenant.empty() && run->tenant != tenant))
    return Error{ErrorCode::NotFound, "run " + text.substr(0, 128) + " not found"};
  return run;
}

namespace {

void get_run(App& app, Call&& call) {
  auto page = parse_page(call, kStepsShownUsual);
  if (!page.ok()) return call.fail(page.error());
  StepWindow window{
      .from = 0, .count = static_cast<uint32_t>(page->limit), .fields = call.query("fields")};
  if (!page->cursor.empty()) {
    char* end = nullptr;
    window.from = static_cast<uint32_t>(std::strtoul(page->cursor.c_str(), &end, 10));
    if (*end != '\0')
      return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  }
  if (!call.query("at").empty()) return answer_past_run(app, std::move(call), window);
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  bool pace = call.query("format") == "pace";
  app.decide(std::move(call), [text, tenant, window, pace](Frame& frame) -> Result<http::Response> {
    PAWL_TRY(const Run* run, visible_run(frame.state(), text, tenant));
    if (pace && run->script)
      return json_response(Surface::V1, 200, pace_state(frame.state(), *run, kPaceBytesMax).json());
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

  bool takes(const Run& run) const {
    if (run.created_ms < since_ms || run.created_ms > until_ms) return false;
    if (!text.empty() && run.name.find(text) == std::string::npos &&
        workflow_id_text(run).find(text) == std::string::npos)
      return false;
    return (status.empty() || status_of(run) == status) &&
           (kind.empty() || kind_name(run.kind) == kind) && (name.empty() || run.name == name) &&
           (tenant.empty() || run.tenant == tenant) && run.parent.run == parent.value_or(RunId());
  }
};

void list_runs(App& app, Call&& call) {
  auto page = parse_page(call);
  if (!page.ok()) return call.fail(page.error());
  std::string name = call.query("definition");
  RunFilter filter{call.query("status"),
                   call.query("kind"),
                   name.empty() ? call.query("name") : name,
                   call.tenant,
                   {}};
  if (std::string parent = call.query("parent"); !parent.empty())
    filter.parent = workflow_id(parent);
  filter.text = call.query("text");
  for (auto [member, bound] : {std::pair{"since", &filter.since_ms}, {"until", &filter.until_ms}}) {
    std::string text = call.query(member);
    if (text.empty()) continue;
    auto when = parse_rfc3339(text);
    if (!when.ok())
      return call.fail(
          {ErrorCode::InvalidRequest, std::string(member) + ": " + when.error().message});
    *bound = *when;
  }
  auto from = page->cursor.empty() ? std::optional<RunId>(RunId()) : RunId::parse(page->cursor);
  if (!from)
    return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  app.decide_list(
      std::move(call),
      [filter, limit = page->limit, start = *from](Frame& frame) -> Result<http::Response> {
        std::string body;
        json::Writer w(body);
        w.begin_object().key("runs").begin_array();
        PageFill fill(body, limit);
        RunId beyond;
        RunId go_on = frame.state().each_run(start, true, kListScanMax, [&](const Run& run) {
          if (!filter.takes(run)) return true;
          if (fill.full()) return beyond = run.id, false;
          fill.take();
          run.script ? begin_script_run(w, frame.state(), run) : begin_run(w, run);
          w.end_object();
          return true;
        });
        w.end_array();
        RunId next = beyond.is_nil() ? go_on : beyond;
        if (!next.is_nil()) w.field("next_cursor", next.text());
        w.end_object();
        return json_response(Surface::V1, 200, std::move(body));
      });
}

// --- explain

// How and when something came to its end; says nothing of what has none.
struct Ended {
  std::string_view status;
  int64_t at_ms = 0;
  std::string reason = {};
  JobError error = {};
};

Ended end_of(const Run& run) { return {status_of(run), run.finished_ms, run.reason}; }

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
  w.field_time_if_set("since", wait.since_ms);
  w.field_time_if_set("until", wait.until_ms);
  w.field("detail", wait.detail);
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
  std::string body;
  json::Writer w(body);
  w.begin_object().field("id", id).field("status", ended.status);
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
  w.end_array().field_int("waiting_total", static_cast<int64_t>(explanation.waits_total));
  w.key("next").begin_array();
  for (const NextStep& next : explanation.next) {
    w.begin_object().field("step_id", next.step_id).field("type", next.type);
    if (!next.after.empty()) w.field("after", next.after);
    w.end_object();
  }
  w.end_array().field_int("next_total", static_cast<int64_t>(explanation.next_total)).end_object();
  return body;
}

void explain_run(App& app, Call&& call) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, text, tenant](Frame& frame) -> Result<http::Response> {
    PAWL_TRY(const Run* run, visible_run(frame.state(), text, tenant));
    Explanation explanation = Explainer(frame.state(), app.workers(), frame.now_ms()).run(*run);
    return json_response(
        Surface::V1, 200,
        explanation_body(workflow_id_text(*run), end_of(*run), run->created_ms, explanation));
  });
}

void explain_job(App& app, Call&& call) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, text, tenant](Frame& frame) -> Result<http::Response> {
    PAWL_TRY(const Job* job, visible_job(frame.state(), text, tenant));
    Explanation explanation = Explainer(frame.state(), app.workers(), frame.now_ms()).job(*job);
    return json_response(
        Surface::V1, 200,
        explanation_body(job->id.text(), end_of(*job), job->created_ms, explanation));
  });
}

}  // namespace

void add_run_routes(Router& router) {
  router.add({"GET", "/v1/runs", Scope::Read, Surface::V1, list_runs, "runs"});
  router.add({"GET", "/v1/runs/{id}", Scope::Read, Surface::V1, get_run, "run"});
  router.add({"GET", "/v1/runs/{id}/explain", Scope::Read, Surface::V1, explain_run});
  router.add({"GET", "/v1/jobs/{id}/explain", Scope::Read, Surface::V1, explain_job});
}

}  // namespace pawl::api
