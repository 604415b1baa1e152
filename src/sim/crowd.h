// Crowd: the simulated clients and workers. They know only what replies told them, and forget,
// repeat requests, stall and die.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/ojs/plan_node.h"
#include "sim/chance.h"
#include "sim/script_crowd.h"
#include "sim/stage.h"

namespace pawl::sim {

class Crowd {
 public:
  Crowd(Stage& world, SimRandom& random, Verdict& verdict);

  void client_acts();
  void worker_acts();
  // The end: no new requests; all waiting work is released and done.
  void open_all_gates();
  void work_off();

  uint64_t pushed() const { return pushed_; }

 private:
  struct Held {
    Lease lease;
    bool acked = false;  // a second ack is a duplicate
  };
  struct Worker {
    std::string name;
    std::vector<Held> held;
    std::vector<Held> stalled;  // it will ack these late
  };

  NewJob draw_job();
  void draw_timing(NewJob& job, JobSpec& spec);
  void draw_retry(JobSpec& spec);
  void draw_unique(NewJob& job);
  void draw_limits(NewJob& job);
  JobId draw_known_job();
  JobId draw_client_id();

  NewJob draw_member();
  PlanNode draw_node(int depth);
  PlanNode draw_plan(int depth);
  void draw_callbacks(PlanNode& plan);
  RunId draw_run(RunState wanted);
  void learn_run(const RunId& run);
  void create_run();
  void about_a_run();

  void push();
  void about_a_job(JobOp op);
  void configure_queue();
  void cron();
  void document();
  void fetch(Worker& worker);
  void finish(Worker& worker);
  void finish_one(Worker& worker, Held& held, bool late);
  void heartbeat(Worker& worker);
  void lie(const Worker& worker);
  void call(std::string story, std::function<void(Frame&)> kernel_call);

  // Sends the task from `make`; the network may lose the request, send it twice or lose the reply.
  void send(const std::string& story, const std::function<std::shared_ptr<SimTask>()>& make);
  void deliver_late();
  std::shared_ptr<JobTask> job_task(JobOp op, LeaseClaim claim);
  void learn(const JobId& job);
  void activate_all();

  Stage& world_;
  SimRandom& random_;
  Verdict& verdict_;
  std::vector<std::string> queues_;
  std::vector<Worker> workers_;
  std::vector<JobId> known_;
  std::vector<RunId> runs_;
  std::vector<JobId> client_ids_;
  std::vector<std::pair<std::string, std::shared_ptr<SimTask>>> on_the_way_;
  uint64_t pushed_ = 0;
  uint64_t serial_ = 0;
  bool calm_ = false;
  ScriptCrowd scripts_;
};

}  // namespace pawl::sim
