// ScriptWorld: a World with runs of definitions. Their effects are kept here, by step, until the
// test answers. A restless world restarts after every operation, so each test also covers crashes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/secret_source.h"
#include "kernel/state_config.h"
#include "kernel/testing/world.h"
#include "plan/secret_rule.h"

namespace pawl {

class TestSecrets : public SecretSource {
 public:
  Result<expr::OpenedSecret> reveal(std::string_view name, std::string_view,
                                    const plan::SecretRule&) const override;
};

class ScriptWorld : public World {
 public:
  explicit ScriptWorld(bool restless = false, const StateConfig& config = {});

  // --- starting
  std::string define(const std::string& name, std::string_view text, const std::string& version);
  // Starts an inline definition as the current run; returns its status.
  std::string begin(std::string_view text, const std::string& inputs = "");
  // A definition accepted by an older version, even if it is invalid today.
  std::string begin_stored(const std::string& canonical_text);
  std::string start(const StartScript& command);
  // Makes another run current, for instance a child.
  void look_at(const RunId& run) { run_ = run; }
  const RunId& run_id() const { return run_; }

  // --- receipts; each returns the run's status
  std::string done(const std::string& step, const std::string& output = "null");
  std::string fail(const std::string& step, const std::string& code = "EXECUTION_ERROR",
                   bool retryable = true);
  std::string answer(const std::string& step, const StepOutcome& outcome);
  std::string answer_effect(uint32_t effect, const StepOutcome& outcome);
  std::string wait(int64_t ms);

  // --- people
  std::string signal(const std::string& type, const std::string& step = "",
                     const std::string& payload = "", const std::string& agent = "");
  std::string decide(const std::string& step, const std::string& choice,
                     const std::string& agent = "");
  std::string pause(bool now = false);
  std::string resume();
  std::string cancel(bool rollback = false);
  std::string retry(const std::string& from = "", const std::string& inputs = "");
  std::string extend(std::string_view text);
  // "again a b; kept c", and nothing happens.
  std::string preview(const std::string& from = "");

  // --- reading
  const Run& run() const;
  const ScriptRun& script() const { return *run().script; }
  // "active", "suspended waiting", "failed EXECUTION_ERROR at a".
  std::string how() const;
  // Every step of every list that was entered: "a=completed b=skipped(condition)".
  std::string steps() const;
  std::string step(const std::string& path) const;
  std::string output() const { return script().output; }
  std::string output(const std::string& path) const;
  // Steps with open effects, in the order of requests.
  std::string asked() const;
  Result<EffectRequest> request(const std::string& step) const;
  // The parameters of an action, or the error.
  std::string params(const std::string& step) const;
  // The data of all notes of this kind in the run's history, one after another.
  std::vector<std::string> notes(const std::string& type) const;
  // Every status change of the run: "active suspended(waiting) active(decision) completed".
  std::string moves() const;
  // How often attempts of this step began.
  size_t attempts(const std::string& step) const;
  // Cancelled effects since the last call, by number.
  std::vector<uint32_t> take_cancelled() { return std::exchange(cancelled_, {}); }
  uint32_t effect_of(const std::string& step) const;
  void each_event(FunctionRef<void(const journal::EventBytes&)> visit) const;

  // What has been told and not taken back must be what the state waits for (I3), jobs and runs
  // aside that it has made itself, before and after a restart; and what a restart finds must be
  // what there was (I2).
  void check();
  // Loses the memory; open effects are requested again.
  void crash();

  std::string act(FunctionRef<Status(Frame&)> decide);

 private:
  using Told = std::map<std::pair<RunId, uint32_t>, std::string>;

  static std::string canonical(std::string_view text);
  std::string settle();
  void take_notes(MutableState& state);
  Told unanswered() const;

  bool restless_;
  uint64_t moves_ = 0;
  RunId run_;
  Told told_;
  std::vector<uint32_t> cancelled_;
};

// Every test runs twice: in memory, and with a crash after every operation.
class ScriptStory : public testing::TestWithParam<bool> {
 protected:
  ScriptWorld world{GetParam()};
};

#define PAWL_TELL_TWICE(suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Told, suite, testing::Bool(), [](const auto& told) { \
    return std::string(told.param ? "WithCrashes" : "InMemory");                \
  })

}  // namespace pawl
