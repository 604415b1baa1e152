#include "main/local_engine.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "main/run_progress.h"
#include "plan/definition.h"

namespace pawl {
namespace {

// Runs a definition to its end; its output, or its error.
std::string told(const std::string& text, const LocalOptions& options = {}) {
  plan::ReadResult read = plan::read_definition(text);
  if (!read.valid()) return "invalid: " + read.errors[0].message;
  auto engine = LocalEngine::start(options);
  if (!engine.ok()) return engine.error().message;
  RunId run(Uuid::v7(1, 2, 3, 0));
  std::mutex mutex;
  std::condition_variable ends;
  RunProgress progress(run, *read.script);
  (*engine)->listen([&](uint64_t number, const std::shared_ptr<const std::string>& record) {
    std::lock_guard lock(mutex);
    if (!progress.take(number, *record).ok()) return;
    if (progress.ended()) ends.notify_all();
  });
  Status started = (*engine)->decide([&](Frame& frame) -> Status {
    StartScript command;
    command.id = run;
    command.source = read.canonical;
    PAWL_TRY_DO(start_script(frame, command));
    return ok_status();
  });
  if (!started.ok()) return started.error().message;
  std::unique_lock lock(mutex);
  ends.wait(lock, [&] { return progress.ended(); });
  lock.unlock();
  std::string outcome;
  Status read_back = (*engine)->decide([&](Frame& frame) {
    const ScriptRun& script = *frame.state().find_run(run)->script;
    outcome = script.error.empty() ? script.output.str() : script.error.code;
    return ok_status();
  });
  EXPECT_TRUE(read_back.ok());
  return outcome;
}

TEST(LocalEngine, RunsADefinitionWithTheUsersRights) {
  EXPECT_EQ(told("steps:\n  - {id: a, action: shell.exec, params: {command: printf, args: [hi]}}\n"
                 "outputs: {said: \"${{ steps.a.stdout }}\"}\n"),
            R"({"said":"hi"})");
}

TEST(LocalEngine, ConfinedItHasNoShell) {
  LocalOptions options;
  options.confined = true;
  EXPECT_EQ(told("steps: [{id: a, action: shell.exec, params: {command: printf, args: [hi]}}]\n",
                 options),
            "PERMISSION_DENIED");
  EXPECT_EQ(told("steps:\n  - {id: w, action: fs.write, params: {path: f, content: x}}\n"
                 "  - {id: r, depends_on: [w], action: fs.read, params: {path: f}}\n"
                 "outputs: {read: \"${{ steps.r.content }}\"}\n",
                 options),
            R"({"read":"x"})");
}

TEST(LocalEngine, SecretsReachActionsAndNothingElse) {
  LocalOptions options;
  options.secrets = {{"TOKEN", "s3cret-value"}};
  EXPECT_EQ(
      told(
          "steps:\n  - {id: b, action: shell.exec, params: {command: 'printf \"$T\"', shell: true, "
          "env: {T: \"${{ secrets.TOKEN }}\"}}}\n"
          "outputs: {said: \"${{ steps.b.stdout }}\"}\n",
          options),
      R"({"said":"***"})");
}

TEST(LocalEngine, SecretsComeFromTheirVariables) {
  const char* environment[] = {"PAWL_SECRET_A=1", "PAWL_SECRET_=x",      "PAWL_SECRETS=2",
                               "PAWL_SECRET_B",   "PAWL_SECRET_c_d=e=f", nullptr};
  std::vector<std::pair<std::string, std::string>> wanted = {{"A", "1"}, {"c_d", "e=f"}};
  EXPECT_EQ(secrets_of(environment), wanted);
  EXPECT_TRUE(secrets_of(nullptr).empty());
}

// Regression: an action that runs while the engine is destroyed answers to a live object.
TEST(LocalEngine, EndsWhileAnActionIsUnderWay) {
  plan::ReadResult read = plan::read_definition(
      "steps: [{id: a, action: shell.exec, params: {command: sleep, args: [\"600\"]}}]");
  ASSERT_TRUE(read.valid());
  auto engine = LocalEngine::start({});
  ASSERT_TRUE(engine.ok());
  Status started = (*engine)->decide([&](Frame& frame) -> Status {
    StartScript command;
    command.source = read.canonical;
    PAWL_TRY_DO(start_script(frame, command));
    return ok_status();
  });
  EXPECT_TRUE(started.ok());
  engine->reset();
}

}  // namespace
}  // namespace pawl
