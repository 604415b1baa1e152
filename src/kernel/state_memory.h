// StateMemory: what a State holds in memory. Entities that are not here are read from Cold when they
// are asked for, and put here; which of them happen to be here changes no answer. So a State, which
// changes nothing that anybody can ask for, may fill it, and only MutableState may change what it
// says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel/id_table.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/scripts/plan_cache.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/timer_key.h"

namespace pawl {

struct StateMemory {
  StateMemory(size_t timer_window_max, size_t plan_bytes_max)
      : timers(timer_window_max), plans(plan_bytes_max) {}

  IdTable<Job> jobs;
  IdTable<Run> runs;
  // Forgotten jobs whose id was taken by a new job before their row was removed.
  std::map<const Job*, std::unique_ptr<Job>> buried;
  std::map<const Run*, std::unique_ptr<Run>> buried_runs;  // likewise
  std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues;
  std::map<std::string, std::unique_ptr<Limit>, std::less<>> limits;
  std::map<std::string, std::unique_ptr<Cron>, std::less<>> crons;
  std::map<std::string, std::unique_ptr<Doc>, std::less<>> docs;
  TextsInMemory texts_in_memory;
  std::vector<std::string> large_docs;  // keys in docs of large values, some twice
  size_t large_doc_bytes = 0;           // of those
  std::map<std::string, DefinitionHead, std::less<>> definition_heads;
  std::multimap<std::string, Job*, std::less<>>
      unique_in_memory;  // unique key → jobs whose entry is not on disk
  SpillIndex<TimerKey> timers;
  std::set<std::pair<int64_t, std::string>> cron_timers;
  std::set<std::pair<Uuid, std::string>> awaited;  // job or run → cron of which a firing waits
  std::set<std::string> cron_looks;
  std::set<std::string> gate_looks;
  std::set<std::pair<int64_t, RunId>> yielded;  // since when they wait for their turn
  ResidentList dirty;
  ResidentList clean_jobs;
  ResidentList clean_runs;
  std::deque<std::vector<Resident*>> in_flight;
  std::vector<Queue*> ready_queues;
  std::vector<RunId> moved_runs;
  std::deque<RunId> crowded_runs;  // have many new scopes
  std::vector<EffectNote> new_effects;
  std::set<RunId> to_recall;
  uint64_t bytes_read = 0;  // of runs and their lists, about
  PlanCache plans;
  std::vector<RunId> plan_holders;  // runs that hold on to one of these, some twice
  std::vector<Queue*> oversized_queues;  // their window wants shrinking
};

}  // namespace pawl
