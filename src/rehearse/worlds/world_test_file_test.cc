#include "rehearse/worlds/world_test_file.h"

#include <gtest/gtest.h>

namespace pawl::rehearse {
namespace {

std::string world_file_faults(std::string_view text) {
  std::string lines;
  for (const plan::Fault& fault : read_world_test_file(text).errors)
    lines += std::to_string(fault.line) + " " + fault.path + " " + fault.code + "\n";
  return lines;
}

TEST(WorldTestFile, AFileSaysWhichWorldItIsAbout) {
  const auto usual = read_world_test_file("worlds: [{script: []}]");
  ASSERT_TRUE(usual.valid());
  EXPECT_EQ(usual.file.world, "..");
  EXPECT_EQ(usual.file.worlds[0].name, "world 1");
  EXPECT_EQ(read_world_test_file("world: ../v2\nworlds: [{script: []}]").file.world, "../v2");
}

TEST(WorldTestFile, TimesAreTextsOrNanoseconds) {
  const auto read = read_world_test_file(
      "worlds:\n- now: 2026-01-01T00:00:00Z\n  script:\n  - advance: 2m\n  - clock: 17\n");
  ASSERT_TRUE(read.valid());
  EXPECT_EQ(read.file.worlds[0].now_ns, 1'767'225'600'000'000'000);
  EXPECT_EQ(read.file.worlds[0].script[0].ns, 120'000'000'000);
  EXPECT_EQ(read.file.worlds[0].script[1].ns, 17);
}

TEST(WorldTestFile, EveryFaultHasItsLine) {
  EXPECT_EQ(world_file_faults("steps:\n- module: a/M@1\n  expect: {status: completed}\n"),
            "2 steps[0] required\n");
  EXPECT_EQ(world_file_faults("worlds:\n- script:\n  - event: {value: 1}\n  - evnt: {}\n"),
            "3 worlds[0].script[0].event required\n"
            "4 worlds[0].script[1].evnt unknown_field\n"
            "4 worlds[0].script[1] required\n");
  EXPECT_EQ(world_file_faults("worlds:\n- script:\n  - restart: tomorrow\n"),
            "3 worlds[0].script[0].restart value\n");
  EXPECT_EQ(world_file_faults("worlds:\n- script:\n  - expect: {instances: [{stat: waiting}]}\n"),
            "3 worlds[0].script[0].expect.instances[0].stat unknown_field\n");
  EXPECT_EQ(world_file_faults("worlds:\n- {name: a, script: []}\n- {name: a, script: []}\n"),
            "3 worlds[1] duplicate\n");
  EXPECT_EQ(world_file_faults("world: x\n"), "1  required\n");
}

// An arm of a variant without a value looks like a matcher.
TEST(WorldTestFile, AVariantIsAValueAndNoMatcher) {
  EXPECT_EQ(world_file_faults(
                "worlds:\n- script:\n  - expect: {instances: [{state: {pc: {$tag: Done}}}]}\n"),
            "");
  EXPECT_EQ(
      world_file_faults("worlds:\n- script:\n  - expect: {instances: [{state: {$like: 1}}]}\n"),
      "3 worlds[0].script[0].expect.instances[0].state.$like unknown_field\n");
}

}  // namespace
}  // namespace pawl::rehearse
