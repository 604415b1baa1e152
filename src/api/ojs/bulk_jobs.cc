#include "api/ojs/bulk_jobs.h"

#include <set>

#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "api/sweep.h"
#include "base/named.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kBulkIdsMax = 10'000;
constexpr size_t kBulkScanPerSlice = 2'000;
constexpr size_t kErrorsShown = 100;
constexpr size_t kItemsShown = 1'000;

constexpr Named<BulkAct> kBulkActNames[] = {{"retry", BulkAct::Retry},
                                            {"cancel", BulkAct::Cancel},
                                            {"delete", BulkAct::Delete},
                                            {"purge", BulkAct::Purge}};
std::string_view act_name(BulkAct act) { return name_of(kBulkActNames, act); }

Status forget(Frame& frame, const Job& job) {
  if (!is_terminal(job.state))
    return Error{ErrorCode::Conflict, "job " + job.id.text() + " is " +
                                          std::string(state_name(job.state)) + ", not finished"};
  JobsForgotten event;
  event.jobs = {job.id};
  event.queue = job.queue->name;
  event.dead = job.dead_letter ? 1 : 0;
  frame.emit(event);
  return ok_status();
}

Status act_on(Frame& frame, BulkAct act, const Job& job) {
  switch (act) {
    case BulkAct::Retry:
      return revive_job(frame, job.id);
    case BulkAct::Cancel:
      return cancel_job(frame, job.id, "cancelled by an operator");
    case BulkAct::Delete:
      return forget(frame, job);
    case BulkAct::Purge:
      if (is_terminal(job.state)) return forget(frame, job);
      return cancel_job(frame, job.id, "its queue was purged");
  }
  return ok_status();
}

// The state of one bulk operation between its slices.
class Sweeper {
 public:
  Sweeper(Bulk bulk, int64_t started_ms) : bulk_(std::move(bulk)), started_ms_(started_ms) {}

  Result<bool> slice(Frame& frame) {
    std::vector<JobId> found;
    bool more = bulk_.ids.empty() ? scan(frame, found) : take_ids(frame, found);
    for (const JobId& id : found) {
      const Job* job = frame.state().find_job_here(id);
      if (job != nullptr) note(id, act_on(frame, bulk_.act, *job));
    }
    return more;
  }

  std::string report() const {
    json::ObjectWriter w;
    w.field("action", act_name(bulk_.act));
    w.field_int("matched", succeeded_ + failed_);
    w.field_int("succeeded", succeeded_);
    w.field_int("failed", failed_);
    std::string past = bulk_.act == BulkAct::Retry    ? "retried"
                       : bulk_.act == BulkAct::Cancel ? "cancelled"
                       : bulk_.act == BulkAct::Delete ? "deleted"
                                                      : "purged";
    w.field_int(past, succeeded_);
    w.field_int(past + "_count", succeeded_);
    if (bulk_.act == BulkAct::Purge) w.field_int("deleted", succeeded_);
    w.field_int("total_matched", succeeded_ + failed_);
    w.field_int("skipped", failed_);
    w.key("items").begin_array();
    for (size_t i = 0; i < items_.size(); ++i) {
      w.begin_object().field_int("index", i).key("job_id").uuid(items_[i].id);
      w.field("status", items_[i].reason.empty() ? past : "skipped");
      if (!items_[i].reason.empty()) w.field("reason", items_[i].reason);
      w.end_object();
    }
    w.end_array();
    if (items_.size() < succeeded_ + failed_) w.field_bool("items_truncated", true);
    w.key("errors").begin_array();
    for (const auto& [id, message] : errors_)
      w.begin_object().key("job_id").uuid(id).field("error", message).end_object();
    w.end_array();
    return w.close();
  }

 private:
  void note(const JobId& id, const Status& status) {
    ++(status.ok() ? succeeded_ : failed_);
    if (items_.size() < kItemsShown)
      items_.push_back({id, status.ok() ? "" : status.error().message});
    if (!status.ok() && errors_.size() < kErrorsShown) errors_[id] = status.error().message;
  }

  bool scan(Frame& frame, std::vector<JobId>& found) {
    auto visit = [&](const Job& job) {
      if (bulk_.filter.matches(job)) found.push_back(job.id);
      return true;
    };
    from_ = bulk_.dead_only ? frame.state().each_dead(from_, kBulkScanPerSlice, visit)
                            : frame.state().each_job_here(from_, false, kBulkScanPerSlice, visit);
    // Skip jobs created after the request, which could keep the sweep running for ever.
    return !from_.is_nil() && from_.unix_ms() <= started_ms_;
  }

  bool take_ids(Frame& frame, std::vector<JobId>& found) {
    for (size_t left = kBulkScanPerSlice; left > 0 && next_id_ < bulk_.ids.size(); --left) {
      const JobId& id = bulk_.ids[next_id_++];
      const Job* job = frame.state().find_job_here(id);
      bool mine = job != nullptr && (bulk_.filter.tenant.empty() ||
                                     tenant_of_scoped(job->queue->name) == bulk_.filter.tenant);
      if (!mine) {
        note(id, Error{ErrorCode::NotFound, "job " + id.text() + " not found"});
      } else if (bulk_.filter.matches(*job)) {
        found.push_back(id);
      }
    }
    return next_id_ < bulk_.ids.size();
  }

  Bulk bulk_;
  int64_t started_ms_;
  JobId from_;
  size_t next_id_ = 0;
  uint64_t succeeded_ = 0;
  uint64_t failed_ = 0;
  std::map<JobId, std::string> errors_;
  struct Item {
    JobId id;
    std::string reason;  // "" = it was done
  };
  std::vector<Item> items_;  // the first ones
};

// Ignoring an unknown member would make the call match more jobs: a filter member beside the
// filter, or a bound of another server.
void refuse_unknown(Fields& fields) {
  fields.object().each_member([&](json::View key, json::View) {
    for (std::string_view known :
         {"filter", "ids", "job_ids", "confirm", "atomicity", "idempotency_key", "reason"})
      if (key.equals(known)) return;
    fields.complain(key.string().substr(0, 64), "is nothing that a bulk operation takes",
                    "unknown_field");
  });
}

Status read_ids(Fields& fields, Bulk& bulk) {
  std::string_view name = fields.has("ids") ? "ids" : "job_ids";
  std::vector<std::string> texts = fields.texts(name);
  if (fields.has(name) && texts.empty()) fields.complain(name, "must name at least one job");
  if (texts.size() > kBulkIdsMax)
    return Error{ErrorCode::TooLarge,
                 "ids holds more than " + std::to_string(kBulkIdsMax) + " ids"};
  std::set<JobId> known;
  for (const std::string& text : texts) {
    auto id = JobId::parse(text);
    if (!id) fields.complain("ids", "must hold job ids only");
    if (id && known.insert(*id).second) bulk.ids.push_back(*id);
  }
  return ok_status();
}

// Clients of the data plane give ids or a filter and do not confirm; "atomic" is impossible for
// work in slices.
Status check_data_plane(const json::Doc& doc) {
  Fields fields(doc.root());
  std::string atomicity = fields.text("atomicity", "partial");
  if (atomicity == "atomic")
    return Error{ErrorCode::Unsupported,
                 "atomicity must be partial: a bulk operation is done in slices",
                 {{"$.atomicity", "must be partial"}}};
  if (atomicity != "partial") fields.complain("atomicity", "must be partial");
  bool by_ids = fields.has("ids") || fields.has("job_ids");
  if (by_ids && fields.has("filter")) fields.complain("filter", "and ids exclude each other");
  auto filter = fields.find("filter");
  if (filter && filter->is_object() && filter->size() == 0)
    fields.complain("filter", "must say which jobs are meant");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return ok_status();
}

void bulk_call(App& app, Call&& call, BulkAct act, bool must_confirm = true) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  if (Status good = must_confirm ? ok_status() : check_data_plane(doc); !good.ok())
    return call.fail(good.error());
  PAWL_TRY_CALL(call, auto bulk, parse_bulk(doc, act, call.tenant, must_confirm));
  run_bulk(app, std::move(call), std::move(bulk));
}

void bulk_retry(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Retry); }
void bulk_cancel(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Cancel); }
void bulk_delete(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Delete); }
void retry_many(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Retry, false); }
void cancel_many(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Cancel, false); }
void delete_many(App& app, Call&& call) { bulk_call(app, std::move(call), BulkAct::Delete, false); }

constexpr uint32_t bit(JobState state) { return 1u << static_cast<int>(state); }
constexpr uint32_t kWaiting = bit(JobState::Available) | bit(JobState::Scheduled) |
                              bit(JobState::Retryable) | bit(JobState::Pending);

// Purges a queue: the waiting jobs unless the body names other states.
void purge_queue(App& app, Call&& call, bool must_confirm) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  if (must_confirm && !fields.boolean("confirm", false))
    return call.fail({ErrorCode::InvalidRequest, "purging needs \"confirm\": true"});
  PAWL_TRY_CALL(call, auto filter, filter_of_object(doc.root(), call.tenant, "$", "confirm"));
  if (!filter.queue.empty() && filter.queue != queue_of_scoped(scoped))
    return call.fail({ErrorCode::InvalidRequest,
                      "queue must be the one that the path names, or be left out",
                      {{"$.queue", "is another than the path's"}}});
  Bulk bulk{.act = BulkAct::Purge, .filter = std::move(filter), .ids = {}};
  bulk.filter.queue = queue_of_scoped(scoped);
  if (bulk.filter.states == 0) bulk.filter.states = kWaiting;
  if ((bulk.filter.states & bit(JobState::Active)) != 0)
    return call.fail({ErrorCode::InvalidRequest, "running jobs are not purged; cancel them"});
  run_bulk(app, std::move(call), std::move(bulk));
}

void purge(App& app, Call&& call) { purge_queue(app, std::move(call), false); }
void purge_confirmed(App& app, Call&& call) { purge_queue(app, std::move(call), true); }

}  // namespace

Result<Bulk> parse_bulk(const json::Doc& doc, BulkAct act, std::string_view tenant,
                        bool must_confirm) {
  Fields fields(doc.root());
  bool confirmed = fields.boolean("confirm", !must_confirm);
  if (fields.ok() && !confirmed)
    return Error{ErrorCode::InvalidRequest,
                 "a bulk operation needs \"confirm\": true",
                 {{"$.confirm", "must be true"}}};
  Bulk bulk;
  bulk.act = act;
  bulk.filter.tenant = tenant;
  refuse_unknown(fields);
  PAWL_TRY_DO(read_ids(fields, bulk));
  if (auto filter = fields.find("filter")) {
    PAWL_TRY(bulk.filter, filter_of_object(*filter, tenant));
  } else if (bulk.ids.empty()) {
    fields.complain("filter", must_confirm ? "or ids is required; {} stands for everything"
                                           : "or ids is required");
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return bulk;
}

void run_bulk(App& app, Call&& call, Bulk bulk) {
  // Without a state, the operation selects the states it applies to.
  if (bulk.ids.empty() && bulk.filter.states == 0) {
    constexpr uint32_t kFinished =
        bit(JobState::Completed) | bit(JobState::Cancelled) | bit(JobState::Discarded);
    bulk.filter.states = bulk.act == BulkAct::Retry    ? bit(JobState::Discarded)
                         : bulk.act == BulkAct::Cancel ? kWaiting | bit(JobState::Active)
                                                       : kFinished;
  }
  bulk.filter.settle(app.clock().now_ms());
  auto sweeper = std::make_shared<Sweeper>(std::move(bulk), app.clock().now_ms());
  sweep(
      app, std::move(call), [sweeper](Frame& frame) { return sweeper->slice(frame); },
      [sweeper] { return json_response(Surface::Ojs, 200, sweeper->report()); });
}

void add_bulk_job_routes(Router& router) {
  router.add({"POST", "/ojs/v1/admin/jobs/bulk/retry", Permission::Operate, Routing::Broadcast,
              bulk_retry});
  router.add({"POST", "/ojs/v1/admin/jobs/bulk/cancel", Permission::Operate, Routing::Broadcast,
              bulk_cancel});
  router.add({"POST", "/ojs/v1/admin/jobs/bulk/delete", Permission::Admin, Routing::Broadcast,
              bulk_delete});
  router.add(
      {"POST", "/ojs/v1/jobs/bulk/retry", Permission::Operate, Routing::Broadcast, retry_many});
  router.add(
      {"POST", "/ojs/v1/jobs/bulk/cancel", Permission::Operate, Routing::Broadcast, cancel_many});
  router.add(
      {"POST", "/ojs/v1/jobs/bulk/delete", Permission::Admin, Routing::Broadcast, delete_many});
  router.add({"POST", "/ojs/v1/queues/{q}/purge", Permission::Admin, Routing::Broadcast, purge});
  router.add(
      {"POST", "/ojs/v1/admin/queues/{q}/purge", Permission::Admin, Routing::Broadcast, purge});
  router.add({"DELETE", "/ojs/v1/admin/queues/{q}/jobs", Permission::Admin, Routing::Broadcast,
              purge_confirmed});
}

}  // namespace pawl::api
