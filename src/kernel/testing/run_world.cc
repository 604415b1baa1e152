#include "kernel/testing/run_world.h"

#include "base/json_writer.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/run_commands.h"
#include "kernel/state.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

TestSpec once() {
  TestSpec spec;
  spec.retry.max_attempts = 1;
  return spec;
}

PlanNode step(NewJob base, const TestSpec& spec) {
  PlanNode node;
  node.job = codec::encoded(new_job(std::move(base), spec));
  return node;
}

PlanNode named(std::string name, std::vector<uint32_t> depends_on) {
  PlanNode node = step();
  node.name = std::move(name);
  node.depends_on = std::move(depends_on);
  return node;
}

PlanNode when(std::string guard, PlanNode node) {
  node.when = std::move(guard);
  return node;
}

PlanNode compose(RunKind kind, const std::vector<PlanNode>& children) {
  PlanNode plan;
  plan.kind = NodeKind::Run;
  plan.run_kind = kind;
  for (const PlanNode& child : children) {
    plan.children.push_back(codec::encoded(child));
    plan.job_count += child.kind == NodeKind::Job ? 1 : child.job_count;
  }
  return plan;
}

PlanNode chain(const std::vector<PlanNode>& c) { return compose(RunKind::Chain, c); }

PlanNode group(const std::vector<PlanNode>& c) { return compose(RunKind::Group, c); }

PlanNode dag(const std::vector<PlanNode>& c) { return compose(RunKind::Dag, c); }

PlanNode call_back(PlanNode plan, const std::vector<CallbackRole>& roles, const TestSpec& spec) {
  plan.callbacks.resize(kCallbackRoles);
  for (CallbackRole role : roles)
    plan.callbacks[static_cast<size_t>(role)] = codec::encoded(new_job({}, spec));
  return plan;
}

PlanNode batch(const std::vector<PlanNode>& c, const std::vector<CallbackRole>& roles) {
  return call_back(compose(RunKind::Batch, c), roles);
}

PlanNode map_over(std::string over, uint32_t concurrency) {
  PlanNode plan = compose(RunKind::Map, {step()});
  plan.over = std::move(over);
  plan.concurrency = concurrency;
  plan.job_count = 0;
  return plan;
}

std::string RunWorld::start(const PlanNode& plan) {
  return frame([&](Frame& f) { return refused(create_run(f, plan, "")); });
}

std::string RunWorld::stop(const std::string& run) {
  return frame([&](Frame& f) { return refused(cancel_run(f, names.run_id(run), "asked")); });
}

std::string RunWorld::retry(const std::string& run) {
  return frame([&](Frame& f) { return refused(retry_run(f, names.run_id(run))); });
}

std::string RunWorld::forget() {
  return frame([&](Frame& f) {
    RunId cursor;
    forget_runs(f, now_ms, 1000, cursor);
    return std::string();
  });
}

std::string RunWorld::pass(const std::string& result) {
  std::string job = take();
  return job.empty() ? "nobody waits" : ack(job, "", 0, result);
}

std::string RunWorld::fail() {
  std::string job = take();
  return job.empty() ? "nobody waits" : nack(job);
}

std::string RunWorld::take() {
  std::string story = fetch();
  size_t at = story.find("JobLeased(");
  if (at == std::string::npos) return "";
  return story.substr(at + 10, story.find(' ', at) - at - 10);
}

size_t RunWorld::pass_all(size_t most) {
  size_t passed = 0;
  while (passed < most && pass() != "nobody waits") ++passed;
  return passed;
}

const Run& RunWorld::run(const std::string& name) const {
  const Run* found = state().find_run(names.run_id(name));
  PAWL_CHECK(found != nullptr);
  return *found;
}

std::string RunWorld::how(const std::string& name) const {
  const Run* found = state().find_run(names.run_id(name));
  if (found == nullptr) return "gone";
  return std::string(state_name(found->state)) + " " + std::to_string(found->completed) + "+" +
         std::to_string(found->failed) + "-" + std::to_string(found->cancelled) + "/" +
         std::to_string(found->total);
}

std::string RunWorld::parents(const std::string& job_name) const {
  return rendered(job_name).find("parent_results")->json();
}

std::string RunWorld::parents_by_name(const std::string& job_name) const {
  return rendered(job_name).find("workflow")->find("parent_results")->json();
}

void RunWorld::restart_from_rows() {
  collect(SIZE_MAX);
  commit_rows();
  restart();
}

Value RunWorld::rendered(const std::string& job_name) const {
  std::string text;
  json::Writer w(text);
  w.begin_object();
  render_parent_results(w, state(), job(job_name).parent);
  w.end_object();
  return Value::parse(names.rename(text)).value();
}

}  // namespace pawl
