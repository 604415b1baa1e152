// Workers: they fetch, finish and renew; and they die, stall past their lease, and repeat requests.
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"
#include "sim/crowd.h"

namespace pawl::sim {

void Crowd::fetch(Worker& worker) {
  std::vector<std::string> from;
  for (const std::string& queue : queues_)
    if (random_.percent(60)) from.push_back(queue);
  if (from.empty()) from = queues_;
  auto task = std::make_shared<FetchTask>(world_.desk(), from,
                                          1 + static_cast<uint32_t>(random_.below(6)), worker.name);
  if (random_.percent(50)) task->visibility_ms = random_.between(1, 20'000);
  if (!calm_ && random_.percent(40)) task->wait_ms = random_.between(1, 30'000);
  task->wants_mark = random_.percent(50);
  task->reply_is_lost = random_.percent(world_.mix().reply_lost);
  if (task->reply_is_lost) verdict_.reach(Probe::ReplyLost);
  task->on_reply = [&worker, raw = task.get(), this] {
    for (const Lease& lease : raw->leases) {
      worker.held.push_back({lease});
      learn(lease.job);
    }
  };
  verdict_.tell(worker.name + " fetches " + std::to_string(task->count) + " from " +
                std::to_string(from.size()) + " queues" + (task->wait_ms > 0 ? ", waits" : ""));
  world_.submit(task);
  if (!task->answered() && random_.percent(3)) task->abandon();
}

void Crowd::finish_one(Worker& worker, Held& held, bool late) {
  uint64_t how = calm_ ? 0 : random_.below(100);
  JobOp op = how < 60 ? JobOp::Ack : how < 85 ? JobOp::Nack : JobOp::Return;
  LeaseClaim claim;
  claim.job = held.lease.job;
  // A caller may omit the attempt, or both; but not when it knows that it is late.
  if (late || random_.percent(80)) claim.worker = worker.name;
  if (late || random_.percent(60)) claim.attempt = held.lease.attempt;
  JobError error;
  error.code = error.type = random_.percent(20)   ? "fatal"
                            : random_.percent(20) ? "auth.denied"
                                                  : "io";
  error.final = random_.percent(10);
  bool again = held.acked;
  held.acked = true;
  send(worker.name + " " + std::string(op_name(op)) + " " + short_name(claim.job) + " attempt " +
           std::to_string(held.lease.attempt) +
           (late    ? ", late"
            : again ? ", again"
                    : ""),
       [&] {
         auto task = job_task(op, claim);
         task->error = error;
         task->sent_before = again;
         if (late && world_.plants().stale_ack_accepted) task->sent = {claim.job, "", 0};
         return task;
       });
}

void Crowd::finish(Worker& worker) {
  bool late = !worker.stalled.empty() && (worker.held.empty() || random_.percent(30));
  std::vector<Held>& from = late ? worker.stalled : worker.held;
  if (from.empty()) return;
  size_t which = random_.below(from.size());
  finish_one(worker, from[which], late);
  if (random_.percent(85)) from.erase(from.begin() + static_cast<ptrdiff_t>(which));
}

void Crowd::heartbeat(Worker& worker) {
  if (worker.held.empty()) return;
  const Held& held = random_.pick(worker.held);
  LeaseClaim claim{held.lease.job, worker.name, random_.percent(50) ? held.lease.attempt : 0};
  int64_t lease_ms = random_.percent(50) ? random_.between(1, 30'000) : 0;
  send(worker.name + " heartbeat " + short_name(claim.job), [&] {
    auto task = job_task(JobOp::Heartbeat, claim);
    task->lease_ms = lease_ms;
    return task;
  });
}

// A false request for a job: under another worker's name, or with an attempt that never existed.
void Crowd::lie(const Worker& worker) {
  constexpr JobOp kLies[] = {JobOp::Ack, JobOp::Nack, JobOp::Return, JobOp::Heartbeat};
  LeaseClaim claim;
  claim.job = draw_known_job();
  claim.worker = random_.percent(50) ? worker.name : "nobody";
  claim.attempt = random_.percent(50) ? static_cast<uint32_t>(random_.below(4)) : ~0u;
  JobOp op = kLies[random_.below(std::size(kLies))];
  verdict_.reach(Probe::WorkerLied);
  send(worker.name + " lies: " + std::string(op_name(op)) + " " + short_name(claim.job) + " as " +
           claim.worker + ", attempt " + std::to_string(claim.attempt),
       [&] { return job_task(op, claim); });
}

void Crowd::worker_acts() {
  if (random_.percent(25)) return scripts_.performer_acts();
  Worker& worker = workers_[random_.below(workers_.size())];
  const FaultMix& mix = world_.mix();
  if (random_.percent(mix.worker_lies)) return lie(worker);
  if (random_.percent(mix.worker_dies)) {
    verdict_.reach(Probe::WorkerDied);
    verdict_.tell(worker.name + " dies, holding " + std::to_string(worker.held.size()));
    worker.held.clear();
    worker.stalled.clear();
    return;
  }
  if (!worker.held.empty() && random_.percent(mix.worker_stalls)) {
    verdict_.reach(Probe::WorkerStalled);
    verdict_.tell(worker.name + " stalls, holding " + std::to_string(worker.held.size()));
    worker.stalled.insert(worker.stalled.end(), worker.held.begin(), worker.held.end());
    worker.held.clear();
    return;
  }
  uint64_t what = random_.below(100);
  if (what < 40) return fetch(worker);
  if (what < 90) return finish(worker);
  heartbeat(worker);
}

// --- the end

void Crowd::open_all_gates() {
  calm_ = true;
  while (!on_the_way_.empty()) deliver_late();
  world_.settle();  // so that new arrivals are visible below
  for (const auto& [name, cron] : std::map(world_.model().crons())) {
    std::string cron_name = name;
    call("delete cron " + name, [=](Frame& frame) { (void)delete_cron(frame, cron_name).ok(); });
  }
  for (const std::string& queue : queues_)
    call("resume " + queue, [=](Frame& frame) {
      (void)pawl::configure_queue(frame, queue, [](QueueSettings& now) { now = {}; }).ok();
    });
  activate_all();
  for (Worker& worker : workers_) worker.held.clear();
}

void Crowd::activate_all() {
  for (const auto& [id, job] : world_.model().jobs())
    if (job.state == JobState::Pending && !job.forgotten) {
      LeaseClaim claim;
      claim.job = id;
      send("activate " + short_name(id), [&] { return job_task(JobOp::Activate, claim); });
    }
}

void Crowd::work_off() {
  activate_all();
  scripts_.work_off();
  Worker& worker = workers_[0];
  auto task = std::make_shared<FetchTask>(world_.desk(), queues_, 1'000, worker.name);
  task->wants_mark = true;
  task->on_reply = [&worker, raw = task.get()] {
    for (const Lease& lease : raw->leases) worker.held.push_back({lease});
  };
  verdict_.tell("work off");
  world_.submit(task);
  world_.settle();
  for (Held& held : std::exchange(worker.held, {})) finish_one(worker, held, true);
}

}  // namespace pawl::sim
