// Compositions of jobs as /v1 shows them.
#include "api/run_view.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"
#include "wire/render_job.h"
#include "wire/render_workflow.h"
#include "wire/reply_room.h"

namespace pawl::api {
namespace {

constexpr size_t kStepBytesUsual = 512;  // of a step besides its output

std::string_view status_of(const Run& run, ChildState child, const Job* job) {
  if (child == ChildState::Waiting) return is_terminal(run.state) ? "cancelled" : "pending";
  if (child != ChildState::Started) return name_of(kChildEnds, child);
  if (job == nullptr || job->state == JobState::Active) return "running";
  if (job->state == JobState::Retryable) return "retrying";
  return job->state == JobState::Pending ? "suspended" : "scheduled";
}

// Members without the closing brace.
void begin_run(json::Writer& w, const Run& run) {
  w.begin_object().field("id", workflow_id_text(run)).field("kind", kind_name(run.kind));
  if (!run.name.empty()) w.field("name", run.name);
  w.field("status", family_of(run).status(run));
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
        .field_int("index", index_of(run.parent.place))
        .end_object();
  if (run.generation > 0) w.field_int("retries", run.generation);
  if (run.state == RunState::Failed)
    w.key("error").begin_object().field("message", run.reason).end_object();
  if (run.state == RunState::Cancelled) w.field("reason", run.reason);
}

// False: there is no room, and nothing is written.
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
  // Drop the failure reason on retry: it describes the earlier attempt.
  auto why = run.reasons.find(index);
  if (why != run.reasons.end() && child != ChildState::Started && child != ChildState::Completed)
    w.field("reason", why->second);
  w.end_object();
  return true;
}

class CompositionView final : public RunView {
 public:
  void begin(json::Writer& w, const State&, const Run& run) const override { begin_run(w, run); }
  std::string body(const State& state, const Run& run, const StepWindow& window) const override {
    ReplyRoom room;
    json::ObjectWriter w;
    w.key("run");
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
    w.end_object();
    return w.close();
  }
  void explain(Explainer& explainer, const Run& run, const std::string& prefix,
               size_t depth) const override {
    explainer.add_composition(run, prefix, depth);
  }
  bool is_workflow() const override { return true; }
};

constexpr CompositionView kCompositionView;

}  // namespace

const RunView& composition_view() { return kCompositionView; }

const RunView& view_of(const Run& run) {
  if (run.kind == RunKind::Script) return script_view();
  return run.kind == RunKind::Module ? instance_view() : composition_view();
}

}  // namespace pawl::api
