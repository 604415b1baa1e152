// /v1/worlds/{w}/gov/…: proposals, their shadow runs, and changes of the live program.
#include "worlds/governance.h"

#include "api/routes.h"
#include "api/worlds/world_call.h"
#include "worlds/fault.h"
#include "worlds/reading.h"

namespace pawl::api {
namespace {

constexpr size_t kDescriptionBytesMax = 4'096;
constexpr size_t kShadowEventsMax = 10'000;

Result<worlds::ProgramText> candidate_text(WorldRequest& request, WorldSession& session) {
  PAWL_TRY(worlds::ProgramText text, read_program_text(request, &session));
  if (!text.faults.empty()) return invalid_manifest(text);
  return text;
}

http::Response proposal_reply(const worlds::Proposal& proposal, int status,
                              const std::vector<Complaint>* warnings = nullptr) {
  std::string body;
  json::Writer w(body);
  w.begin_object().key("proposal");
  worlds::write_proposal(w, proposal);
  if (warnings != nullptr) write_faults(w, "warnings", *warnings);
  w.end_object();
  return world_reply(std::move(body), status);
}

void propose(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request =
      read_program_call(app, std::move(call), {"manifest", "nodes", "base", "description"});
  if (!request) return;
  Fields fields(request->body());
  const std::string base = fields.text("base");
  const std::string description = fields.text("description");
  if (description.size() > kDescriptionBytesMax) fields.complain("description", "is too long");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  answer_from_world(
      app, request, name,
      [request, base, description](WorldSession& session) -> Reply {
        PAWL_TRY(worlds::ProgramText text, candidate_text(*request, session));
        PAWL_TRY(worlds::Proposal made, session.frame([&](worlds::Deciding& deciding) {
          return worlds::propose(deciding, text, base.empty() ? std::nullopt : std::optional(base),
                                 description);
        }));
        return proposal_reply(made, 201, &text.warnings);
      },
      {.writes = true, .alone = true});
}

Result<std::shared_ptr<const worlds::Program>> candidate_of(WorldSession& session,
                                                            const std::string& proposal_id) {
  PAWL_TRY(worlds::Proposal proposal, worlds::named_proposal(session.world(), proposal_id));
  return worlds::load_program(proposal.manifest_hash,
                              [&](std::string_view hash) { return session.world().node(hash); });
}

// --- shadow

Result<worlds::ShadowOrder> read_shadow(const WorldRequestPtr& request) {
  Fields fields(request->body());
  worlds::ShadowOrder order;
  order.proposal_id = fields.required_text("proposal_id");
  if (fields.has("from_seq"))
    order.from_seq = static_cast<uint64_t>(fields.integer("from_seq", 1, 1, INT64_MAX));
  order.max_steps =
      static_cast<uint64_t>(fields.integer("max_steps", 1'000, 1, worlds::kShadowStepsMax));
  if (auto events = fields.find("events")) {
    if (!events->is_array()) fields.complain("events", "must be an array", "type");
    if (events->size() > kShadowEventsMax) fields.complain("events", "are too many");
    size_t index = 0;
    events->each_element([&](json::View each) {
      Fields in(each, "$.events[" + std::to_string(index++) + "]");
      worlds::GivenEvent event = read_event_fields(request->call, in);
      if (!in.ok() && fields.ok())
        fields.complain("events", in.error(ErrorCode::InvalidContent).message);
      order.events.push_back(std::move(event));
    });
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return order;
}

void shadow(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request =
      read_world_call(std::move(call), {"proposal_id", "events", "from_seq", "max_steps"});
  if (!request) return;
  auto order = read_shadow(request);
  if (!order.ok()) return request->call.fail(order.error());
  auto given = std::make_shared<worlds::ShadowOrder>(std::move(*order));
  answer_from_world(app, request, name,
                    [request, given](WorldSession& session) -> Reply {
                      PAWL_TRY(auto candidate, candidate_of(session, given->proposal_id));
                      PAWL_TRY(worlds::Shadowed shadowed,
                               session.frame([&](worlds::Deciding& deciding) {
                                 return worlds::shadow(deciding, *given, candidate);
                               }));
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field_raw("report", shadowed.report_json).end_object();
                      return world_reply(std::move(body));
                    },
                    {.writes = true, .alone = true});
}

// --- decisions

using Verb = Result<worlds::Proposal> (*)(worlds::Deciding&, std::string_view);

void decide_proposal(App& app, Call&& call, Verb verb) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {"proposal_id"});
  if (!request) return;
  Fields fields(request->body());
  const std::string id = fields.required_text("proposal_id");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  answer_from_world(
      app, request, name,
      [id, verb](WorldSession& session) -> Reply {
        PAWL_TRY(worlds::Proposal proposal,
                 session.frame([&](worlds::Deciding& deciding) { return verb(deciding, id); }));
        return proposal_reply(proposal, 200);
      },
      {.writes = true});
}

void approve(App& app, Call&& call) { decide_proposal(app, std::move(call), worlds::approve); }
void reject(App& app, Call&& call) { decide_proposal(app, std::move(call), worlds::reject); }

Reply apply_decided(App& app, const WorldRequestPtr& request, const std::string& id,
                    WorldSession& session) {
  std::shared_ptr<const worlds::Program> candidate;
  std::optional<worlds::ProgramText> text;
  if (id.empty()) {
    PAWL_TRY(text, candidate_text(*request, session));
    candidate = text->program;
  } else {
    PAWL_TRY(candidate, candidate_of(session, id));
  }
  const worlds::QueuedWork queued{app.worlds()->queued(session)};
  PAWL_TRY(worlds::Applied applied,
           session.frame([&](worlds::Deciding& deciding) -> Result<worlds::Applied> {
             if (text) worlds::keep_program_text(deciding.world(), deciding.writes(), *text);
             return worlds::apply_program(deciding, id, candidate, queued);
           }));
  std::string body;
  json::Writer w(body);
  w.begin_object().field("manifest_hash", applied.manifest_hash);
  w.field_int("seq", static_cast<int64_t>(applied.seq));
  if (text) write_faults(w, "warnings", text->warnings);
  w.end_object();
  return world_reply(std::move(body));
}

void apply(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request =
      read_program_call(app, std::move(call), {"proposal_id", "direct", "manifest", "nodes"});
  if (!request) return;
  Fields fields(request->body());
  const std::string id = fields.text("proposal_id");
  const bool direct = fields.boolean("direct", false);
  if (fields.ok() && direct == !id.empty())
    fields.complain("proposal_id", direct ? "does not go with direct" : "is required", "required");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  answer_from_world(app, request, name,
                    [&app, request, id](WorldSession& session) {
                      return apply_decided(app, request, id, session);
                    },
                    {.writes = true, .alone = true});
}

// --- reading

void list_proposals(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto page = world_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [page = *page](WorldSession& session) -> Reply {
        WorldList list("proposals", page);
        session.world().each_proposal(
            page.from, [&](std::string_view item_key, const worlds::Proposal& proposal) {
              if (!list.takes(item_key)) return false;
              worlds::write_proposal(list.writer(), proposal);
              return true;
            });
        return list.reply();
      });
}

void get_proposal(App& app, Call&& call) {
  const std::string name = call.params[0];
  const std::string id = call.query("proposal_id");
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [id](WorldSession& session) -> Reply {
        PAWL_TRY(worlds::Proposal proposal, worlds::named_proposal(session.world(), id));
        std::string body;
        json::Writer w(body);
        w.begin_object().key("proposal");
        worlds::write_proposal(w, proposal);
        w.key("report");
        const auto report =
            proposal.report.empty() ? std::nullopt : session.world().blob(proposal.report);
        if (report) {
          w.raw(*report);
        } else {
          w.null();
        }
        w.end_object();
        return world_reply(std::move(body));
      });
}

}  // namespace

void add_world_governance_routes(Router& router) {
  auto add = [&](std::string_view method, std::string_view path, Permission scope, Routing routing,
                 CallHandler handler, Compiles compiles = Compiles::Nothing) {
    router.add({method, path, scope, routing, handler, {}, compiles});
  };
  add("POST", "/v1/worlds/{w}/gov/propose", Permission::Operate, Routing::ByName, propose,
      Compiles::Always);
  add("POST", "/v1/worlds/{w}/gov/shadow", Permission::Operate, Routing::ByName, shadow);
  add("POST", "/v1/worlds/{w}/gov/approve", Permission::Admin, Routing::ByName, approve);
  add("POST", "/v1/worlds/{w}/gov/reject", Permission::Admin, Routing::ByName, reject);
  add("POST", "/v1/worlds/{w}/gov/apply", Permission::Admin, Routing::ByName, apply,
      Compiles::Always);
  add("GET", "/v1/worlds/{w}/gov/list", Permission::Read, Routing::ByName, list_proposals);
  add("GET", "/v1/worlds/{w}/gov/get", Permission::Read, Routing::ByName, get_proposal);
}

}  // namespace pawl::api
