// The host: many calls and modules at a time, compiling apart from the server, the library.
#include "wasm/wasm_host.h"

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "wasm/testing/host_case.h"
#include "wasm/wasmtime_library.h"

namespace pawl::wasm {
namespace {

using testing::kGiveInput;
using testing::step_text;
using testing::wat;
using worlds::CallEnd;
using worlds::Entry;

class Host : public testing::HostCase {};

TEST_F(Host, CallsOfManyThreadsDoNotMeet) {
  const std::string code = wat(step_text(kGiveInput));
  std::vector<std::thread> threads;
  std::array<int, 8> right{};
  for (size_t thread = 0; thread < right.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const std::string input = std::to_string(thread) + ":" + std::to_string(i);
        right[thread] += call(code, input).output == input;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array<int, 8>{500, 500, 500, 500, 500, 500, 500, 500}));
}

TEST_F(Host, MoreCallsThanPlacesWait) {
  WasmHost narrow({.calls_max = 2});
  const std::string code = wat(step_text(kGiveInput));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        right += narrow.call("x", [&](std::string_view) { return code; }, Entry::Step, "in", {})
                     .output == "in";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 1'200);
}

TEST_F(Host, AModuleIsLoadedOnceUntilOthersPushItOut) {
  WasmHost small({.loaded_bytes_max = 200 << 10});  // for two
  std::map<std::string, int> loads;
  const auto run = [&](int number) {
    const std::string name = std::to_string(number);
    const std::string code =
        wat(step_text("(drop (i32.const " + name + "))" + std::string(kGiveInput)));
    return small
        .call(name, [&](std::string_view) { return ++loads[name], code; }, Entry::Step, name, {})
        .output;
  };
  for (int number : {1, 1, 2, 1, 3, 1, 2}) EXPECT_EQ(run(number), std::to_string(number));
  EXPECT_EQ(loads, (std::map<std::string, int>{{"1", 1}, {"2", 2}, {"3", 1}}));
}

TEST_F(Host, WhatWasJudgedIsNotCompiledAgain) {
  const std::string code = wat(step_text(std::string(kGiveInput) + "(i64.const 1) drop"));
  EXPECT_EQ(judged(code), "");
  const auto never = [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
  EXPECT_EQ(story(host().call("sha256:" + sha256_hex(code), never, Entry::Step, "in", {})),
            "returned in");
  EXPECT_EQ(story(host().call("sha256:unknown", never, Entry::Step, "in", {})), "unavailable");
}

TEST_F(Host, ManyThreadsThatNeedOneModuleCompileItOnce) {
  WasmHost fresh;
  const std::string code = wat(step_text(kGiveInput));
  std::atomic<int> loads{0};
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      right +=
          fresh.call("x", [&](std::string_view) { return ++loads, code; }, Entry::Step, "in", {})
              .output == "in";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
  EXPECT_EQ(loads, 1);
}

// --- compiling

std::string leb(size_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

// A module of `count` functions (i32) -> i32 with the same local declarations and body; the first
// is `step`.
std::string module_of(size_t count, const std::string& locals, const std::string& body) {
  const auto section = [](char id, const std::string& content) {
    return id + leb(content.size()) + content;
  };
  const std::string function = locals + body + '\x0b';
  std::string types;
  std::string code;
  for (size_t i = 0; i < count; ++i) {
    types += '\0';
    code += leb(function.size()) + function;
  }
  return std::string("\0asm\1\0\0\0", 8) + section(1, std::string("\1\x60\1\x7f\1\x7f", 6)) +
         section(3, leb(count) + types) + section(5, std::string("\1\0\1", 3)) +
         section(10, leb(count) + code);
}

std::string times(size_t count, const std::string& part) {
  std::string whole;
  for (size_t i = 0; i < count; ++i) whole += part;
  return whole;
}

// 20 KB that keep the compiler busy for most of a minute: each function has all the locals there
// may be.
TEST_F(Host, ACompilationThatTakesTooLongIsStopped) {
  WasmHost hasty({.judge_limits = {.cpu_s = 1}});
  const std::string code = module_of(2'000, "\1" + leb(49'000) + "\x7f", std::string("\x20\0", 2));
  Result<std::vector<Complaint>> found = hasty.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().code, "module.invalid");
  EXPECT_EQ(found->front().message, "it takes more than 1 s to compile");
}

// By real time too, should the compiler wait for something.
TEST_F(Host, ACompilerThatDoesNotEndIsStopped) {
  WasmHost hasty({.judge_limits = {.real_s = 1}});
  ASSERT_TRUE(hasty.ready().ok());
  const std::string code = module_of(2'000, "\1" + leb(49'000) + "\x7f", std::string("\x20\0", 2));
  Result<std::vector<Complaint>> found = hasty.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->front().code, "module.invalid");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Host, ACompilationThatTakesTooMuchMemoryIsStopped) {
  WasmHost lean({.judge_limits = {.memory_bytes = 64 << 20}});
  const std::string code =
      module_of(1, std::string(1, '\0'), std::string("\x20\0", 2) + times(100'000, "\x28\2\10"));
  Result<std::vector<Complaint>> found = lean.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->front().code, "module.invalid");
  EXPECT_EQ(found->front().message,
            "it takes more than 64 MiB to compile, or the compiler failed on it");
}
#endif

// The compiler's process has nothing of this one: no file, so no lock or port, and none of its
// handlers.
TEST_F(Host, CompilingLeavesNoProcessAndNoFile) {
  const auto files = [] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
      ++count;
    return count;
  };
  judged(wat(step_text("i64.const 17")));
  const size_t before = files();
  for (int i = 0; i < 5; ++i) judged(wat(step_text("i64.const " + std::to_string(100 + i))));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // there is no child
}

// The crash book and the sanitizers own the signals of faults.
TEST_F(Host, TakesNoSignalHandlers) {
  EXPECT_EQ(story(call(wat(step_text("(drop (i32.load (i32.const -1))) i64.const 0")))), "trap");
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(number, nullptr, &now), 0);
    EXPECT_EQ(handlers_before()[static_cast<size_t>(number)], now.sa_sigaction) << number;
  }
}

// --- the library

TEST(WasmLibrary, SaysHowToGetItWhenItIsMissing) {
  WasmHost host({.library = "/nowhere/libwasmtime.so"});
  Result<std::vector<Complaint>> judged = host.judge("", Entry::Step, 1);
  ASSERT_FALSE(judged.ok());
  EXPECT_EQ(wire_code(judged.error()), "worlds.no_runtime");
  EXPECT_EQ(judged.error().code, ErrorCode::Unavailable);
  EXPECT_NE(judged.error().message.find("tools/setup wasm"), std::string::npos);
  const auto load = [](std::string_view) -> std::optional<std::string> { return ""; };
  EXPECT_EQ(host.call("x", load, Entry::Step, "", {}).end, CallEnd::Unavailable);
}

TEST(WasmLibrary, RefusesAnotherLibrary) {
  WasmHost host({.library = "libz.so.1"});
  Status ready = host.ready();
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find("another version"), std::string::npos);
}

// tools/setup fetches the version that the declarations are of.
TEST(WasmLibrary, SetUpFetchesThisVersion) {
  std::ifstream file("tools/wasmtime.txt");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\nwasmtime==" + std::string(kWasmtimeVersion) + " --hash=sha256:"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::wasm
