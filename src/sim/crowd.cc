#include "sim/crowd.h"

#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"

namespace pawl::sim {
namespace {

constexpr size_t kKnownMax = 200;
const std::vector<std::string> kCrons = {"c1", "c2", "c3"};

}  // namespace

Crowd::Crowd(Stage& world, SimRandom& random, Verdict& verdict)
    : world_(world),
      random_(random),
      verdict_(verdict),
      queues_{"a", "b", "b-2", std::string("t\x1f") + "b"},
      scripts_(world, random, verdict,
               {[this](const std::string& story, const auto& make) { send(story, make); },
                {"a", "b", "b-2"}}) {
  for (uint64_t i = 1 + random.below(4); i > 0; --i)
    workers_.push_back({"w" + std::to_string(i), {}, {}});
}

void Crowd::send(const std::string& story, const std::function<std::shared_ptr<SimTask>()>& make) {
  const FaultMix& mix = world_.mix();
  if (random_.percent(mix.request_lost)) {
    verdict_.reach(Probe::RequestLost);
    return verdict_.tell(story + " (request lost)");
  }
  bool twice = random_.percent(mix.request_doubled);
  bool reply_lost = random_.percent(mix.reply_lost);
  if (twice) verdict_.reach(Probe::RequestDuplicated);
  if (reply_lost) verdict_.reach(Probe::ReplyLost);
  verdict_.tell(story + (twice ? " (sent twice)" : reply_lost ? " (reply lost)" : ""));
  for (int i = twice ? 2 : 1; i > 0; --i) {
    std::shared_ptr<SimTask> task = make();
    task->wants_mark = random_.percent(50);
    task->reply_is_lost = reply_lost;
    if (random_.percent(mix.request_late)) {
      verdict_.reach(Probe::RequestLate);
      verdict_.tell("it is still on its way");
      on_the_way_.emplace_back(story, std::move(task));
    } else {
      world_.submit(task);
    }
  }
}

// In any order: the first request may arrive last, and after a crash of the engine.
void Crowd::deliver_late() {
  if (on_the_way_.empty()) return;
  std::swap(on_the_way_[random_.below(on_the_way_.size())], on_the_way_.back());
  auto [story, task] = std::move(on_the_way_.back());
  on_the_way_.pop_back();
  verdict_.tell(story + " (arrives late)");
  world_.submit(task);
}

void Crowd::learn(const JobId& job) {
  if (known_.size() < kKnownMax) {
    known_.push_back(job);
  } else {
    known_[random_.below(kKnownMax)] = job;
  }
}

JobId Crowd::draw_known_job() {
  if (known_.empty() || random_.percent(2)) return JobId(Uuid{random_.next(), random_.next()});
  return random_.pick(known_);
}

// --- clients

JobId Crowd::draw_client_id() {
  if (!client_ids_.empty() && random_.percent(40)) return random_.pick(client_ids_);
  uint64_t a = random_.next();
  JobId id(Uuid::v7(world_.now_ms(), a, random_.next(), 0));
  client_ids_.push_back(id);
  return id;
}

void Crowd::draw_timing(NewJob& job, JobSpec& spec) {
  if (random_.percent(25)) job.scheduled_ms = world_.now_ms() + random_.between(-500, 40'000);
  if (random_.percent(1)) job.scheduled_ms = world_.now_ms() + random_.between(0, 90'000'000);
  if (random_.percent(15)) job.expires_ms = world_.now_ms() + random_.between(-100, 30'000);
  if (random_.percent(5)) job.pending = true;
  if (random_.percent(20)) spec.timeout_ms = random_.between(1, 20'000);
  if (random_.percent(30)) spec.visibility_ms = random_.between(1, 10'000);
}

void Crowd::draw_retry(JobSpec& spec) {
  if (random_.percent(30)) return;
  RetryPolicy policy;
  policy.max_attempts = static_cast<uint32_t>(random_.below(5));
  policy.initial_ms = random_.between(0, 3'000);
  policy.coefficient_milli = static_cast<uint32_t>(1'000 + random_.below(2'000));
  policy.max_ms = random_.between(0, 60'000);
  policy.no_jitter = random_.percent(50);
  policy.backoff = static_cast<BackoffStrategy>(random_.below(5));
  policy.on_exhaustion = random_.percent(50) ? OnExhaustion::DeadLetter : OnExhaustion::Discard;
  if (random_.percent(50)) policy.non_retryable = {"fatal", "auth.*"};
  spec.retry = codec::encoded(policy);
}

void Crowd::draw_unique(NewJob& job) {
  if (!random_.percent(25)) return;
  uint32_t unfinished = 0;
  for (JobState state : {JobState::Scheduled, JobState::Available, JobState::Pending,
                         JobState::Active, JobState::Retryable})
    unfinished |= 1u << static_cast<unsigned>(state);
  bool strict = random_.percent(60);
  job.unique.key = std::string(1, strict ? kStrictUniqueMark : 'L');
  job.unique.key += static_cast<char>('0' + random_.below(4));
  job.unique.key.resize(16, '.');
  job.unique.states = strict ? unfinished : static_cast<uint32_t>(random_.below(512)) & ~1u;
  if (!strict && random_.percent(50)) job.unique.period_ms = random_.between(1, 20'000);
  job.unique.on_conflict = static_cast<OnConflict>(random_.below(4));
}

void Crowd::draw_limits(NewJob& job) {
  if (random_.percent(20)) {
    bool rated = random_.percent(30);
    job.limit = rated ? "rated" : "narrow";
    job.limit_settings.concurrency = rated ? 0 : 1 + static_cast<uint32_t>(random_.below(2));
    job.limit_settings.rate = rated ? 2 : 0;
    job.limit_settings.period_ms = rated ? 5'000 : 0;
  }
  if (random_.percent(2)) job.queue_rate = 1 + static_cast<uint32_t>(random_.below(20));
}

NewJob Crowd::draw_job() {
  NewJob job;
  JobSpec spec;
  job.queue = random_.pick(queues_);
  job.type = random_.percent(50) ? "mail.send" : "x";
  job.priority = random_.percent(40) ? static_cast<int32_t>(random_.between(-2, 2)) : 0;
  spec.type = job.type;
  spec.args = "[" + std::to_string(++serial_) + "]";
  draw_timing(job, spec);
  draw_retry(spec);
  draw_unique(job);
  draw_limits(job);
  if (random_.percent(20)) job.id = draw_client_id();
  RetryPolicy policy = RetryPolicy::standard();
  if (!spec.retry.empty()) PAWL_CHECK(codec::decode(spec.retry, policy = RetryPolicy{}));
  job.max_attempts = policy.max_attempts;
  job.spec = codec::encoded(spec);
  return job;
}

void Crowd::push() {
  std::vector<NewJob> jobs;
  for (uint64_t left = random_.percent(70) ? 1 : 1 + random_.below(12); left > 0; --left)
    jobs.push_back(draw_job());
  pushed_ += jobs.size();
  send("push " + std::to_string(jobs.size()) + " to " + jobs[0].queue, [&] {
    auto task = std::make_shared<PushTask>(world_.desk(), jobs);
    task->on_reply = [this, raw = task.get()] {
      if (!raw->reply->ok()) return;
      for (const Pushed& pushed : **raw->reply) learn(pushed.id);
    };
    return task;
  });
}

std::shared_ptr<JobTask> Crowd::job_task(JobOp op, LeaseClaim claim) {
  auto task = std::make_shared<JobTask>(world_.desk(), op, std::move(claim));
  task->text = op == JobOp::Progress ? "0.5" : "{\"n\":" + std::to_string(++serial_) + "}";
  return task;
}

void Crowd::about_a_job(JobOp op) {
  JobId id = draw_known_job();
  send(std::string(op_name(op)) + " " + short_name(id), [&] {
    LeaseClaim claim;
    claim.job = id;
    return job_task(op, claim);
  });
}

void Crowd::call(std::string story, std::function<void(Frame&)> kernel_call) {
  send(story, [&] { return std::make_shared<CallTask>(world_.desk(), kernel_call); });
}

void Crowd::configure_queue() {
  std::string queue = random_.pick(queues_);
  QueueSettings settings;
  settings.paused = random_.percent(40);
  settings.depth_max = random_.percent(20) ? 1 + random_.below(20) : 0;
  settings.rate_per_second = random_.percent(20) ? 1 + static_cast<uint32_t>(random_.below(5)) : 0;
  call("configure " + queue + (settings.paused ? " paused" : ""), [=](Frame& frame) {
    (void)pawl::configure_queue(frame, queue, [&](QueueSettings& now) { now = settings; }).ok();
  });
}

void Crowd::cron() {
  std::string name = random_.pick(kCrons);
  uint64_t what = random_.below(10);
  if (what < 3)
    return call("delete cron " + name, [=](Frame& frame) { (void)delete_cron(frame, name).ok(); });
  if (what < 5)
    return call("trigger cron " + name,
                [=](Frame& frame) { (void)trigger_cron(frame, name).ok(); });
  static const std::vector<std::string> kExpressions = {"@every 1s", "@every 20s", "* * * * *",
                                                        "@hourly"};
  CronSpec spec;
  spec.name = name;
  spec.expression = random_.pick(kExpressions);
  spec.timezone = "UTC";
  spec.overlap = static_cast<CronOverlap>(random_.below(4));
  spec.paused = random_.percent(15);
  NewJob job = draw_job();
  job.id = JobId();
  job.scheduled_ms = job.expires_ms = 0;
  job.pending = false;
  spec.job = codec::encoded(job);
  call("put cron " + name + " " + spec.expression,
       [=](Frame& frame) { (void)put_cron(frame, spec).ok(); });
}

void Crowd::document() {
  std::string key = "d" + std::to_string(random_.below(6));
  DocKind kind = random_.percent(70) ? DocKind::Idempotency : DocKind::Webhook;
  key += kind == DocKind::Webhook ? "w" : "";
  if (random_.percent(25))
    return call("delete document " + key,
                [=](Frame& frame) { (void)delete_doc(frame, kind, key).ok(); });
  int64_t expires_ms = random_.percent(70) ? world_.now_ms() + random_.between(1, 60'000) : 0;
  std::string value = std::to_string(++serial_);
  call("put document " + key, [=](Frame& frame) { put_doc(frame, kind, key, value, expires_ms); });
}

void Crowd::client_acts() {
  if (random_.percent(10)) return deliver_late();
  if (random_.percent(30)) return scripts_.client_acts();
  uint64_t what = random_.below(100);
  if (what < 26) return push();
  if (what < 40) return create_run();
  if (what < 50) return about_a_run();
  if (what < 57) return about_a_job(JobOp::Cancel);
  if (what < 62) return about_a_job(JobOp::Read);
  if (what < 68) return about_a_job(JobOp::Revive);
  if (what < 71) return about_a_job(JobOp::DeleteDead);
  if (what < 76) return about_a_job(JobOp::Activate);
  if (what < 80) return about_a_job(JobOp::SaveCheckpoint);
  if (what < 82) return about_a_job(JobOp::DeleteCheckpoint);
  if (what < 85) return about_a_job(JobOp::Progress);
  if (what < 91) return configure_queue();
  if (what < 95) return cron();
  document();
}

}  // namespace pawl::sim
