// RunWorld: a World with workflows in it, and short ways to write them down. Test code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "kernel/kernel_test_world.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/run_commands.h"
#include "kernel/compositions/run_values.h"

namespace pawl {

// A job that is not tried again, so that one nack is its end.
inline TestSpec once() {
  TestSpec spec;
  spec.retry.max_attempts = 1;
  return spec;
}

inline PlanNode step(NewJob base = {}, const TestSpec& spec = once()) {
  PlanNode node;
  node.job = codec::encoded(new_job(std::move(base), spec));
  return node;
}
inline PlanNode named(std::string name, std::vector<uint32_t> depends_on = {}) {
  PlanNode node = step();
  node.name = std::move(name);
  node.depends_on = std::move(depends_on);
  return node;
}
inline PlanNode when(std::string guard, PlanNode node = step()) {
  node.when = std::move(guard);
  return node;
}

inline PlanNode compose(RunKind kind, const std::vector<PlanNode>& children) {
  PlanNode plan;
  plan.kind = NodeKind::Run;
  plan.run_kind = kind;
  for (const PlanNode& child : children) {
    plan.children.push_back(codec::encoded(child));
    plan.job_count += child.kind == NodeKind::Job ? 1 : child.job_count;
  }
  return plan;
}
inline PlanNode chain(const std::vector<PlanNode>& c) { return compose(RunKind::Chain, c); }
inline PlanNode group(const std::vector<PlanNode>& c) { return compose(RunKind::Group, c); }
inline PlanNode dag(const std::vector<PlanNode>& c) { return compose(RunKind::Dag, c); }
inline PlanNode call_back(PlanNode plan, const std::vector<CallbackRole>& roles,
                          const TestSpec& spec = once()) {
  plan.callbacks.resize(kCallbackRoles);
  for (CallbackRole role : roles)
    plan.callbacks[static_cast<size_t>(role)] = codec::encoded(new_job({}, spec));
  return plan;
}
constexpr CallbackRole kComplete = CallbackRole::OnComplete;
constexpr CallbackRole kSuccess = CallbackRole::OnSuccess;
constexpr CallbackRole kFailure = CallbackRole::OnFailure;
constexpr CallbackRole kCancel = CallbackRole::OnCancel;
inline PlanNode batch(const std::vector<PlanNode>& c,
                      const std::vector<CallbackRole>& roles = {kComplete, kSuccess, kFailure}) {
  return call_back(compose(RunKind::Batch, c), roles);
}
inline PlanNode map_over(std::string over, uint32_t concurrency = 0) {
  PlanNode plan = compose(RunKind::Map, {step()});
  plan.over = std::move(over);
  plan.concurrency = concurrency;
  plan.job_count = 0;
  return plan;
}

class RunWorld : public World {
 public:
  using World::World;

  std::string start(const PlanNode& plan) {
    return frame([&](Frame& f) { return refused(create_run(f, plan, "")); });
  }
  std::string stop(const std::string& run) {
    return frame([&](Frame& f) { return refused(cancel_run(f, names.run_id(run), "asked")); });
  }
  std::string retry(const std::string& run) {
    return frame([&](Frame& f) { return refused(retry_run(f, names.run_id(run))); });
  }
  std::string forget() {
    return frame([&](Frame& f) {
      RunId cursor;
      forget_runs(f, now_ms, 1000, cursor);
      return std::string();
    });
  }
  // Completes or fails the next job; returns the resulting events.
  std::string pass(const std::string& result = "") {
    std::string job = take();
    return job.empty() ? "nobody waits" : ack(job, "", 0, result);
  }
  std::string fail() {
    std::string job = take();
    return job.empty() ? "nobody waits" : nack(job);
  }
  // Leases the next job; its name.
  std::string take() {
    std::string story = fetch();
    size_t at = story.find("JobLeased(");
    if (at == std::string::npos) return "";
    return story.substr(at + 10, story.find(' ', at) - at - 10);
  }
  // Completes jobs until none waits; returns how many.
  size_t pass_all(size_t most = 1000) {
    size_t passed = 0;
    while (passed < most && pass() != "nobody waits") ++passed;
    return passed;
  }

  const Run& run(const std::string& name) const {
    const Run* found = state().find_run(names.run_id(name));
    PAWL_CHECK(found != nullptr);
    return *found;
  }
  // "running 1+0-0/3": completed, failed, cancelled of all.
  std::string how(const std::string& name) const {
    const Run* found = state().find_run(names.run_id(name));
    if (found == nullptr) return "gone";
    return std::string(state_name(found->state)) + " " + std::to_string(found->completed) + "+" +
           std::to_string(found->failed) + "-" + std::to_string(found->cancelled) + "/" +
           std::to_string(found->total);
  }
  // The parent_results of this job.
  std::string parents(const std::string& job_name) const {
    return rendered(job_name).find("parent_results")->json();
  }
  std::string parents_by_name(const std::string& job_name) const {
    return rendered(job_name).find("workflow")->find("parent_results")->json();
  }
  // Flushes everything, clears the memory, and restarts.
  void restart_from_rows() {
    collect(SIZE_MAX);
    commit_rows();
    restart();
  }

 private:
  Value rendered(const std::string& job_name) const {
    std::string text;
    json::Writer w(text);
    w.begin_object();
    render_parent_results(w, state(), job(job_name));
    w.end_object();
    return Value::parse(names.rename(text)).value();
  }
};

}  // namespace pawl
