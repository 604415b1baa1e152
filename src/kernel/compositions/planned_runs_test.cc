// Nested runs can be read before they start, and no longer than their parent runs.
#include "kernel/compositions/planned_runs.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/testing/run_world.h"

namespace pawl {
namespace {

RunId chosen() { return RunId(Uuid::v7(kWorldStartMs, 5, 6, 0)); }

PlanNode with_id(PlanNode plan) {
  plan.id = chosen();
  plan.client_id = "mine";
  return plan;
}

size_t announced(const RunWorld& world) {
  size_t count = 0;
  world.state().each_doc(DocKind::PlannedRun, "", SIZE_MAX,
                         [&](const Doc&) { return ++count, true; });
  return count;
}

TEST(PlannedRuns, AreFoundByTheirIdUntilTheyStart) {
  RunWorld world;
  world.start(chain({step(), with_id(group({step(), step()}))}));
  auto planned = find_planned(world.state(), chosen());
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->around->id, world.names.run_id("r1"));
  EXPECT_EQ(planned->index, 1u);
  EXPECT_EQ(planned->plan.children.size(), 2u);
  world.pass();
  EXPECT_FALSE(find_planned(world.state(), chosen()));
  EXPECT_NE(world.state().find_run(chosen()), nullptr);
}

// An id that no client chose is derived from the place, at any depth.
TEST(PlannedRuns, HaveTheIdThatTheyWillHave) {
  RunWorld world;
  world.start(chain({step(), chain({step(), group({step()})})}));
  RunId outer(child_id(world.run("r1"), 1));
  RunId inner(child_id(outer, 0, 1));
  ASSERT_TRUE(find_planned(world.state(), outer));
  ASSERT_TRUE(find_planned(world.state(), inner));
  EXPECT_EQ(find_planned(world.state(), inner)->around->id, world.names.run_id("r1"));
  world.restart_from_rows();
  EXPECT_TRUE(find_planned(world.state(), inner));
  world.pass_all();
  EXPECT_NE(world.state().find_run(outer), nullptr);
  EXPECT_NE(world.state().find_run(inner), nullptr);
}

TEST(PlannedRuns, WhatStartsAtOnceIsNotAnnounced) {
  RunWorld world;
  world.start(chain({group({step()}), step()}));
  world.start(group({chain({step()})}));
  EXPECT_EQ(announced(world), 0u);
}

// A run that never started is deleted with its parent run.
TEST(PlannedRuns, AreForgottenWithTheRunAround) {
  RunWorld world;
  world.start(chain({step(), group({step()})}));
  world.start(chain({step(), group({step()})}));
  EXPECT_EQ(announced(world), 2u);
  world.fail();
  world.pass_all();
  world.forget();
  EXPECT_EQ(announced(world), 0u);
}

}  // namespace
}  // namespace pawl
