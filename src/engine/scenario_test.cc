// Runs every script of tests/scenarios on every store.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/testing/scenario_runner.h"
#include "store/testing/postgres_server.h"

namespace pawl {
namespace {

std::vector<std::string> scripts() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/scenarios"))
    if (entry.path().extension() == ".scenario") names.insert(entry.path().string());
  return {names.begin(), names.end()};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Scenarios, RunOnTheMemoryStore) {
  ASSERT_GE(scripts().size(), 10u) << "run from the source directory";
  for (const std::string& path : scripts())
    EXPECT_EQ(run_scenario(std::make_unique<MemoryBacking>(), text_of(path)), "") << path;
}

TEST(Scenarios, RunOnTheSqliteStore) {
  ASSERT_GE(scripts().size(), 10u) << "run from the source directory";
  for (const std::string& path : scripts())
    EXPECT_EQ(run_scenario(std::make_unique<SqliteBacking>(), text_of(path)), "") << path;
}

TEST(Scenarios, RunOnThePostgresStore) {
  ASSERT_GE(scripts().size(), 10u) << "run from the source directory";
  for (const std::string& path : scripts())
    EXPECT_EQ(run_scenario(std::make_unique<PostgresBacking>(), text_of(path)), "") << path;
}

// A runner that never reports failures would prove nothing.
TEST(Scenarios, TheRunnerSaysWhatWentWrong) {
  auto told = [](const std::string& text) {
    return run_scenario(std::make_unique<MemoryBacking>(), text);
  };
  EXPECT_EQ(told("dance a\n"), "line 1: no such verb: dance");
  EXPECT_EQ(told("push a\nexpect a \"active\n"), "line 2: a quote is not closed");
  EXPECT_EQ(told("push a\n\nexpect a active\n"), "line 3: expected active, found available");
  EXPECT_EQ(told("push a\nfetch w1\nexpect w1 got \"b\"\n"), "line 3: expected \"b\", found \"a\"");
  EXPECT_EQ(told("push a\nexpect a events \"\"\n"),
            "line 2: expected \"\", found \"JobCreated(available)\"");
  EXPECT_EQ(told("hold\npush a\nrestart hard\nexpect a available\n"),
            "line 4: expected available, found gone");
}

}  // namespace
}  // namespace pawl
