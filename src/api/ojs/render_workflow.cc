#include "api/ojs/render_workflow.h"

#include "kernel/run_values.h"

namespace pawl::api {
namespace {

struct Totals {
  uint64_t completed = 0;  // jobs of the whole tree
  uint64_t failed = 0;
};

// The step's state in the words of the workflow specification.
std::string_view child_state_name(const Run& run, ChildState child, const Job* job) {
  switch (child) {
    case ChildState::Waiting:
      return is_terminal(run.state) ? "cancelled" : "waiting";
    case ChildState::Started:
      return job != nullptr && job->state == JobState::Active ? "active" : "pending";
    case ChildState::Completed:
      return "completed";
    case ChildState::Failed:
      return "failed";
    case ChildState::Cancelled:
      return "cancelled";
    case ChildState::Skipped:
      return "skipped";
  }
  return "";
}

std::string planned_type(const State& state, const Run& run, uint32_t index, std::string& name) {
  PlanNode node;
  if (!state.held_plan(run, index, node)) return "";
  name = node.name;
  if (node.kind == NodeKind::Run) return std::string(kind_name(node.run_kind));
  NewJob job;
  return codec::decode(node.job, job) ? job.type : "";
}

void render_nested(json::Writer& w, const State& state, const Run& outer, const Run& run,
                   uint32_t index) {
  w.begin_object().field_int("index", index);
  w.field("state", child_state_name(outer, outer.child(index), nullptr) == "pending"
                       ? state_name(run.state)
                       : child_state_name(outer, outer.child(index), nullptr));
  w.key("job_id").null().field("workflow_id", workflow_id_text(run)).key("workflow");
  render_workflow(w, state, run, {});
  w.field("type", kind_name(run.kind));
  if (!run.name.empty()) w.field("name", run.name);
  if (outer.child(index) == ChildState::Completed) {
    std::string result;
    if (append_run_result(result, state, run, state.script_defaults().output_bytes_max)) {
      w.field_raw("result", result);
    } else {
      w.key("result").null().field_bool("result_omitted", true);
    }
  }
  w.end_object();
}

void render_child(json::Writer& w, const State& state, const Run& run, uint32_t index) {
  Uuid id = child_of(state, run, index);
  ChildState child = run.child(index);
  bool begun = child != ChildState::Waiting;
  const Job* job = begun ? state.find_job(JobId(id)) : nullptr;
  const Run* nested = begun && job == nullptr ? state.find_run(RunId(id)) : nullptr;
  if (nested != nullptr) return render_nested(w, state, run, *nested, index);
  std::string name;
  w.begin_object().field_int("index", index);
  if (job == nullptr || run.kind == RunKind::Dag) {
    std::string type = planned_type(state, run, index, name);
    if (job == nullptr) w.field("type", type);
  }
  if (job != nullptr) w.field("type", type_of_spec(job->spec));
  if (!name.empty()) w.field("name", name);
  w.field("state", child_state_name(run, child, job)).key("job_id");
  if (job == nullptr) {
    w.null();
  } else {
    w.uuid(job->id).field_int("attempt", job->attempt).field("job_state", state_name(job->state));
    if (child == ChildState::Completed && !job->result.empty()) w.field_raw("result", job->result);
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
}

// Walks the tree below once: counts its jobs and collects what failed.
void collect(const State& state, const Run& run, Totals& totals,
             std::vector<std::pair<const Job*, uint32_t>>& failed) {
  for (uint32_t i = 0; i < run.total; ++i) {
    ChildState child = run.child(i);
    if (child == ChildState::Waiting) continue;
    Uuid id = child_of(state, run, i);
    const Run* nested = run.job_count != run.total || run.kind == RunKind::Chain
                            ? state.find_run(RunId(id))
                            : nullptr;
    if (nested != nullptr) {
      collect(state, *nested, totals, failed);
      continue;
    }
    totals.completed += child == ChildState::Completed ? 1 : 0;
    totals.failed += child == ChildState::Failed ? 1 : 0;
    if (child == ChildState::Failed && failed.size() < 1000)
      failed.emplace_back(state.find_job(JobId(id)), i);
  }
}

void render_errors(json::Writer& w, const State& state, const Run& run,
                   const std::vector<std::pair<const Job*, uint32_t>>& failed) {
  if (run.kind == RunKind::Chain && run.failed > 0) {
    for (uint32_t i = 0; i < run.total; ++i)
      if (run.child(i) == ChildState::Failed) w.field_int("failed_step_index", i);
  }
  std::vector<const Job*> jobs;
  for (const auto& [job, index] : failed)
    if (job != nullptr) jobs.push_back(job);
  for (size_t role = 0; role < kCallbackRoles; ++role) {
    if ((run.callbacks_failed >> role & 1) == 0) continue;
    w.field("failed_callback", role_name(static_cast<CallbackRole>(role)));
    const Job* job = state.find_job(JobId(
        child_of(state, run, callback_index(static_cast<CallbackRole>(role), run.generation))));
    if (job != nullptr) jobs.push_back(job);
  }
  if (jobs.empty()) return;
  w.key("failed_job_ids").begin_array();
  for (const Job* job : jobs) w.uuid(job->id);
  w.end_array().key("errors").begin_array();
  for (const Job* job : jobs) {
    w.begin_object().key("job_id").uuid(job->id);
    if (job->state == JobState::Cancelled || job->expired || !job->extras ||
        job->extras->errors.empty()) {
      w.field("code", job->expired ? "expired" : "cancelled")
          .field("message", job->expired ? "the job expired before a worker took it"
                                         : "the job was cancelled");
      w.field_int("attempt", job->attempt);
    } else {
      const JobError& error = job->extras->errors.back();
      w.field("code", error.code)
          .field("message", error.message)
          .field_int("attempt", error.attempt);
    }
    if (is_callback(job->parent.node))
      w.field("callback", role_name(callback_role(job->parent.node)));
    w.end_object();
  }
  w.end_array();
}

void render_metadata(json::Writer& w, const State& state, const Run& run) {
  Totals totals;
  std::vector<std::pair<const Job*, uint32_t>> failed;
  collect(state, run, totals, failed);
  w.key("metadata").begin_object().field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  if (is_terminal(run.state)) {
    w.field_time("completed_at", run.finished_ms);
    if (run.state == RunState::Cancelled) w.field_time("cancelled_at", run.finished_ms);
  }
  w.field_int("job_count", run.job_count)
      .field_int("completed_count", static_cast<int64_t>(totals.completed));
  w.field_int("failed_count", static_cast<int64_t>(totals.failed));
  if (run.generation > 0) w.field_int("retries", run.generation);
  if (!run.reason.empty()) w.field("reason", run.reason);
  render_errors(w, state, run, failed);
  w.end_object();
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

void render_members(json::Writer& w, const State& state, const Run& run, const WorkflowPage& page) {
  bool chain_like = run.kind == RunKind::Chain || run.kind == RunKind::Dag;
  std::string prefix = chain_like ? "steps" : "jobs";
  w.field("id", workflow_id_text(run))
      .field("type", kind_name(run.kind))
      .field("state", state_name(run.state));
  if (!run.name.empty()) w.field("name", run.name);
  w.field_int(prefix + "_total", run.total)
      .field_int(prefix + "_completed", run.completed)
      .field_int(prefix + "_failed", run.failed);
  w.field_time("created_at", run.created_ms);
  if (run.state == RunState::Cancelled) w.field_time("cancelled_at", run.finished_ms);
  if (is_terminal(run.state)) w.field_time("completed_at", run.finished_ms);
  if (run.timeout_ms != 0) w.field_int("timeout_ms", run.timeout_ms);
  if (!run.parent.run.is_nil()) w.key("parent_workflow_id").uuid(run.parent.run);
  if (!run.meta.empty()) w.field_raw("meta", run.meta);
  w.key(prefix).begin_array();
  uint32_t to =
      page.limit > run.total - std::min(page.from, run.total) ? run.total : page.from + page.limit;
  for (uint32_t i = page.from; i < to; ++i) render_child(w, state, run, i);
  w.end_array();
  if (to < run.total) w.field("next_cursor", std::to_string(to));
  render_callbacks(w, state, run);
  render_metadata(w, state, run);
}

}  // namespace

std::string workflow_id_text(const Run& run) {
  return run.client_id.empty() ? run.id.text() : run.client_id;
}

void render_workflow(json::Writer& w, const State& state, const Run& run,
                     const WorkflowPage& page) {
  w.begin_object();
  render_members(w, state, run, page);
  w.end_object();
}

void render_workflow_summary(json::Writer& w, const Run& run) {
  w.begin_object()
      .field("id", workflow_id_text(run))
      .field("type", kind_name(run.kind))
      .field("state", state_name(run.state));
  if (!run.name.empty()) w.field("name", run.name);
  w.field_int("total", run.total)
      .field_int("completed", run.completed)
      .field_int("failed", run.failed)
      .field_int("job_count", run.job_count);
  w.field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  w.field_time_if_set("completed_at", run.finished_ms);
  if (!run.parent.run.is_nil()) w.key("parent_workflow_id").uuid(run.parent.run);
  w.end_object();
}

std::string workflow_body(const State& state, const Run& run, const WorkflowPage& page) {
  std::string members;
  json::Writer inner(members);
  members.push_back('{');
  render_members(inner, state, run, page);
  std::string body = "{\"workflow\":" + members + "}," + members.substr(1) + "}";
  return body;
}

}  // namespace pawl::api
