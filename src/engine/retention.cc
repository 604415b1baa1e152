#include "engine/retention.h"

#include <algorithm>

#include "kernel/frame.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr size_t kScanPerStep = 2'000;
constexpr uint64_t kForgetPerStep = 500;
constexpr size_t kDocumentsPerStep = 500;
constexpr size_t kRunsPerStep = 500;
constexpr int64_t kClaimsAnsweredMs = 60'000;  // longer than any task waits for them

// Names that are held for kept answers, and claims whose task a crash or an outage has taken away.
void forget_claims(Frame& frame) {
  if (frame.state().partitions() == 1) return;
  forget_documents(frame, DocKind::Claim, kDocumentsPerStep);
  release_stale_claims(frame, frame.now_ms() - kClaimsAnsweredMs);
}

}  // namespace

uint64_t Retention::finished_kept(const State& state) const {
  uint64_t kept = 0;
  state.each_queue([&](const Queue& queue) { return kept += queue.finished_stored(), true; });
  return kept;
}

bool Retention::step(Frame& frame) {
  int64_t now_ms = frame.now_ms();
  if (!sweeping_) {
    go_on_ = JobId();
    find_trim_point(now_ms);
    forget_documents(frame, DocKind::Idempotency, kDocumentsPerStep);
    forget_claims(frame);
    if (config_.finished_ms != 0)
      forget_runs(frame, now_ms - config_.finished_ms, kRunsPerStep, next_run_);
  }
  uint64_t kept = config_.finished_max == 0 ? 0 : finished_kept(frame.state());
  bool too_many = config_.finished_max != 0 && kept > config_.finished_max;
  ForgetJobs command;
  command.from = go_on_;
  command.scan_max = kScanPerStep;
  command.at_most = kForgetPerStep;
  if (too_many) {
    command.at_most = std::min(kForgetPerStep, kept - config_.finished_max);
    command.finished_before_ms = now_ms;
  } else if (config_.finished_ms != 0) {
    command.finished_before_ms = now_ms - config_.finished_ms;
  }
  Forgotten forgotten;
  if (command.finished_before_ms > 0) forgotten = forget_jobs(frame, command);
  // Ids begin with their creation time: once the sweep meets a job that is too young, all later
  // jobs are too young.
  bool rest_is_young = !too_many && forgotten.go_on.unix_ms() > command.finished_before_ms;
  go_on_ = forgotten.go_on;
  sweeping_ = !go_on_.is_nil() && !rest_is_young;
  next_ms_ = sweeping_ ? now_ms : now_ms + config_.sweep_every_ms;
  return sweeping_;
}

int64_t Retention::record_time(uint64_t number) const {
  int64_t time_ms = INT64_MAX;
  (void)store_
      .read_journal(number, 1,
                    [&](uint64_t found, std::string_view bytes) {
                      auto events = journal::read_record(found, bytes);
                      if (events.ok() && !events->empty()) time_ms = events->front().time_ms;
                      return false;
                    })
      .ok();
  return time_ms;
}

// Record numbers are in the order of time, so the first one young enough is found by halving.
void Retention::find_trim_point(int64_t now_ms) {
  uint64_t first = store_.journal_first();
  uint64_t last = store_.journal_last();
  trim_before_ = 0;
  if (last == 0) return;
  if (config_.journal_records_max != 0 && last - first + 1 > config_.journal_records_max)
    trim_before_ = last + 1 - config_.journal_records_max;
  if (config_.journal_ms == 0 || record_time(first) > now_ms - config_.journal_ms) return;
  uint64_t old = first;
  uint64_t young = last;
  while (young - old > 1) {
    uint64_t middle = old + (young - old) / 2;
    (record_time(middle) > now_ms - config_.journal_ms ? young : old) = middle;
  }
  trim_before_ = std::max(trim_before_, young);
}

uint64_t Retention::trim_before(uint64_t tail_record) const {
  uint64_t before = std::min(trim_before_, tail_record);
  return before > store_.journal_first() ? before : 0;
}

}  // namespace pawl
