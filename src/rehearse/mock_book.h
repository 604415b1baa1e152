// MockBook: which answer a call gets.
//
// A mock of the step takes precedence over one of the action; among several, the first with a
// matching answer counts. Within a mock, answers with the same `when` are one sequence: its first
// call gets the first of them, the last one repeats. A call that is repeated after a crash keeps
// its place in the sequence.
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
  std::string action;             // as written; "job" or "composition" for such steps
  std::string job_type;           // of a job: may also name the mock
  std::pair<RunId, uint32_t> id;  // the same when it is repeated
  uint32_t attempt = 1;
  uint32_t execution = 1;       // how often it was made
  std::string idempotency_key;  // as a server would send it
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
  // Whether some mock is for this call, although none of its answers matched.
  bool mentions(const MockCall& call) const;

 private:
  MockAnswer from(const Mock& mock, const MockCall& call);

  const std::vector<Mock>& mocks_;
  // Mock and `when` → the calls answered so far, in order of asking.
  std::map<std::pair<const Mock*, std::string>, std::map<std::pair<RunId, uint32_t>, size_t>>
      answered_;
};

}  // namespace pawl::rehearse
