// Instances of modules in the list of runs, and the documents that hold what worlds remember.
#include "kernel/worlds/instance_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/run_family.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

const RunId kInstance(Uuid::v7(kWorldStartMs, 1, 2, 0));
const Uuid kModuleWorld = Uuid::v7(kWorldStartMs, 3, 4, 0);

InstanceMoved moved(InstanceState to) {
  InstanceMoved event;
  event.run = kInstance;
  event.world = kModuleWorld;
  event.world_name = "shop";
  event.module = "com.acme/order@1";
  event.key = "\x63o-1";
  event.key_json = "\"o-1\"";
  event.to = to;
  event.version = "sha256:00";
  return event;
}

std::string move(World& world, const InstanceMoved& event) {
  return world.frame([&](Frame& frame) { return frame.emit(event), std::string(); });
}

void put_item(World& world, const std::string& key, const std::string& value) {
  world.frame(
      [&](Frame& frame) { return put_doc(frame, DocKind::WorldItem, key, value), std::string(); });
}

std::string status_of(const World& world) {
  const pawl::Run* run = world.state().find_run(kInstance);
  return run == nullptr ? "gone" : std::string(family_of(*run).status(*run));
}

// Of the kind's documents under a prefix: "key=value key=value".
std::string under(const World& world, std::string_view prefix, std::string_view from = "",
                  size_t limit = 100) {
  std::string text;
  world.state().each_doc_under(DocKind::WorldItem, prefix, from, limit,
                               [&](std::string_view key, std::string_view value) {
                                 text += std::string(key) + "=" + std::string(value) + " ";
                                 return true;
                               });
  return text;
}

TEST(InstanceRun, FollowsItsInstanceThroughRestarts) {
  World world;
  move(world, moved(InstanceState::Running));
  EXPECT_EQ(status_of(world), "active");
  world.restart();
  move(world, moved(InstanceState::Waiting));
  world.collect(100);
  world.commit_rows();
  world.restart();
  const pawl::Run* run = world.state().find_run(kInstance);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->kind, RunKind::Module);
  EXPECT_EQ(run->instance->world_name, "shop");
  EXPECT_EQ(run->instance->key_json, "\"o-1\"");
  InstanceMoved failed = moved(InstanceState::Failed);
  failed.error_code = "step.trap";
  move(world, failed);
  EXPECT_EQ(status_of(world), "failed");
  move(world, moved(InstanceState::Running));  // a retry
  EXPECT_EQ(status_of(world), "active");
  EXPECT_EQ(world.state().find_run(kInstance)->finished_ms, 0);
}

// Its world says when it goes: retention would forget what the world still knows.
TEST(InstanceRun, OnlyItsWorldForgetsIt) {
  World world;
  move(world, moved(InstanceState::Completed));
  world.now_ms += 1'000'000;
  RunId cursor;
  world.frame([&](Frame& frame) {
    EXPECT_EQ(forget_runs(frame, frame.now_ms(), 100, cursor), 0u);
    return std::string();
  });
  EXPECT_EQ(status_of(world), "completed");
  move(world, moved(InstanceState::Forgotten));
  EXPECT_EQ(status_of(world), "gone");
  move(world, moved(InstanceState::Running));  // the same key again
  EXPECT_EQ(status_of(world), "active");
  world.restart();
  EXPECT_EQ(status_of(world), "active");
}

TEST(InstanceRun, TheKernelCannotSteerIt) {
  World world;
  move(world, moved(InstanceState::Running));
  std::string refused = world.frame([&](Frame& frame) {
    const pawl::Run& run = *frame.state().find_run(kInstance);
    return world.refused(family_of(run).cancel(frame, run, "stop", false));
  });
  EXPECT_NE(refused.find("rejected conflict"), std::string::npos) << refused;
}

TEST(WorldItems, AreListedInOrderFromMemoryAndDisk) {
  World world;
  put_item(world, "a1", "x");
  put_item(world, "a3", "y");
  put_item(world, "b1", "z");
  world.collect(100);
  world.commit_rows();
  put_item(world, "a2", "new");
  put_item(world, "a3", "changed");
  EXPECT_EQ(under(world, "a"), "a1=x a2=new a3=changed ");
  EXPECT_EQ(under(world, "a", "a2"), "a2=new a3=changed ");
  EXPECT_EQ(under(world, "a", "", 2), "a1=x a2=new ");
  EXPECT_EQ(under(world, ""), "a1=x a2=new a3=changed b1=z ");
  world.frame(
      [&](Frame& frame) { return world.refused(delete_doc(frame, DocKind::WorldItem, "a1")); });
  EXPECT_EQ(under(world, "a"), "a2=new a3=changed ");
  world.restart();
  EXPECT_EQ(under(world, "a"), "a2=new a3=changed ");
}

TEST(Golden, DISABLED_WriteInstances) {
  World world;
  for (InstanceState to : {InstanceState::Running, InstanceState::Waiting, InstanceState::Failed,
                           InstanceState::Running, InstanceState::Completed,
                           InstanceState::Forgotten, InstanceState::Running}) {
    InstanceMoved event = moved(to);
    if (to == InstanceState::Failed)
      event.error_code = "step.trap", event.error_detail = "it trapped";
    move(world, event);
    put_item(world, kModuleWorld.bytes() + "h", std::to_string(static_cast<int>(to)));
    world.now_ms += 10;
  }
  std::ofstream journal("tests/golden/v8-instances.journal");
  for (const std::string& record : world.journal()) journal << to_hex(record) << "\n";
  std::ofstream("tests/golden/v8-instances.digest") << world.state().digest() << "\n";
}

}  // namespace
}  // namespace pawl
