// The definitions under tests/definitions must be read without faults, be the same after a round
// trip through the canonical text, and be drawn.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "plan/definition.h"
#include "plan/diagram.h"
#include "plan/testing/script_story.h"

namespace pawl::plan {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator("tests/definitions")) {
    found.push_back(entry.path());
  }
  return found;
}

std::string first_fault(const ReadResult& result) {
  const std::vector<Fault>& faults = result.errors.empty() ? result.warnings : result.errors;
  return faults.empty() ? "" : faults[0].path + ": " + faults[0].message;
}

TEST(Examples, AreValidWithoutAComplaint) {
  ASSERT_GE(examples().size(), 12u);
  for (const auto& path : examples()) {
    const ReadResult result = read_definition(text_of(path));
    EXPECT_TRUE(result.valid()) << path;
    EXPECT_EQ(first_fault(result), "") << path;
  }
}

TEST(Examples, CanonicalTextCompilesToTheSameScript) {
  for (const auto& path : examples()) {
    const ReadResult result = read_definition(text_of(path));
    ASSERT_TRUE(result.valid()) << path;
    const auto again = compile_canonical(result.canonical);
    ASSERT_TRUE(again.ok()) << path << ": " << again.error().message;
    EXPECT_EQ(story(**again), story(*result.script)) << path;
    // A canonical text is a definition too, and its own canonical form.
    const ReadResult twice = read_definition(result.canonical);
    EXPECT_EQ(twice.canonical, result.canonical) << path << " " << first_fault(twice);
  }
}

TEST(Examples, CoverEveryTypeOfStep) {
  std::set<std::string> seen;
  for (const auto& path : examples()) {
    const ReadResult result = read_definition(text_of(path));
    ASSERT_TRUE(result.valid()) << path;
    for (const Step& step : result.script->steps) seen.insert(step.type_name);
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"action", "agent", "batch", "capability", "chain", "condition",
                                   "decision", "group", "job", "loop", "map", "parallel",
                                   "reasoning", "sequence", "sequential", "subworkflow", "wait"}));
}

TEST(Examples, EveryStepIsInEveryDiagram) {
  for (const auto& path : examples()) {
    const ReadResult result = read_definition(text_of(path));
    ASSERT_TRUE(result.valid()) << path;
    for (const DiagramFormat format :
         {DiagramFormat::Ascii, DiagramFormat::Mermaid, DiagramFormat::Svg}) {
      const std::string drawn = draw_diagram(*result.script, format);
      for (const Step& step : result.script->steps) {
        const std::string& name =
            format == DiagramFormat::Mermaid && !step.label.empty() ? step.label : step.id;
        if (name.find('\'') != std::string::npos) continue;  // escaped
        EXPECT_NE(drawn.find(name), std::string::npos) << path << " lacks " << name;
      }
    }
  }
}

}  // namespace
}  // namespace pawl::plan
