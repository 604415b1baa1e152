#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::log {
namespace {

// The part after the time stamp.
std::string told(std::string_view message, std::string_view value) {
  testing::internal::CaptureStderr();
  warning(message, {{"field", value}});
  std::string line = testing::internal::GetCapturedStderr();
  return line.substr(line.find(' ') + 1);
}

TEST(Log, OneLineAnEvent) {
  EXPECT_EQ(told("it happened", "x"), "warning it happened field=x\n");
  EXPECT_EQ(told("it happened", "two words"), "warning it happened field=\"two words\"\n");
}

// A client's text must not look like a line of ours, nor reach the operator's terminal as commands.
TEST(Log, NobodyForgesALineOrSteersATerminal) {
  EXPECT_EQ(told("a\n2026-01-01T00:00:00.000Z error b", "x"),
            "warning \"a\\n2026-01-01T00:00:00.000Z error b\" field=x\n");
  std::string escape = told("m", "\x1b[2Jx\r\n");
  EXPECT_EQ(escape.find('\x1b'), std::string::npos);
  EXPECT_EQ(escape.find('\n'), escape.size() - 1);
  EXPECT_EQ(escape.find('\r'), std::string::npos);
  EXPECT_EQ(told("m\xc2\x9b[2J", "\x7f"), "warning \"m\\u009b[2J\" field=\"\\u007f\"\n");
}

}  // namespace
}  // namespace pawl::log
