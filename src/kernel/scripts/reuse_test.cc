// An id may be used again once its run is deleted; the second run ignores remains of the first.
#include <gtest/gtest.h>

#include "kernel/jobs/forget_jobs.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/testing/script_world.h"
#include "plan/definition.h"

namespace pawl {
namespace {

TEST(ScriptReuse, ALateReceiptOfAForgottenRunSettlesNothing) {
  ScriptWorld world;
  StartScript command;
  command.source = plan::read_definition("steps: [{id: a, action: x}]").canonical;
  command.id = RunId(Uuid::v7(kWorldStartMs, 5, 6, 0));
  world.start(command);
  uint32_t first = world.effect_of("a");
  EXPECT_EQ(world.done("a", "1"), "completed");
  world.advance(1000);
  world.frame([&](Frame& frame) -> std::string {
    RunId cursor;
    EXPECT_EQ(forget_runs(frame, world.now_ms, 10, cursor), 1u);
    return "";
  });
  EXPECT_EQ(world.start(command), "active");
  EXPECT_NE(world.effect_of("a"), first);
  StepOutcome late;
  late.ok = true;
  late.output = "2";
  world.answer_effect(first, late);
  EXPECT_EQ(world.asked(), "a");
  EXPECT_EQ(world.done("a", "3"), "completed");
}

}  // namespace
}  // namespace pawl
