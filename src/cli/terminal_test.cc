#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

TEST(Table, LinesUpColumnsByCharactersNotBytes) {
  Table table({"NAME", "STATE"});
  table.add({"käse", "completed"});
  table.add({"x", ""});
  EXPECT_EQ(table.text(false), "NAME  STATE\nkäse  completed\nx\n");
}

// A pushed job must not be able to control the terminal of the person who lists it.
TEST(Table, CellsCannotControlTheTerminal) {
  Table table({"TYPE"});
  table.add(
      {"a\x1b[2Jb\nc\xc2\x9b"
       "d\xff"});
  EXPECT_EQ(table.text(false), "TYPE\na?[2Jb?c?d?\n");
}

TEST(Table, PaintsStatesOnlyWhenAsked) {
  Table table({"STATE"});
  table.add({"discarded"});
  EXPECT_EQ(table.text(true), "\x1b[90mSTATE\x1b[0m\n\x1b[31mdiscarded\x1b[0m\n");
  EXPECT_EQ(table.text(false), "STATE\ndiscarded\n");
}

TEST(Table, TooFewAndTooManyCellsFit) {
  Table table({"A", "B"});
  EXPECT_TRUE(table.empty());
  table.add({"1"});
  table.add({"1", "2", "3"});
  EXPECT_EQ(table.text(false), "A  B\n1\n1  2\n");
}

TEST(SpanText, TwoUnitsAtMost) {
  EXPECT_EQ(span_text(0), "0 ms");
  EXPECT_EQ(span_text(999), "999 ms");
  EXPECT_EQ(span_text(61'000), "1 min 1 s");
  EXPECT_EQ(span_text(3 * 86'400'000LL + 4 * 3'600'000LL + 59'000), "3 d 4 h");
  EXPECT_EQ(span_text(86'400'000), "1 d");
}

TEST(BytesText, ReadableSizes) {
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(uint64_t{5} << 30), "5.0 GiB");
}

TEST(ProgressBar, NeverPassesItsEnds) {
  EXPECT_EQ(ProgressBar::bar("x", 0, 0), "x …");
  EXPECT_EQ(ProgressBar::bar("x", 50, 100), "x [###############...............] 50 %");
  EXPECT_EQ(ProgressBar::bar("x", 200, 100), "x [##############################] 100 %");
}

}  // namespace
}  // namespace pawl::cli
