// Names that clients choose, used at another partition than their home: one user at a time.
#include "kernel/messages/claims.h"

#include <gtest/gtest.h>

#include "kernel/compositions/run_flow.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_copy.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"
#include "kernel/messages/placing.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/post.h"
#include "kernel/testing/run_world.h"

namespace pawl {
namespace {

constexpr uint32_t kLiveStates = 1u << static_cast<int>(JobState::Available) |
                                 1u << static_cast<int>(JobState::Active) |
                                 1u << static_cast<int>(JobState::Scheduled);

StateConfig claims_config(uint16_t partition) {
  StateConfig config;
  config.partition = partition;
  config.partitions = 3;
  return config;
}

std::string unique_at(uint16_t home) {
  for (int i = 100;; ++i) {
    std::string key = std::to_string(i) + std::string(13, 'u');
    if (home_of(NameKind::UniqueKey, "", key, 3) == home) return key;
  }
}

NewJob unique_job(uint16_t home, OnConflict on_conflict = OnConflict::Reject) {
  NewJob job;
  job.unique = {unique_at(home), kLiveStates, 0, on_conflict};
  return new_job(job);
}

NewJob job_with_id(uint16_t home, uint64_t nth = 1) {
  NewJob job;
  job.id = JobId(Uuid::v7(kWorldStartMs, nth, nth, home));
  return new_job(job);
}

// A call that pushes jobs and waits for its claims, as the API does.
struct Pushing {
  RunWorld* world;
  std::vector<NewJob> jobs;
  Uuid token = {};

  // "waits", "created …", "ignored …" or the refusal.
  std::string decide() {
    std::string outcome;
    world->frame([&](Frame& frame) {
      std::optional<NameAnswers> answers;
      if (token.is_nil()) {
        auto claims = claims_of_jobs(frame, jobs);
        if (!claims.empty()) {
          token = begin_claims(frame, claims);
          return outcome = "waits", "";
        }
      } else {
        answers = claim_answers(frame.state(), token);
        if (!answers) return outcome = "released", "";
        if (!answers->all_answered()) return outcome = "waits", "";
      }
      auto pushed = push_jobs(frame, jobs, answers ? &*answers : nullptr);
      if (answers) end_claims(frame, token, pushed.ok());
      if (!pushed.ok()) return outcome = std::string(wire_code(pushed.error().code)), "";
      for (const Pushed& each : *pushed)
        outcome += std::string(outcome.empty() ? "" : " ") + (each.created ? "created" : "ignored");
      return "";
    });
    return outcome;
  }
};

struct ClaimPartitions {
  RunWorld zero{claims_config(0)};
  RunWorld one{claims_config(1)};
  RunWorld two{claims_config(2)};
  Post post{{&zero, &one, &two}};

  std::string push(RunWorld& at, const NewJob& job) {
    Pushing pushing{&at, {job}};
    std::string outcome = pushing.decide();
    if (outcome != "waits") return outcome;
    post.carry_all();
    return pushing.decide();
  }
  // Documents of claims that are left anywhere, once all messages have arrived.
  size_t claims() {
    post.carry_all();
    size_t count = 0;
    for (RunWorld* each : {&zero, &one, &two})
      each->state().each_doc_key(DocKind::Claim, "", 99,
                                 [&](std::string_view) { return ++count, true; });
    return count;
  }
};

size_t jobs_known(const World& world) {
  size_t count = 0;
  world.state().each_job(JobId(), false, 99, [&](const Job&) { return ++count, true; });
  return count;
}

TEST(Claims, OnePartitionClaimsNothing) {
  RunWorld alone;
  alone.frame([](Frame& frame) {
    std::vector<NewJob> jobs = {unique_job(0), job_with_id(2)};
    EXPECT_TRUE(claims_of_jobs(frame, jobs).empty());
    return "";
  });
}

// --- ids

TEST(Claims, AnIdIsUsedOnceWhereverItIs) {
  ClaimPartitions world;
  const NewJob job = job_with_id(1);
  EXPECT_EQ(world.push(world.zero, job), "created");
  EXPECT_EQ(world.push(world.zero, job), "duplicate");
  EXPECT_EQ(world.push(world.one, job), "duplicate");
  EXPECT_EQ(world.push(world.two, job), "duplicate");
  EXPECT_EQ(claimed_by(world.one.state(), NameKind::Id, job.id.bytes()), uint16_t{0});
  EXPECT_EQ(claimed_by(world.two.state(), NameKind::Id, job.id.bytes()), std::nullopt);
}

TEST(Claims, AnIdThatIsInUseAtHomeIsRefused) {
  ClaimPartitions world;
  const NewJob job = job_with_id(1);
  EXPECT_EQ(world.push(world.one, job), "created");
  EXPECT_EQ(world.push(world.zero, job), "duplicate");
  EXPECT_EQ(world.claims(), 0u);
}

TEST(Claims, OfTwoAtOnceOneGetsTheId) {
  ClaimPartitions world;
  Pushing first{&world.zero, {job_with_id(1)}};
  Pushing second{&world.two, {job_with_id(1)}};
  first.decide();
  second.decide();
  world.post.carry_all();
  EXPECT_EQ(second.decide(), "duplicate");  // the home heard of the other one before
  EXPECT_EQ(first.decide(), "created");
}

TEST(Claims, AFailedPushReleasesWhatItWasGranted) {
  ClaimPartitions world;
  NewJob taken = job_with_id(2, 2);
  EXPECT_EQ(world.push(world.two, taken), "created");
  Pushing both{&world.zero, {job_with_id(1), taken}};
  both.decide();
  world.post.carry_all();
  EXPECT_EQ(both.decide(), "duplicate");
  EXPECT_EQ(world.claims(), 0u);
  EXPECT_EQ(world.push(world.two, job_with_id(1)), "created");
}

TEST(Claims, AForgottenIdIsFreeAgain) {
  ClaimPartitions world;
  const NewJob job = job_with_id(1);
  world.push(world.zero, job);
  world.zero.pass();
  world.zero.frame([&](Frame& frame) {
    ForgetJobs command;
    command.finished_before_ms = frame.now_ms();
    command.scan_max = command.at_most = 10;
    EXPECT_EQ(forget_jobs(frame, command).jobs, 1u);
    return "";
  });
  EXPECT_EQ(world.claims(), 0u);
  EXPECT_EQ(world.push(world.one, job), "created");
}

TEST(Claims, ARunKeepsItsIdUntilItIsForgotten) {
  ClaimPartitions world;
  PlanNode plan = group({step()});
  plan.id = RunId(Uuid::v7(kWorldStartMs, 7, 7, 2));
  Uuid token;
  world.zero.frame([&](Frame& frame) {
    token = begin_claims(frame, claims_of_run(frame.state(), plan));
    return "";
  });
  world.post.carry_all();
  world.zero.frame([&](Frame& frame) {
    const auto answers = claim_answers(frame.state(), token);
    EXPECT_EQ(first_refused(&*answers), nullptr);
    EXPECT_TRUE(create_run(frame, plan, "").ok());
    end_claims(frame, token, true);
    return "";
  });
  world.post.carry_all();
  EXPECT_EQ(claimed_by(world.two.state(), NameKind::Id, plan.id.bytes()), uint16_t{0});
  world.two.frame([&](Frame& frame) {
    EXPECT_EQ(create_run(frame, plan, "").error().code, ErrorCode::Duplicate);
    return "";
  });
  // Whoever has the id of a member finds its partition.
  world.zero.state().each_job(JobId(), false, 9, [](const Job& job) {
    EXPECT_EQ(job.id.partition(), 0);
    return true;
  });
  world.zero.pass();
  world.zero.forget();
  EXPECT_EQ(world.claims(), 0u);
}

TEST(Claims, WhatNobodyFinishesIsReleased) {
  ClaimPartitions world;
  Pushing lost{&world.zero, {job_with_id(1), unique_job(2)}};
  lost.decide();
  world.post.carry_all();
  for (RunWorld* each : {&world.zero, &world.one, &world.two}) each->restart();
  world.zero.frame([](Frame& frame) {
    EXPECT_EQ(release_stale_claims(frame, frame.now_ms()), 0u);
    EXPECT_EQ(release_stale_claims(frame, frame.now_ms() + 1), 1u);
    return "";
  });
  EXPECT_EQ(world.claims(), 0u);
  EXPECT_EQ(jobs_known(world.two), 0u);
  EXPECT_EQ(lost.decide(), "released");
}

// Given up before its home has answered: the answer finds nobody, and nothing stays held.
TEST(Claims, AnAnswerThatComesTooLateHoldsNothing) {
  ClaimPartitions world;
  Pushing late{&world.zero, {job_with_id(1)}};
  late.decide();
  world.zero.frame([&](Frame& frame) { return end_claims(frame, late.token, false), ""; });
  EXPECT_EQ(world.claims(), 0u);
  EXPECT_EQ(world.push(world.two, job_with_id(1)), "created");
}

// --- unique keys

TEST(Claims, AUniqueKeyIsHeldWhileItsJobIsLive) {
  ClaimPartitions world;
  const NewJob job = unique_job(1);
  EXPECT_EQ(world.push(world.zero, job), "created");
  EXPECT_EQ(world.push(world.zero, job), "duplicate");
  EXPECT_EQ(world.push(world.one, job), "duplicate");
  EXPECT_EQ(world.push(world.two, job), "duplicate");
  const std::string name = world.zero.take();
  world.post.carry_all();
  EXPECT_EQ(world.push(world.two, job), "duplicate");
  world.zero.ack(name);
  world.post.carry_all();
  EXPECT_EQ(world.push(world.two, job), "created");
  EXPECT_EQ(world.push(world.zero, job), "duplicate");
  EXPECT_EQ(world.claims(), 0u);
}

TEST(Claims, AnIgnoredPushShowsTheJobThatIsThere) {
  ClaimPartitions world;
  world.push(world.zero, unique_job(1));
  EXPECT_EQ(world.push(world.one, unique_job(1, OnConflict::Ignore)), "ignored");
  std::vector<NewJob> jobs = {unique_job(1, OnConflict::Ignore)};
  Uuid token;
  world.two.frame([&](Frame& frame) {
    token = begin_claims(frame, claims_of_jobs(frame, jobs));
    return "";
  });
  world.post.carry_all();
  world.two.frame([&](Frame& frame) {
    const NameAnswers answers = *claim_answers(frame.state(), token);
    EXPECT_EQ(answers.answers[0].holder, 0);
    auto pushed = push_jobs(frame, jobs, &answers);
    const Job& there = pushed_job(frame.state(), (*pushed)[0]);
    EXPECT_EQ(there.queue->name, "q");
    EXPECT_EQ(there.state, JobState::Available);
    EXPECT_FALSE((*pushed)[0].created);
    end_claims(frame, token, true);
    return "";
  });
}

TEST(Claims, AReplacedJobIsCancelledWhereItIs) {
  ClaimPartitions world;
  world.push(world.zero, unique_job(1));
  EXPECT_EQ(world.push(world.two, unique_job(1, OnConflict::Replace)), "created");
  world.post.carry_all();
  EXPECT_EQ(world.zero.take(), "");
  EXPECT_EQ(world.push(world.one, unique_job(1)), "duplicate");
  world.two.pass();
  world.post.carry_all();
  EXPECT_EQ(world.push(world.one, unique_job(1)), "created");
}

TEST(Claims, ARevivedJobHoldsItsKeyAgain) {
  ClaimPartitions world;
  world.push(world.zero, unique_job(1));
  const std::string name = world.zero.take();
  world.zero.nack({{world.zero.names.id(name), "", 0}, {.code = "E", .final = true}, false});
  world.post.carry_all();
  world.zero.revive(name);
  world.post.carry_all();
  EXPECT_EQ(world.push(world.two, unique_job(1)), "duplicate");
}

// --- jobs that are handed over

TEST(Claims, AHandedOverJobKeepsItsNames) {
  for (uint16_t home : {uint16_t{0}, uint16_t{1}, uint16_t{2}}) {
    ClaimPartitions world;
    NewJob job = unique_job(home);
    job.id = job_with_id(home).id;
    for (int i = 0; home_of(NameKind::Limit, "", job.limit, 3) != 1; ++i)
      job.limit = "limit" + std::to_string(i);
    EXPECT_EQ(world.push(world.zero, job), "created");
    world.post.carry_all();
    EXPECT_NE(world.one.state().find_job(job.id), nullptr);
    EXPECT_FALSE(world.one.state().find_job(job.id)->is_elsewhere());
    for (RunWorld* each : {&world.zero, &world.one, &world.two})
      EXPECT_EQ(world.push(*each, job), "duplicate") << home;
    NewJob other = job;
    other.id = {};
    for (RunWorld* each : {&world.zero, &world.one, &world.two})
      EXPECT_EQ(world.push(*each, other), "duplicate") << home;
    const auto holder =
        claimed_by(std::vector<RunWorld*>{&world.zero, &world.one, &world.two}[home]->state(),
                   NameKind::Id, job.id.bytes());
    EXPECT_EQ(holder, home == 1 ? std::nullopt : std::optional<uint16_t>(1));
  }
}

// --- Idempotency-Keys

TEST(Claims, AKeyIsHeldByTheKeeperOfItsAnswer) {
  ClaimPartitions world;
  auto ask = [&](RunWorld& at) {
    const auto own = at.state().partition();
    Uuid token;
    at.frame([&](Frame& frame) {
      NameClaim claim{NameKind::IdempotencyKey, "digest", 1, own, frame.now_ms() + 1000};
      token = begin_claims(frame, {claim});
      return "";
    });
    world.post.carry_all();
    return *claim_answers(at.state(), token);
  };
  EXPECT_TRUE(ask(world.zero).answers[0].granted);
  const NameAnswers refused = ask(world.two);
  EXPECT_FALSE(refused.answers[0].granted);
  EXPECT_EQ(refused.answers[0].holder, 0);
  EXPECT_EQ(claimed_by(world.one.state(), NameKind::IdempotencyKey, "digest"), uint16_t{0});
  world.one.advance(1001);
  world.one.frame([](Frame& frame) {
    EXPECT_EQ(forget_documents(frame, DocKind::Claim, 10), 1u);
    return "";
  });
  EXPECT_TRUE(ask(world.two).answers[0].granted);
}

TEST(Claims, AKeyWhoseAnswerIsKeptAtHomeIsRefused) {
  ClaimPartitions world;
  world.one.frame(
      [](Frame& frame) { return put_doc(frame, DocKind::Idempotency, "digest", "kept"), ""; });
  Uuid token;
  world.zero.frame([&](Frame& frame) {
    token = begin_claims(frame, {{NameKind::IdempotencyKey, "digest", 1, 0}});
    return "";
  });
  world.post.carry_all();
  EXPECT_EQ(claim_answers(world.zero.state(), token)->answers[0].holder, 1);
}

// --- faults

// Many pushes with few names, at random partitions, over a way that repeats and restarts: of each
// unique key there is never more than one live job, and nothing stays held when all have ended.
TEST(Claims, NamesHaveOneUserWhateverHappens) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    ClaimPartitions world;
    RunWorld* worlds[] = {&world.zero, &world.one, &world.two};
    uint64_t draws = seed * 1'000'000;
    auto draw = [&](uint64_t most) { return mix64(++draws) % most; };
    std::vector<Pushing> calls;
    for (int i = 0; i < 300; ++i) {
      RunWorld& at = *worlds[draw(3)];
      const uint64_t what = draw(10);
      if (what < 2) {
        NewJob job = unique_job(static_cast<uint16_t>(draw(3)),
                                draw(2) == 0 ? OnConflict::Reject : OnConflict::Ignore);
        if (draw(3) == 0) job.id = job_with_id(static_cast<uint16_t>(draw(3)), draw(4)).id;
        calls.push_back({&at, {job}});
        (void)calls.back().decide();
      } else if (what < 4 && !calls.empty()) {
        const size_t which = draw(calls.size());
        if (calls[which].decide() != "waits") calls.erase(calls.begin() + static_cast<long>(which));
      } else if (what < 8) {
        world.post.next(static_cast<uint16_t>(draw(3)), at.state().partition());
      } else if (what == 8) {
        at.pass();
      } else {
        at.restart_from_rows();
      }
      std::map<std::string, int> live;
      std::map<JobId, int> ids;
      for (RunWorld* each : worlds)
        each->state().each_job_here(JobId(), false, 9'999, [&](const Job& job) {
          if ((kLiveStates >> static_cast<int>(job.state) & 1) != 0) ++live[job.unique_key];
          ++ids[job.id];
          return true;
        });
      for (const auto& [key, count] : live) ASSERT_EQ(count, 1) << seed << " " << key;
      for (const auto& [id, count] : ids) ASSERT_EQ(count, 1) << seed << " " << id.text();
    }
    world.post.carry_all();
    for (RunWorld* each : worlds)
      each->frame([](Frame& frame) { return release_stale_claims(frame, frame.now_ms() + 1), ""; });
    world.post.carry_all();
    for (RunWorld* each : worlds) {
      each->pass_all();
      each->frame([](Frame& frame) {
        ForgetJobs command;
        command.finished_before_ms = frame.now_ms();
        command.scan_max = command.at_most = 9'999;
        return forget_jobs(frame, command), "";
      });
    }
    EXPECT_EQ(world.claims(), 0u) << seed;
  }
}

}  // namespace
}  // namespace pawl
