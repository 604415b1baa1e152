// POST, GET, DELETE /ojs/v1/workflows, and beyond OJS 1.0: list, retry.
#include "api/app.h"
#include "api/body.h"
#include "api/paging.h"
#include "api/routes.h"
#include "base/url.h"
#include "kernel/compositions/planned_runs.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/messages/claims.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/render_planned.h"
#include "wire/render_workflow.h"

namespace pawl::api {
namespace {

constexpr int64_t kListMost = 1000;
constexpr size_t kWorkflowsScannedMax = 5000;

Error id_is_taken(const NameAnswer& refused) {
  return {ErrorCode::Duplicate,
          "a workflow or job with the id " + refused.existing.text() + " exists already"};
}

void create_workflow(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  EnvelopeRules rules{
      .now_ms = app.clock().now_ms(), .tenant = call.tenant, .partitions = app.config().partitions};
  PAWL_TRY_CALL(call, auto plan, parse_workflow(doc.root(), rules));
  std::string tenant = call.tenant;
  auto shared = std::make_shared<const PlanNode>(std::move(plan));
  app.decide_claiming(
      std::move(call), [shared](Frame& frame) { return claims_of_run(frame.state(), *shared); },
      [&app, tenant, shared](Frame& frame, Waiting&, const NameAnswers* answers) -> Reply {
        if (const NameAnswer* refused = first_refused(answers)) return id_is_taken(*refused);
        PAWL_TRY(RunId id, create_run(frame, *shared, tenant));
        const Run& run = *frame.state().find_run(id);
        app.metrics().jobs_pushed.fetch_add(run.job_count, std::memory_order_relaxed);
        http::Response response =
            json_response(Surface::Ojs, 201, workflow_body(frame.state(), run, {}));
        response.headers.emplace_back("Location",
                                      "/ojs/v1/workflows/" + percent_encode(workflow_id_text(run)));
        return response;
      });
}

Result<const Run*> visible_run(const State& state, std::string_view text, std::string_view tenant) {
  const Run* run = state.find_run(workflow_id(text, state.partitions()));
  if (run == nullptr || (!tenant.empty() && run->tenant != tenant))
    return Error{ErrorCode::NotFound,
                 "Workflow " + std::string(text.substr(0, 128)) + " not found"};
  return run;
}

// A nested workflow that has not started yet.
std::optional<PlannedRun> visible_planned(const State& state, const std::string& text,
                                          const std::string& tenant) {
  auto planned = find_planned(state, workflow_id(text, state.partitions()));
  if (planned && !tenant.empty() && planned->around->tenant != tenant) return std::nullopt;
  return planned;
}

WorkflowPage page_of(const Call& call) {
  WorkflowPage page;
  std::string limit = call.query("limit");
  std::string cursor = call.query("cursor");
  if (!limit.empty()) page.limit = static_cast<uint32_t>(std::strtoul(limit.c_str(), nullptr, 10));
  if (!cursor.empty()) page.from = static_cast<uint32_t>(std::strtoul(cursor.c_str(), nullptr, 10));
  if (page.limit == 0) page.limit = UINT32_MAX;
  page.as_steps = true;
  return page;
}

void get_workflow(App& app, Call&& call) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  WorkflowPage page = page_of(call);
  app.decide(std::move(call), [text, tenant, page](Frame& frame) -> Reply {
    auto run = visible_run(frame.state(), text, tenant);
    if (run.ok())
      return json_response(Surface::Ojs, 200, workflow_body(frame.state(), **run, page));
    if (auto planned = visible_planned(frame.state(), text, tenant))
      return json_response(Surface::Ojs, 200, planned_workflow_body(frame.state(), *planned));
    return std::move(run).error();
  });
}

void change_workflow(App& app, Call&& call, Status (*act)(Frame&, const RunId&),
                     const WorkflowPage& page) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [text, tenant, act, page](Frame& frame) -> Reply {
    auto run = visible_run(frame.state(), text, tenant);
    auto planned = run.ok() ? std::nullopt : visible_planned(frame.state(), text, tenant);
    if (planned)
      return Error{ErrorCode::Conflict, "Workflow " + text.substr(0, 128) +
                                            " has not started: it is part of " +
                                            shown_id(*planned->around)};
    if (!run.ok()) return std::move(run).error();
    RunId id = (*run)->id;
    PAWL_TRY_DO(act(frame, id));
    return json_response(Surface::Ojs, 200,
                         workflow_body(frame.state(), *frame.state().find_run(id), page));
  });
}

void cancel_workflow(App& app, Call&& call) {
  WorkflowPage page;
  page.count_cancelled = true;
  change_workflow(
      app, std::move(call),
      [](Frame& frame, const RunId& id) { return cancel_run(frame, id, "cancelled by request"); },
      page);
}
void retry_workflow(App& app, Call&& call) {
  change_workflow(app, std::move(call),
                  [](Frame& frame, const RunId& id) -> Status {
                    PAWL_TRY_DO(retry_run(frame, id));
                    return ok_status();
                  },
                  {});
}

struct ListFilter {
  std::string state;
  std::string type;
  std::string name;
  std::string tenant;
  bool nested = false;

  bool takes(const Run& run) const {
    return (state.empty() || state_name(run.state) == state) &&
           (type.empty() || kind_name(run.kind) == type) && (name.empty() || run.name == name) &&
           (tenant.empty() || run.tenant == tenant) && (nested || run.parent.run.is_nil());
  }
};

// By page number, as the admin UI asks: {"items": [...], "pagination": {...}}. Counts no further
// than a list scans.
void list_by_page(App& app, Call&& call, const ListFilter& filter) {
  PAWL_TRY_CALL(call, auto page, parse_page(call));
  app.decide_list(std::move(call), [filter, page](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.key("items").begin_array();
    uint64_t total = 0;
    std::string next;
    RunId go_on = frame.state().each_run(RunId(), true, kWorkflowsScannedMax, [&](const Run& run) {
      if (!filter.takes(run)) return true;
      bool shown = total >= page.offset && total - page.offset < page.limit;
      if (shown) render_workflow_summary(w, frame.state(), run);
      if (total == page.offset + page.limit) next = run.id.text();
      ++total;
      return true;
    });
    w.end_array();
    if (next.empty() && !go_on.is_nil()) next = go_on.text();
    PageEnd end{.total = total, .total_is_estimate = !go_on.is_nil(), .next_cursor = next};
    write_pagination(w, page, end);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void list_workflows(App& app, Call&& call) {
  ListFilter filter{call.query("state"), call.query("type"), call.query("name"), call.tenant,
                    call.query("nested") == "true"};
  bool by_page = !call.query("page").empty() || !call.query("per_page").empty();
  if (by_page && call.query("cursor").empty()) return list_by_page(app, std::move(call), filter);
  std::string limit_text = call.query("limit");
  int64_t limit = limit_text.empty() ? 50 : std::strtol(limit_text.c_str(), nullptr, 10);
  if (limit < 1 || limit > kListMost)
    return call.fail(
        {ErrorCode::InvalidRequest, "limit must be from 1 to " + std::to_string(kListMost)});
  std::string cursor = call.query("cursor");
  auto from = cursor.empty() ? std::optional<RunId>(RunId()) : RunId::parse(cursor);
  if (!from)
    return call.fail({ErrorCode::InvalidRequest, "cursor is not one that this server gave"});
  Page page{.limit = static_cast<size_t>(limit), .cursor = cursor};
  app.decide(std::move(call), [filter, limit, page, from = *from](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.key("workflows").begin_array();
    int64_t found = 0;
    RunId last;
    RunId go_on = frame.state().each_run(from, true, kWorkflowsScannedMax, [&](const Run& run) {
      if (!filter.takes(run)) return true;
      if (found == limit) return last = run.id, false;
      ++found;
      render_workflow_summary(w, frame.state(), run);
      return true;
    });
    w.end_array();
    RunId next = last.is_nil() ? go_on : last;
    PageEnd end;
    if (!next.is_nil()) end.next_cursor = next.text();
    if (next.is_nil() && from.is_nil()) end.total = static_cast<uint64_t>(found);
    write_pagination(w, page, end);
    if (next.is_nil()) w.key("next_cursor").null();
    if (end.total) w.field_int("total", found);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_workflow_routes(Router& router) {
  router.add({"POST",
              "/ojs/v1/workflows",
              Permission::Write,
              Routing::Create,
              create_workflow,
              {},
              Compiles::Sometimes});
  router.add({"GET", "/ojs/v1/workflows", Permission::Read, Routing::Gather, list_workflows});
  router.add({"GET", "/ojs/v1/workflows/{id}", Permission::Read, Routing::ById, get_workflow});
  router.add(
      {"DELETE", "/ojs/v1/workflows/{id}", Permission::Write, Routing::ById, cancel_workflow});
  router.add(
      {"POST", "/ojs/v1/workflows/{id}/cancel", Permission::Write, Routing::ById, cancel_workflow});
  router.add(
      {"POST", "/ojs/v1/workflows/{id}/retry", Permission::Operate, Routing::ById, retry_workflow});
}

}  // namespace pawl::api
