#include "embed/agent_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/log.h"
#include "base/quote.h"
#include "embed/definition_text.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "wire/render_workflow.h"

namespace pawl::embed {
namespace {

constexpr const char* kWorker = "embedded-agents";
constexpr int64_t kLookMs = 500;  // how often leases are checked
constexpr int64_t kRenewMs = AgentPool::kLeaseMs / 3;
constexpr std::chrono::milliseconds kOutagePause{200};
constexpr size_t kHeldMax = 10'000;
constexpr size_t kAgentsMax = 100;
constexpr uint32_t kConcurrencyMax = 256;

std::string text_at(const Value& object, std::string_view name) {
  const Value* found = object.find(name);
  return found != nullptr && found->is_string() ? found->as_string() : "";
}

// Fills in the step's label from the definition, and the number of its attempts.
void describe(const State& state, const Job& job, AgentTask& task) {
  const Run* run = state.find_run(job.parent.run);
  if (run == nullptr || !run->script) return;
  task.instance_id = workflow_id_text(*run);
  task.task_id = task.instance_id + "-" + task.step_id;
  auto [around, id] = split_step(task.step_id);
  const Scope* scope = state.find_scope(*run, around);
  const plan::Script* plan = state.script_of(*run);
  if (scope == nullptr || plan == nullptr) return;
  uint32_t position = plan->find(scope->list, id);
  if (position == plan::kNoStep) return;
  task.description = plan->at(scope->list, position).label;
  task.attempt = scope->records[position].attempt;
}

AgentTask task_of(const State& state, const Job& job) {
  JobSpecView spec = job.spec_view();
  AgentTask task;
  task.task_type = spec.type;
  task.parameters = "{}";
  if (auto args = Value::parse(spec.args);
      args.ok() && args->is_array() && !args->as_array().empty())
    task.parameters = args->as_array()[0].json();
  if (auto meta = Value::parse(spec.meta); meta.ok()) {
    task.step_id = text_at(*meta, "step_id");
    task.instance_id = text_at(*meta, "run_id");
    task.task_id = text_at(*meta, "task_id");
  }
  describe(state, job, task);
  return task;
}

}  // namespace

struct AgentPool::Held {
  LeaseClaim claim;
  std::string queue;
  AgentTask task;
  std::atomic<bool> lost{false};
};

struct AgentPool::Member {
  Agent agent;
  bool leaving = false;  // guarded by the pool's mutex
  std::vector<std::thread> threads;

  bool can(const Held& held) const {
    if (held.queue != agent.queue) return false;
    return std::any_of(
        agent.task_types.begin(), agent.task_types.end(),
        [&](const std::string& type) { return type == "*" || type == held.task.task_type; });
  }
};

AgentPool::AgentPool(Runtime& runtime, bool one_at_a_time)
    : runtime_(runtime), one_at_a_time_(one_at_a_time) {}

AgentPool::~AgentPool() {
  finish();
  join();
}

Status AgentPool::add(Agent agent) {
  if (agent.agent_id.empty() || !agent.execute || agent.task_types.empty() || agent.queue.empty())
    return Error{ErrorCode::InvalidRequest,
                 "an agent needs an id, task types, a queue and a function to call"};
  if (agent.concurrency < 1 || agent.concurrency > kConcurrencyMax)
    return Error{ErrorCode::InvalidRequest,
                 "concurrency must be 1 to " + std::to_string(kConcurrencyMax)};
  std::lock_guard lock(mutex_);
  if (members_.contains(agent.agent_id))
    return Error{ErrorCode::Conflict,
                 "there is an agent " + in_quotes(agent.agent_id) + " already"};
  if (members_.size() >= kAgentsMax)
    return Error{ErrorCode::Conflict,
                 "there are " + std::to_string(kAgentsMax) + " agents, which is the most"};
  auto member = std::make_unique<Member>();
  member->agent = std::move(agent);
  Member& added = *members_.emplace(member->agent.agent_id, std::move(member)).first->second;
  for (uint32_t i = 0; i < added.agent.concurrency; ++i)
    added.threads.emplace_back([this, &added] { run_member(added); });
  changed_.notify_all();
  return ok_status();
}

bool AgentPool::remove(const std::string& id) {
  std::unique_ptr<Member> member;
  {
    std::lock_guard lock(mutex_);
    auto at = members_.find(id);
    if (at == members_.end()) return false;
    member = std::move(at->second);
    members_.erase(at);
    member->leaving = true;
  }
  changed_.notify_all();
  end_threads(*member);
  return true;
}

void AgentPool::end_threads(Member& member) {
  for (std::thread& thread : member.threads) thread.join();
}

void AgentPool::start() {
  fetcher_ = std::thread([this] { run_fetcher(); });
}

void AgentPool::finish() {
  if (finishing_.exchange(true)) return;
  std::map<std::string, std::unique_ptr<Member>> members;
  {
    std::lock_guard lock(mutex_);
    members.swap(members_);
    for (auto& [id, member] : members) member->leaving = true;
  }
  changed_.notify_all();
  for (auto& [id, member] : members) end_threads(*member);
  give_back_waiting();
}

void AgentPool::join() {
  if (fetcher_.joinable()) fetcher_.join();
}

void AgentPool::give_back_waiting() {
  std::deque<HeldPtr> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  if (waiting.empty()) return;
  Status given = runtime_.decide([&](Frame& frame) {
    // A lease that was lost needs no nack.
    for (const HeldPtr& held : waiting) (void)nack_job(frame, {held->claim, {}, true}).ok();
    return ok_status();
  });
  if (!given.ok()) log::warning("tasks were not returned", {{"error", given.error().message}});
}

// --- leasing

// The number of threads without a task.
uint32_t AgentPool::idle_threads() const {
  size_t threads = 0;
  for (const auto& [id, member] : members_) threads += member->agent.concurrency;
  size_t taken = working_.size();
  for (const HeldPtr& held : waiting_)
    taken += std::any_of(members_.begin(), members_.end(),
                         [&](const auto& entry) { return entry.second->can(*held); })
                 ? 1
                 : 0;
  bool room = threads > taken && waiting_.size() < kHeldMax;
  return room ? static_cast<uint32_t>(threads - taken) : 0;
}

// 0 if no thread was idle for a while.
uint32_t AgentPool::wait_for_idle(std::vector<std::string>& queues) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(kLookMs),
                    [&] { return finishing_ || idle_threads() > 0; });
  std::set<std::string> names;
  for (const auto& [id, member] : members_) names.insert(member->agent.queue);
  queues.assign(names.begin(), names.end());
  return idle_threads();
}

std::optional<Parking> AgentPool::fetch(Frame& frame, bool last_call,
                                        const std::vector<std::string>& queues, uint32_t count,
                                        std::vector<HeldPtr>& out) {
  renew_leases(frame);
  if (finishing_ || count == 0) return std::nullopt;
  FetchJobs command;
  command.queues = queues;
  command.count = count;
  command.worker = kWorker;
  command.visibility_ms = kLeaseMs;
  command.visibility_default_ms = kLeaseMs;
  Fetched fetched = fetch_jobs(frame, command);
  for (const JobId& id : fetched.jobs) {
    const Job& job = *frame.state().find_job(id);
    HeldPtr held = std::make_shared<Held>();
    held->claim = {id, kWorker, job.attempt};
    held->queue = job.queue->name;
    held->task = task_of(frame.state(), job);
    held->task.canceled = [weak = std::weak_ptr<Held>(held)] {
      HeldPtr alive = weak.lock();
      return !alive || alive->lost.load();
    };
    out.push_back(std::move(held));
  }
  if (!out.empty() || last_call) return std::nullopt;
  return Parking{queues, frame.now_ms() + kLookMs, fetched.retry_at_ms};
}

// Renews leases in time, and notifies agents whose task was taken away.
void AgentPool::renew_leases(Frame& frame) {
  std::vector<HeldPtr> all;
  {
    std::lock_guard lock(mutex_);
    all.assign(waiting_.begin(), waiting_.end());
    all.insert(all.end(), working_.begin(), working_.end());
  }
  bool renew = frame.now_ms() - renewed_ms_ >= kRenewMs;
  if (renew) renewed_ms_ = frame.now_ms();
  for (const HeldPtr& held : all) {
    const Job* job = frame.state().find_job(held->claim.job);
    bool ours = job != nullptr && job->state == JobState::Active && job->worker == kWorker &&
                job->attempt == held->claim.attempt;
    if (ours && renew) ours = extend_lease(frame, held->claim, kLeaseMs, kLeaseMs);
    if (!ours) held->lost = true;
  }
}

// Waits until the engine has recovered from a disk failure. False when stopping.
bool AgentPool::wait_out_outage() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kOutagePause, [&] { return finishing_.load(); });
  return !finishing_;
}

void AgentPool::run_fetcher() {
  while (!finishing_) {
    std::vector<std::string> queues;
    uint32_t count = wait_for_idle(queues);
    std::vector<HeldPtr> fetched;
    Status decided = runtime_.decide_or_park([&](Frame& frame, bool last_call) {
      return fetch(frame, last_call, queues, count, fetched);
    });
    if (!decided.ok() && decided.error().code == ErrorCode::StoreFailed) {
      wait_out_outage();
      continue;
    }
    if (!decided.ok()) return;  // the engine has stopped: leases expire by themselves
    {
      std::lock_guard lock(mutex_);
      std::erase_if(waiting_, [](const HeldPtr& held) { return held->lost.load(); });
      for (HeldPtr& held : fetched) waiting_.push_back(std::move(held));
    }
    changed_.notify_all();
    if (finishing_) give_back_waiting();
  }
}

// --- working

AgentPool::HeldPtr AgentPool::take_for(const Member& member) {
  if (one_at_a_time_ && !working_.empty()) return nullptr;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (!member.can(**at)) continue;
    HeldPtr held = *at;
    waiting_.erase(at);
    working_.insert(held);
    return held;
  }
  return nullptr;
}

void AgentPool::run_member(Member& member) {
  while (true) {
    HeldPtr held;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return member.leaving || (held = take_for(member)) != nullptr; });
      if (held == nullptr) return;
    }
    execute(member, *held);
    {
      std::lock_guard lock(mutex_);
      working_.erase(held);
    }
    changed_.notify_all();
  }
}

void AgentPool::execute(const Member& member, Held& held) {
  AgentResult result;
  try {
    result = member.agent.execute(held.task);
  } catch (const std::exception& thrown) {
    result = AgentResult::fail(thrown.what());
  }
  std::string output;
  if (result.success) {
    auto value = Value::parse(result.result.empty() ? "null" : result.result);
    if (value.ok()) {
      output = value->json();
    } else {
      result = AgentResult::fail("the result is no JSON: " + value.error().message);
    }
  }
  auto tell = [&](Frame& frame) {
    if (result.success) return ack_job(frame, held.claim, output);
    NackJob command{held.claim, {}, false};
    command.error.code = kAgentErrorCode;
    command.error.type = kAgentErrorCode;
    command.error.message = result.error;
    return nack_job(frame, command);
  };
  Status told = runtime_.decide(tell);
  while (!told.ok() && told.error().code == ErrorCode::StoreFailed && wait_out_outage())
    told = runtime_.decide(tell);
  if (!told.ok())
    log::warning("an agent's answer came too late",
                 {{"task", held.task.task_id}, {"error", told.error().message}});
}

}  // namespace pawl::embed
