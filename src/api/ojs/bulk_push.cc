// POST /jobs/bulk: many jobs, each with its own outcome. "partial" (the default) pushes every valid
// job; "atomic" pushes all or nothing, as /jobs/batch does, but reports the refused jobs.
#include "api/app.h"
#include "api/body.h"
#include "api/routes.h"
#include "base/quote.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/messages/claims.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kJobsMax = 10'000;

struct Item {
  NewJob job;
  std::optional<Error> error;
  std::optional<Pushed> pushed = {};

  bool is_created() const { return pushed && pushed->created; }
};

struct BulkPush {
  bool atomic = false;
  std::vector<Item> items;

  bool all_good() const {
    for (const Item& item : items)
      if (item.error) return false;
    return true;
  }
};

Result<BulkPush> parse_bulk_push(const json::Doc& doc, const EnvelopeRules& rules) {
  Fields fields(doc.root());
  BulkPush bulk;
  std::string atomicity = fields.text("atomicity", "partial");
  bulk.atomic = atomicity == "atomic";
  if (!bulk.atomic && atomicity != "partial")
    fields.complain("atomicity", "must be atomic or partial, not " + in_quotes(atomicity));
  auto list = fields.find("jobs");
  if (!list || !list->is_array() || list->size() == 0)
    fields.complain("jobs", "must be an array with at least one job");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (list->size() > kJobsMax)
    return Error{ErrorCode::TooLarge, "jobs holds " + std::to_string(list->size()) +
                                          " jobs; at most " + std::to_string(kJobsMax) +
                                          " are taken at once"};
  bulk.items.reserve(list->size());
  list->each_element([&](json::View envelope) {
    Item& item = bulk.items.emplace_back();
    auto job = parse_job(envelope, rules, "$.jobs[" + std::to_string(bulk.items.size() - 1) + "]");
    if (job.ok()) {
      item.job = std::move(job).value();
    } else {
      item.error = job.error();
    }
  });
  return bulk;
}

std::vector<NameClaim> claims_of_items(Frame& frame, BulkPush& bulk) {
  if (frame.state().partitions() == 1) return {};
  std::vector<NewJob> jobs;
  for (const Item& item : bulk.items)
    if (!item.error) jobs.push_back(item.job);
  std::vector<NameClaim> claims = claims_of_jobs(frame, jobs);
  size_t next = 0;
  for (Item& item : bulk.items)
    if (!item.error) item.job.id = jobs[next++].id;  // it may have got one
  return claims;
}

// Each separately: a refused job does not affect the others.
void push_partial(Frame& frame, BulkPush& bulk, const NameAnswers* answers) {
  for (Item& item : bulk.items) {
    if (item.error) continue;
    auto pushed = push_jobs(frame, {item.job}, answers);
    if (pushed.ok()) {
      item.pushed = (*pushed)[0];
    } else {
      item.error = pushed.error();
    }
  }
}

void push_atomic(Frame& frame, BulkPush& bulk, const NameAnswers* answers) {
  if (!bulk.all_good()) return;
  std::vector<NewJob> jobs;
  for (const Item& item : bulk.items) jobs.push_back(item.job);
  auto pushed = push_jobs(frame, jobs, answers);
  for (size_t i = 0; i < bulk.items.size(); ++i) {
    if (!pushed.ok()) {
      bulk.items[i].error = pushed.error();
      continue;
    }
    bulk.items[i].pushed = (*pushed)[i];
  }
}

void write_item(json::Writer& w, const State& state, const Item& item, size_t index) {
  w.begin_object().field_int("index", index);
  if (item.pushed) {
    const Job& job = pushed_job(state, *item.pushed);
    w.field("status", item.is_created() ? "created" : "duplicate").key("job_id").uuid(job.id);
    w.key("job");
    render_job(w, state, job);
  } else if (item.error) {
    w.field("status", "failed").key("error").begin_object();
    w.field("code", wire_code(item.error->code)).field("type", wire_code(item.error->code));
    w.field("message", item.error->message);
    w.field_bool("retryable", worth_retrying(item.error->code));
    write_error_details(w, Surface::Ojs, *item.error);
    w.end_object();
  } else {
    w.field("status", "failed").key("error").begin_object().field("code", "aborted");
    w.field("message", "another job of this atomic request was refused");
    w.field_bool("retryable", true).end_object();
  }
  w.end_object();
}

http::Response report(const State& state, const BulkPush& bulk) {
  size_t succeeded = 0;
  for (const Item& item : bulk.items) succeeded += item.pushed ? 1 : 0;
  size_t total = bulk.items.size();
  json::ObjectWriter w;
  w.field_int("total", total);
  w.field_int("succeeded", succeeded);
  w.field_int("failed", total - succeeded);
  w.field("atomicity", bulk.atomic ? "atomic" : "partial").key("items").begin_array();
  for (size_t i = 0; i < total; ++i) write_item(w, state, bulk.items[i], i);
  w.end_array();
  int status = succeeded == total ? 201 : succeeded == 0 ? 422 : 207;
  http::Response response = json_response(Surface::Ojs, status, w.close());
  response.headers.emplace_back("X-OJS-Batch-Size", std::to_string(total));
  return response;
}

// Ignoring a key would let a retry push everything twice.
Status check_idempotency(const Call& call, const json::Doc& doc) {
  auto key = doc.root().find("idempotency_key");
  if (!key || key->is_null() || key->equals(call.request.header("idempotency-key")))
    return ok_status();
  return Error{ErrorCode::Unsupported,
               "idempotency_key must be sent as the header Idempotency-Key",
               {{"$.idempotency_key", "belongs into the header Idempotency-Key"}}};
}

void push(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  if (Status good = check_idempotency(call, doc); !good.ok()) return call.fail(good.error());
  EnvelopeRules rules{
      .now_ms = app.clock().now_ms(), .tenant = call.tenant, .partitions = app.config().partitions};
  PAWL_TRY_CALL(call, auto bulk, parse_bulk_push(doc, rules));
  auto shared = std::make_shared<BulkPush>(std::move(bulk));
  app.decide_claiming(
      std::move(call), [shared](Frame& frame) { return claims_of_items(frame, *shared); },
      [&app, shared](Frame& frame, Waiting&, const NameAnswers* answers) -> Reply {
        shared->atomic ? push_atomic(frame, *shared, answers)
                       : push_partial(frame, *shared, answers);
        uint64_t made = 0;
        for (const Item& item : shared->items) made += item.is_created() ? 1 : 0;
        app.metrics().jobs_pushed.fetch_add(made, std::memory_order_relaxed);
        return report(frame.state(), *shared);
      });
}

}  // namespace

void add_bulk_push_routes(Router& router) {
  router.add({"POST", "/ojs/v1/jobs/bulk", Permission::Write, Routing::Create, push});
}

}  // namespace pawl::api
