// MockBook: which answer a call gets.
//
// A mock of the step goes before one of the action; among several the first that has something to
// say. Within a mock, answers with the same `when` are one sequence: its first call gets the first
// of them, the last one repeats. A call that is made again after a crash gets the same place in the
// sequence, since the world counts calls by what they ask for, not by how often.
//
// Thread: one at a time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/uuid.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {

struct MockCall {
  std::string step;               // full path
  std::string action;             // as written; "job" or "composition" of such steps
  std::string job_type;           // of a job: its type names it too
  std::pair<RunId, uint32_t> id;  // the same when it is made again
  uint32_t attempt = 1;
  uint32_t execution = 1;  // how often it was made
  std::string idempotency_key;  // the one a server would send
  Value params;
};

// Filled in for one execution.
struct MockAnswer {
  bool found = false;
  std::string problem;  // of the mock itself: a `when` or a template that fails
  Answer answer;
};

class MockBook {
 public:
  explicit MockBook(const std::vector<Mock>& mocks) : mocks_(mocks) {}

  MockAnswer answer(const MockCall& call);
  // Whether some mock is about it, though none of its answers fitted.
  bool mentions(const MockCall& call) const;

 private:
  MockAnswer from(const Mock& mock, const MockCall& call);

  const std::vector<Mock>& mocks_;
  // Mock and `when` → the calls answered so far, in order of asking.
  std::map<std::pair<const Mock*, std::string>, std::map<std::pair<RunId, uint32_t>, size_t>>
      answered_;
};

}  // namespace pawl::rehearse
