#include <gtest/gtest.h>

#include <future>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

ActionRequest request_for(const std::string& name, const std::string& params) {
  ActionRequest request;
  request.name = name;
  request.params = json(params);
  return request;
}

// A registered action that holds its thread until released.
class Gate {
 public:
  void add_to(ActionRunner& runner) {
    ActionInfo info;
    info.name = "test.gate";
    ASSERT_TRUE(runner
                    .add(std::move(info),
                         [this](const ActionRequest&) {
                           ++entered;
                           while (!open) std::this_thread::yield();
                           return ActionOutcome::success("through");
                         })
                    .ok());
  }
  std::atomic<int> entered{0};
  std::atomic<bool> open{false};
};

TEST(Runner, PureActionsAreAnsweredBeforeStartReturns) {
  ActionRunner runner(ActionPolicy{});
  bool answered = false;
  runner.start(request_for("crypto.uuid", "{}"),
               [&](ActionOutcome outcome) { answered = outcome.ok; });
  EXPECT_TRUE(answered);
}

TEST(Runner, RefusesWhatItCannotDo) {
  ActionRunner runner(ActionPolicy{});
  EXPECT_EQ(story(run(runner, "no.such", Value())), "NOT_FOUND");
  EXPECT_EQ(story(run(runner, "fs.read", Value())), "VALIDATION_ERROR");
  EXPECT_EQ(story(run(runner, "workflow.run", json(R"({"template_name":"x"})"))),
            "VALIDATION_ERROR");
  EXPECT_EQ(story(run(runner, "workflow.fail", json(R"({"reason":"x"})"))), "NON_RETRYABLE");
  // By default: no shell, no files elsewhere, no private addresses.
  EXPECT_EQ(story(run(runner, "shell.exec", json(R"({"command":"true"})"))), "PERMISSION_DENIED");
  EXPECT_EQ(story(run(runner, "fs.read", json(R"({"path":"/etc/passwd"})"))), "PATH_DENIED");
  EXPECT_EQ(story(run(runner, "fs.read", json(R"({"path":"x"})"))), "PATH_DENIED");
  EXPECT_EQ(story(run(runner, "http.get", json(R"({"url":"http://127.0.0.1:1/"})"))),
            "PERMISSION_DENIED");
}

TEST(Runner, MakesTheWorkDirectoryWhenItIsNeeded) {
  TestDirectory directory;
  ActionRunner runner(ActionPolicy{});
  EXPECT_TRUE(
      run(runner, "fs.write", json(R"({"path":"f","content":1})"), directory.at("runs/r1")).ok);
  EXPECT_EQ(directory.read("runs/r1/f"), "1");
}

TEST(Runner, OwnActionsComeAndGo) {
  ActionRunner runner(ActionPolicy{});
  ActionInfo info;
  info.name = "my.double";
  info.params_schema =
      json(R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
  auto twice = [](const ActionRequest& request) {
    return ActionOutcome::success(request.params.find("n")->as_int() * 2);
  };
  EXPECT_TRUE(runner.add(info, twice).ok());
  EXPECT_EQ(wire_code(runner.add(info, twice).error().code), "conflict");
  EXPECT_EQ(story(run(runner, "my.double", json(R"({"n":"21"})"))), "42");
  EXPECT_EQ(story(run(runner, "my.double", json(R"({})"))), "VALIDATION_ERROR");
  EXPECT_EQ(runner.list().size(), builtin_actions().size() + 1);
  info.name = "fs.read";
  EXPECT_EQ(wire_code(runner.add(info, twice).error().code), "conflict");
  EXPECT_TRUE(runner.remove("my.double").ok());
  EXPECT_EQ(wire_code(runner.remove("my.double").error().code), "not_found");
  EXPECT_EQ(story(run(runner, "my.double", json(R"({"n":1})"))), "NOT_FOUND");
}

TEST(Runner, CancellingWhatWaitsEndsItAtOnce) {
  Gate gate;
  ActionRunner runner(ActionPolicy{}, 1);
  gate.add_to(runner);
  std::promise<std::string> running, waiting;
  runner.start(request_for("test.gate", "{}"),
               [&](ActionOutcome outcome) { running.set_value(story(outcome)); });
  while (gate.entered == 0) std::this_thread::yield();
  uint64_t handle = runner.start(request_for("test.gate", "{}"),
                                 [&](ActionOutcome outcome) { waiting.set_value(story(outcome)); });
  runner.cancel(handle);
  EXPECT_EQ(waiting.get_future().get(), "CANCELLED");  // the thread is still held by the first
  gate.open = true;
  EXPECT_EQ(running.get_future().get(), "\"through\"");
  EXPECT_EQ(gate.entered, 1);
}

TEST(Runner, AnOwnActionThatWasCancelledIsAwaited) {
  Gate gate;
  ActionRunner runner(ActionPolicy{}, 1);
  gate.add_to(runner);
  std::promise<std::string> told;
  uint64_t handle = runner.start(request_for("test.gate", "{}"),
                                 [&](ActionOutcome outcome) { told.set_value(story(outcome)); });
  while (gate.entered == 0) std::this_thread::yield();
  runner.cancel(handle);
  gate.open = true;
  EXPECT_EQ(told.get_future().get(), "CANCELLED");
}

TEST(Runner, WhatWaitedTooLongIsNotBegun) {
  Gate gate;
  ActionRunner runner(ActionPolicy{}, 1);
  gate.add_to(runner);
  std::promise<void> held;
  runner.start(request_for("test.gate", "{}"), [&](ActionOutcome) { held.set_value(); });
  while (gate.entered == 0) std::this_thread::yield();
  ActionRequest late = request_for("test.gate", "{}");
  late.timeout_ms = 1;
  std::promise<std::string> told;
  auto started = std::chrono::steady_clock::now();
  runner.start(std::move(late), [&](ActionOutcome outcome) { told.set_value(story(outcome)); });
  while (std::chrono::steady_clock::now() < started + std::chrono::milliseconds(2))
    std::this_thread::yield();
  gate.open = true;
  EXPECT_EQ(told.get_future().get(), "TIMEOUT_ERROR!");
  held.get_future().wait();
  EXPECT_EQ(gate.entered, 1);
}

TEST(Runner, TheLineIsBounded) {
  Gate gate;
  std::atomic<int> answered{0}, refused{0};
  {
    ActionRunner runner(ActionPolicy{}, 1);
    gate.add_to(runner);
    for (int i = 0; i < 10'010; ++i)
      runner.start(request_for("test.gate", "{}"), [&](ActionOutcome outcome) {
        ++answered;
        refused += outcome.code == "ACTION_UNAVAILABLE" && outcome.retryable;
      });
    EXPECT_GE(refused, 9);  // one runs, or is about to; ten thousand wait
    EXPECT_LE(refused, 10);
    gate.open = true;
  }
  EXPECT_EQ(answered, 10'010);
}

// Masking secrets in an answer may be expensive, and all requests share one thread.
TEST(Runner, SecretsAreNotLookedForOnTheHttpThread) {
  LoopbackServer server([](const std::string& request) {
    const bool large = request.find(" /large ") != std::string::npos;
    return LoopbackServer::answer("200 OK", "", large ? std::string(2'000, 'a') : "a");
  });
  ActionRunner runner(ActionPolicy::local(), 1);
  // The answer is delivered on the thread that processed it.
  auto thread_of = [&](const std::string& path, const std::string& secret) {
    ActionRequest request = request_for("http.get", R"({"url":")" + server.url(path) + R"("})");
    if (!secret.empty()) request.secrets = {{"$", secret}};
    std::promise<std::thread::id> told;
    runner.start(std::move(request),
                 [&](ActionOutcome) { told.set_value(std::this_thread::get_id()); });
    return told.get_future().get();
  };
  const std::thread::id http = thread_of("/", "");
  EXPECT_EQ(thread_of("/large", ""), http);
  EXPECT_EQ(thread_of("/", "hunter2"), http);
  const std::thread::id pool = thread_of("/large", "hunter2");
  EXPECT_NE(pool, http);
  EXPECT_EQ(thread_of("/", std::string(2'000, 's')), pool);
}

TEST(Runner, EndingItAnswersEveryoneOnce) {
  LoopbackServer silent([](const std::string&) { return ""; });
  TestDirectory directory;
  std::mutex mutex;
  std::map<std::string, int> told;
  {
    ActionRunner runner(ActionPolicy::local(), 1);
    auto start = [&](const std::string& name, const std::string& params) {
      ActionRequest request = request_for(name, params);
      request.work_directory = directory.path();
      runner.start(std::move(request), [&](ActionOutcome outcome) {
        std::lock_guard lock(mutex);
        ++told[story(outcome)];
      });
    };
    start("http.get", R"({"url":")" + silent.url() + R"(","timeout":"1h"})");
    start("shell.exec", R"({"command":"echo x > begun; sleep 600","shell":true,"timeout":"1h"})");
    start("shell.exec", R"({"command":"sleep 600","shell":true,"timeout":"1h"})");  // waits
    silent.wait_for_request();
    while (directory.read("begun") != "x\n") std::this_thread::yield();
  }
  EXPECT_EQ(told, (std::map<std::string, int>{{"CANCELLED", 3}}));
}

// Many actions from many threads, half of them cancelled at random times: each is answered once.
TEST(Runner, EachIsAnsweredOnceUnderCancellation) {
  TestDirectory directory;
  LoopbackServer server(
      [](const std::string&) { return LoopbackServer::answer("200 OK", "", "x"); });
  constexpr int kThreads = 4, kEach = 60;
  std::vector<std::atomic<int>> answers(kThreads * kEach);
  {
    ActionRunner runner(ActionPolicy::local(), 2);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          ActionRequest request;
          if (i % 3 == 0) {
            request = request_for("http.get", R"({"url":")" + server.url() + R"("})");
          } else if (i % 3 == 1) {
            request = request_for("fs.write", R"({"path":"f","content":"x"})");
          } else {
            request = request_for("shell.exec", R"({"command":"true"})");
          }
          request.work_directory = directory.path();
          std::atomic<int>& answer = answers[static_cast<size_t>(t * kEach + i)];
          uint64_t handle =
              runner.start(std::move(request), [&answer](ActionOutcome) { ++answer; });
          if (i % 2 == 0) runner.cancel(handle);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], 1) << i;
}

}  // namespace
}  // namespace pawl::actions
