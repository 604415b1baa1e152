#include "sim/audit.h"

#include "kernel/cold.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/settings/doc.h"
#include "kernel/timer_key.h"

namespace pawl::sim {
namespace {

class NothingCold : public Cold {
 public:
  std::optional<std::string> get(Space, std::string_view) override { return std::nullopt; }
  void scan(Space, std::string_view, std::string_view, bool, size_t,
            FunctionRef<bool(std::string_view, std::string_view)>) override {}
};

bool same(const Job& job, const ModelJob& model) {
  bool active = model.state == JobState::Active;
  uint64_t checkpoint = job.extras ? job.extras->checkpoint_sequence : 0;
  return job.state == model.state && job.attempt == model.attempt && job.worker == model.worker &&
         job.queue->name == model.birth.queue && job.priority == model.birth.priority &&
         job.result == model.result && job.dead_letter == model.dead_letter &&
         job.expires_ms == model.expires_ms && job.limit == model.birth.limit &&
         job.unique_key == model.birth.unique_key && job.version == model.version() &&
         checkpoint == model.checkpoint && job.created_ms == model.created_ms &&
         job.spec == model.birth.spec && job.max_attempts == model.birth.max_attempts &&
         (!active ||
          (job.lease_until_ms == model.lease_until_ms && job.deadline_ms == model.deadline_ms));
}

void audit_jobs(const State& state, const JournalModel& model, Verdict& verdict) {
  size_t seen = 0;
  state.each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
    ++seen;
    const ModelJob* known = model.existing(job.id);
    if (known == nullptr) {
      verdict.fail("I1 state", "job " + short_name(job.id) + " is there and should not be");
    } else if (!same(job, *known)) {
      verdict.fail("I1 state", "job " + short_name(job.id) + " differs from the journal: state " +
                                   std::to_string(static_cast<int>(job.state)) + " instead of " +
                                   std::to_string(static_cast<int>(known->state)) + ", attempt " +
                                   std::to_string(job.attempt) + " instead of " +
                                   std::to_string(known->attempt));
    }
    return !verdict.failed();
  });
  if (verdict.failed()) return;
  size_t expected = 0;
  for (const auto& [id, job] : model.jobs()) {
    if (job.forgotten) continue;
    ++expected;
    if (state.find_job(id) == nullptr)
      verdict.fail("I1 state", "job " + short_name(id) + " is gone");
  }
  verdict.expect(seen == expected, "I1 state", "the list of jobs misses some");
}

void audit_queues(const State& state, const JournalModel& model, Verdict& verdict) {
  std::map<std::string, std::array<uint64_t, kJobStateCount>> counts;
  std::map<std::string, uint64_t> dead;
  for (const auto& [name, queue] : model.queues()) counts[name] = queue.forgotten;
  for (const auto& [id, job] : model.jobs()) {
    if (job.forgotten) continue;
    ++counts[job.birth.queue][static_cast<size_t>(job.state)];
    dead[job.birth.queue] += job.dead_letter ? 1 : 0;
  }
  size_t queues = 0;
  state.each_queue([&](const Queue& queue) {
    ++queues;
    auto known = model.queues().find(queue.name);
    if (known == model.queues().end()) {
      verdict.fail("count", "queue " + queue.name + " is there and should not be");
      return false;
    }
    uint64_t forgotten = 0;
    for (uint64_t each : known->second.forgotten) forgotten += each;
    if (queue.counts != counts[queue.name] || queue.dead != dead[queue.name] ||
        queue.forgotten != forgotten)
      verdict.fail("count", "queue " + queue.name + ": its counts are not a recount of its jobs");
    verdict.expect(queue.settings == known->second.settings, "count", "a queue's settings differ");
    return !verdict.failed();
  });
  verdict.expect(queues == model.queues().size(), "count", "a queue is gone");
}

void audit_runs(const State& state, const JournalModel& model, Verdict& verdict) {
  size_t seen = 0;
  state.each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    if (run.script) return true;
    ++seen;
    const ModelRun* known = model.runs().existing(run.id);
    std::string name = "run " + short_name(JobId(run.id));
    if (known == nullptr) {
      verdict.fail("I1 state", name + " is there and should not be");
      return false;
    }
    std::string children;
    for (ChildState child : known->children) children += static_cast<char>(child);
    bool same = run.state == known->state && run.generation == known->generation &&
                run.kind == known->birth.kind && run.children == children &&
                run.version == known->version && run.callbacks_fired == known->fired &&
                run.callbacks_done == known->done && run.callbacks_failed == known->failed &&
                (run.started_ms != 0) == known->started &&
                (known->over() || run.deadline_ms == known->deadline_ms);
    verdict.expect(same, "I1 state", name + " differs from the journal");
    bool counted =
        run.completed == known->good() && run.failed == known->count(ChildState::Failed) &&
        run.cancelled == known->count(ChildState::Cancelled) && run.total == known->children.size();
    verdict.expect(counted, "count", name + ": its counts are not a recount of its children");
    return !verdict.failed();
  });
  if (verdict.failed()) return;
  size_t expected = 0;
  for (const auto& [id, run] : model.runs().all()) {
    if (run.forgotten) continue;
    ++expected;
    if (state.find_run(id) == nullptr)
      verdict.fail("I1 state", "run " + short_name(JobId(id)) + " is gone");
  }
  verdict.expect(seen == expected, "I1 state", "the list of runs misses some");
}

void audit_limits_and_crons(const State& state, const JournalModel& model, Verdict& verdict) {
  std::map<std::string, uint64_t> active;
  for (const auto& [id, job] : model.jobs())
    if (job.state == JobState::Active) ++active[job.birth.limit];
  for (const auto& [key, known] : model.limits()) {
    const Limit* limit = state.find_limit(key);
    verdict.expect(
        limit != nullptr && limit->active == active[key] && limit->settings == known.settings,
        "count", "a limit's count is not a recount of its jobs");
  }
  size_t crons = 0;
  state.each_cron([&](const Cron& cron) {
    ++crons;
    auto known = model.crons().find(cron.spec.name);
    verdict.expect(known != model.crons().end() && cron.next_ms == known->second.next_ms &&
                       cron.last_job == known->second.last_job,
                   "cron", "a cron differs from the journal");
    return !verdict.failed();
  });
  verdict.expect(crons == model.crons().size(), "cron", "a cron is gone");
}

void audit_indexes(const State& state, const JournalModel& model, Verdict& verdict) {
  std::set<JobId> dead;
  std::map<std::string, std::vector<JobId>> unique;
  for (const auto& [id, job] : model.jobs()) {
    if (job.forgotten) continue;
    if (job.dead_letter) dead.insert(id);
    if (!job.birth.unique_key.empty()) unique[job.birth.unique_key].push_back(id);
  }
  std::set<JobId> listed;
  state.each_dead(JobId(), 1'000'000, [&](const Job& job) { return listed.insert(job.id), true; });
  verdict.expect(listed == dead, "index", "the dead letter list is not a recount");
  for (const auto& [key, ids] : unique) {
    std::vector<JobId> found;
    state.each_unique(key, [&](const Job& job) { return found.push_back(job.id), true; });
    verdict.expect(found == ids, "index", "a unique key does not find its jobs");
  }
  const TimerKey* timer = state.first_timer();
  int64_t first_ms = timer == nullptr ? 0 : timer->due_ms;
  if (const RunId* yielded = state.next_yielded(INT64_MAX)) {
    const Run& run = *state.find_run(*yielded);
    int64_t since_ms = family_of(run).yielded_since(run);
    if (first_ms == 0 || since_ms < first_ms) first_ms = since_ms;
  }
  // Runs that were active at a crash are in no index before they are recalled.
  verdict.expect(state.has_to_recall() || first_ms == model.first_due_ms(), "index",
                 "the next timer is not the one that is due first");
  for (const auto& [name, known] : model.queues()) {
    const Queue* queue = state.find_queue(name);
    const ReadyKey* first = queue == nullptr ? nullptr : state.first_ready(*queue);
    bool right = known.ready.empty()
                     ? first == nullptr
                     : first != nullptr && first->job == std::get<2>(*known.ready.begin());
    verdict.expect(right, "index", "a queue's first job is not the one that waits in front");
  }
}

}  // namespace

void audit_entities(const State& state, const JournalModel& model, Verdict& verdict) {
  audit_jobs(state, model, verdict);
  if (!verdict.failed()) audit_runs(state, model, verdict);
  if (!verdict.failed()) audit_scripts(state, model, verdict);
  if (!verdict.failed()) audit_queues(state, model, verdict);
  if (!verdict.failed()) audit_limits_and_crons(state, model, verdict);
  if (!verdict.failed()) audit_indexes(state, model, verdict);
}

void audit_order(const State& state, const JournalModel& model, Verdict& verdict) {
  for (const auto& [name, known] : model.queues()) {
    const Queue* queue = state.find_queue(name);
    if (queue == nullptr) return verdict.fail("index", "queue " + name + " is gone");
    std::vector<JobId> waiting;
    const ReadyKey* at = state.first_ready(*queue);
    while (at != nullptr && waiting.size() <= known.ready.size()) {
      waiting.push_back(at->job);
      ReadyKey key = *at;
      at = state.next_ready(*queue, key);
    }
    std::vector<JobId> expected;
    for (const ModelPlace& place : known.ready) expected.push_back(std::get<2>(place));
    if (waiting != expected)
      return verdict.fail("index", "queue " + name + ": " + std::to_string(waiting.size()) +
                                       " jobs wait in another order, or are others, than the " +
                                       std::to_string(expected.size()) + " that should");
  }
}

GenesisFold::GenesisFold()
    : nothing_(std::make_unique<NothingCold>()),
      state_(std::make_unique<MutableState>(*nothing_, StateConfig{})) {}

GenesisFold::~GenesisFold() = default;

void GenesisFold::fold(uint64_t number, std::string_view record, Verdict& verdict) {
  auto events = journal::read_record(number, record);
  if (!events.ok()) return verdict.fail("I2 replay", events.error().message);
  for (const journal::EventBytes& event : *events) {
    Status folded = state_->fold(event);
    if (!folded.ok()) return verdict.fail("I2 replay", folded.error().message);
  }
}

}  // namespace pawl::sim
