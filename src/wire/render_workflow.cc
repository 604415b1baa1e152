#include "wire/render_workflow.h"

#include "kernel/compositions/planned_runs.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"
#include "wire/render_planned.h"
#include "wire/reply_room.h"
#include "wire/workflow_metadata.h"

namespace pawl {
namespace {

constexpr size_t kChildBytesUsual = 1024;  // counted for a child besides its result
constexpr size_t kResultBytesSmall = 1024;

// The children in one reply: as many as there is room for; the second copy has small results only.
struct Shown {
  ReplyRoom& room;
  bool results = true;
  size_t large_results = 0;  // found
  bool as_steps = false;     // jobs are listed with step ids
};

void render_result(json::Writer& w, const Job& job, Shown& shown) {
  bool large = job.result.size() > kResultBytesSmall;
  shown.large_results += large ? 1 : 0;
  if (large && !shown.results) {
    w.key("result").null().field_bool("result_omitted", true);
  } else if (!job.result.empty()) {
    w.field_raw("result", job.result);
  }
}

// Returns the end of the rendered part.
uint32_t render_members(json::Writer& w, const State& state, const Run& run,
                        const WorkflowPage& page, Shown& shown);

// The step's state in the terms of the workflow specification.
std::string_view child_state_name(const Run& run, ChildState child, const Job* job) {
  if (child == ChildState::Waiting) return is_terminal(run.state) ? "cancelled" : "waiting";
  if (child != ChildState::Started) return name_of(kChildEnds, child);
  return job != nullptr && job->state == JobState::Active ? "active" : "pending";
}

// The ids of a run's steps, read from its plan on first use.
class StepIds {
 public:
  StepIds(const State& state, const Run& run) : state_(state), run_(run) {}

  const std::string& of(uint32_t index) {
    if (ids_.empty()) ids_.resize(run_.total);
    std::string& id = ids_[index];
    PlanNode node;
    if (id.empty())
      id = has_ids() && state_.held_plan(run_, index, node) ? step_id_text(node, index)
                                                            : std::to_string(index);
    return id;
  }
  // Only some clients call the jobs of a group or batch steps.
  void write(json::Writer& w, uint32_t index, bool as_step) {
    bool chain_like = run_.kind == RunKind::Chain || run_.kind == RunKind::Dag;
    w.field("id", of(index));
    if (!chain_like && !run_.named_steps && !as_step) return;
    w.key("depends_on").begin_array();
    if (run_.kind == RunKind::Chain && index > 0) w.string(of(index - 1));
    if (run_.kind == RunKind::Dag)
      for (uint32_t dependency : dag_links(state_, run_).depends_on[index])
        w.string(of(dependency));
    w.end_array();
  }

 private:
  bool has_ids() const { return run_.named_steps || run_.kind == RunKind::Dag; }

  const State& state_;
  const Run& run_;
  std::vector<std::string> ids_;
};

// --- children

std::string_view planned_state(const Run& around, uint32_t index) {
  std::string_view state = child_state_name(around, around.child(index), nullptr);
  return state == "waiting" ? "pending" : state;
}

PlannedPlace place_in(const Run& around, uint32_t index) {
  PlannedPlace place;
  place.id = workflow_id_text(around);
  place.created_ms = around.created_ms;
  place.state = planned_state(around, index);
  place.run = child_base(around);
  place.salt = around.salt;
  return place;
}

// The result of a nested workflow, built from the results of its jobs, which are read again.
void render_nested_result(json::Writer& w, const State& state, const Run& run, Shown& shown) {
  const size_t most = shown.results ? state.script_defaults().output_bytes_max : kResultBytesSmall;
  std::string result;
  if (!shown.room.full() &&
      append_run_result(result, state, run, std::min(most, shown.room.left()))) {
    shown.large_results += result.size() > kResultBytesSmall ? 1 : 0;
    (void)shown.room.takes(result.size());
    w.field_raw("result", result);
  } else {
    w.key("result").null().field_bool("result_omitted", true);
  }
}

void render_nested(json::Writer& w, const State& state, const Run& outer, const Run& run,
                   uint32_t index, StepIds& ids, Shown& shown) {
  w.begin_object().field_int("index", index);
  ids.write(w, index, shown.as_steps);
  w.field("state", outer.child(index) == ChildState::Started
                       ? "active"
                       : child_state_name(outer, outer.child(index), nullptr));
  w.key("job_id").null().field("workflow_id", workflow_id_text(run)).key("workflow");
  w.begin_object();
  render_members(w, state, run, {}, shown);
  w.end_object();
  w.field("type", kind_name(run.kind));
  if (!run.name.empty()) w.field("name", run.name);
  if (outer.child(index) == ChildState::Completed) render_nested_result(w, state, run, shown);
  w.end_object();
}

// False: there is no room, and nothing is written.
bool render_child(json::Writer& w, const State& state, const Run& run, uint32_t index, StepIds& ids,
                  Shown& shown) {
  if (shown.room.full()) return false;
  Uuid id = child_of(state, run, index);
  ChildState child = run.child(index);
  bool begun = child != ChildState::Waiting;
  const Job* job = begun ? state.find_job(JobId(id)) : nullptr;
  const Run* nested = begun && job == nullptr ? state.find_run(RunId(id)) : nullptr;
  if (job != nullptr) shown.room.read(job->weight_bytes());
  const size_t bytes = job == nullptr || !shown.results ? 0 : job->result.size();
  if (!shown.room.takes(kChildBytesUsual + bytes)) return false;
  if (nested != nullptr) return render_nested(w, state, run, *nested, index, ids, shown), true;
  PlanNode node;
  bool planned = (job == nullptr || run.kind == RunKind::Dag || run.named_steps) &&
                 state.held_plan(run, index, node);
  w.begin_object().field_int("index", index);
  ids.write(w, index, shown.as_steps);
  w.field("type", job != nullptr ? std::string(type_of_spec(job->spec))
                  : planned      ? step_type_text(node)
                                 : "");
  if (!node.name.empty()) w.field("name", node.name);
  w.field("state", child_state_name(run, child, job)).key("job_id");
  if (job == nullptr) {
    w.null();
    if (planned && node.kind == NodeKind::Run) {
      PlannedPlace place = place_of(node, place_in(run, index), index);
      if (!place.id.empty()) w.field("workflow_id", place.id);
      w.key("workflow").begin_object();
      render_planned_members(w, node, place);
      w.end_object();
    }
  } else {
    w.uuid(job->id).field_int("attempt", job->attempt).field("job_state", state_name(job->state));
    if (child == ChildState::Completed) render_result(w, *job, shown);
    w.field_time_if_set("started_at", job->started_ms);
    w.field_time_if_set("completed_at", job->finished_ms);
    if (child == ChildState::Failed && job->extras && !job->extras->errors.empty()) {
      const JobError& error = job->extras->errors.back();
      w.key("error")
          .begin_object()
          .field("code", error.code)
          .field("message", error.message)
          .field_int("attempt", error.attempt)
          .end_object();
    }
  }
  if (auto at = run.reasons.find(index); at != run.reasons.end()) w.field("reason", at->second);
  w.end_object();
  return true;
}

// Where a batch is shown as steps, its callbacks are steps too.
void render_callback_steps(json::Writer& w, const State& state, const Run& run, StepIds& ids,
                           Shown& shown) {
  for (size_t i = 0; i < static_cast<size_t>(CallbackRole::OnCancel); ++i) {
    auto role = static_cast<CallbackRole>(i);
    PlanNode node;
    if (!state.held_plan(run, held_callback(role), node)) continue;
    bool fired = (run.callbacks_fired >> i & 1) != 0;
    const Job* job =
        fired ? state.find_job(JobId(child_of(state, run, callback_index(role, run.generation))))
              : nullptr;
    bool done = (run.callbacks_done >> i & 1) != 0;
    bool failed = (run.callbacks_failed >> i & 1) != 0;
    std::string_view step_state = done     ? failed ? "failed" : "completed"
                                  : !fired ? is_terminal(run.state) ? "cancelled" : "waiting"
                                  : job != nullptr && job->state == JobState::Active ? "active"
                                                                                     : "pending";
    std::string id = node.step_id.empty() ? std::string(role_name(role)) : node.step_id;
    w.begin_object().field("id", id).field("type", step_type_text(node));
    w.field("callback", role_name(role)).field("state", step_state).key("job_id");
    if (job != nullptr) {
      w.uuid(job->id);
      if (done && !failed) render_result(w, *job, shown);
      w.field_time_if_set("started_at", job->started_ms);
      w.field_time_if_set("completed_at", job->finished_ms);
    } else {
      w.null();
    }
    w.key("depends_on").begin_array();
    for (uint32_t child = 0; child < run.total; ++child) w.string(ids.of(child));
    w.end_array().end_object();
  }
}

void render_callbacks(json::Writer& w, const State& state, const Run& run) {
  if (run.callbacks_fired == 0) return;
  w.key("callbacks").begin_object();
  for (size_t i = 0; i < kCallbackRoles; ++i) {
    if ((run.callbacks_fired >> i & 1) == 0) continue;
    auto role = static_cast<CallbackRole>(i);
    const Job* job =
        state.find_job(JobId(child_of(state, run, callback_index(role, run.generation))));
    w.key(role_name(role)).begin_object();
    if (job != nullptr)
      w.key("job_id")
          .uuid(job->id)
          .field("type", type_of_spec(job->spec))
          .field("state", state_name(job->state));
    w.end_object();
  }
  w.end_object();
}

// How many steps were completed before the cancellation, and how many it cancelled.
void render_cancelled_counts(json::Writer& w, const State& state, const Run& run) {
  int64_t cancelled = 0;
  int64_t completed = 0;
  for (uint32_t i = 0; i < run.total; ++i) {
    ChildState child = run.child(i);
    completed += child == ChildState::Completed || child == ChildState::Skipped ? 1 : 0;
    cancelled += child == ChildState::Cancelled || child == ChildState::Waiting ? 1 : 0;
  }
  for (size_t i = 0; run.named_steps && i < static_cast<size_t>(CallbackRole::OnCancel); ++i) {
    PlanNode node;
    auto role = static_cast<CallbackRole>(i);
    bool fired = (run.callbacks_fired >> i & 1) != 0;
    cancelled += !fired && state.held_plan(run, held_callback(role), node) ? 1 : 0;
  }
  w.field_int("steps_cancelled", cancelled).field_int("steps_already_completed", completed);
}

uint32_t render_members(json::Writer& w, const State& state, const Run& run,
                        const WorkflowPage& page, Shown& shown) {
  bool chain_like = run.kind == RunKind::Chain || run.kind == RunKind::Dag;
  std::string prefix = chain_like ? "steps" : "jobs";
  w.field("id", workflow_id_text(run))
      .field("type", kind_name(run.kind))
      .field("state", state_name(run.state));
  w.field("name", run.name);
  render_counts(w, chain_like, run.total, run.completed, run.failed);
  w.field_time("created_at", run.created_ms);
  if (run.state == RunState::Cancelled) w.field_time("cancelled_at", run.finished_ms);
  if (is_terminal(run.state)) w.field_time("completed_at", run.finished_ms);
  if (run.timeout_ms != 0) w.field_int("timeout_ms", run.timeout_ms);
  if (!run.parent.run.is_nil()) w.field("parent_workflow_id", shown_run_id(state, run.parent.run));
  if (!run.meta.empty()) w.field_raw("meta", run.meta);
  StepIds ids(state, run);
  w.key(prefix).begin_array();
  uint32_t to =
      page.limit > run.total - std::min(page.from, run.total) ? run.total : page.from + page.limit;
  const size_t rows_at = w.out().size();
  for (uint32_t i = page.from; i < to; ++i)
    if (!render_child(w, state, run, i, ids, shown)) to = i;
  w.end_array();
  if (!chain_like && (run.named_steps || page.as_steps)) {
    ReplyRoom room;
    Shown again{room, shown.results && w.out().size() - rows_at <= kReplyBytesSmall};
    again.as_steps = true;
    w.key("steps").begin_array();
    for (uint32_t i = page.from; i < to; ++i) (void)render_child(w, state, run, i, ids, again);
    if (to == run.total) render_callback_steps(w, state, run, ids, again);
    w.end_array();
  }
  if (page.count_cancelled) render_cancelled_counts(w, state, run);
  if (to < run.total) w.field("next_cursor", std::to_string(to));
  render_callbacks(w, state, run);
  render_metadata(w, state, run);
  return to;
}

}  // namespace

void render_counts(json::Writer& w, bool chain_like, int64_t total, int64_t completed,
                   int64_t failed) {
  for (const std::string prefix : {"jobs", "steps"}) {
    if (chain_like && prefix == "jobs") continue;
    w.field_int(prefix + "_total", total).field_int(prefix + "_completed", completed);
    w.field_int(prefix + "_failed", failed);
  }
}

std::string workflow_id_text(const Run& run) { return shown_id(run); }

std::string step_id_text(const State& state, const Run& run, uint32_t index) {
  return StepIds(state, run).of(index);
}
std::string_view planned_state_text(const PlannedRun& planned) {
  return planned_state(*planned.around, planned.index);
}

void render_workflow_summary(json::Writer& w, const State& state, const Run& run) {
  w.begin_object()
      .field("id", workflow_id_text(run))
      .field("type", kind_name(run.kind))
      .field("state", state_name(run.state))
      .field("name", run.name);
  w.field_int("total", run.total)
      .field_int("completed", run.completed)
      .field_int("failed", run.failed)
      .field_int("job_count", run.job_count);
  w.field_int("step_count", run.total)
      .field_int("steps_total", run.total)
      .field_int("steps_completed", run.completed);
  w.field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  w.field_time_if_set("completed_at", run.finished_ms);
  if (!run.parent.run.is_nil()) w.field("parent_workflow_id", shown_run_id(state, run.parent.run));
  w.end_object();
}

std::string workflow_body(const State& state, const Run& run, const WorkflowPage& page) {
  std::string body = "{\"workflow\":{";
  const size_t begun = body.size();
  json::Writer w(body);
  ReplyRoom room;
  Shown shown{room};
  const uint32_t to = render_members(w, state, run, page, shown);
  const size_t size = body.size() - begun;
  w.end_object();
  if (size <= kReplyBytesSmall || shown.large_results == 0)
    return body.append(",").append(body, begun, size).append("}");
  ReplyRoom second_room;
  Shown second{second_room, false};
  WorkflowPage same = page;
  same.limit = to - page.from;
  render_members(w, state, run, same, second);
  w.end_object();
  return body;
}

}  // namespace pawl
