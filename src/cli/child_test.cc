#include "cli/child.h"

#include <gtest/gtest.h>

#include <csignal>

namespace pawl::cli {
namespace {

std::string outcome(ChildOrder order) {
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<int> pid{0};
  auto end = run_child(order, pid);
  EXPECT_EQ(pid.load(), 0);
  if (!end.ok()) return "not started";
  return std::to_string(end->exit_code) + " " + std::to_string(end->signal) + " [" + end->output +
         "]" + (end->output_cut ? " cut" : "");
}

TEST(RunChild, InputOutputAndEnd) {
  EXPECT_EQ(outcome({.command = "cat", .input = "hello"}), "0 0 [hello]");
  EXPECT_EQ(outcome({.command = "exit 3", .input = ""}), "3 0 []");
  EXPECT_EQ(outcome({.command = "kill -9 $$", .input = ""}), "0 9 []");
  EXPECT_EQ(
      outcome({.command = "printf %s \"$WHO\"", .input = "", .environment = {{"WHO", "ada"}}}),
      "0 0 [ada]");
}

// Neither side may wait for the other: more than a pipe holds, both ways; and a child that reads
// nothing.
TEST(RunChild, LargeInputsDoNotBlock) {
  std::string large(1 << 20, 'x');
  EXPECT_EQ(outcome({.command = "cat", .input = large}), "0 0 [" + large + "]");
  EXPECT_EQ(outcome({.command = "exit 0", .input = large}), "0 0 []");
}

TEST(RunChild, AnEndlessTalkerIsEnded) {
  EXPECT_EQ(outcome({.command = "yes", .input = "", .output_bytes_max = 1000}), "0 9 [] cut");
}

TEST(RunChild, KeepsTheLastWords) {
  std::atomic<int> pid{0};
  auto end =
      run_child({.command = "head -c 2100 /dev/zero | tr '\\0' 'a' >&2; echo the end >&2; exit 1",
                 .input = ""},
                pid);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->last_words.size(), 2000u);
  EXPECT_EQ(end->last_words.substr(1990), "aathe end\n");
}

}  // namespace
}  // namespace pawl::cli
