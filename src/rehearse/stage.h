// Stage: receives the effects of a rehearsed run and answers from mocks, on the virtual clock; pure
// actions really run.
//
// It prepares effects as a server does (effects/prepare_effect.h), checks parameters, blots secrets
// out of answers, and is asked again for what was not answered when the engine died. For a job,
// which the engine makes itself, a mock answers in place of its worker.
//
// Thread: one; release is called by whoever drives the core.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actions/action.h"
#include "effects/prepare_effect.h"
#include "engine/effects.h"
#include "kernel/scripts/effect_request.h"
#include "rehearse/dice.h"
#include "rehearse/mock_book.h"
#include "rehearse/story.h"
#include "rehearse/test_file.h"
#include "rehearse/twice.h"

namespace pawl::rehearse {

// One external call. If it is repeated after a crash, it is the same Call.
struct Call {
  std::string step;    // full path
  std::string action;  // as written
  std::string job_type;
  Value params;
  uint32_t attempt = 1;
  int64_t at_ms = 0;        // since the start, the first time
  uint32_t executions = 0;  // how often it was made
  int64_t timeout_ms = 0;   // of the first execution; 0 = none
  Twice twice = Twice::Harmless;
};

using RealAction = std::function<actions::ActionOutcome(const actions::ActionRequest&)>;

class Stage : public EffectSink {
 public:
  struct Reply {
    RunId run;
    uint32_t effect = 0;
    StepOutcome outcome;
    std::string step;
  };

  // `faults`: null where answers come once and in time. `real` may be empty.
  Stage(const Case& given, const Story& story, VirtualClock& clock, uint64_t seed, Dice* faults,
        RealAction real);

  std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                           int64_t now_ms, Meter& meter) override;

  // A job or composition that fills a step's place is there, and asks for a mock as an action does.
  void ask_child(const State& state, const RunId& run, uint32_t effect);
  // Effects whose job or composition the engine has yet to make.
  std::vector<std::pair<RunId, uint32_t>> take_unmade() { return std::exchange(unmade_, {}); }

  int64_t next_ms() const { return replies_.empty() ? 0 : replies_.begin()->first; }  // 0 = none
  std::vector<Reply> take_due();
  // The engine has crashed: pending answers are lost.
  void forget_replies();

  const std::vector<Call>& calls() const { return calls_; }
  // Why the rehearsal cannot continue: an external call without a mock.
  const std::string& problem() const { return problem_; }

 private:
  class Prepared;
  using Key = std::pair<RunId, uint32_t>;

  void begin(ReadyEffect& effect, const std::string& job_type = "");
  void note_problem(const ReadyEffect& effect, const std::string& problem);
  void answer(const ReadyEffect& effect, const actions::ActionOutcome& done, int64_t in_ms);
  void answer_from_mock(const ReadyEffect& effect, Call& call, const Answer& given);
  bool answer_for_real(ReadyEffect& effect, const Call& call);
  void reply(const ReadyEffect& effect, const StepOutcome& outcome, int64_t in_ms);
  int64_t delay_of(const ReadyEffect& effect, const Call& call, const Answer& given);
  Call& call_of(const ReadyEffect& effect, const std::string& job_type);
  std::string missing_mock(const Call& call, bool mentioned) const;
  actions::ActionOutcome do_pure(const actions::ActionRequest& request);

  const Case& case_;
  const Story& story_;
  VirtualClock& clock_;
  Dice ids_;
  Dice* faults_;
  RealAction real_;
  MockBook mocks_;
  std::multimap<int64_t, Reply> replies_;  // by the time they arrive
  std::vector<Key> unmade_;
  std::vector<Call> calls_;
  std::map<Key, size_t> known_;
  std::set<std::string> probing_;
  std::string problem_;
};

// `fetch: {result: {status_code: 200, body: null}}`, with the documented output of the action.
std::string sample_mock(std::string_view key, std::string_view action);

}  // namespace pawl::rehearse
