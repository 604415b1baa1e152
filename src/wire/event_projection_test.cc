#include "wire/event_projection.h"

#include <gtest/gtest.h>

#include "kernel/jobs/queue.h"
#include "kernel/run.h"

namespace pawl {
namespace {

constexpr int64_t kNowMs = 1'770'000'000'000;  // 2026-02-02T02:40:00.000Z
const JobId kJob(Uuid::v7(1, 2, 3, 0));
const std::string kJobText = "\"" + kJob.text() + "\"";

template <class Step>
Step step(Step event, JobState from = JobState::Active) {
  event.job = kJob;
  event.queue = "mail";
  event.type = "mail.send";
  event.from = from;
  event.attempt = 2;
  return event;
}

template <class Event>
std::vector<OjsEvent> projected(const Event& event) {
  journal::RecordWriter record(7);
  record.begin_frame(kNowMs);
  record.add(event);
  record.end_frame();
  std::string bytes = record.finish();
  auto events = journal::read_record(7, bytes);
  std::vector<OjsEvent> out;
  for (const journal::EventBytes& one : *events) project(one, out);
  return out;
}

// "type subject data | …", without the common members of job events.
template <class Event>
std::string story(const Event& event) {
  std::string text;
  for (const OjsEvent& one : projected(event)) {
    std::string data = one.data;
    std::string common =
        "{\"job_id\":" + kJobText + ",\"job_type\":\"mail.send\",\"queue\":\"mail\"";
    if (data.substr(0, common.size()) == common) data = "{…" + data.substr(common.size());
    std::string subject = one.subject == kJob.text() ? "job" : one.subject;
    text += (text.empty() ? "" : " | ") + std::string(one.type) + " " + subject + " " + data;
  }
  return text.empty() ? "nothing" : text;
}

JobFailed failed(JobState to) {
  JobFailed event = step(JobFailed{});
  event.to = to;
  event.error = {.code = "E", .type = "E", .message = "no", .attempt = 2, .at_ms = kNowMs};
  event.retry_at_ms = to == JobState::Retryable ? kNowMs + 1500 : 0;
  event.retry_delay_ms = to == JobState::Retryable ? 1500 : 0;
  event.dead_letter = to == JobState::Discarded;
  return event;
}

JobCreated created(JobState state) {
  JobCreated event = step(JobCreated{}, JobState::None);
  event.attempt = 0;
  event.state = state;
  event.priority = 5;
  event.scheduled_ms = state == JobState::Scheduled ? kNowMs + 1000 : 0;
  return event;
}

TEST(EventProjection, CreatingAJob) {
  EXPECT_EQ(story(created(JobState::Available)),
            R"(job.enqueued job {…,"attempt":0,"priority":5})");
  EXPECT_EQ(story(created(JobState::Scheduled)),
            R"(job.scheduled job {…,"attempt":0,"scheduled_at":"2026-02-02T02:40:01.000Z"})");
  EXPECT_EQ(story(created(JobState::Pending)), "nothing");
}

TEST(EventProjection, PromotionIsNewsOnlyTheFirstTime) {
  EXPECT_EQ(story(step(JobPromoted{}, JobState::Scheduled)),
            R"(job.enqueued job {…,"attempt":2,"from":"scheduled"})");
  EXPECT_EQ(story(step(JobPromoted{}, JobState::Pending)),
            R"(job.enqueued job {…,"attempt":2,"from":"pending"})");
  EXPECT_EQ(story(step(JobPromoted{}, JobState::Retryable)), "nothing");
}

TEST(EventProjection, Running) {
  JobLeased leased = step(JobLeased{}, JobState::Available);
  leased.worker = "w1";
  leased.lease_until_ms = kNowMs + 2000;
  EXPECT_EQ(
      story(leased),
      R"(job.started job {…,"attempt":2,"worker_id":"w1","started_at":"2026-02-02T02:40:00.000Z",)"
      R"("lease_expires_at":"2026-02-02T02:40:02.000Z"})");
  LeaseExtended extended = step(LeaseExtended{});
  extended.lease_until_ms = kNowMs + 2000;
  EXPECT_EQ(story(extended),
            R"(job.heartbeat job {…,"attempt":2,"lease_expires_at":"2026-02-02T02:40:02.000Z"})");
  ProgressReported progress = step(ProgressReported{});
  progress.progress = "0.5";
  progress.message = "half";
  progress.data = R"({"n":1})";
  EXPECT_EQ(story(progress),
            R"(job.progress job {…,"attempt":2,"progress":0.5,"message":"half","data":{"n":1}})");
  JobRequeued requeued = step(JobRequeued{});
  EXPECT_EQ(story(requeued), R"(job.requeued job {…,"attempt":2,"reason":"lease_expired"})");
  requeued.reason = RequeueReason::Returned;
  EXPECT_EQ(story(requeued), R"(job.requeued job {…,"attempt":2,"reason":"returned"})");
  requeued.reason = RequeueReason::Changed;
  requeued.from = requeued.to = JobState::Available;
  requeued.priority = 5;
  EXPECT_EQ(story(requeued),
            R"(job.changed job {…,"attempt":2,"from":"available","to":"available","priority":5})");
}

TEST(EventProjection, Completion) {
  JobCompleted completed = step(JobCompleted{});
  completed.started_ms = kNowMs - 1234;
  EXPECT_EQ(story(completed), R"(job.completed job {…,"attempt":2,"duration_ms":1234})");
  completed.result = R"({"ok":true})";
  EXPECT_EQ(story(completed),
            R"(job.completed job {…,"attempt":2,"duration_ms":1234,"result":{"ok":true}})");
  completed.result = '"' + std::string(20'000, 'x') + '"';
  EXPECT_EQ(story(completed),
            R"(job.completed job {…,"attempt":2,"duration_ms":1234,"result_omitted":true})");
  completed.started_ms = kNowMs + 5;  // a clock that was set back
  completed.result.clear();
  EXPECT_EQ(story(completed), R"(job.completed job {…,"attempt":2,"duration_ms":0})");
}

TEST(EventProjection, FailureIsToldWithWhatFollows) {
  std::string error =
      R"("error":{"code":"E","type":"E","message":"no","attempt":2,"occurred_at":"2026-02-02T02:40:00.000Z"})";
  EXPECT_EQ(
      story(failed(JobState::Retryable)),
      R"(job.failed job {…,"attempt":2,)" + error + R"(,"will_retry":true} | job.retrying job )" +
          R"({…,"attempt":2,"next_attempt_at":"2026-02-02T02:40:01.500Z","retry_delay_ms":1500})");
  EXPECT_EQ(story(failed(JobState::Discarded)), R"(job.failed job {…,"attempt":2,)" + error +
                                                    R"(,"will_retry":false} | job.discarded job )" +
                                                    R"({…,"attempt":2,)" + error +
                                                    R"(,"dead_letter":true})");
}

TEST(EventProjection, OtherEnds) {
  JobCancelled cancelled = step(JobCancelled{}, JobState::Available);
  cancelled.reason = "not needed";
  EXPECT_EQ(story(cancelled),
            R"(job.cancelled job {…,"attempt":2,"from":"available","reason":"not needed"})");
  EXPECT_EQ(story(step(JobExpired{})), R"(job.expired job {…,"attempt":2})");
  EXPECT_EQ(story(step(JobRevived{}, JobState::Discarded)),
            R"(job.enqueued job {…,"attempt":0,"from":"discarded"})");
}

TEST(EventProjection, QueuesAndCrons) {
  QueueConfigured configured{.queue = "mail", .settings = {.paused = true}};
  EXPECT_EQ(story(configured), R"(queue.paused mail {"queue":"mail"})");
  configured = {.queue = "mail", .settings = {.paused = false}, .paused_before = true};
  EXPECT_EQ(story(configured), R"(queue.resumed mail {"queue":"mail"})");
  configured = {
      .queue = "mail", .settings = {.paused = true, .depth_max = 5}, .paused_before = true};
  EXPECT_EQ(story(configured), "nothing");
  EXPECT_EQ(
      story(CronFired{"daily", kJob, kNowMs, kNowMs + 60'000}),
      "cron.triggered daily {\"cron_name\":\"daily\",\"job_id\":" + kJobText +
          R"(,"scheduled_for":"2026-02-02T02:40:00.000Z","next_run_at":"2026-02-02T02:41:00.000Z"})");
  EXPECT_EQ(story(CronSkipped{"daily", "overlap", kNowMs, 0}),
            R"(cron.skipped daily {"cron_name":"daily","reason":"overlap",)"
            R"("scheduled_for":"2026-02-02T02:40:00.000Z"})");
}

TEST(EventProjection, WhatIsInternalStaysSo) {
  EXPECT_EQ(story(DocPut{DocKind::Webhook, "k", "secret", 0}), "nothing");
  EXPECT_EQ(story(DocDeleted{DocKind::Webhook, "k"}), "nothing");
  EXPECT_EQ(story(LimitConfigured{"k", {}}), "nothing");
  EXPECT_EQ(story(CronPut{}), "nothing");
  EXPECT_EQ(story(CronDeleted{"daily"}), "nothing");
  EXPECT_EQ(story(JobsForgotten{{kJob}, "mail", 0}), "nothing");
  EXPECT_EQ(story(step(CheckpointSaved{})), "nothing");
  EXPECT_EQ(story(step(CheckpointDeleted{})), "nothing");
  EXPECT_EQ(story(RunForgotten{RunId(kJob)}), "nothing");
}

const RunId kRun(Uuid::v7(1, 4, 5, 0));

template <class Step>
Step run_step(Step event, RunKind kind = RunKind::Chain) {
  event.run = kRun;
  event.kind = kind;
  event.name = "order";
  event.tenant = "acme";
  return event;
}

// As story(), without the common members of workflow events.
template <class Event>
std::string run_story(const Event& event) {
  std::string text = story(event);
  std::string id = kRun.text();
  if (size_t at = text.find(id); at != std::string::npos) text.replace(at, id.size(), "run");
  std::string common = "{\"workflow_id\":\"" + id + "\",";
  if (size_t at = text.find(common); at != std::string::npos)
    text.replace(at, common.size(), "{…,");
  return text;
}

RunChildDone child(RunKind kind, ChildState outcome, std::string type = "a.b", Uuid id = kJob) {
  RunChildDone event = run_step(RunChildDone{}, kind);
  event.index = 2;
  event.outcome = outcome;
  event.child = id;
  event.type = std::move(type);
  event.duration_ms = 40;
  return event;
}

TEST(EventProjection, AWorkflowBegins) {
  RunCreated created{.run = kRun, .kind = RunKind::Batch, .total = 3, .job_count = 5};
  EXPECT_EQ(run_story(created),
            R"(workflow.created run {…,"workflow_type":"batch","total":3,"job_count":5,)"
            R"("remaining_jobs":3})");
  created.name = "order";
  created.client_id = "order-7";
  created.timeout_ms = 1000;
  created.parent = {RunId(kJob), place_of_index(1)};
  EXPECT_EQ(run_story(created),
            R"(workflow.created order-7 {"workflow_id":"order-7","workflow_type":"batch",)"
            R"("workflow_name":"order","client_id":"order-7","parent_workflow_id":)" +
                kJobText +
                R"(,"step_index":1,"total":3,"job_count":5,"remaining_jobs":3,)"
                R"("times_out_at":"2026-02-02T02:40:01.000Z"})");
  created.parent_client_id = "week 7";
  EXPECT_NE(run_story(created).find(R"("parent_workflow_id":"week 7")"), std::string::npos);
  EXPECT_EQ(run_story(run_step(RunStarted{})),
            R"(workflow.started run {…,"workflow_type":"chain","workflow_name":"order"})");
}

// The events of one workflow are found by the id that they show.
TEST(EventProjection, TheIdThatAClientChoseStandsForTheWorkflow) {
  RunChildDone event = child(RunKind::Chain, ChildState::Completed, "group", kJob);
  event.client_id = "order-7";
  event.child_client_id = "parts of 7";
  OjsEvent told = projected(event)[0];
  EXPECT_EQ(told.subject, "order-7");
  EXPECT_NE(told.data.find(R"("workflow_id":"order-7")"), std::string::npos) << told.data;
  EXPECT_NE(told.data.find(R"("child_workflow_id":"parts of 7")"), std::string::npos);
  EXPECT_TRUE((EventFilter{.workflow = kRun.text()}.wants(told)));
  EXPECT_TRUE((EventFilter{.run = kRun.text()}.wants(told)));
  EXPECT_FALSE((EventFilter{.workflow = kJob.text()}.wants(told)));
}

TEST(EventProjection, ChainsAndDagsHaveStepsTheOthersJobs) {
  auto told = [](RunKind kind, ChildState outcome) {
    std::string text = run_story(child(kind, outcome));
    return text.substr(0, text.find(' '));
  };
  for (RunKind kind : {RunKind::Chain, RunKind::Dag}) {
    EXPECT_EQ(told(kind, ChildState::Completed), "workflow.step_completed");
    EXPECT_EQ(told(kind, ChildState::Failed), "workflow.step_failed");
  }
  for (RunKind kind : {RunKind::Group, RunKind::Batch, RunKind::Map}) {
    EXPECT_EQ(told(kind, ChildState::Completed), "workflow.job_completed");
    EXPECT_EQ(told(kind, ChildState::Failed), "workflow.job_failed");
  }
  EXPECT_EQ(run_story(child(RunKind::Chain, ChildState::Completed)),
            R"(workflow.step_completed run {…,"workflow_type":"chain","workflow_name":"order",)"
            R"("step_index":2,"step_type":"a.b","job_id":)" +
                kJobText + R"(,"duration_ms":40})");
}

TEST(EventProjection, OtherEndsOfSteps) {
  EXPECT_EQ(run_story(child(RunKind::Chain, ChildState::Completed, "group")),
            R"(workflow.step_completed run {…,"workflow_type":"chain","workflow_name":"order",)"
            R"("step_index":2,"step_type":"group","child_workflow_id":)" +
                kJobText + R"(,"duration_ms":40})");
  RunChildDone skipped = child(RunKind::Dag, ChildState::Skipped, "a.b", {});
  skipped.reason = "its condition is false: 1 > 2";
  EXPECT_EQ(run_story(skipped),
            R"(workflow.step_skipped run {…,"workflow_type":"dag","workflow_name":"order",)"
            R"("step_index":2,"step_type":"a.b","reason":"its condition is false: 1 > 2"})");
  skipped.outcome = ChildState::Cancelled;
  EXPECT_EQ(run_story(skipped).substr(0, 21), "workflow.step_skipped");
  EXPECT_EQ(run_story(child(RunKind::Group, ChildState::Cancelled)), "nothing");
  RunChildDone callback = child(RunKind::Batch, ChildState::Failed);
  callback.index = callback_index(CallbackRole::OnSuccess, 0);
  EXPECT_EQ(run_story(callback), "nothing");
}

TEST(EventProjection, CallbacksAndEndsOfWorkflows) {
  RunCallbackFired fired = run_step(RunCallbackFired{}, RunKind::Batch);
  fired.role = CallbackRole::OnFailure;
  fired.job = kJob;
  EXPECT_EQ(run_story(fired),
            R"(workflow.callback_fired run {…,"workflow_type":"batch","workflow_name":"order",)"
            R"("callback":"on_failure","job_id":)" +
                kJobText + "}");
  RunFinished finished = run_step(RunFinished{}, RunKind::Batch);
  finished.state = RunState::Completed;
  EXPECT_EQ(run_story(finished),
            R"(workflow.completed run {…,"workflow_type":"batch","workflow_name":"order"})");
  finished.state = RunState::Failed;
  finished.reason = "callback failed: on_success";
  finished.failed_callbacks = 2;
  EXPECT_EQ(run_story(finished),
            R"(workflow.failed run {…,"workflow_type":"batch","workflow_name":"order",)"
            R"("reason":"callback failed: on_success","failed_callbacks":["on_success"]})");
  finished = run_step(RunFinished{});
  finished.state = RunState::Cancelled;
  EXPECT_EQ(run_story(finished),
            R"(workflow.cancelled run {…,"workflow_type":"chain","workflow_name":"order"})");
  RunRetried retried = run_step(RunRetried{});
  retried.restart = {1, 3};
  EXPECT_EQ(run_story(retried),
            R"(workflow.retried run {…,"workflow_type":"chain","workflow_name":"order",)"
            R"("restarted":2,"restarted_steps":[1,3]})");
}

// Older journals have no counts; every other event has them, and the client's id.
TEST(EventProjection, EveryWorkflowEventSaysHowFarItHasCome) {
  auto far = [](auto event, RunKind kind) {
    event = run_step(event, kind);
    event.client_id = "order-7";
    event.total = 9;
    event.completed = 4;
    event.failed = 2;
    event.cancelled = 1;
    std::string text = run_story(event);
    EXPECT_NE(text.find(R"("workflow_name":"order","client_id":"order-7")"), std::string::npos);
    return text.substr(text.find("\"total\""));
  };
  std::string steps = R"("total":9,"completed":4,"failed":2,"remaining_steps":2})";
  std::string jobs = R"("total":9,"completed":4,"failed":2,"remaining_jobs":2})";
  RunFinished finished;
  finished.state = RunState::Failed;
  for (RunKind kind : {RunKind::Chain, RunKind::Dag, RunKind::Group, RunKind::Batch}) {
    std::string expected = kind == RunKind::Chain || kind == RunKind::Dag ? steps : jobs;
    for (ChildState outcome : {ChildState::Completed, ChildState::Failed})
      EXPECT_EQ(far(child(kind, outcome), kind), expected);
    EXPECT_EQ(far(RunStarted{}, kind), expected);
    EXPECT_EQ(far(RunCallbackFired{}, kind), expected);
    EXPECT_EQ(far(finished, kind), expected);
    EXPECT_EQ(far(RunRetried{}, kind), expected);
  }
  EXPECT_EQ(run_story(child(RunKind::Map, ChildState::Started)), "nothing");
}

TEST(EventFilter, OneWorkflow) {
  OjsEvent event = projected(run_step(RunStarted{}))[0];
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_TRUE((EventFilter{.workflow = kRun.text()}.wants(event)));
  EXPECT_TRUE((EventFilter{.types = {"workflow.*"}, .tenant = "acme"}.wants(event)));
  EXPECT_FALSE((EventFilter{.tenant = "other"}.wants(event)));
  EXPECT_FALSE((EventFilter{.workflow = kJob.text()}.wants(event)));
  EXPECT_FALSE((EventFilter{.queues = {"mail"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.workflow = kJob.text()}.wants(projected(step(JobExpired{}))[0])));
}

// The id is made of time and place alone: the same journal always gives the same ids, in order, and
// an id is a place to resume from.
TEST(EventProjection, IdsAreStableOrderedAndReversible) {
  std::vector<OjsEvent> events = projected(failed(JobState::Retryable));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].id(), "evt_019c1c38-a400-7000-8000-000001c00000");
  EXPECT_EQ(events[1].id(), "evt_019c1c38-a400-7000-8000-000001c00001");
  EXPECT_TRUE(Uuid::parse(events[0].id().substr(4))->is_v7());
  EXPECT_EQ(Uuid::parse(events[0].id().substr(4))->unix_ms(), kNowMs);
  for (const OjsEvent& event : events) {
    EXPECT_EQ(EventPosition::parse(event.id()), event.position);
    EXPECT_EQ(EventPosition::parse(event.position.text()), event.position);
  }
  OjsEvent far;
  far.time_ms = kNowMs;
  far.position = {0xfedcba9876543210, 2};
  EXPECT_EQ(EventPosition::parse(far.id()), far.position);
  EXPECT_TRUE(Uuid::parse(far.id().substr(4))->is_v7());
}

TEST(EventProjection, CursorsAreReadStrictly) {
  EXPECT_EQ(EventPosition::parse("7340032"), (EventPosition{7340032, EventPosition::kAllParts}));
  EXPECT_EQ(EventPosition::parse("7340032.1"), (EventPosition{7340032, 1}));
  for (const char* text : {"", "x", "-1", "1.", "1.x", "1.9", "1 ", "99999999999999999999", "evt_",
                           "evt_x", "evt_019c1c38-a400-4000-8000-000001c00000"})
    EXPECT_FALSE(EventPosition::parse(text).has_value()) << text;
}

TEST(EventProjection, Envelope) {
  std::string text;
  json::Writer w(text);
  render_event(w, projected(step(JobExpired{}))[0]);
  EXPECT_EQ(
      text,
      R"({"specversion":"1.0","id":"evt_019c1c38-a400-7000-8000-000001c00000","type":"job.expired",)"
      R"("source":"/ojs/v1","time":"2026-02-02T02:40:00.000Z","subject":)" +
          kJobText + R"(,"data":{"job_id":)" + kJobText +
          R"(,"job_type":"mail.send","queue":"mail","attempt":2}})");
}

TEST(EventFilter, WantsByTypeQueueJobTypeAndTenant) {
  OjsEvent event = projected(step(JobExpired{}))[0];
  EXPECT_TRUE(EventFilter{}.wants(event));
  EXPECT_TRUE((EventFilter{.types = {"job.started", "job.expired"}}.wants(event)));
  EXPECT_TRUE((EventFilter{.types = {"job.*"}}.wants(event)));
  EXPECT_TRUE((EventFilter{.types = {"*"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.types = {"job.expire"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.types = {"cron.*"}}.wants(event)));
  EXPECT_TRUE((EventFilter{.queues = {"x", "mail"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.queues = {"mai"}}.wants(event)));
  EXPECT_TRUE((EventFilter{.job_types = {"mail.send"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.job_types = {"mail"}}.wants(event)));
  EXPECT_FALSE((EventFilter{.tenant = "acme"}.wants(event)));
  event.tenant = "acme";
  EXPECT_TRUE((EventFilter{.tenant = "acme"}.wants(event)));
  EXPECT_FALSE((EventFilter{.tenant = "acm"}.wants(event)));
}

TEST(EventFilter, TheServersOwnQueuesAreSilentUnlessNamed) {
  JobExpired expired = step(JobExpired{});
  expired.queue = "pawl.webhooks";
  OjsEvent event = projected(expired)[0];
  EXPECT_FALSE(EventFilter{}.wants(event));
  EXPECT_TRUE((EventFilter{.queues = {"pawl.webhooks"}}.wants(event)));
  expired.queue = scoped_queue("acme", "mail");
  event = projected(expired)[0];
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_TRUE((EventFilter{.queues = {"mail"}, .tenant = "acme"}.wants(event)));
}

// Whatever project() gives has a name that subscriptions may use.
TEST(EventProjection, EveryTypeIsListed) {
  std::vector<std::string_view> names = event_type_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const auto& events : {projected(created(JobState::Available)),
                             projected(created(JobState::Scheduled)),
                             projected(failed(JobState::Retryable)),
                             projected(failed(JobState::Discarded)),
                             projected(step(JobLeased{})),
                             projected(step(LeaseExtended{})),
                             projected(step(JobCompleted{})),
                             projected(step(JobRequeued{})),
                             projected(step(JobCancelled{})),
                             projected(step(JobExpired{})),
                             projected(CronFired{"c", kJob, 0, 0}),
                             projected(CronSkipped{"c", "r", 0, 0}),
                             projected(RunCreated{.run = kRun}),
                             projected(run_step(RunStarted{})),
                             projected(child(RunKind::Chain, ChildState::Completed)),
                             projected(child(RunKind::Chain, ChildState::Failed)),
                             projected(child(RunKind::Chain, ChildState::Skipped)),
                             projected(child(RunKind::Group, ChildState::Completed)),
                             projected(child(RunKind::Group, ChildState::Failed)),
                             projected(run_step(RunCallbackFired{})),
                             projected(run_step(RunFinished{})),
                             projected(run_step(RunRetried{}))})
    for (const OjsEvent& event : events)
      EXPECT_TRUE(std::binary_search(names.begin(), names.end(), event.type)) << event.type;
}

// What a journal only follows or copies is told from the journal of the partition that decides it.
TEST(Projection, WhatIsAnotherPartitionsIsNotToldTwice) {
  JobCompleted ended = step(JobCompleted{});
  EXPECT_NE(story(ended), "nothing");
  ended.elsewhere = true;
  EXPECT_EQ(story(ended), "nothing");
  QueueConfigured paused{.queue = "mail", .settings = {.paused = true}};
  EXPECT_NE(story(paused), "nothing");
  paused.copied = true;
  EXPECT_EQ(story(paused), "nothing");
}

}  // namespace
}  // namespace pawl
