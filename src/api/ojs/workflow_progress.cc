// GET /workflows/{id}/progress: the progress of a workflow, from its steps and their reports.
//
// The mean of its steps: an ended step counts fully, a running one by its worker's report, a nested
// workflow by its own mean.
#include "api/app.h"
#include "api/paging.h"
#include "api/routes.h"
#include "api/run_view.h"
#include "kernel/compositions/planned_runs.h"
#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_planned.h"
#include "wire/render_workflow.h"

namespace pawl::api {
namespace {

double reported(const Job& job) {
  if (!job.extras || job.extras->progress.empty()) return 0;
  auto doc = json::parse(job.extras->progress);
  return doc.ok() ? doc->root().as_double().value_or(0) : 0;
}

struct StepView {
  ChildState child = ChildState::Waiting;
  const Job* job = nullptr;
  const Run* nested = nullptr;
};

StepView step_view(const State& state, const Run& run, uint32_t index) {
  StepView view{run.child(index)};
  if (view.child == ChildState::Waiting) return view;
  Uuid id = child_of(state, run, index);
  view.job = state.find_job(JobId(id));
  if (view.job == nullptr) view.nested = state.find_run(RunId(id));
  return view;
}

// Walks the tree below once; the plan bounds its depth and size.
class Progress {
 public:
  explicit Progress(const State& state) : state_(state) {}

  double of(const Run& run) {
    note(run.started_ms);
    note(run.finished_ms);
    if (is_terminal(run.state) && run.state == RunState::Completed) return 1;
    double sum = 0;
    for (uint32_t i = 0; i < run.total; ++i) sum += of(step_view(state_, run, i));
    return run.total == 0 ? 1 : sum / run.total;
  }

  double of(const StepView& view) {
    if (view.job != nullptr) {
      note(view.job->started_ms);
      note(view.job->finished_ms);
      if (view.job->extras) note(view.job->extras->progress_ms);
    }
    if (view.child == ChildState::Waiting) return 0;
    if (view.child != ChildState::Started)
      return view.child == ChildState::Completed || view.child == ChildState::Skipped ? 1
             : view.job != nullptr ? reported(*view.job)
                                   : 0;
    if (view.job != nullptr) return reported(*view.job);
    return view.nested == nullptr ? 0 : of(*view.nested);
  }

  int64_t updated_ms() const { return updated_ms_; }

 private:
  void note(int64_t at_ms) { updated_ms_ = std::max(updated_ms_, at_ms); }

  const State& state_;
  int64_t updated_ms_ = 0;
};

constexpr std::pair<ChildState, std::string_view> kEnds[] = {{ChildState::Completed, "completed"},
                                                             {ChildState::Failed, "failed"},
                                                             {ChildState::Cancelled, "cancelled"},
                                                             {ChildState::Skipped, "skipped"}};

std::string_view state_of(const Run& run, const StepView& view) {
  for (const auto& [child, name] : kEnds)
    if (view.child == child) return name;
  if (view.child == ChildState::Waiting) return is_terminal(run.state) ? "cancelled" : "waiting";
  bool at_work =
      view.nested != nullptr || (view.job != nullptr && view.job->state == JobState::Active);
  return at_work ? "active" : "pending";
}

void write_step(json::Writer& w, const State& state, const Run& run, uint32_t index) {
  StepView view = step_view(state, run, index);
  w.begin_object().field("id", step_id_text(state, run, index)).field_int("index", index);
  if (view.job != nullptr) w.key("job_id").uuid(view.job->id);
  if (view.job != nullptr) w.field("type", type_of_spec(view.job->spec));
  if (view.nested != nullptr)
    w.field("workflow_id", workflow_id_text(*view.nested))
        .field("type", kind_name(view.nested->kind));
  PlanNode node;
  if (view.job == nullptr && view.nested == nullptr && state.held_plan(run, index, node))
    w.field("type", step_type_text(node));
  w.field("state", state_of(run, view)).key("progress");
  if (view.child == ChildState::Waiting) {
    w.null();
  } else {
    w.real(Progress(state).of(view));
  }
  if (view.job != nullptr && view.job->extras && !view.job->extras->progress_data.empty())
    w.field_raw("data", view.job->extras->progress_data);
  w.end_object();
}

std::string body_of(const State& state, const Run& run, const Page& page) {
  Progress progress(state);
  double whole = progress.of(run);
  json::ObjectWriter w;
  w.field("workflow_id", workflow_id_text(run)).field("type", kind_name(run.kind));
  w.field("state", state_name(run.state)).key("progress").real(whole);
  w.field_int("steps_total", run.total).field_int("steps_completed", run.completed);
  w.key("steps").begin_array();
  uint64_t from = page.offset;
  PageFill fill(w.out(), page.limit);
  uint64_t to = from;
  for (; to < run.total && !fill.full(); ++to) {
    fill.take();
    write_step(w, state, run, static_cast<uint32_t>(to));
  }
  w.end_array().field_time("updated_at", std::max(run.created_ms, progress.updated_ms()));
  PageEnd end{.total = run.total, .next_cursor = to < run.total ? std::to_string(to) : ""};
  write_pagination(w, page, end);
  return w.close();
}

// A nested workflow that has not started: all its steps are at zero.
std::string planned_body(const PlannedRun& planned, const Page& page) {
  const PlanNode& plan = planned.plan;
  bool is_map = plan.run_kind == RunKind::Map;  // its jobs are known when it starts
  uint64_t total = is_map ? 0 : plan.children.size();
  std::string_view state = planned_state_text(planned);
  json::ObjectWriter w;
  w.field("workflow_id", plan.client_id.empty() ? planned.id.text() : plan.client_id);
  w.field("type", kind_name(plan.run_kind));
  w.field("state", state).key("progress").real(0);
  w.field_int("steps_total", total).field_int("steps_completed", 0);
  w.key("steps").begin_array();
  uint64_t to = std::min<uint64_t>(total, page.offset + page.limit);
  for (uint64_t i = page.offset; i < to; ++i) {
    PlanNode step;
    PAWL_CHECK(codec::decode(plan.children[i], step));
    w.begin_object().field("id", step_id_text(step, static_cast<uint32_t>(i)));
    w.field_int("index", i).field("type", step_type_text(step));
    w.field("state", state == "pending" ? "waiting" : state).key("progress").null().end_object();
  }
  w.end_array().field_time("updated_at", planned.around->created_ms);
  PageEnd end{.total = total, .next_cursor = to < total ? std::to_string(to) : ""};
  write_pagination(w, page, end);
  return w.close();
}

void get_workflow_progress(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto page, parse_page(call, kPageLimitMax));
  if (!page.cursor.empty()) {
    char* end = nullptr;
    page.offset = std::strtoul(page.cursor.c_str(), &end, 10);
    if (*end != 0 || page.offset > UINT32_MAX)
      return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  }
  std::string named = call.params[0];
  std::string tenant = call.tenant;
  app.decide_list(std::move(call), [named, tenant, page](Frame& frame) -> Reply {
    const Run* run = frame.state().find_run(workflow_id(named, frame.state().partitions()));
    bool mine = run != nullptr && (tenant.empty() || run->tenant == tenant);
    if (mine && view_of(*run).is_workflow())
      return json_response(Surface::Ojs, 200, body_of(frame.state(), *run, page));
    auto planned = find_planned(frame.state(), workflow_id(named, frame.state().partitions()));
    if (planned && (tenant.empty() || planned->around->tenant == tenant))
      return json_response(Surface::Ojs, 200, planned_body(*planned, page));
    return Error{ErrorCode::NotFound, "Workflow " + named.substr(0, 128) + " not found"};
  });
}

}  // namespace

void add_workflow_progress_routes(Router& router) {
  router.add({"GET", "/ojs/v1/workflows/{id}/progress", Permission::Read, Routing::ById,
              get_workflow_progress});
}

}  // namespace pawl::api
