// /v1/decisions: questions of runs to people and agents, and their answers.
#include "api/app.h"
#include "api/body.h"
#include "api/definition_faults.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"

namespace pawl::api {
namespace {

constexpr size_t kDecisionsScanMax = 100'000;

void write_decision(json::Writer& w, const State& state, const std::string& id,
                    const StoredDecision& decision) {
  w.begin_object().field("id", id).field("run_id", shown_run_id(state, decision.run));
  w.field("step_id", decision.step).field("status", decision.status);
  w.field_raw("context", decision.context.empty() ? "{}" : decision.context);
  if (!decision.target_agent.empty()) w.field("target_agent", decision.target_agent);
  if (!decision.answer.empty()) w.field_raw("answer", decision.answer);
  w.field_time("created_at", decision.created_ms);
  w.field_time_if_set("expires_at", decision.expires_ms);
  w.end_object();
}

void list_decisions(App& app, Call&& call) {
  std::string status = call.query("status");
  std::string named = call.query("run_id");
  RunId run = named.empty() ? RunId() : workflow_id(named, app.config().partitions);
  std::string agent = call.query("target_agent");
  answer_keyed_list(app, std::move(call), {"decisions"}, kPageLimitUsual,
                    [status, run, agent](const Frame& frame, KeyedList& list_decisions) {
                      const State& state = frame.state();
                      list_decisions.each_key(
                          state, DocKind::Decision, kDecisionsScanMax, [&](std::string_view key) {
                            const Doc* doc = state.find_doc(DocKind::Decision, key);
                            StoredDecision decision;
                            if (doc == nullptr || !codec::decode(doc->value, decision)) return true;
                            bool wanted = (status.empty() || decision.status == status) &&
                                          (run.is_nil() || decision.run == run) &&
                                          (agent.empty() || decision.target_agent == agent) &&
                                          (list_decisions.tenant().empty() ||
                                           decision.tenant == list_decisions.tenant());
                            if (wanted && list_decisions.takes_unscoped(key))
                              write_decision(list_decisions.writer(), state, doc->key, decision);
                            return list_decisions.spend(key, doc->value.size());
                          });
                    });
}

Result<StoredDecision> visible_decision(const State& state, std::string_view id,
                                        std::string_view tenant) {
  const Doc* doc = state.find_doc(DocKind::Decision, id);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision) ||
      (!tenant.empty() && decision.tenant != tenant))
    return Error{ErrorCode::NotFound, "decision " + std::string(id.substr(0, 128)) + " not found"};
  return decision;
}

void get_decision(App& app, Call&& call) {
  std::string id = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [id, tenant](Frame& frame) -> Reply {
    PAWL_TRY(StoredDecision decision, visible_decision(frame.state(), id, tenant));
    json::ObjectWriter w;
    w.key("decision");
    write_decision(w, frame.state(), id, decision);
    return json_response(Surface::V1, 200, w.close());
  });
}

void resolve(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  refuse_unknown(call, fields, {"choice", "data", "reasoning", "agent_id", "resolved_by"});
  DecisionAnswer answer;
  answer.choice = fields.required_text("choice");
  answer.data = fields.raw("data");
  answer.reasoning = fields.text("reasoning");
  answer.resolved_by = fields.text(fields.has("agent_id") ? "agent_id" : "resolved_by");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  std::string id = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [id, tenant, answer](Frame& frame) -> Reply {
    PAWL_TRY_DO(visible_decision(frame.state(), id, tenant));
    PAWL_TRY_DO(resolve_decision(frame, id, answer));
    PAWL_TRY(StoredDecision decision, visible_decision(frame.state(), id, tenant));
    json::ObjectWriter w;
    w.key("decision");
    write_decision(w, frame.state(), id, decision);
    return json_response(Surface::V1, 200, w.close());
  });
}

}  // namespace

void add_decision_routes(Router& router) {
  router.add({"GET", "/v1/decisions", Permission::Read, Routing::Gather, list_decisions});
  router.add({"GET", "/v1/decisions/{id}", Permission::Read, Routing::ById, get_decision});
  router.add({"POST", "/v1/decisions/{id}", Permission::Write, Routing::ById, resolve});
}

}  // namespace pawl::api
