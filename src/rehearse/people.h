// People: those who decide, signal, cancel, pause and resume in a rehearsal, each when the case
// says so. Thread: one at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/frame.h"
#include "rehearse/story.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {

class People {
 public:
  explicit People(const Case& given);

  // A step has begun or begins to wait: what counts from then gets its time. One decision answers
  // one question, so in a loop the first event is for the first iteration that asks.
  void notice(const Beginning& beginning);

  int64_t next_ms() const;  // Unix; 0 = nobody will do anything
  // Events whose time has come, in order, by their number.
  std::vector<size_t> take_due(int64_t now_ms);
  // What it does to the run. The error is why the run refused it.
  Status act(Frame& frame, const RunId& run, size_t event) const;

  // What was never done, in words.
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
  std::vector<Beginning> held_;  // every wait for somebody so far
};

}  // namespace pawl::rehearse
