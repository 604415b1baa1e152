// People: executes the events of a case (decide, signal, cancel, pause, resume) at their times.
// Thread: one at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rehearse/story.h"
#include "rehearse/test_file.h"

namespace pawl {
class Frame;
}

namespace pawl::rehearse {

class People {
 public:
  explicit People(const Case& given);

  // A step has begun or begins to wait: sets the time of events relative to it. One decision
  // answers one question, so in a loop the first event is for the first iteration that asks.
  void notice(const Beginning& beginning);

  int64_t next_ms() const;  // Unix; 0 = no further event
  // The due events, in order, by their number.
  std::vector<size_t> take_due(int64_t now_ms);
  // Applies the event to the run. The error says why the run refused it.
  Status act(Frame& frame, const RunId& run, size_t event) const;

  // Descriptions of events that never happened.
  std::vector<std::string> undone() const;
  std::string describe(size_t event) const;

 private:
  struct Plan {
    bool armed = false;
    bool done = false;
    int64_t due_ms = 0;
    std::string decision;  // the question that armed it
  };

  Status decide(Frame& frame, const Event& event, const Plan& plan) const;
  Status signal(Frame& frame, const RunId& run, const Event& event) const;

  const Case& case_;
  std::vector<Plan> plans_;
  std::vector<Beginning> held_;  // every wait for a person so far
};

}  // namespace pawl::rehearse
