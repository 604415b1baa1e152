// ModelRuns: the runs that a model of the journal knows, of either kind, and how it says that an
// event about one of them is wrong.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "journal/events.h"
#include "journal/record.h"
#include "sim/verdict.h"
#include "sim/words.h"

namespace pawl::sim {

// Where an event stands in the journal.
struct EventAt {
  uint64_t sequence;
  int64_t time_ms;
};

template <class Run>
class ModelRuns {
 public:
  using At = EventAt;

  // Forgotten ones too; null if there never was one.
  const Run* find(const RunId& id) const {
    auto at = runs_.find(id);
    return at == runs_.end() ? nullptr : &at->second;
  }
  const Run* existing(const RunId& id) const {
    const Run* run = find(id);
    return run != nullptr && !run->forgotten ? run : nullptr;
  }
  const std::map<RunId, Run>& all() const { return runs_; }
  size_t unfinished() const {
    return static_cast<size_t>(std::count_if(runs_.begin(), runs_.end(), [](const auto& entry) {
      return !entry.second.forgotten && !entry.second.over();
    }));
  }

  void restarted() { ++life_; }  // the engine was

 protected:
  // kind: "run" or "script", in what it tells.
  ModelRuns(Verdict& verdict, std::string_view kind) : verdict_(verdict), kind_(kind) {}

  void broken(std::string_view checker, const RunId& run, std::string_view what) {
    verdict_.fail(checker, "record " + std::to_string(journal::record_of(sequence_)) + " event " +
                               std::to_string(journal::index_of(sequence_)) + " run " +
                               short_name(JobId(run)) + ": " + std::string(what));
  }
  void tell(const RunId& run, std::string what) {
    verdict_.tell("  " + std::string(kind_) + " " + short_name(JobId(run)) + " " + std::move(what));
  }
  // The run that an event is about. Null, and broken, if it is not there.
  Run* step(const RunId& id, const At& at) {
    sequence_ = at.sequence;
    auto found = runs_.find(id);
    if (found == runs_.end() || found->second.forgotten) {
      broken("I5 " + std::string(kind_), id, "an event about a run that is not there");
      return nullptr;
    }
    touched_.insert(id);
    found->second.version = at.sequence;
    return &found->second;
  }

  Verdict& verdict_;
  std::map<RunId, Run> runs_;
  uint64_t life_ = 0;
  uint64_t sequence_ = 0;
  std::set<RunId> touched_;  // by the frame that is being read

 private:
  const std::string_view kind_;
};

}  // namespace pawl::sim
