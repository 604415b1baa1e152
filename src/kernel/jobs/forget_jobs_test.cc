#include "kernel/jobs/forget_jobs.h"

#include <gtest/gtest.h>

#include "kernel/cold.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

struct ForgetWorld : World {
  std::string forget(int64_t finished_before_ms, uint64_t at_most = 100, size_t scan_max = 100) {
    return frame([&](Frame& f) -> std::string {
      Forgotten done = forget_jobs(f, {.from = go_on,
                                       .finished_before_ms = finished_before_ms,
                                       .at_most = at_most,
                                       .scan_max = scan_max});
      go_on = done.go_on;
      return go_on.is_nil() ? "" : "from " + names.of(go_on);
    });
  }
  void finish(int count) {
    for (int i = 0; i < count; ++i) {
      now_ms += 1;  // ids in the order of pushing
      push();
    }
    fetch(static_cast<uint32_t>(count));
    for (int i = 1; i <= count; ++i) ack("j" + std::to_string(i));
  }

  JobId go_on;
};

TEST(ForgetJobs, OldFinishedOnesOnly) {
  ForgetWorld world;
  world.finish(2);
  world.now_ms += 1000;
  world.push({new_job(), new_job({.queue = "b"})});
  world.cancel("j4");
  EXPECT_EQ(world.forget(world.now_ms - 1001), "nothing");
  EXPECT_EQ(world.forget(world.now_ms - 1000), "JobsForgotten(q j1 j2)");
  EXPECT_EQ(world.state_of("j1"), "gone");
  EXPECT_EQ(world.forget(world.now_ms), "JobsForgotten(b j4)");
  EXPECT_EQ(world.state_of("j3"), "available");
  EXPECT_EQ(world.state().find_queue("q")->finished_stored(), 0u);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Completed), 2u)
      << "history still counts";
}

// A little at a time: each step returns where the next one continues, in memory and on disk alike.
TEST(ForgetJobs, GoesOnWhereItStopped) {
  for (bool flushed : {false, true}) {
    ForgetWorld world;
    world.finish(5);
    if (flushed) world.collect(100), world.commit_rows(), world.evict();
    EXPECT_EQ(world.forget(world.now_ms, 2), "JobsForgotten(q j1 j2) | from j3");
    EXPECT_EQ(world.forget(world.now_ms, 100, 2), "JobsForgotten(q j3 j4) | from j5");
    EXPECT_EQ(world.forget(world.now_ms), "JobsForgotten(q j5)");
    EXPECT_EQ(world.forget(world.now_ms), "nothing");
    world.collect(100);
    world.commit_rows();
    for (Space space : {Space::Job, Space::Ready, Space::Due, Space::Unique, Space::Dead})
      EXPECT_TRUE(world.cold.rows[space].empty()) << static_cast<int>(space);
  }
}

TEST(ForgetJobs, ForgetsDeadLettersWithTheirCount) {
  ForgetWorld world;
  TestSpec dead;
  dead.retry.max_attempts = 1;
  dead.retry.on_exhaustion = OnExhaustion::DeadLetter;
  world.push(new_job({}, dead));
  world.fetch();
  world.nack("j1");
  EXPECT_EQ(world.forget(world.now_ms), "JobsForgotten(q j1)");
  EXPECT_EQ(world.state().find_queue("q")->dead, 0u);
}

TEST(Documents, ArePutReadDeletedAndExpire) {
  World world;
  auto put = [&](const std::string& key, int64_t expires_ms) {
    return world.frame([&](Frame& f) {
      return put_doc(f, DocKind::Idempotency, key, "v", expires_ms), std::string();
    });
  };
  auto drop = [&](const std::string& key) {
    return world.frame(
        [&](Frame& f) { return world.refused(delete_doc(f, DocKind::Idempotency, key)); });
  };
  EXPECT_EQ(put("a", world.now_ms + 10), "DocPut(a=v)");
  put("b", world.now_ms + 20);
  put("c", 0);
  EXPECT_EQ(world.state().find_doc(DocKind::Idempotency, "a")->value, "v");
  EXPECT_EQ(world.state().find_doc(DocKind::Webhook, "a"), nullptr);
  EXPECT_EQ(drop("c"), "DocDeleted(c)");
  EXPECT_EQ(drop("c"), "rejected not_found: not found");
  world.collect(100);
  world.commit_rows();
  world.now_ms += 10;
  EXPECT_EQ(world.frame([](Frame& f) {
    return forget_documents(f, DocKind::Idempotency, 10), std::string();
  }),
            "DocDeleted(a)");
  EXPECT_EQ(world.state().find_doc(DocKind::Idempotency, "a"), nullptr);
  EXPECT_NE(world.state().find_doc(DocKind::Idempotency, "b"), nullptr);
}

}  // namespace
}  // namespace pawl
