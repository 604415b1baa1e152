// Steps that are jobs or compositions: the frame that starts them makes what fills their place.
#include <gtest/gtest.h>

#include "base/value.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class ScriptJobs : public ScriptStory {
 protected:
  const Job* job_of(const std::string& step) {
    return world.state().find_job(JobId(child_id(world.run(), world.effect_of(step))));
  }
  // The types of all events of a record, in order.
  std::vector<EventType> record(uint64_t number) {
    std::vector<EventType> types;
    const auto events = journal::read_record(number, world.journal()[number - 1]);
    for (const auto& event : events.value()) types.push_back(event.type);
    return types;
  }
  // A worker takes the job of the step, and ends it.
  std::string work(const std::string& step, const std::string& result) {
    const std::string name = world.names.of(JobId(child_id(world.run(), world.effect_of(step))));
    FetchJobs fetch;
    fetch.queues = {"default"};
    fetch.count = 2;
    world.fetch(fetch);
    world.ack(name, "", 0, result);
    return world.how();
  }
};
PAWL_TELL_TWICE(ScriptJobs);

TEST_P(ScriptJobs, TheJobIsThereWithTheStart) {
  EXPECT_EQ(world.begin("steps: [{id: j, type: job, config: {type: t, args: {n: '${{inputs.n}}'}, "
                        "options: {priority: 3, meta: {who: ada}}}}]",
                        R"({"n":7})"),
            "active");
  ASSERT_EQ(world.journal().size(), 1u);
  EXPECT_EQ(record(1),
            (std::vector{EventType::ScriptCreated, EventType::ScriptMoved, EventType::ScopeOpened,
                         EventType::StepStarted, EventType::JobCreated}));
  const Job* job = job_of("j");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->priority, 3);
  JobSpec spec;
  ASSERT_TRUE(codec::decode(job->spec, spec));
  const std::string run = world.run_id().text();
  EXPECT_EQ(spec.type + " " + spec.args, R"(t [{"n":7}])");
  EXPECT_EQ(spec.meta, R"({"who":"ada","run_id":")" + shown_id(world.run()) +
                           R"(","step_id":"j","task_id":")" + run + R"(-j","idempotency_key":")" +
                           run + R"(/j/1"})");
  RetryPolicy retry;
  EXPECT_TRUE(spec.retry.empty() || codec::decode(spec.retry, retry));
  EXPECT_EQ(retry.on_exhaustion, OnExhaustion::Discard);
  EXPECT_EQ(work("j", R"({"r":1})"), "completed");
  EXPECT_EQ(world.output("j"), R"({"r":1})");
}

TEST_P(ScriptJobs, ACompositionIsThereWithTheStart) {
  world.begin(
      "steps: [{id: c, type: chain, config: {steps: [{type: t, args: ['${{ 1 + 1 }}']}, {type: u, "
      "args: []}]}}]");
  ASSERT_EQ(world.journal().size(), 1u);
  const auto* made = world.state().find_run(RunId(child_id(world.run(), world.effect_of("c"))));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->kind, RunKind::Chain);
  EXPECT_EQ(made->total, 2u);
  EXPECT_EQ(record(1).back(), EventType::JobCreated);
}

TEST_P(ScriptJobs, EachAttemptHasAJobOfItsOwn) {
  world.begin("steps: [{id: j, type: job, retry: {max: 1, delay: 1s}, config: {type: t}}]");
  const JobId first = job_of("j")->id;
  EXPECT_EQ(world.fail("j"), "active");
  EXPECT_EQ(world.wait(1'000), "active");
  ASSERT_NE(job_of("j"), nullptr);
  EXPECT_NE(job_of("j")->id, first);
  EXPECT_EQ(work("j", "2"), "completed");
}

TEST_P(ScriptJobs, APauseThatStopsWithdrawsItAndResumingMakesAnother) {
  world.begin("steps: [{id: j, type: job, config: {type: t}}]");
  const JobId first = job_of("j")->id;
  world.pause(true);
  EXPECT_EQ(world.state().find_job(first)->state, JobState::Cancelled);
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(job_of("j")->state, JobState::Available);
  EXPECT_EQ(world.cancel(), "cancelled");
}

TEST_P(ScriptJobs, WhatCannotBeMadeFailsTheStep) {
  EXPECT_EQ(world.begin("steps: [{id: j, type: job, config: {type: t, args: ['${{ no.body }}']}}]"),
            "failed INTERPOLATION_ERROR at j");
  EXPECT_EQ(world.begin("steps: [{id: j, type: job, config: {type: 'T ${{ 1 }}'}}]"),
            "failed VALIDATION_ERROR at j");
  EXPECT_EQ(world.begin("steps: [{id: c, type: group, config: {jobs: [{type: 'T ${{ 1 }}'}]}}]"),
            "failed VALIDATION_ERROR at c");
  const std::string twins =
      "steps: [{id: a, type: job, config: {type: t, options: {unique: {keys: [type]}}}}, "
      "{id: b, type: job, depends_on: [a], trigger: all_done, config: {type: t, options: {unique: "
      "{keys: [type]}}}}]";
  EXPECT_EQ(world.begin(twins), "active");
  EXPECT_EQ(world.begin(twins), "failed VALIDATION_ERROR at a");
}

// A frame that has done enough leaves the job to a later one, which makes it once.
TEST_P(ScriptJobs, AFullFrameLeavesItToALaterOne) {
  StateConfig config;
  config.scripts.frame_allowance = 12;
  ScriptWorld poor(GetParam(), config);
  poor.begin("steps: [{id: j, type: job, config: {type: t}}]");
  for (int i = 0; i < 10 && poor.script().yielded_ms != 0; ++i) poor.wait(1);
  const uint32_t effect = poor.effect_of("j");
  const JobId id(child_id(poor.run(), effect));
  ASSERT_NE(effect, 0u);
  ASSERT_EQ(poor.state().find_job(id), nullptr);
  EXPECT_EQ(poor.request("j")->kind, EffectKind::Job);
  for (int i = 0; i < 2; ++i)
    poor.act([&](Frame& frame) {
      make_step_child(frame, poor.run_id(), effect);
      return ok_status();
    });
  EXPECT_EQ(poor.params("j"), "gone");
  ASSERT_NE(poor.state().find_job(id), nullptr);
  EXPECT_EQ(poor.state().find_job(id)->state, JobState::Available);
}

// --- children whose end comes while they are made

// Begins it and gives it turns until it waits for nobody's; nothing is written down or looked at
// meanwhile, as there may be hundreds of thousands of events.
void live_through(ScriptWorld& world, const std::string& text) {
  plan::ReadResult read = plan::read_definition(text);
  PAWL_CHECK(read.valid());
  StartScript command;
  command.source = read.canonical;
  journal::RecordWriter record{1};
  RunId id;
  for (uint64_t number = 2;; ++number) {
    {
      Frame frame(world.mutable_state(), record, ++world.now_ms, number);
      if (id.is_nil())
        id = *start_script(frame, command);
      else
        script_due(frame, id);
    }
    record.reset(number);
    if (world.state().find_run(id)->script->yielded_ms == 0) break;
  }
  world.look_at(id);
}

constexpr const char* kNothingToDo =
    "{id: c, type: chain, config: {steps: [{type: t, args: [], when: 'false'}]}}";

TEST(ScriptJobsAtOnce, NobodyOutsideIsAsked) {
  ScriptWorld world;
  world.define("inner", "steps: [{id: q, type: reasoning, config: {prompt_context: p}}]", "v1");
  live_through(world,
               "steps:\n- {id: j, type: job, config: {type: t}}\n- {id: s, type: subworkflow, "
               "config: {definition: inner}}\n- {id: g, type: group, config: {jobs: [{type: t, "
               "args: []}]}}\n");
  EXPECT_EQ(world.asked(), "j s g");
  EXPECT_FALSE(world.state().has_effects());
}

TEST(ScriptJobsAtOnce, ACompositionWithNothingToDoIsOverInTheFrame) {
  ScriptWorld world;
  EXPECT_EQ(world.begin(std::string("steps: [") + kNothingToDo + "]"), "completed");
  EXPECT_EQ(world.journal().size(), 1u);
}

TEST(ScriptJobsAtOnce, ALongLoopOfThemEnds) {
  ScriptWorld world;
  live_through(world, std::string("steps: [{id: l, type: loop, config: {mode: while, condition: "
                                  "'iter.index < 3000', body: [") +
                          kNothingToDo + "]}}]");
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(Value::parse(world.output("l"))->find("iterations")->as_int(), 3'000);
}

// Each job ends the one before it, and with that frees the place of the next.
TEST(ScriptJobsAtOnce, JobsThatReplaceEachOtherDoNotDigIn) {
  ScriptWorld world;
  Value::Array items(500, Value(1));
  live_through(world,
               "steps: [{id: l, type: loop, config: {over: " + Value(items).json() +
                   ", concurrency: 2, body: [{id: j, type: job, on_error: ignore, config: "
                   "{type: t, options: {unique: {keys: [type], on_conflict: replace}}}}]}}]");
  std::map<JobState, size_t> jobs;
  world.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
    ++jobs[job.state];
    return true;
  });
  EXPECT_EQ(jobs,
            (std::map<JobState, size_t>{{JobState::Available, 1}, {JobState::Cancelled, 499}}));
  EXPECT_EQ(world.asked(), "l.iter_499.j");
}

}  // namespace
}  // namespace pawl
