#include "wire/render_planned.h"

#include <vector>

#include "kernel/compositions/planned_runs.h"
#include "kernel/compositions/run_values.h"
#include "kernel/run.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"
#include "wire/render_workflow.h"

namespace pawl {
namespace {

std::string shown_id(const RunId& id, const std::string& client_id) {
  if (!client_id.empty()) return client_id;
  return id.is_nil() ? "" : id.text();
}

void render_planned_row(json::Writer& w, const PlanNode& node, uint32_t index,
                        bool show_dependencies, const std::vector<std::string>& ids,
                        std::string_view state, const PlannedPlace& around) {
  w.begin_object().field_int("index", index).field("id", ids[index]);
  if (show_dependencies) {
    w.key("depends_on").begin_array();
    for (uint32_t dependency : node.depends_on) w.string(ids[dependency]);
    w.end_array();
  }
  w.field("type", step_type_text(node));
  if (!node.name.empty()) w.field("name", node.name);
  w.field("state", state).key("job_id").null();
  if (node.kind == NodeKind::Run) {
    PlannedPlace place = place_of(node, around, index);
    if (!place.id.empty()) w.field("workflow_id", place.id);
    w.key("workflow").begin_object();
    render_planned_members(w, node, place);
    w.end_object();
  }
  w.end_object();
}

}  // namespace

std::string step_type_text(const PlanNode& step) {
  if (step.kind == NodeKind::Run) return std::string(kind_name(step.run_kind));
  NewJob job;
  return codec::decode(step.job, job) ? job.type : "";
}

std::string step_id_text(const PlanNode& step, uint32_t index) {
  if (!step.step_id.empty()) return step.step_id;
  return step.name.empty() ? std::to_string(index) : step.name;
}

PlannedPlace place_of(const PlanNode& plan, const PlannedPlace& around, uint32_t index) {
  PlannedPlace place = around;
  place.parent_id = around.id;
  place.run = plan.id;
  place.salt.reset();
  if (plan.id.is_nil() && around.salt) {
    place.run = RunId(child_id(around.run, *around.salt, index));
    place.salt = 0;
  }
  place.id = shown_id(place.run, plan.client_id);
  return place;
}

void render_planned_members(json::Writer& w, const PlanNode& plan, const PlannedPlace& place,
                            bool as_steps) {
  bool chain_like = plan.run_kind == RunKind::Chain || plan.run_kind == RunKind::Dag;
  std::string prefix = chain_like ? "steps" : "jobs";
  bool is_map = plan.run_kind == RunKind::Map;  // its jobs are known when it starts
  size_t total = is_map ? 0 : plan.children.size();
  if (!place.id.empty()) w.field("id", place.id);
  w.field("type", kind_name(plan.run_kind)).field("state", place.state);
  w.field("name", plan.name);
  render_counts(w, chain_like, static_cast<int64_t>(total), 0, 0);
  w.field_time("created_at", place.created_ms);
  if (plan.timeout_ms != 0) w.field_int("timeout_ms", plan.timeout_ms);
  if (!place.parent_id.empty()) w.field("parent_workflow_id", place.parent_id);
  if (!plan.meta.empty()) w.field_raw("meta", plan.meta);
  std::vector<PlanNode> nodes(total);
  std::vector<std::string> ids(total);
  for (uint32_t i = 0; i < total; ++i) {
    PAWL_CHECK(codec::decode(plan.children[i], nodes[i]));
    ids[i] = step_id_text(nodes[i], i);
    if (plan.run_kind == RunKind::Chain && i > 0) nodes[i].depends_on = {i - 1};
  }
  std::string_view row_state = place.state == "pending" ? "waiting" : place.state;
  w.key(prefix).begin_array();
  for (uint32_t i = 0; i < total; ++i)
    render_planned_row(w, nodes[i], i, chain_like || plan.named_steps, ids, row_state, place);
  w.end_array();
  if (!chain_like && as_steps) {
    w.key("steps").begin_array();
    for (uint32_t i = 0; i < total; ++i)
      render_planned_row(w, nodes[i], i, true, ids, row_state, place);
    w.end_array();
  }
  w.key("metadata").begin_object().field_time("created_at", place.created_ms);
  w.field_int("job_count", plan.job_count).field_int("completed_count", 0);
  w.field_int("failed_count", 0).end_object();
}

std::string planned_workflow_body(const State& state, const PlannedRun& planned) {
  PlannedPlace place;
  place.id = shown_id(planned.id, planned.plan.client_id);
  place.parent_id = shown_run_id(state, planned.place.run);
  if (auto outer = find_planned(state, planned.place.run))
    place.parent_id = shown_id(outer->id, outer->plan.client_id);
  place.created_ms = planned.around->created_ms;
  place.state = planned_state_text(planned);
  place.run = planned.id;
  if (planned.plan.id.is_nil()) place.salt = 0;
  std::string members = "{";
  json::Writer inner(members);
  render_planned_members(inner, planned.plan, place, true);
  return "{\"workflow\":" + members + "}," + members.substr(1) + "}";
}

}  // namespace pawl
