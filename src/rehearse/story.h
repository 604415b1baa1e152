// Story: the timeline of a rehearsed run, read from the durable records. Events lost in a crash are
// not included.
//
// Steps of inner runs are named by the path of the enclosing step and their own:
// ship.pack. Times are milliseconds since the start. Thread: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "journal/record.h"
#include "journal/script_events.h"

namespace pawl::rehearse {

// One attempt of a step.
struct Moment {
  std::string step;
  std::string type;
  uint32_t attempt = 0;
  int64_t start_ms = 0;
  int64_t end_ms = -1;  // -1: not ended
  std::string result;   // completed {…}, failed CODE: message, skipped: reason
};

// A step has begun, or begins to wait for a person.
struct Beginning {
  RunId run;
  std::string path;  // full
  std::string step;  // within its run
  bool suspended = false;
  std::string decision;
  int64_t at_ms = 0;
};

// A job or composition that fills a step's place was made.
struct ChildMade {
  RunId run;
  uint32_t effect = 0;
};

class Story {
 public:
  explicit Story(int64_t start_ms) : start_ms_(start_ms) {}

  void read(uint64_t number, const std::string& record);

  // "" for the run itself, "ship." for the inner run of its step ship.
  std::string prefix_of(const RunId& run) const;
  const std::map<RunId, std::string>& runs() const { return prefixes_; }
  const std::vector<Moment>& moments() const { return moments_; }
  std::vector<Beginning> take_beginnings() { return std::exchange(beginnings_, {}); }
  std::vector<ChildMade> take_children() { return std::exchange(children_, {}); }
  bool too_long() const { return moments_.size() >= kMomentsMax; }

  static constexpr size_t kMomentsMax = 200'000;

 private:
  void tell(const journal::EventBytes& event);
  void started(const StepStarted& event, int64_t at_ms);
  void end(const std::string& path, uint32_t attempt, int64_t at_ms, std::string result);

  int64_t start_ms_;
  std::map<RunId, std::string> prefixes_;
  std::map<std::pair<RunId, uint32_t>, std::string> asked_;  // effect → full path
  std::map<std::string, size_t> open_;                       // full path → its moment
  std::vector<Moment> moments_;
  std::vector<Beginning> beginnings_;
  std::vector<ChildMade> children_;
};

}  // namespace pawl::rehearse
