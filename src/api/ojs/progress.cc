// Progress that workers report for a job.
#include <algorithm>

#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/state.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kMessageBytesMax = 4096;
constexpr size_t kDataBytesMax = 64 * 1024;

// A share from 0 to 1, or `percentage` from 0 to 100; values outside are clamped.
Result<std::string> parse_share(Fields& fields) {
  for (auto [name, whole] :
       {std::pair{"progress", 1.0}, std::pair{"percentage", 100.0}, std::pair{"percent", 100.0}}) {
    auto value = fields.find(name);
    if (!value) continue;
    auto number = value->as_double();
    if (!number || !(*number == *number)) break;
    std::string text;
    json::Writer(text).real(std::clamp(*number / whole, 0.0, 1.0));
    return text;
  }
  return Error{ErrorCode::InvalidRequest,
               "progress must be a number from 0 to 1",
               {{"$.progress", "must be a number from 0 to 1"}}};
}

Result<ReportProgress> parse_progress(const json::Doc& doc) {
  Fields fields(doc.root());
  ReportProgress command;
  PAWL_TRY(command.progress, parse_share(fields));
  command.message = fields.text("message");
  command.data = fields.raw("data");
  if (command.message.size() > kMessageBytesMax)
    fields.complain("message", "must be at most 4096 bytes");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (command.data.size() > kDataBytesMax)
    return Error{ErrorCode::TooLarge, "data must be at most 64 KiB"};
  return command;
}

std::string progress_body(const Job& job) {
  json::ObjectWriter w;
  w.key("job_id").uuid(job.id).field("state", state_name(job.state));
  bool reported = job.extras && !job.extras->progress.empty();
  w.field_raw("progress", reported ? job.extras->progress : "0");
  if (reported) {
    if (!job.extras->progress_message.empty()) w.field("message", job.extras->progress_message);
    if (!job.extras->progress_data.empty()) w.field_raw("data", job.extras->progress_data);
    w.field_time("updated_at", job.extras->progress_ms);
  }
  return w.close();
}

void report(App& app, Call&& call, const std::string& id, const json::Doc& doc) {
  PAWL_TRY_CALL(call, auto command, parse_progress(doc));
  std::string tenant = call.tenant;
  app.decide(std::move(call), [id, tenant, command](Frame& frame) mutable -> Reply {
    PAWL_TRY(const Job* job, visible_job(frame.state(), id, tenant));
    command.job = job->id;
    PAWL_TRY_DO(report_progress(frame, command));
    return json_response(Surface::Ojs, 200, progress_body(*frame.state().find_job(command.job)));
  });
}

void put_progress(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  std::string id = call.params[0];
  report(app, std::move(call), id, doc);
}

void put_by_body(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  std::string id = fields.required_text("job_id");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  report(app, std::move(call), id, doc);
}

void get_progress(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame&, const Job* job) -> Reply {
    return json_response(Surface::Ojs, 200, progress_body(*job));
  });
}

}  // namespace

void add_progress_routes(Router& router) {
  router.add(
      {"PUT", "/ojs/v1/jobs/{id}/progress", Permission::Worker, Routing::ById, put_progress});
  router.add(
      {"POST", "/ojs/v1/jobs/{id}/progress", Permission::Worker, Routing::ById, put_progress});
  router.add({"GET", "/ojs/v1/jobs/{id}/progress", Permission::Read, Routing::ById, get_progress});
  router.add({"POST", "/ojs/v1/workers/progress", Permission::Worker, Routing::Split, put_by_body});
}

}  // namespace pawl::api
