#include "open_loop.h"

#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "failure.h"
#include "reply_scan.h"
#include "requests.h"

namespace pawl::bench {
namespace {

constexpr int kFetchWaitMs = 500;
constexpr auto kSilenceMax = std::chrono::seconds(10);
constexpr unsigned long kTimerSlackNanos = 1000;

class OpenLoop : public ReplyHandler {
 public:
  OpenLoop(HttpClient& client, const OpenLoopPlan& plan)
      : client_(client),
        plan_(plan),
        total_(static_cast<int64_t>(static_cast<double>(plan.jobs_per_second) * plan.seconds)),
        fetch_(fetch_request(1, kFetchWaitMs)),
        push_(numbered_push_template()),
        ack_(ack_template()),
        held_(static_cast<size_t>(plan.workers)),
        seen_(static_cast<size_t>(total_)) {}

  Result<OpenLoopOutcome> run();
  void on_reply(const Reply& reply) override;

 private:
  Clock::time_point due(int64_t job) const {
    return begin_ + std::chrono::nanoseconds(job * 1'000'000'000 / plan_.jobs_per_second);
  }
  void push_what_is_due();
  void on_worker_reply(const Reply& reply);
  bool take_job(std::optional<int64_t>& held, const Reply& reply);
  void refuse(std::string_view why, const Reply& reply) {
    if (failure_.empty()) failure_ = fmt::format("{}:\n{}", why, excerpt(reply));
  }

  HttpClient& client_;
  const OpenLoopPlan& plan_;
  const int64_t total_;
  const std::string fetch_;
  Template push_;
  Template ack_;
  std::vector<int> idle_producers_;
  std::vector<std::optional<int64_t>> held_;  // per worker: the job it is acking
  std::vector<bool> seen_;                    // per job: it was fetched

  Clock::time_point begin_;
  Clock::time_point last_progress_;
  int64_t pushed_ = 0;
  int64_t fetched_ = 0;
  std::string failure_;
  OpenLoopOutcome outcome_;
};

Result<OpenLoopOutcome> OpenLoop::run() {
  outcome_.latency.reserve(static_cast<size_t>(total_));
  begin_ = Clock::now();
  last_progress_ = begin_;
  for (int i = 0; i < plan_.producers; ++i) idle_producers_.push_back(i);
  for (int i = 0; i < plan_.workers; ++i) client_.send(plan_.producers + i, fetch_);
  while (outcome_.jobs < total_) {
    push_what_is_due();
    std::chrono::nanoseconds wait = std::chrono::milliseconds(100);
    const auto now = Clock::now();
    if (pushed_ < total_ && !idle_producers_.empty()) {
      wait = std::min<std::chrono::nanoseconds>(wait, due(pushed_) - now);
    }
    PAWL_TRY_DO(client_.poll(wait, *this));
    if (!failure_.empty()) return fail("{}", failure_);
    if (now - last_progress_ > kSilenceMax && now - due(pushed_) > kSilenceMax) {
      return fail("no progress for 10 s: {} jobs pushed, {} fetched, {} acked", pushed_, fetched_,
                  outcome_.jobs);
    }
  }
  outcome_.seconds = seconds_between(begin_, last_progress_);
  return outcome_;
}

void OpenLoop::push_what_is_due() {
  const auto now = Clock::now();
  while (pushed_ < total_ && !idle_producers_.empty() && due(pushed_) <= now) {
    const std::string digits = fmt::format("{:0{}}", pushed_, kSequenceDigits);
    client_.send(idle_producers_.back(), push_.with(digits));
    idle_producers_.pop_back();
    ++pushed_;
  }
}

void OpenLoop::on_reply(const Reply& reply) {
  if (!failure_.empty()) return;
  if (reply.connection >= plan_.producers) return on_worker_reply(reply);
  if (reply.status != 201) return refuse("unexpected status for a push", reply);
  idle_producers_.push_back(reply.connection);
}

void OpenLoop::on_worker_reply(const Reply& reply) {
  if (reply.status != 200) return refuse("unexpected status for a worker's call", reply);
  std::optional<int64_t>& held = held_[static_cast<size_t>(reply.connection - plan_.producers)];
  if (held) {
    last_progress_ = Clock::now();
    outcome_.latency.add(last_progress_ - due(*held));
    ++outcome_.jobs;
    held.reset();
  } else if (!take_job(held, reply)) {
    return;
  }
  if (!held && fetched_ < total_) client_.send(reply.connection, fetch_);
}

// Takes the fetched job, if any, and acks it.
bool OpenLoop::take_job(std::optional<int64_t>& held, const Reply& reply) {
  std::vector<ScannedJob> jobs;
  if (!scan_jobs(reply.body, jobs) || jobs.size() > 1) {
    refuse("the reply to a fetch of one is not zero or one job", reply);
    return false;
  }
  if (jobs.empty()) return true;
  constexpr std::string_view kArgs = "\"args\":[\"";
  const std::string_view text = jobs[0].text;
  const size_t at = text.find(kArgs);
  int64_t number = -1;
  if (at != std::string_view::npos) {
    const char* digits = text.data() + at + kArgs.size();
    std::from_chars(digits, text.data() + text.size(), number);
  }
  if (number < 0 || number >= pushed_ || jobs[0].id.size() != kJobIdBytes) {
    refuse("not a job that was pushed", reply);
    return false;
  }
  if (seen_[static_cast<size_t>(number)]) {
    refuse("the job was fetched twice", reply);
    return false;
  }
  seen_[static_cast<size_t>(number)] = true;
  held = number;
  ++fetched_;
  client_.send(reply.connection, ack_.with(jobs[0].id));
  return true;
}

}  // namespace

Result<OpenLoopOutcome> run_open_loop(const Address& address, const OpenLoopPlan& plan) {
  PAWL_TRY(const std::unique_ptr<HttpClient> client,
           HttpClient::connect(std::span(&address, 1), plan.producers + plan.workers));
  // The default slack of 50 µs would be added to every arrival.
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanos, 0, 0, 0);
  Result<OpenLoopOutcome> outcome = OpenLoop(*client, plan).run();
  prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0);
  return outcome;
}

}  // namespace pawl::bench
