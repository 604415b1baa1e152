// The order of service when runs need more than their share.
#include <gtest/gtest.h>

#include "engine/testing/core_world.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "plan/definition.h"

namespace pawl {
namespace {

// Starts the definition; finds "started".
TestTaskPtr start_task(const std::string& definition) {
  return std::make_shared<TestTask>(
      [=](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
        StartScript command;
        command.source = plan::read_definition(definition).canonical;
        found = start_script(frame, command).ok() ? "started" : "refused";
        return std::nullopt;
      });
}

// In how many records a run yielded or resumed, and how often in the fullest record.
std::pair<size_t, size_t> turns_of(Store& store) {
  size_t records = 0;
  size_t most = 0;
  Status read = store.read_journal(1, SIZE_MAX, [&](uint64_t number, std::string_view bytes) {
    size_t here = 0;
    const auto events = journal::read_record(number, bytes).value();
    for (const auto& event : events) here += event.type == EventType::ScriptYielded ? 1 : 0;
    records += here == 0 ? 0 : 1;
    if (number > 1) most = std::max(most, here);
    return true;
  });
  EXPECT_TRUE(read.ok());
  return {records, most};
}

constexpr const char* kHostile =
    "steps: [{id: l, type: loop, config: {mode: while, condition: "
    "'[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, a + b > 0)) && iter.index < 20', "
    "body: [{id: b, action: workflow.log, params: {message: hi}}]}}]";

// Between two inputs at most one allowance of turns is used, however many runs wait.
TEST(Turns, RunsThatYieldTakeTurnsAndInputsGoBetween) {
  CoreConfig config;
  config.state.scripts.frame_allowance = 500;
  CoreWorld world(config);
  for (int i = 0; i < 40; ++i) world.submit(start_task(kHostile));
  world.commit();
  size_t rounds = 0;
  for (bool at_work = true; at_work && rounds < 10'000; ++rounds) {
    auto push = world.submit(push_task());
    world.clock.now += 1;
    world.core->tick();
    world.commit();
    EXPECT_EQ(push->outcome(), "ok pushed");
    at_work = world.core->state().next_yielded(INT64_MAX) != nullptr;
  }
  EXPECT_FALSE(world.core->state().next_yielded(INT64_MAX));
  EXPECT_GT(rounds, 100u);
  auto [records, most] = turns_of(*world.store);
  EXPECT_GT(records, 100u);
  EXPECT_LT(most, 40u);  // resumed and stopped again: never all forty at once
  size_t completed = 0;
  world.core->state().each_run(RunId(), false, SIZE_MAX, [&](const pawl::Run& run) {
    completed += run.state == RunState::Completed ? 1 : 0;
    return true;
  });
  EXPECT_EQ(completed, 40u);
}

// The longest waiting run is next, also after a crash.
TEST(Turns, TurnsGoRoundAndOutliveACrash) {
  CoreConfig config;
  config.state.scripts.frame_allowance = 1'000;
  CoreWorld world(config);
  for (int i = 0; i < 5; ++i) world.submit(start_task(kHostile));
  world.flush();
  world.crash();
  std::vector<RunId> order;
  for (int i = 0; i < 15; ++i) {
    world.clock.now += 1;
    const RunId* next = world.core->state().next_yielded(INT64_MAX);
    ASSERT_NE(next, nullptr);
    order.push_back(*next);
    world.core->tick();
    world.commit();
  }
  for (size_t i = 5; i < order.size(); ++i) EXPECT_EQ(order[i], order[i - 5]) << i;
}

// A full batch takes no turns, however often it is asked. But turns are not deferred for ever.
TEST(Turns, StandBackFromFullBatchesButNotForEver) {
  CoreConfig config;
  config.state.scripts.frame_allowance = 500;
  config.batch_bytes_max = 5'000;
  CoreWorld world(config);
  world.submit(start_task(kHostile));
  world.commit();
  std::string taken;
  for (int batch = 0; batch < 6; ++batch) {
    NewJob job = new_job();
    job.spec = std::string(9'000, 'x');
    world.submit(
        std::make_shared<TestTask>([=](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          EXPECT_TRUE(push_jobs(frame, {job}).ok());
          return std::nullopt;
        }));
    size_t before = turns_of(*world.store).first;
    for (int i = 0; i < 3; ++i) {
      world.clock.now += 1;
      world.core->tick();
    }
    world.commit();
    taken += turns_of(*world.store).first > before ? 'T' : '-';
  }
  EXPECT_EQ(taken, "--T--T");
}

// Counts effects, and has room for one at a time.
class OneByOne : public EffectSink {
 public:
  class Nothing : public PreparedEffects {
    void release() override {}
  };
  std::unique_ptr<PreparedEffects> prepare(const State&, std::deque<EffectNote>& notes, int64_t,
                                           Meter& meter) override {
    while (!notes.empty() && !meter.spent()) {
      notes.pop_front();
      meter.charge(meter.left());
      ++taken;
    }
    return std::make_unique<Nothing>();
  }
  size_t taken = 0;
};

// Keeps the effects it gets.
class Asked : public EffectSink {
 public:
  std::unique_ptr<PreparedEffects> prepare(const State&, std::deque<EffectNote>& notes, int64_t,
                                           Meter&) override {
    for (const EffectNote& note : notes) runs.push_back(note.run);
    notes.clear();
    return nullptr;
  }
  std::vector<RunId> runs;
};

// A start reads only the first active runs, however many there are.
TEST(Recall, RunsThatWereAtWorkAreTakenUpAFewAtATimeAfterTheStart) {
  Asked sink;
  CoreConfig config;
  config.effects = &sink;
  config.recall_bytes_max = 1;
  CoreWorld world(config);
  for (int i = 0; i < 6; ++i) world.submit(start_task("steps: [{id: a, action: http.get}]"));
  world.commit();
  world.submit(push_task());  // the tail, which is read completely, begins after the runs
  world.flush();
  std::vector<RunId> all = std::exchange(sink.runs, {});
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 6u);
  world.crash();
  world.commit();
  EXPECT_EQ(sink.runs, std::vector<RunId>{all[0]});
  EXPECT_EQ(world.core->next_tick_ms(), 0);
  // A run that is read by a request is recalled then, and not again later.
  EXPECT_NE(world.core->state().find_run(all[3]), nullptr);
  world.commit();
  EXPECT_EQ(sink.runs, (std::vector<RunId>{all[0], all[3]}));
  // Once for each batch.
  for (int i = 0; i < 3; ++i) world.core->tick();
  EXPECT_GT(world.core->next_tick_ms(), 0);
  world.commit();
  EXPECT_EQ(sink.runs, (std::vector<RunId>{all[0], all[3], all[1]}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.core->next_tick_ms(), 0);
    world.core->tick();
    world.commit();
  }
  EXPECT_EQ(sink.runs, (std::vector<RunId>{all[0], all[3], all[1], all[2], all[4], all[5]}));
  EXPECT_GT(world.core->next_tick_ms(), 0);
}

TEST(Turns, WhatRunsAskForIsMadeReadyWithLaterBatchesToo) {
  OneByOne sink;
  CoreConfig config;
  config.effects = &sink;
  CoreWorld world(config);
  world.submit(start_task("steps: [{id: a, action: x}, {id: b, action: x}, {id: c, action: x}]"));
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(world.core->wants_commit());
    world.commit();
    EXPECT_EQ(sink.taken, i);
  }
  EXPECT_FALSE(world.core->wants_commit());
}

// Records whether the requesting runs are heavy, in the order in which effects are prepared.
class InOrder : public EffectSink {
 public:
  static constexpr uint64_t kHeavyBytes = 5'000;
  std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                           int64_t, Meter&) override {
    for (const EffectNote& note : notes)
      taken += state.find_run(note.run)->script->held_bytes > kHeavyBytes ? 'H' : 'l';
    notes.clear();
    return nullptr;
  }
  bool takes_heavy() const override { return room; }
  std::string taken;
  bool room = true;
};

TestTaskPtr start_with_input(size_t bytes) {
  return std::make_shared<TestTask>(
      [=](Frame& frame, bool, std::string&) -> std::optional<Parking> {
        StartScript command;
        command.source = plan::read_definition("steps: [{id: a, action: x}]").canonical;
        command.inputs = R"({"x":")" + std::string(bytes, 'x') + R"("})";
        EXPECT_TRUE(start_script(frame, command).ok());
        return std::nullopt;
      });
}

TEST(Turns, WhatAHeavyRunAsksForStandsBackButNotForEver) {
  InOrder sink;
  CoreConfig config;
  config.effects = &sink;
  config.heavy_run_bytes = InOrder::kHeavyBytes;
  CoreWorld world(config);
  world.submit(start_with_input(9'000));
  world.submit(start_with_input(10));
  world.commit();
  EXPECT_EQ(sink.taken, "l");
  size_t batches = 1;
  while (sink.taken == "l" && batches < 100) {
    world.submit(push_task());
    world.commit();
    ++batches;
  }
  EXPECT_EQ(sink.taken, "lH");
  EXPECT_EQ(batches, 8u);
}

TEST(Turns, WhatAHeavyRunAsksForWaitsWhileThereIsNoRoomForIt) {
  InOrder sink;
  sink.room = false;
  CoreConfig config;
  config.effects = &sink;
  config.heavy_run_bytes = InOrder::kHeavyBytes;
  CoreWorld world(config);
  world.submit(start_with_input(9'000));
  for (int i = 0; i < 20; ++i) world.commit();
  EXPECT_EQ(sink.taken, "");
  EXPECT_FALSE(world.core->wants_commit());  // nothing can be prepared now, so the loop must not
                                             // spin
  sink.room = true;
  EXPECT_TRUE(world.core->wants_commit());
  world.commit();
  EXPECT_EQ(sink.taken, "H");
}

// Regression: small runs may have large parameters in their definition: 200 such runs held a
// gigabyte of parameters at once.
TEST(Turns, WhatTurnsOutToBeHeavyWaitsForRoomAndOthersDoNot) {
  class Weighing : public InOrder {
   public:
    std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                             int64_t, Meter&) override {
      while (!notes.empty() && (room || !notes.front().heavy)) {
        EffectNote note = notes.front();
        notes.pop_front();
        const bool heavy = state.find_run(note.run)->script->inputs.size() > 1'000;
        note.heavy = heavy && !room;
        if (note.heavy) {
          notes.push_back(note);
        } else {
          taken += heavy ? std::to_string(state.find_run(note.run)->script->inputs.size() / 1'000)
                         : std::string("l");
        }
      }
      return nullptr;
    }
  };
  Weighing sink;
  sink.room = false;
  CoreConfig config;
  config.effects = &sink;
  config.heavy_run_bytes = InOrder::kHeavyBytes;
  CoreWorld world(config);
  for (size_t bytes : {2'000, 10, 3'000}) world.submit(start_with_input(bytes));
  for (int i = 0; i < 3; ++i) world.commit();
  EXPECT_EQ(sink.taken, "l");
  EXPECT_FALSE(world.core->wants_commit());
  world.submit(start_with_input(20));
  world.commit();
  EXPECT_EQ(sink.taken, "ll");
  sink.room = true;
  EXPECT_TRUE(world.core->wants_commit());
  world.commit();
  EXPECT_EQ(sink.taken, "ll23");
}

// Heavy tasks wait while the tail is long: it bounds the journal that a restart folds.
TEST(Turns, ALongTailIsToldUntilRowsAreWritten) {
  CoreConfig config;
  config.tail_bytes_max = 2'000;
  config.batch_bytes_max = 5'000;  // a frame beyond this takes no rows along
  CoreWorld world(config);
  EXPECT_FALSE(world.core->tail_long());
  world.submit(start_task("inputs: {x: " + std::string(9'000, 'x') +
                          "}\nsteps: [{id: w, type: wait, config: {signal: go}}]"));
  world.commit();
  EXPECT_TRUE(world.core->tail_long());
  world.flush();
  EXPECT_FALSE(world.core->tail_long());
}

// Tasks of a batch do not wait for megabytes of rows in it, unless those rows have waited long.
TEST(Turns, LargeRowsAreLeftToABatchThatNobodyWaitsFor) {
  CoreConfig config;
  config.tail_bytes_max = 0;  // rows with every batch
  config.batch_bytes_max = 5'000;
  config.row_bytes_awaited_max = 5'000;
  config.state.part_bytes_min = 1'000;
  CoreWorld world(config);
  const std::string definition = "inputs: {x: " + std::string(9'000, 'x') +
                                 "}\nsteps: [{id: w, type: wait, config: {signal: go}}]";
  auto row_bytes = [](const ClosedBatch& closed) {
    return closed.bytes() - closed.batch.journal.size();
  };
  world.submit(start_task(definition));
  world.commit();
  world.submit(push_task());
  EXPECT_LT(row_bytes(world.commit()), 5'000u);
  EXPECT_TRUE(world.core->owes_rows());
  EXPECT_TRUE(world.core->wants_commit());
  EXPECT_GT(row_bytes(world.commit()), 9'000u);  // nobody waits
  EXPECT_FALSE(world.core->owes_rows());

  world.submit(start_task(definition));
  world.commit();
  std::string large;
  for (int i = 0; i < 3; ++i) {
    world.submit(push_task());
    large += row_bytes(world.commit()) > 9'000 ? 'y' : 'n';
  }
  EXPECT_EQ(large, "nny");
}

// One large run does not fill a batch with the rows of all others.
TEST(Turns, RowsOfABatchHaveABound) {
  CoreConfig config;
  config.row_bytes_per_batch_max = 10'000;
  CoreWorld world(config);
  for (int i = 0; i < 10; ++i)
    world.submit(start_task("inputs: {x: " + std::string(9'000, 'x') +
                            "}\nsteps: [{id: w, type: wait, config: {signal: go}}]"));
  world.commit();
  while (world.core->has_dirty()) {
    ClosedBatch closed = world.commit(true);
    size_t bytes = 0;
    for (const Write& write : closed.batch.writes)
      bytes += write.bytes() != nullptr ? write.bytes()->size() : 0;
    EXPECT_LT(bytes, 40'000u);
  }
}

}  // namespace
}  // namespace pawl
