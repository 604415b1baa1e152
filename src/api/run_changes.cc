// POST /v1/runs/{id}/cancel, …/retry and …/release: every kind of run.
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/definition_faults.h"
#include "api/routes.h"
#include "api/runs.h"
#include "api/worlds/instance_calls.h"
#include "kernel/frame.h"
#include "kernel/quarantine.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr size_t kRunReasonBytesMax = 1024;

http::Response changed(const State& state, const RunId& id) {
  return json_response(Surface::V1, 200, run_body(state, *state.find_run(id), {}));
}

void cancel_run_call(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"reason", "rollback"});
  std::string reason = fields.text("reason", "cancelled by request");
  bool rollback = fields.boolean("rollback", false);
  if (reason.size() > kRunReasonBytesMax)
    fields.complain("reason", "must be at most " + std::to_string(kRunReasonBytesMax) + " bytes");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  auto cancel = [&app, reason, rollback](Call&& any) {
    decide_on(app, std::move(any), visible_run,
              [reason, rollback](Frame& frame, const Run* run) -> Reply {
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
  json::ObjectWriter w;
  w.key("again").begin_array();
  for (const std::string& step : plan.again) w.string(step);
  w.end_array().key("kept").begin_array();
  for (const std::string& step : plan.kept) w.string(step);
  w.end_array();
  return json_response(Surface::V1, 200, w.close());
}

void retry_run_call(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"from_step", "inputs", "preview", "reason"});
  std::string from = fields.text("from_step");
  std::string inputs = fields.raw("inputs");
  bool preview = fields.boolean("preview", false);
  if (!inputs.empty() && inputs[0] != '{') fields.complain("inputs", "must be an object", "type");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  auto retry = [&app, from, inputs, preview](Call&& any) {
    decide_on(app, std::move(any), visible_run, [=](Frame& frame, const Run* run) -> Reply {
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
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {});
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  decide_on(app, std::move(call), visible_run, [](Frame& frame, const Run* run) -> Reply {
    RunId id = run->id;
    PAWL_TRY_DO(release_run(frame, id));
    return changed(frame.state(), id);
  });
}

}  // namespace

void add_run_change_routes(Router& router) {
  router.add({"POST", "/v1/runs/{id}/cancel", Permission::Write, Routing::ById, cancel_run_call});
  router.add({"POST", "/v1/runs/{id}/retry", Permission::Write, Routing::ById, retry_run_call});
  router.add({"POST", "/v1/runs/{id}/release", Permission::Operate, Routing::ById, release});
}

}  // namespace pawl::api
