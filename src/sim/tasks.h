// Simulated requests: each decides by calling the kernel, as the API does, keeps its reply, and is
// checked when the reply is released.
//
// A task may leave a mark in the journal (a document put in the same frame), which marks the exact
// place of its decision: there the model determines the expected answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/task.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/push_jobs.h"
#include "sim/acknowledged.h"
#include "sim/model.h"
#include "sim/verdict.h"

namespace pawl::sim {

// Data shared by all tasks of one world.
struct Desk {
  Verdict& verdict;
  JournalModel& model;
  Acknowledged& acknowledged;
  uint64_t durable_head = 0;  // kept by the world
};

class SimTask : public Task {
 public:
  explicit SimTask(Desk& desk) : desk_(desk) {}

  std::optional<Parking> decide(Frame& frame, bool last_call) final;
  void durable(Wakes&) final;
  void refuse(const Error& error) final;

  // The journal has been read up to this task's mark.
  virtual void judge_at_mark() {}
  // The reply was released: it must agree with the durable journal, and stay true.
  virtual void judge_reply() {}

  bool wants_mark = false;
  bool reply_is_lost = false;
  std::function<void()> on_reply;
  std::function<void()> on_refused;

  uint64_t mark() const { return mark_; }
  bool answered() const { return answered_; }
  // The reply may not leave before this record is durable; set when the batch is closed.
  uint64_t needs_record = 0;

 protected:
  virtual std::optional<Parking> run(Frame& frame, bool last_call) = 0;
  void leave_mark(Frame& frame);
  Desk& desk_;
  int64_t decided_ms_ = 0;

 private:
  uint64_t mark_ = 0;
  bool answered_ = false;
};

class PushTask : public SimTask {
 public:
  PushTask(Desk& desk, std::vector<NewJob> new_jobs) : SimTask(desk), jobs(std::move(new_jobs)) {}

  const std::vector<NewJob> jobs;
  std::optional<Result<std::vector<Pushed>>> reply;

  void judge_at_mark() override;
  void judge_reply() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  bool should_be_refused() const;
};

enum class JobOp : uint8_t {
  Read,
  Ack,
  Nack,
  Return,
  Heartbeat,
  Cancel,
  Activate,
  Revive,
  DeleteDead,
  SaveCheckpoint,
  DeleteCheckpoint,
  Progress,
};
std::string_view op_name(JobOp op);

// One request about one job.
class JobTask : public SimTask {
 public:
  JobTask(Desk& desk, JobOp job_op, LeaseClaim lease_claim)
      : SimTask(desk), op(job_op), claim(lease_claim), sent(std::move(lease_claim)) {}

  const JobOp op;
  const LeaseClaim claim;  // the caller's lease
  LeaseClaim sent;         // what arrives; differs only where a bug is planted
  JobError error;
  int64_t lease_ms = 0;
  std::string text;  // result, checkpoint or progress
  bool sent_before = false;

  bool ok = false;

  void judge_at_mark() override;
  void judge_reply() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  bool perform(Frame& frame);
  bool should_succeed() const;
  bool was_cancelled_under(const ModelJob& job, const ModelPoint& end) const;
  void judge_effect(const ModelJob& job) const;
  void judge_read() const;

  uint64_t version_ = 0;  // of the job when the decision was done; 0: not there
  JobState state_ = JobState::None;
  uint32_t attempt_ = 0;
};

struct Lease {
  JobId job;
  uint32_t attempt = 0;
  uint64_t sequence = 0;  // of the event that made it
  int64_t until_ms = 0;
};

class FetchTask : public SimTask {
 public:
  FetchTask(Desk& desk, std::vector<std::string> from, uint32_t fetch_count,
            std::string worker_name)
      : SimTask(desk),
        queues(std::move(from)),
        count(fetch_count),
        worker(std::move(worker_name)) {}

  const std::vector<std::string> queues;
  const uint32_t count;
  const std::string worker;
  int64_t visibility_ms = 0;
  int64_t wait_ms = 0;

  std::vector<Lease> leases;
  // The results of earlier steps of their chains when these jobs were leased.
  struct SeenResult {
    JobId step;
    std::string text;
  };
  std::vector<SeenResult> results;

  void judge_at_mark() override;
  void judge_reply() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  void read_results(const State& state, const Job& job);

  int64_t until_ms_ = 0;
  bool parked_ = false;
};

// A setting, a document or a cron: one call, no lease involved.
class CallTask : public SimTask {
 public:
  CallTask(Desk& desk, std::function<void(Frame&)> kernel_call)
      : SimTask(desk), call(std::move(kernel_call)) {}

  const std::function<void(Frame&)> call;

 protected:
  std::optional<Parking> run(Frame& frame, bool) override {
    call(frame);
    return std::nullopt;
  }
};

}  // namespace pawl::sim
