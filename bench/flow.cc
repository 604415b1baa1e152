#include "flow.h"

#include <algorithm>
#include <vector>

#include "failure.h"
#include "reply_scan.h"
#include "requests.h"
#include "samples.h"

namespace pawl::bench {
namespace {

constexpr int kFetchWaitMs = 500;
// With fewer jobs than this left per worker, an ack that also waits for more might be answered late
// for want of any, and stretch the run by that wait.
constexpr int64_t kDrainingJobsPerWorker = 10;
constexpr auto kSilenceMax = std::chrono::seconds(10);

class Flow : public ReplyHandler {
 public:
  Flow(HttpClient& client, const FlowPlan& plan)
      : client_(client),
        plan_(plan),
        fetch_(fetch_request(plan.fetch_count, kFetchWaitMs)),
        ack_(ack_template()),
        ack_and_fetch_(ack_and_fetch_template(plan.fetch_count, kFetchWaitMs)),
        workers_(static_cast<size_t>(plan.workers)) {}

  Result<FlowOutcome> run();
  void on_reply(const Reply& reply) override;

 private:
  enum class Doing { Nothing, Fetching, Acking, AckingAndFetching };
  struct Worker {
    Doing doing = Doing::Nothing;
    std::vector<std::string> ids;  // fetched; the strings are reused
    size_t held = 0;
    size_t next = 0;  // first id not yet acked
  };

  bool producing() const { return !stopped_ && produce_sent_ < plan_.produce_max; }
  int64_t jobs_promised() const { return produce_sent_ * plan_.jobs_per_produce; }
  bool draining() const {
    return !producing() && jobs_promised() - fetched_ <= kDrainingJobsPerWorker * plan_.workers;
  }
  bool done() const;
  bool anyone_fetching() const;
  void produce(int connection);
  void resume_producers();
  void on_produced(const Reply& reply);
  void on_worker_reply(const Reply& reply);
  bool take_jobs(Worker& worker, const Reply& reply);
  void work_on(int connection, Worker& worker);
  void refuse(std::string_view why, const Reply& reply);

  HttpClient& client_;
  const FlowPlan& plan_;
  const std::string fetch_;
  Template ack_;
  Template ack_and_fetch_;
  std::string bulk_buffer_;
  std::vector<Worker> workers_;
  std::vector<ScannedJob> scanned_;
  std::vector<int> paused_;  // idle producers' connections

  Clock::time_point begin_;
  Clock::time_point deadline_;
  Clock::time_point last_counted_;
  bool stopped_ = false;
  int64_t produce_sent_ = 0;
  int64_t produce_answered_ = 0;
  int64_t fetched_ = 0;
  int64_t acked_ = 0;
  FlowOutcome outcome_;
  std::string failure_;
};

Result<FlowOutcome> Flow::run() {
  begin_ = Clock::now();
  last_counted_ = begin_;
  deadline_ = begin_ + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(plan_.seconds));
  for (int i = 0; i < plan_.producers; ++i) produce(i);
  for (int i = 0; i < plan_.workers; ++i) {
    work_on(plan_.producers + i, workers_[static_cast<size_t>(i)]);
  }
  // Parked fetches are waited for, though not timed: one that outlives its connection might take a
  // job of the next flow, and one that still brings a job shows a job too many.
  while (!done() || anyone_fetching()) {
    PAWL_TRY_DO(client_.poll(std::chrono::milliseconds(100), *this));
    if (!failure_.empty()) return fail("{}", failure_);
    const auto now = Clock::now();
    if (now - last_counted_ > kSilenceMax) {
      return fail("no progress for 10 s: {} jobs put in, {} fetched, {} acked",
                  produce_answered_ * plan_.jobs_per_produce, fetched_, acked_);
    }
    if (now >= deadline_) stopped_ = true;
  }
  outcome_.jobs = plan_.workers > 0 ? acked_ : produce_answered_ * plan_.jobs_per_produce;
  outcome_.seconds = seconds_between(begin_, last_counted_);
  return outcome_;
}

bool Flow::done() const {
  if (producing() || produce_answered_ < produce_sent_) return false;
  return plan_.workers == 0 || acked_ == jobs_promised();
}

bool Flow::anyone_fetching() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.doing == Doing::Fetching; });
}

void Flow::on_reply(const Reply& reply) {
  if (!failure_.empty()) return;
  ++outcome_.requests;
  if (reply.connection < plan_.producers) {
    on_produced(reply);
  } else {
    on_worker_reply(reply);
  }
}

void Flow::produce(int connection) {
  if (!producing()) return;
  const bool full = plan_.workers > 0 && jobs_promised() - acked_ > plan_.outstanding_max;
  if (full) {
    paused_.push_back(connection);
    return;
  }
  ++produce_sent_;
  client_.send(connection, plan_.produce);
}

void Flow::resume_producers() {
  while (!paused_.empty() && producing() && jobs_promised() - acked_ <= plan_.outstanding_max) {
    const int connection = paused_.back();
    paused_.pop_back();
    produce(connection);
  }
}

void Flow::on_produced(const Reply& reply) {
  if (reply.status != plan_.produce_status) return refuse("unexpected status for a push", reply);
  if (!plan_.produce_expect.empty() && !contains(reply.body, plan_.produce_expect)) {
    return refuse(fmt::format("{} is missing from the reply", plan_.produce_expect), reply);
  }
  ++produce_answered_;
  last_counted_ = Clock::now();
  if (last_counted_ >= deadline_) stopped_ = true;
  produce(reply.connection);
}

void Flow::on_worker_reply(const Reply& reply) {
  Worker& worker = workers_[static_cast<size_t>(reply.connection - plan_.producers)];
  if (reply.status != 200) return refuse("unexpected status for a worker's call", reply);
  const Doing did = worker.doing;
  worker.doing = Doing::Nothing;
  if (did == Doing::Acking || did == Doing::AckingAndFetching) {
    const size_t acks = plan_.ack == AckMode::Bulk ? worker.held : 1;
    if (plan_.ack == AckMode::Bulk) {
      const int64_t completed = count_of(reply.body, "\"state\":\"completed\"");
      if (completed != static_cast<int64_t>(acks)) {
        return refuse(fmt::format("{} of {} acks were taken", completed, acks), reply);
      }
    }
    worker.next += acks;
    acked_ += static_cast<int64_t>(acks);
    last_counted_ = Clock::now();
    resume_producers();
  }
  if (did == Doing::Fetching || did == Doing::AckingAndFetching) {
    if (!take_jobs(worker, reply)) return;
  }
  work_on(reply.connection, worker);
}

bool Flow::take_jobs(Worker& worker, const Reply& reply) {
  scanned_.clear();
  if (!scan_jobs(reply.body, scanned_)) {
    refuse("no readable \"jobs\" in the reply", reply);
    return false;
  }
  if (worker.ids.size() < scanned_.size()) worker.ids.resize(scanned_.size());
  worker.held = scanned_.size();
  worker.next = 0;
  for (size_t i = 0; i < scanned_.size(); ++i) {
    if (scanned_[i].id.size() != kJobIdBytes) {
      refuse("a job id that is not a UUID", reply);
      return false;
    }
    worker.ids[i].assign(scanned_[i].id);
    if (contains(scanned_[i].text, kCallbackType)) ++outcome_.callbacks;
  }
  fetched_ += static_cast<int64_t>(scanned_.size());
  if (fetched_ > jobs_promised()) {
    refuse("more jobs came out than were put in", reply);
    return false;
  }
  return true;
}

void Flow::work_on(int connection, Worker& worker) {
  if (worker.next == worker.held) {
    const bool nothing_left = !producing() && fetched_ == jobs_promised();
    if (nothing_left) return;
    worker.doing = Doing::Fetching;
    return client_.send(connection, fetch_);
  }
  if (plan_.ack == AckMode::Bulk) {
    worker.ids.resize(worker.held);
    worker.doing = Doing::Acking;
    return client_.send(connection, bulk_ack(worker.ids, bulk_buffer_));
  }
  const std::string& id = worker.ids[worker.next];
  const bool last = worker.next + 1 == worker.held;
  if (plan_.ack == AckMode::AndFetch && last && !draining()) {
    worker.doing = Doing::AckingAndFetching;
    return client_.send(connection, ack_and_fetch_.with(id));
  }
  worker.doing = Doing::Acking;
  client_.send(connection, ack_.with(id));
}

void Flow::refuse(std::string_view why, const Reply& reply) {
  if (failure_.empty()) failure_ = fmt::format("{}:\n{}", why, excerpt(reply));
}

}  // namespace

Result<FlowOutcome> run_flow(const Address& address, const FlowPlan& plan) {
  return run_flow(std::span(&address, 1), plan);
}

Result<FlowOutcome> run_flow(std::span<const Address> addresses, const FlowPlan& plan) {
  PAWL_TRY(const std::unique_ptr<HttpClient> client,
           HttpClient::connect(addresses, plan.producers + plan.workers));
  return Flow(*client, plan).run();
}

}  // namespace pawl::bench
