// RunProgress: the tree of a run's steps, built from the journal, for a person who watches. A
// picture (draw) for terminals, a line per change (take) for other output.
//
// The steps of child runs are below the step that started them. Bounded: the ended sub-steps of a
// step with very many are only counted. Thread: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/record.h"
#include "journal/script_events.h"
#include "plan/script.h"

namespace pawl {

// A step that waits for an answer.
struct OpenQuestion {
  RunId run;
  std::string step;      // as the run names it
  std::string shown;     // as the tree names it
  std::string decision;  // its id, or
  std::string signal;    // the name of the signal
  int64_t due_ms = 0;    // 0 = it waits for ever
};

// A requested job, for which there are no workers here.
struct AskedJob {
  RunId run;
  uint32_t effect = 0;
  std::string step;
};

struct Picture {
  int64_t now_ms = 0;
  size_t rows_max = 40;
  size_t columns = 100;
  unsigned tick = 0;  // advances the spinners
  bool colours = false;
};

class RunProgress {
 public:
  RunProgress(const RunId& run, const plan::Script& script);

  // Processes a record of the journal; returns lines without line ends. Corrupt as in
  // read_record().
  Result<std::vector<std::string>> take(uint64_t number, std::string_view record);
  std::vector<std::string> draw(const Picture& picture) const;

  bool ended() const;
  ScriptStatus status() const { return status_; }
  // Nothing is active: only external answers can advance it.
  bool stuck() const;
  const std::map<std::string, OpenQuestion>& questions() const { return questions_; }
  std::vector<AskedJob> take_jobs() { return std::exchange(jobs_, {}); }

 private:
  struct Node {
    std::string name;  // below its parent
    std::string what;  // action or type
    StepState state = StepState::Pending;
    int64_t started_ms = 0;
    int64_t ended_ms = 0;
    int64_t due_ms = 0;
    RunId run;
    uint32_t effect = 0;
    std::string note;
    std::string parent;
    std::vector<std::string> children;
    size_t folded = 0;
  };

  void take_event(const journal::EventBytes& event, std::vector<std::string>& lines);
  void began(const StepStarted& event, int64_t at_ms, std::vector<std::string>& lines);
  void suspended(const StepSuspended& event, std::vector<std::string>& lines);
  void child_moved(const ChildMoved& event);
  void retrying(const StepRetrying& event, int64_t at_ms, std::vector<std::string>& lines);
  void ended_step(const StepEnded& event, int64_t at_ms, std::vector<std::string>& lines);
  void noted(const StepNoted& event, std::vector<std::string>& lines);
  void moved(const ScriptMoved& event);
  void child_began(const ScriptCreated& event);
  bool knows(const RunId& run) const { return prefixes_.count(run) != 0; }
  std::string path_of(const RunId& run, const std::string& step) const;
  Node& node_at(const std::string& path);
  void forget(const std::string& path);
  void fold(Node& parent);
  struct Detail {
    size_t depth_max;
    bool live_only;  // ended steps are counted, unless they failed
  };
  void draw_node(const std::string& path, size_t depth, const Detail& detail,
                 const Picture& picture, std::vector<std::string>& rows) const;
  std::string inside_text(const Node& node) const;
  std::string row_of(const Node& node, size_t depth, const Picture& picture) const;
  std::vector<std::string> rows_with(const Detail& detail, const Picture& picture) const;

  RunId run_;
  ScriptStatus status_ = ScriptStatus::Pending;
  std::map<RunId, std::string> prefixes_;  // path prefixes of every known run
  std::map<RunId, bool> suspended_runs_;
  std::vector<std::string> roots_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, OpenQuestion> questions_;  // by the tree's path
  std::map<std::string, std::string> actions_;     // of the script: local id → action
  std::vector<AskedJob> jobs_;
};

}  // namespace pawl
