// Acknowledged: what clients were told, and what therefore must be true after every crash (I1).
// Only released replies count; the journal is used only to see whether a job has been deleted
// since.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/uuid.h"
#include "journal/events.h"
#include "sim/model.h"
#include "sim/verdict.h"

namespace pawl {
class State;
}

namespace pawl::sim {

class Acknowledged {
 public:
  explicit Acknowledged(Verdict& verdict) : verdict_(verdict) {}

  void pushed(const ModelJob& job);
  void completed(const ModelJob& job, const std::string& result);
  void cancelled(const ModelJob& job);
  void run_exists(const ModelRun& run);
  void run_cancelled(const ModelRun& run, uint32_t generation);
  void run_retried(const ModelRun& run, uint32_t generation);
  void script_exists(const ModelScript& run);
  void script_stopped(const ModelScript& run, uint32_t retries);
  void signalled(const ModelScript& run, const std::string& payload);
  void decided(const std::string& decision) { decisions_.insert(decision); }
  // A lease was handed to a worker; the same one must never be handed out again (I6).
  void handed_out(uint64_t lease_sequence, const JobId& job);

  // Checks that a state contains everything that was acknowledged. Only entities deleted by a
  // durable event may be missing.
  void check(const State& state, const JournalModel& model) const;

 private:
  struct Fact {
    uint64_t born = 0;
    JobState final_state = JobState::None;  // None: it is only known to exist
    std::string result = {};
  };
  struct RunFact {
    uint64_t born = 0;
    uint32_t generation = 0;  // it has reached at least this one
    bool cancelled = false;   // in that generation
  };
  struct ScriptFact {
    uint64_t born = 0;
    bool stopped = false;  // before its `retries`-th retry
    uint32_t retries = 0;
    std::set<std::string> payloads = {};  // of signals
  };
  RunFact& fact_of(const ModelRun& run);
  ScriptFact& fact_of(const ModelScript& run);
  void check_scripts(const State& state, const JournalModel& model) const;
  void check_runs(const State& state, const JournalModel& model) const;

  Verdict& verdict_;
  std::map<RunId, RunFact> run_facts_;
  std::map<RunId, ScriptFact> script_facts_;
  std::set<std::string> decisions_;
  std::map<JobId, Fact> facts_;
  std::set<uint64_t> leases_;
};

}  // namespace pawl::sim
