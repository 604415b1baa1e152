#include "kernel/testing/random_life.h"

#include "kernel/compositions/run_flow.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/run_commands.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/run_world.h"

namespace pawl {

std::string RandomLife::step(World& world) {
  world.now_ms += static_cast<int64_t>(pick(3) == 0 ? pick(2000) : pick(3));
  std::string due = world.advance(0);
  switch (pick(24)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return due + push(world);
    case 4:
    case 5:
    case 6:
      return due + fetch(world);
    case 7:
    case 8:
      return due + world.ack(job(world), "", 0, "1");
    case 9:
      return due + world.nack(job(world));
    case 10:
      return due + world.give_back(job(world));
    case 11:
      return due + world.cancel(job(world));
    case 12:
      return due + world.revive(job(world));
    case 13:
      return due + world.drop_dead(job(world));
    case 14:
      return due + forget(world);
    case 15:
      return due + note(world);
    case 16:
      return due + world.extend(job(world), "w1", static_cast<int64_t>(pick(5000) + 1));
    case 17:
      return due + document(world);
    case 18:
      return due + cron(world);
    case 19:
    case 20:
    case 21:
      return due + run(world);
    case 22:
      return due + change_run(world);
    default:
      return due + settings(world);
  }
}

std::string RandomLife::push(World& world) {
  std::vector<NewJob> jobs;
  for (uint64_t i = 0, count = 1 + pick(3); i < count; ++i) jobs.push_back(random_job(world));
  return world.push(jobs);
}

NewJob RandomLife::random_job(const World& world) {
  TestSpec spec;
  spec.retry.max_attempts = static_cast<uint32_t>(pick(3));
  spec.retry.no_jitter = pick(2) == 0;
  spec.retry.on_exhaustion = static_cast<OnExhaustion>(pick(2));
  spec.timeout_ms = pick(4) == 0 ? 3000 : 0;
  NewJob job;
  job.queue = queue();
  job.priority = static_cast<int32_t>(pick(3)) - 1;
  if (pick(4) == 0) job.id = JobId(Uuid::v7(kWorldStartMs, pick(20), 7, 0));
  if (pick(4) == 0) job.scheduled_ms = world.now_ms + static_cast<int64_t>(pick(3000));
  if (pick(5) == 0) job.expires_ms = world.now_ms + 1 + static_cast<int64_t>(pick(3000));
  job.pending = pick(12) == 0;
  if (pick(4) == 0)
    job.unique = {.key = std::string(16, static_cast<char>('k' + pick(3))),
                  .states = static_cast<uint32_t>(pick(512)),
                  .period_ms = static_cast<int64_t>(pick(2) * 3000),
                  .on_conflict = static_cast<OnConflict>(pick(4))};
  if (pick(4) == 0) {
    job.limit = pick(2) == 0 ? "x" : "y";
    job.limit_settings = {.concurrency = static_cast<uint32_t>(pick(3)),
                          .rate = static_cast<uint32_t>(pick(3)),
                          .period_ms = 1000};
  }
  if (pick(20) == 0) job.queue_rate = static_cast<uint32_t>(1 + pick(5));
  return new_job(job, spec);
}

PlanNode RandomLife::random_plan(const World& world, int depth) {
  constexpr const char* kGuards[] = {
      "", "", "", "", "false", "size(results) > 0", "results[0] == 1"};
  if (depth > 0 && (depth == 3 || pick(3) == 0)) {
    auto kind = static_cast<RunKind>(1 + pick(5));
    if (kind == RunKind::Map) {
      PlanNode plan =
          map_over(pick(2) == 0 ? "[1,2,3]" : "results", static_cast<uint32_t>(pick(3)));
      plan.children[0] = codec::encoded(random_plan(world, 0));
      return plan;
    }
    std::vector<PlanNode> children;
    for (uint64_t i = 0, count = 1 + pick(3); i < count; ++i) {
      children.push_back(random_plan(world, depth - 1));
      children.back().when = kGuards[pick(std::size(kGuards))];
      for (uint32_t j = 0; j < i && kind == RunKind::Dag; ++j)
        if (pick(2) == 0) children.back().depends_on.push_back(j);
    }
    PlanNode plan = compose(kind, children);
    plan.callbacks.resize(kCallbackRoles);
    for (std::string& callback : plan.callbacks)
      if (pick(2) == 0) callback = random_plan(world, 0).job;
    if (pick(6) == 0) plan.id = RunId(Uuid::v7(kWorldStartMs, pick(3), 8, 0));
    plan.timeout_ms = pick(5) == 0 ? static_cast<int64_t>(1 + pick(4000)) : 0;
    plan.on_timeout = static_cast<RunTimeout>(pick(2));
    return plan;
  }
  PlanNode node;
  node.job = codec::encoded(random_job(world));
  return node;
}

std::string RandomLife::run(World& world) {
  PlanNode plan = random_plan(world, 3);
  return world.frame([&](Frame& frame) { return world.refused(create_run(frame, plan, "")); });
}

std::string RandomLife::change_run(World& world) {
  RunId id = world.names.run_id("r" + std::to_string(1 + pick(30)));
  uint64_t what = pick(4);
  return world.frame([&](Frame& frame) {
    RunId cursor;
    if (what == 0) return world.refused(cancel_run(frame, id, "asked"));
    if (what == 1) return forget_runs(frame, world.now_ms - 2000, 3, cursor), std::string();
    return world.refused(retry_run(frame, id));
  });
}

std::string RandomLife::fetch(World& world) {
  FetchJobs command;
  command.queues = {queue(), queue()};
  command.count = static_cast<uint32_t>(1 + pick(4));
  command.worker = pick(2) == 0 ? "w1" : "w2";
  command.visibility_ms = static_cast<int64_t>(1 + pick(4000));
  return world.fetch(command);
}

std::string RandomLife::forget(World& world) {
  int64_t before_ms = world.now_ms - static_cast<int64_t>(pick(4000));
  return world.frame([&](Frame& frame) {
    forget_jobs(frame, {.from = JobId(),
                        .finished_before_ms = before_ms,
                        .at_most = 1 + pick(8),
                        .scan_max = 1 + pick(50)});
    return std::string();
  });
}

std::string RandomLife::note(World& world) {
  JobId id = world.names.id(job(world));
  uint64_t what = pick(3);
  return world.frame([&](Frame& frame) {
    if (what == 0) return world.refused(save_checkpoint(frame, {id, "{}"}));
    if (what == 1) return world.refused(delete_checkpoint(frame, id));
    return world.refused(report_progress(frame, {id, "0.5", "m", ""}));
  });
}

std::string RandomLife::document(World& world) {
  DocKind kind = pick(2) == 0 ? DocKind::Idempotency : DocKind::Webhook;
  std::string key = "d" + std::to_string(pick(4));
  uint64_t what = pick(3);
  int64_t expires_ms = world.now_ms + static_cast<int64_t>(pick(3000));
  return world.frame([&](Frame& frame) {
    if (what == 0) return world.refused(delete_doc(frame, kind, key));
    if (what == 1) return forget_documents(frame, kind, 2), std::string();
    return put_doc(frame, kind, key, std::to_string(expires_ms), expires_ms), std::string();
  });
}

std::string RandomLife::cron(World& world) {
  CronSpec spec;
  spec.name = "c" + std::to_string(pick(3));
  spec.expression = "* * * * *";
  spec.timezone = "UTC";
  spec.overlap = static_cast<CronOverlap>(pick(4));
  spec.paused = pick(4) == 0;
  spec.job = codec::encoded(new_job({.queue = queue()}));
  uint64_t what = pick(4);
  return world.frame([&](Frame& frame) {
    if (what == 0) return world.refused(delete_cron(frame, spec.name));
    if (what == 1) return world.refused(trigger_cron(frame, spec.name));
    return world.refused(put_cron(frame, spec));
  });
}

std::string RandomLife::settings(World& world) {
  if (pick(2) == 0) return world.activate(job(world));
  bool paused = pick(3) == 0;
  uint64_t depth = pick(2) * 30;
  return world.configure(queue(), [&](QueueSettings& set) {
    set.paused = paused;
    set.depth_max = depth;
  });
}

}  // namespace pawl
