#include "actions/shell_action.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

class ShellAction : public ::testing::Test {
 protected:
  ShellAction() { policy_.shell.enabled = true; }

  ActionOutcome act(Value params, StopSignal& stop, int64_t timeout_ms = 0) {
    ActionRequest request;
    request.name = "shell.exec";
    request.params = std::move(params);
    request.timeout_ms = timeout_ms;
    request.work_directory = work_.path();
    return run_shell_action(request, policy_, stop);
  }
  ActionOutcome act(Value params) {
    StopSignal stop;
    return act(std::move(params), stop);
  }
  ActionOutcome act(const char* params) { return act(json(params)); }
  // Runs a line of shell and returns its output.
  std::string said(const std::string& line, Value::Object more = {}) {
    more.set("command", line);
    more.set("shell", true);
    ActionOutcome outcome = act(Value(std::move(more)));
    return outcome.ok ? outcome.output.find("stdout_raw")->as_string() : story(outcome);
  }
  void program(const std::string& name, const std::string& script) {
    work_.write(name, "#!/bin/sh\n" + script + "\n");
    ::chmod(work_.at(name).c_str(), 0755);
  }
  // Whether the process whose number is in the file has ended.
  bool is_gone(const std::string& file) {
    pid_t pid = static_cast<pid_t>(std::stol(work_.read(file)));
    while (::kill(pid, 0) == 0) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string number, name, state;
      stat >> number >> name >> state;
      if (state == "Z" || state == "X" || state.empty()) return true;  // killed, not yet collected
      std::this_thread::yield();
    }
    return true;
  }
  void wait_for(const std::string& file) {
    while (work_.read(file).find('\n') == std::string::npos) std::this_thread::yield();
  }

  TestDirectory work_;
  ActionPolicy policy_;
};

TEST_F(ShellAction, OutputHasBothStreamsAndTheExitCode) {
  ActionOutcome outcome = act(R"({"command":"sh","args":["-c","echo out; echo err >&2; exit 3"]})");
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_GE(outcome.output.find("duration_ms")->as_int(), 0);
  outcome.output.as_object().erase("duration_ms");
  EXPECT_EQ(
      outcome.output.json(),
      R"({"stdout":"out\n","stdout_raw":"out\n","stderr":"err\n","exit_code":3,"killed":false})");
}

TEST_F(ShellAction, StdoutThatIsJsonIsParsed) {
  auto parsed = [&](const std::string& text) {
    return act(Value::Object{{"command", "printf"}, {"args", Value::Array{"%s", text}}})
        .output.find("stdout")
        ->json();
  };
  EXPECT_EQ(parsed(R"( {"a": [1]}  )"), R"({"a":[1]})");
  EXPECT_EQ(parsed("42\n"), "42");
  EXPECT_EQ(parsed("4 2"), R"("4 2")");
  EXPECT_EQ(parsed(""), R"("")");
  Value binary = act(R"({"command":"printf","args":["\\377"]})").output;
  EXPECT_EQ(binary.find("stdout")->as_string() + binary.find("stdout_encoding")->as_string(),
            "/w==base64");
}

TEST_F(ShellAction, ArgumentsAreNotWordsOfAShell) {
  EXPECT_EQ(act(R"({"command":"printf","args":["%s|","a b","$HOME;ls"]})")
                .output.find("stdout_raw")
                ->as_string(),
            "a b|$HOME;ls|");
  EXPECT_EQ(said("echo a | tr a b"), "b\n");
}

TEST_F(ShellAction, StdinAndDirectory) {
  EXPECT_EQ(said("cat", {{"stdin", "over to you"}}), "over to you");
  std::string large(1 << 20, 'x');
  EXPECT_EQ(said("wc -c | tr -d ' '", {{"stdin", large}}), "1048576\n");
  EXPECT_EQ(said("true", {{"stdin", large}}), "");  // unread input does no harm
  EXPECT_EQ(said("cat"), "");
  EXPECT_EQ(said("pwd"), work_.path() + "\n");
  std::filesystem::create_directory(work_.at("sub"));
  EXPECT_EQ(said("pwd", {{"cwd", "sub"}}), work_.at("sub") + "\n");
  EXPECT_EQ(said("pwd", {{"cwd", "none"}}), "NOT_FOUND");
  EXPECT_EQ(said("pwd", {{"cwd", "/"}}), "PATH_DENIED");
  std::filesystem::create_directory_symlink("/", work_.at("link"));
  EXPECT_EQ(said("pwd", {{"cwd", "link"}}), "PATH_DENIED");
}

TEST_F(ShellAction, TheServersEnvironmentStaysTheServers) {
  ::setenv("PAWL_VAULT_KEY", "hush-1", 1);
  ::setenv("DATABASE_PASSWORD", "hush-2", 1);
  ::setenv("PASSED_ON", "seen", 1);
  policy_.shell.environment = {"PASSED_ON", "PAWL_VAULT_KEY"};
  std::string all = said("env", {{"env", json(R"({"MINE":"yes","N":5})")}});
  EXPECT_EQ(all.find("hush"), std::string::npos) << all;
  EXPECT_NE(all.find("PASSED_ON=seen\n"), std::string::npos) << all;
  EXPECT_NE(all.find("MINE=yes\n"), std::string::npos) << all;
  EXPECT_NE(all.find("N=5\n"), std::string::npos) << all;
  EXPECT_NE(all.find("PATH="), std::string::npos) << all;
  policy_.shell.environment = {"*"};
  all = said("env");
  EXPECT_EQ(all.find("hush-1"), std::string::npos) << all;
  EXPECT_NE(all.find("hush-2"), std::string::npos) << all;
  ::unsetenv("PAWL_VAULT_KEY");
  ::unsetenv("DATABASE_PASSWORD");
  ::unsetenv("PASSED_ON");
}

TEST_F(ShellAction, TheServersDescriptorsStayTheServers) {
  int held = ::open(work_.at("held").c_str(), O_RDWR | O_CREAT, 0600);  // not close-on-exec
  EXPECT_EQ(said("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ");  // 3 is ls reading the directory
  ::close(held);
}

TEST_F(ShellAction, PolicyDecidesWhatRuns) {
  policy_.shell.enabled = false;
  EXPECT_EQ(story(act(R"({"command":"true"})")), "PERMISSION_DENIED");
  policy_.shell.enabled = true;
  program("printf", "echo impostor");
  policy_.shell.allow = {"printf", "/bin/echo"};
  EXPECT_TRUE(act(R"({"command":"printf","args":["x"]})").ok);
  EXPECT_TRUE(act(R"({"command":"/bin/echo"})").ok);
  EXPECT_TRUE(act(R"({"command":"echo"})").ok);  // the same file
  EXPECT_EQ(story(act(R"({"command":"true"})")), "PERMISSION_DENIED");
  EXPECT_EQ(story(act(R"({"command":"./printf"})")), "PERMISSION_DENIED");
  EXPECT_EQ(story(act(Value::Object{{"command", work_.at("printf")}})), "PERMISSION_DENIED");
  EXPECT_EQ(said("printf x"), "PERMISSION_DENIED");  // a shell is not on the list
}

// A variable can make a listed program run another one.
TEST_F(ShellAction, AListedCommandGetsOnlyListedVariables) {
  policy_.shell.allow = {"printenv"};
  policy_.shell.environment = {"*", "GREETING"};
  for (const char* name :
       {"PATH", "BASH_ENV", "GIT_SSH_COMMAND", "PYTHONPATH", "LD_PRELOAD", "X"}) {
    ActionOutcome outcome = act(Value::Object{{"command", "printenv"},
                                              {"env", Value::Object{{name, Value(work_.path())}}}});
    EXPECT_EQ(story(outcome), "PERMISSION_DENIED") << name;
    EXPECT_NE(outcome.message.find(name), std::string::npos) << outcome.message;
  }
  ActionOutcome listed =
      act(R"({"command":"printenv","args":["GREETING"],"env":{"GREETING":"hello"}})");
  EXPECT_EQ(listed.output.find("stdout_raw")->as_string(), "hello\n");
}

// Some programs act differently by their name.
TEST_F(ShellAction, AListedProgramIsListedByItsName) {
  program("many", "echo $0");
  ::symlink(work_.at("many").c_str(), work_.at("other").c_str());
  policy_.shell.allow = {work_.at("many")};
  EXPECT_TRUE(act(Value::Object{{"command", work_.at("many")}}).ok);
  EXPECT_EQ(story(act(Value::Object{{"command", work_.at("other")}})), "PERMISSION_DENIED");
}

TEST_F(ShellAction, TheOperatorMaySayWhereCommandsRun) {
  TestDirectory home, elsewhere;
  home.write("sub/f", "x");
  policy_.shell.cwd = home.path();
  EXPECT_EQ(said("pwd"), home.path() + "\n");
  EXPECT_EQ(said("pwd", {{"cwd", "sub"}}), home.at("sub") + "\n");
  EXPECT_EQ(said("pwd", {{"cwd", elsewhere.path()}}), "PATH_DENIED");
  EXPECT_EQ(said("pwd", {{"cwd", "../"}}), "PATH_DENIED");
}

TEST_F(ShellAction, WhatIsNoProgramFails) {
  EXPECT_EQ(story(act(R"({"command":"no-such-program-here"})")), "NOT_FOUND");
  EXPECT_EQ(story(act(R"({"command":"/no/such/program"})")), "NOT_FOUND");
  work_.write("text", "x");
  EXPECT_EQ(story(act(R"({"command":"./text"})")), "PERMISSION_DENIED");
  EXPECT_EQ(story(act(Value::Object{{"command", "echo"},
                                    {"args", Value::Array{std::string("a\0b", 3)}}})),
            "VALIDATION_ERROR");
  EXPECT_EQ(story(act(R"({"command":"true","env":{"A=B":"x"}})")), "VALIDATION_ERROR");
  EXPECT_EQ(story(act(R"({"command":"true","timeout":"never"})")), "VALIDATION_ERROR");
}

TEST_F(ShellAction, TooMuchOutputIsAnErrorAndItsEnd) {
  policy_.output_bytes_max = 1000;
  EXPECT_EQ(said("echo $$ > pid; yes"), "NON_RETRYABLE");
  EXPECT_TRUE(is_gone("pid"));
  EXPECT_EQ(said("yes >&2"), "NON_RETRYABLE");
  EXPECT_EQ(said("head -c 1000 /dev/zero | tr '\\0' x").size(), 1000u);
}

// The command's timeout is a result; its children are killed too.
TEST_F(ShellAction, ItsTimeoutKillsTheWholeGroup) {
  ActionOutcome outcome = act(
      R"({"command":"echo early; sleep 600 & echo $! > child; wait","shell":true,"timeout":"300ms"})");
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_TRUE(outcome.output.find("killed")->as_bool());
  EXPECT_EQ(outcome.output.find("exit_code")->as_int(), -1);
  EXPECT_EQ(outcome.output.find("stdout")->as_string(), "early\n");
  EXPECT_TRUE(is_gone("child"));
}

TEST_F(ShellAction, TheStepsTimeoutIsAFailure) {
  StopSignal stop(100);
  EXPECT_EQ(story(act(json(R"({"command":"sleep","args":["600"]})"), stop, 100)), "TIMEOUT_ERROR!");
}

TEST_F(ShellAction, CancellingKillsTheWholeGroup) {
  StopSignal stop;
  std::thread canceller([&] {
    wait_for("child");
    stop.raise();
  });
  EXPECT_EQ(
      story(act(json(R"({"command":"sleep 600 & echo $! > child; wait","shell":true})"), stop)),
      "CANCELLED");
  canceller.join();
  EXPECT_TRUE(is_gone("child"));
}

TEST_F(ShellAction, ALimitThatStrikesIsNamed) {
  auto failed = [&](const std::string& line, bool shell = true) {
    ActionOutcome outcome =
        shell ? act(Value::Object{{"command", line}, {"shell", true}})
              : act(Value::Object{{"command", "sh"}, {"args", Value::Array{"-c", line}}});
    return outcome.ok ? outcome.output.json() : outcome.code + ": " + outcome.message;
  };
  policy_.shell.limits.file_bytes = 4096;
  const std::string too_large =
      "NON_RETRYABLE: the command wrote a file past 4096 bytes (actions.shell.file_size)";
  EXPECT_EQ(failed("head -c 5000 /dev/zero > large"), too_large);
  EXPECT_EQ(failed("exec head -c 5000 /dev/zero > large", false), too_large);
  EXPECT_EQ(said("head -c 4096 /dev/zero > fits; head -c 9000 /dev/zero | wc -c | tr -d ' '"),
            "9000\n");  // pipes do not count as files
  policy_.shell.limits.cpu_s = 1;
  const std::string too_long =
      "NON_RETRYABLE: the command used its 1 s of processor time (actions.shell.cpu)";
  EXPECT_EQ(failed("while :; do :; done", false), too_long);
  EXPECT_EQ(failed("sh -c 'while :; do :; done'; exit $?"), too_long);
  // A command that ignores the signal is killed.
  EXPECT_EQ(failed("trap '' XCPU; while :; do :; done", false), too_long);
  // Another meaning of the same code.
  EXPECT_EQ(act(R"({"command":"exit 152","shell":true})").output.find("exit_code")->as_int(), 152);
}

// The program itself must handle what the kernel refuses.
TEST_F(ShellAction, LimitsReachTheCommandAndItsChildren) {
  policy_.shell.limits = {1ull << 30, 77, 4096 * 1024, 55, 0};
  EXPECT_EQ(said("ulimit -v; ulimit -St; ulimit -Ht; ulimit -f; ulimit -n; ulimit -c"),
            "1048576\n77\n79\n8192\n55\n0\n");
  EXPECT_EQ(said("sh -c 'ulimit -n 56' 2>/dev/null || echo no"), "no\n");
  policy_.shell.limits.memory_bytes = 64u << 20;
  EXPECT_EQ(said("head -c 1 /dev/zero | tr '\\0' x"), "x");
  EXPECT_EQ(said("dd if=/dev/zero of=/dev/null bs=256M count=1 2>/dev/null || echo no"), "no\n");
  policy_.shell.limits = ProcessLimits::none();
  EXPECT_EQ(said("ulimit -c"), "0\n");
  EXPECT_EQ(said("dd if=/dev/zero of=/dev/null bs=256M count=1 2>/dev/null || echo no"), "");
}

TEST_F(ShellAction, NothingOutlivesTheCommand) {
  EXPECT_EQ(said("sleep 600 & echo $! > child; echo done"), "done\n");
  EXPECT_TRUE(is_gone("child"));
  // A process that left the group and holds the pipe is not waited for.
  EXPECT_EQ(said("setsid sh -c 'echo $$ > away; exec sleep 600' & while ! [ -s away ]; do :; done; "
                 "echo done"),
            "done\n");
  ::kill(static_cast<pid_t>(std::stol(work_.read("away"))), SIGKILL);
}

}  // namespace
}  // namespace pawl::actions
