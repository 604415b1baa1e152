// StateMemory: the part of a State in memory. Other entities are read from Cold on demand, and
// added here; which of them are here changes no answer. So a State, which changes nothing
// observable, may fill it, and only MutableState may change its contents.
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
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/schema_cache.h"
#include "kernel/scripts/script_cache.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/scripts/text.h"
#include "kernel/settings/doc.h"
#include "kernel/spill_index.h"
#include "kernel/timer_key.h"

namespace pawl {

inline ReadyKey ready_key(const Job& job) { return {-job.priority, job.order, job.id}; }

struct StateMemory {
  StateMemory(size_t timer_window_max, size_t plan_bytes_max)
      : timers(timer_window_max), plans(plan_bytes_max) {}

  IdTable<Job> jobs;
  IdTable<Run> runs;
  // Deleted jobs whose id was used by a new job before their row was removed.
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
  std::set<std::pair<Uuid, std::string>> awaited;  // job or run → cron with a waiting firing
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
  bool new_messages = false;  // in the outbox, since the last take_new_messages()
  std::set<RunId> to_recall;
  uint64_t bytes_read = 0;  // approximate, of runs and their lists
  ScriptCache plans;
  SchemaCache schemas;
  std::vector<RunId> plan_holders;       // runs that hold one of these, with duplicates
  std::vector<Queue*> oversized_queues;  // their window must be shrunk
};

}  // namespace pawl
