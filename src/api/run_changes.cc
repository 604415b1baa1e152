// POST /v1/runs/{id}/cancel, …/retry and …/release: every kind of run.
#include "api/app.h"
#include "api/body.h"
#include "api/definition_faults.h"
#include "api/routes.h"
#include "api/runs.h"
#include "api/worlds/instance_calls.h"
#include "kernel/quarantine.h"
#include "kernel/run_commands.h"

namespace pawl::api {
namespace {

constexpr size_t kRunReasonBytesMax = 1024;

http::Response changed(const State& state, const RunId& id) {
  return json_response(Surface::V1, 200, run_body(state, *state.find_run(id), {}));
}

void cancel_run_call(App& app, Call&& call) {
  auto doc = parse_body(call, true);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  refuse_unknown(call, fields, {"reason", "rollback"});
  std::string reason = fields.text("reason", "cancelled by request");
  bool rollback = fields.boolean("rollback", false);
  if (reason.size() > kRunReasonBytesMax)
    fields.complain("reason", "must be at most " + std::to_string(kRunReasonBytesMax) + " bytes");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  auto cancel = [&app, reason, rollback](Call&& any) {
    std::string text = any.params[0];
    std::string tenant = any.tenant;
    app.decide(std::move(any),
               [text, tenant, reason, rollback](Frame& frame) -> Result<http::Response> {
                 PAWL_TRY(const Run* run, visible_run(frame.state(), text, tenant));
                 RunId id = run->id;
                 PAWL_TRY_DO(cancel_run(frame, id, reason, rollback));
                 return changed(frame.state(), id);
               });
  };
  if_instance(
      app, std::move(call),
      [&app](Call&& instance, const std::string& world) {
        cancel_instance(app, std::move(instance), world);
      },
      cancel);
}

http::Response preview_of(const RetryPreview& plan) {
  std::string body;
  json::Writer w(body);
  w.begin_object().key("again").begin_array();
  for (const std::string& step : plan.again) w.string(step);
  w.end_array().key("kept").begin_array();
  for (const std::string& step : plan.kept) w.string(step);
  w.end_array().end_object();
  return json_response(Surface::V1, 200, std::move(body));
}

void retry_run_call(App& app, Call&& call) {
  auto doc = parse_body(call, true);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  refuse_unknown(call, fields, {"from_step", "inputs", "preview", "reason"});
  std::string from = fields.text("from_step");
  std::string inputs = fields.raw("inputs");
  bool preview = fields.boolean("preview", false);
  if (!inputs.empty() && inputs[0] != '{') fields.complain("inputs", "must be an object", "type");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  auto retry = [&app, from, inputs, preview](Call&& any) {
    std::string text = any.params[0];
    std::string tenant = any.tenant;
    app.decide(std::move(any), [=](Frame& frame) -> Result<http::Response> {
      PAWL_TRY(const Run* run, visible_run(frame.state(), text, tenant));
      RunId id = run->id;
      PAWL_TRY(RetryPreview plan, retry_run(frame, id, {from, inputs, preview}));
      return preview ? preview_of(plan) : changed(frame.state(), id);
    });
  };
  if_instance(
      app, std::move(call),
      [&app](Call&& instance, const std::string& world) {
        retry_instance_call(app, std::move(instance), world);
      },
      retry);
}

void release(App& app, Call&& call) {
  auto doc = parse_body(call, true);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  refuse_unknown(call, fields, {});
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [text, tenant](Frame& frame) -> Result<http::Response> {
    PAWL_TRY(const Run* run, visible_run(frame.state(), text, tenant));
    RunId id = run->id;
    PAWL_TRY_DO(release_run(frame, id));
    return changed(frame.state(), id);
  });
}

}  // namespace

void add_run_change_routes(Router& router) {
  router.add({"POST", "/v1/runs/{id}/cancel", Permission::Write, Surface::V1, cancel_run_call});
  router.add({"POST", "/v1/runs/{id}/retry", Permission::Write, Surface::V1, retry_run_call});
  router.add({"POST", "/v1/runs/{id}/release", Permission::Operate, Surface::V1, release});
}

}  // namespace pawl::api
