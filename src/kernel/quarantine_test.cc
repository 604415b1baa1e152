// Quarantine: a run is ended without evaluating it, and resumed where it was.
#include "kernel/quarantine.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class Quarantine : public ScriptStory {
 protected:
  std::string end(bool bare = false) {
    return world.act([&](Frame& f) -> Status {
      QuarantineReason reason;
      reason.message = "it killed";
      reason.deaths = 2;
      reason.bare = bare;
      if (quarantine(f, world.run_id(), reason)) return ok_status();
      return Error{ErrorCode::Conflict, "over"};
    });
  }
  std::string release() {
    return world.act([&](Frame& f) { return release_run(f, world.run_id()); });
  }
};
PAWL_TELL_TWICE(Quarantine);

// No hook and no compensation runs: nothing of it may be evaluated.
TEST_P(Quarantine, EndsARunAndAsksNothing) {
  world.begin(
      "on_error: {id: tell, action: x}\n"
      "steps: [{id: a, action: x, compensate: [{id: undo, action: x}]}, {id: b, action: x, "
      "depends_on: [a]}]");
  world.done("a", "1");
  EXPECT_EQ(end().substr(0, 18), "failed QUARANTINED");
  EXPECT_EQ(world.asked(), "");
  EXPECT_TRUE(is_quarantined(world.run()));
  EXPECT_EQ(quarantine_message(world.run()), "it killed");
  EXPECT_EQ(end(), "rejected conflict: over");
}

TEST_P(Quarantine, GoesOnWhereItWasWhenItIsReleased) {
  for (bool bare : {false, true}) {
    world.begin("steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a]}]");
    world.done("a", "1");
    EXPECT_EQ(end(bare).substr(0, 18), "failed QUARANTINED");
    EXPECT_EQ(release(), "active");
    EXPECT_EQ(world.asked(), "b");
    EXPECT_EQ(world.done("b", "2"), "completed");
    EXPECT_EQ(world.attempts("a"), 1u);
    EXPECT_EQ(release().substr(0, 17), "rejected conflict");
  }
}

}  // namespace
}  // namespace pawl
