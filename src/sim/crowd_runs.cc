// Clients that create runs of every kind, nested and guarded, and cancel and retry them.
#include "sim/crowd.h"
#include "sim/run_task.h"

namespace pawl::sim {
namespace {

constexpr int kNestingMax = 4;
constexpr size_t kRunsKnownMax = 60;
const std::vector<std::string> kGuards = {"true", "false", "size(results) > 0", "results[9] == 1"};
const std::vector<std::string> kLists = {"[]",      "[1]",         "[1,2,3]", "[1,2,3,4,5,6]",
                                         "results", "no such list"};

uint32_t jobs_below(const PlanNode& run) {
  uint32_t count = 0;
  for (const std::string& child : run.children) {
    PlanNode node;
    PAWL_CHECK(codec::decode(child, node));
    count += node.kind == NodeKind::Job ? 1 : node.job_count;
  }
  return count;
}

}  // namespace

// Like any other job, but it mostly succeeds.
NewJob Crowd::draw_member() {
  NewJob job = draw_job();
  if (!random_.percent(20)) job.id = JobId();
  if (!random_.percent(20)) job.expires_ms = 0;
  if (!random_.percent(20)) job.scheduled_ms = 0;
  if (!random_.percent(30)) job.unique = {};
  if (!random_.percent(20)) job.limit.clear();
  job.queue_rate = 0;
  return job;
}

PlanNode Crowd::draw_node(int depth) {
  if (depth < kNestingMax && random_.percent(25)) return draw_plan(depth);
  PlanNode node;
  node.job = codec::encoded(draw_member());
  return node;
}

void Crowd::draw_callbacks(PlanNode& plan) {
  bool batch = plan.run_kind == RunKind::Batch;
  if (!batch && !random_.percent(30)) return;
  plan.callbacks.resize(kCallbackRoles);
  for (size_t role = 0; role < kCallbackRoles; ++role) {
    bool fits = batch || static_cast<CallbackRole>(role) == CallbackRole::OnCancel;
    if (fits && random_.percent(60)) plan.callbacks[role] = codec::encoded(draw_member());
  }
}

PlanNode Crowd::draw_plan(int depth) {
  PlanNode plan;
  plan.kind = NodeKind::Run;
  plan.run_kind = static_cast<RunKind>(1 + random_.below(5));
  plan.name = "r" + std::to_string(++serial_);
  if (random_.percent(15)) plan.timeout_ms = random_.between(1, 30'000);
  if (random_.percent(50)) plan.on_timeout = RunTimeout::Cancel;
  draw_callbacks(plan);
  if (plan.run_kind == RunKind::Map) {
    PlanNode item;
    item.job = codec::encoded(draw_member());
    plan.children = {codec::encoded(item)};
    plan.over = random_.pick(kLists);
    plan.concurrency = random_.percent(70) ? 1 + static_cast<uint32_t>(random_.below(3)) : 0;
    return plan;
  }
  uint32_t children = 1 + static_cast<uint32_t>(random_.below(5));
  for (uint32_t i = 0; i < children; ++i) {
    PlanNode node = draw_node(depth + 1);
    node.name = "s" + std::to_string(i);
    if (random_.percent(15)) node.when = random_.pick(kGuards);
    for (uint32_t before = 0; plan.run_kind == RunKind::Dag && before < i; ++before)
      if (random_.percent(40)) node.depends_on.push_back(before);
    plan.children.push_back(codec::encoded(node));
  }
  plan.job_count = jobs_below(plan);
  return plan;
}

// Remembers a few of its jobs, so that clients also act on them.
void Crowd::learn_run(const RunId& id) {
  if (runs_.size() < kRunsKnownMax) {
    runs_.push_back(id);
  } else {
    runs_[random_.below(kRunsKnownMax)] = id;
  }
  const ModelRun* run = world_.model().runs().find(id);
  for (size_t i = 0; run != nullptr && i < run->filled_by.size(); ++i) {
    RunId nested(run->filled_by[i]);
    if (world_.model().runs().find(nested) != nullptr) {
      learn_run(nested);
    } else if (!nested.is_nil() && random_.percent(50)) {
      learn(JobId(run->filled_by[i]));
    }
  }
}

RunId Crowd::draw_run(RunState wanted) {
  std::vector<RunId> fitting;
  for (const RunId& id : runs_) {
    const ModelRun* run = world_.model().runs().existing(id);
    if (run != nullptr && run->state == wanted) fitting.push_back(id);
  }
  if (!fitting.empty() && random_.percent(80)) return random_.pick(fitting);
  if (runs_.empty() || random_.percent(10)) return RunId(Uuid{random_.next(), random_.next()});
  return random_.pick(runs_);
}

void Crowd::create_run() {
  PlanNode plan = draw_plan(1);
  RunId id;
  if (random_.percent(30)) {
    uint64_t a = random_.next();
    id = RunId(Uuid::v7(world_.now_ms(), a, random_.next(), 0));
    // Most earlier ids are still taken; some have been deleted.
    if (!runs_.empty() && random_.percent(30)) id = random_.pick(runs_);
  }
  send("create run " + plan.name, [&] {
    auto task = std::make_shared<RunTask>(world_.desk(), RunOp::Create, id);
    task->plan = plan;
    task->on_reply = [this, raw = task.get()] {
      if (raw->ok) learn_run(raw->id);
    };
    return task;
  });
}

void Crowd::about_a_run() {
  bool retry = random_.percent(60);
  RunId id = draw_run(retry ? RunState::Failed : RunState::Running);
  RunOp op = retry ? RunOp::Retry : RunOp::Cancel;
  send(std::string(op_name(op)) + " run " + short_name(JobId(id)),
       [&] { return std::make_shared<RunTask>(world_.desk(), op, id); });
}

}  // namespace pawl::sim
