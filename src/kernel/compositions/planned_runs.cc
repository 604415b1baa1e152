#include "kernel/compositions/planned_runs.h"

#include "base/json.h"
#include "kernel/run.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

using Visit = FunctionRef<void(const RunId&, const JobParent& place)>;

// salt: of the run whose plan this is; nullopt if it will be drawn when that run starts.
// base: what ids of its children are made from.
void visit_plan(const RunId& run, const RunId& base, std::optional<uint64_t> salt, uint32_t index,
                const PlanNode& node, Visit visit) {
  if (node.kind != NodeKind::Run) return;
  if (node.id.is_nil() && !salt) return;
  RunId id = !node.id.is_nil() ? node.id : RunId(child_id(base, *salt, index));
  visit(id, {run, place_of_index(index)});
  if (node.run_kind == RunKind::Map) return;  // its children are made when it starts
  std::optional<uint64_t> own_salt;
  if (node.id.is_nil()) own_salt = 0;
  for (uint32_t i = 0; i < node.children.size(); ++i) {
    PlanNode child;
    PAWL_CHECK(codec::decode(node.children[i], child));
    visit_plan(id, id, own_salt, i, child, visit);
  }
}

bool starts_with_its_run(const Run& run, uint32_t index, const PlanNode& node) {
  return run.kind == RunKind::Chain ? index == 0 : node.depends_on.empty();
}

}  // namespace

std::string planned_run_key(const RunId& id) { return id.text(); }

void each_nested(const Run& run, const PlanNode& plan, Visit visit) {
  if (run.kind != RunKind::Chain && run.kind != RunKind::Dag) return;
  for (uint32_t i = 0; i < plan.children.size(); ++i) {
    PlanNode node;
    PAWL_CHECK(codec::decode(plan.children[i], node));
    if (!starts_with_its_run(run, i, node)) visit_plan(run.id, child_base(run), run.salt, i, node, visit);
  }
}

void each_never_started(const State& state, const Run& run, FunctionRef<void(const RunId&)> visit) {
  if (run.kind != RunKind::Chain && run.kind != RunKind::Dag) return;
  for (uint32_t i = 0; i < run.total; ++i) {
    PlanNode node;
    if (run.child(i) == ChildState::Completed || !state.held_plan(run, i, node)) continue;
    visit_plan(run.id, child_base(run), run.salt, i, node, [&](const RunId& id, const JobParent&) { visit(id); });
  }
}

std::optional<PlannedRun> find_planned(const State& state, const RunId& id) {
  const Doc* doc = state.find_doc(DocKind::PlannedRun, planned_run_key(id));
  if (doc == nullptr || state.find_run(id) != nullptr) return std::nullopt;
  PlannedRun found;
  found.id = id;
  PAWL_CHECK(codec::decode(doc->value, found.place));
  const uint32_t index = index_of(found.place.place);
  if (const Run* around = state.find_run(found.place.run)) {
    if (index >= around->total || around->child(index) == ChildState::Started) return std::nullopt;
    found.around = around;
    found.index = index;
    if (!state.held_plan(*around, index, found.plan)) return std::nullopt;
  } else {
    auto outer = find_planned(state, found.place.run);
    if (!outer || index >= outer->plan.children.size()) return std::nullopt;
    PAWL_CHECK(codec::decode(outer->plan.children[index], found.plan));
    found.around = outer->around;
    found.index = outer->index;
  }
  if (found.plan.kind != NodeKind::Run) return std::nullopt;
  return found;
}

}  // namespace pawl
