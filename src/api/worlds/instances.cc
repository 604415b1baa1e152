// Reading a world: instances, state, digest, traces; snapshots, replays and tests of single steps.
#include <optional>
#include <set>

#include "api/definition_faults.h"
#include "api/paging.h"
#include "api/routes.h"
#include "api/worlds/world_call.h"
#include "worldhost/upkeep.h"
#include "worlds/fault.h"
#include "worlds/governance.h"
#include "worlds/reading.h"
#include "worlds/replay.h"

namespace pawl::api {
namespace {

struct InstanceFilter {
  std::string module, key;
  std::optional<worlds::InstanceStatus> status;
};

Result<InstanceFilter> read_instance_filter(const Call& call) {
  using enum worlds::InstanceStatus;
  InstanceFilter filter{call.query("module"), call.query("key"), {}};
  const std::string status = call.query("status");
  if (status.empty()) return filter;
  for (const worlds::InstanceStatus one : {Running, Waiting, Completed, Failed})
    if (worlds::status_name(one) == status) filter.status = one;
  if (filter.status) return filter;
  return Error{ErrorCode::InvalidRequest, "status must be running, waiting, completed or failed"};
}

Reply instances_page(WorldSession& session, const InstanceFilter& filter, const WorldPage& page) {
  PAWL_TRY(auto program, session.program());
  WorldList list("instances", page);
  size_t looked_at = 0;
  auto visit = [&](std::string_view item_key, const std::string& module, const std::string& key,
                   const worlds::Instance& instance) {
    if (++looked_at > kItemsScannedMax) return list.cut(item_key), false;
    if (filter.status && instance.status != *filter.status) return true;
    if (!list.takes(item_key)) return false;
    worlds::write_instance(list.writer(), *program, module, key, instance);
    return true;
  };
  if (filter.key.empty()) {
    session.world().each_instance(filter.module, page.from, visit);
  } else {
    std::set<std::string> modules;
    for (const auto& [name, module] : program->modules)
      if (module.keyed()) modules.insert(name);
    if (!filter.module.empty()) modules = {filter.module};
    for (const std::string& name : modules)
      for (const std::string& key : keys_of_query(program->module(name), filter.key))
        if (auto instance = session.world().instance(name, key))
          visit(worlds::instance_key(name, key), name, key, *instance);
  }
  return list.reply();
}

void list_instances(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto filter = read_instance_filter(call);
  if (!filter.ok()) return call.fail(filter.error());
  auto page = world_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [filter = *filter, page = *page](WorldSession& session) {
                      return instances_page(session, filter, page);
                    });
}

Reply state_reply(WorldSession& session, const std::string& name, const std::string& key_text) {
  PAWL_TRY(auto program, session.program());
  auto unknown = [&] {
    return worlds::refusal(ErrorCode::NotFound, "state.unknown",
                           "module " + name.substr(0, 128) + " has no state under this key");
  };
  // States outlive the program that wrote them.
  const worlds::Module* module = program->module(name);
  for (const std::string& key : keys_of_query(module, key_text))
    if (auto instance = session.world().instance(name, key); instance && instance->has_state)
      return world_reply(worlds::state_json(session.world().head(),
                                            module != nullptr ? module->state_type.get() : nullptr,
                                            *instance));
  return unknown();
}

void get_state(App& app, Call&& call) {
  const std::string name = call.params[0];
  // A module's name has a slash: encoded it is one part of the path, else two.
  const std::string module =
      call.params.size() > 2 ? call.params[1] + "/" + call.params[2] : call.params[1];
  const std::string key = call.query("key");
  answer_from_world(
      app, bare_world_call(std::move(call)), name,
      [module, key](WorldSession& session) { return state_reply(session, module, key); });
}

// --- digest, snapshot, replay

std::string digest_body(const worlds::Digest& digest, std::optional<uint64_t> frames) {
  std::string body;
  json::Writer w(body);
  w.begin_object();
  worlds::write_digest(w, digest);
  if (frames) w.field_int("frames", static_cast<int64_t>(*frames));
  w.end_object();
  return body;
}

void get_digest(App& app, Call&& call) {
  const std::string name = call.params[0];
  answer_from_world(
      app, bare_world_call(std::move(call)), name,
      [](WorldSession& session) -> Reply {
        return world_reply(digest_body(worlds::digest_of(session.world()), std::nullopt));
      },
      {.alone = true});
}

void snapshot(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {}, true);
  if (!request) return;
  answer_from_world(app, request, name,
                    [](WorldSession& session) -> Reply {
                      PAWL_TRY(
                          worlds::Snapshot taken,
                          session.frame([](worlds::Deciding& deciding) -> Result<worlds::Snapshot> {
                            return worlds::take_snapshot(deciding);
                          }));
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field("snapshot_ref", taken.ref);
                      w.field_int("height", static_cast<int64_t>(taken.height)).end_object();
                      return world_reply(std::move(body), 201);
                    },
                    {.writes = true, .alone = true});
}

// What does not replay is quarantined: the world can be read, and changes no more.
Reply replay_reply(WorldSession& session, worlds::ReplayFrom from) {
  auto replayed = worlds::replay(session.world(), session.modules(), from, [] { return true; });
  if (replayed.ok()) return world_reply(digest_body(replayed->digest, replayed->frames));
  quarantine_broken(session, replayed.error());
  return std::move(replayed).error();
}

void replay(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {"from"}, true);
  if (!request) return;
  Fields fields(request->body());
  const std::string from = fields.text("from", "genesis");
  if (from != "genesis" && from != "baseline")
    fields.complain("from", "must be genesis or baseline");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  answer_from_world(app, request, name,
                    [from](WorldSession& session) {
                      return replay_reply(session, from == "genesis"
                                                       ? worlds::ReplayFrom::Genesis
                                                       : worlds::ReplayFrom::Baseline);
                    },
                    {.alone = true});
}

// --- traces

void get_summary(App& app, Call&& call) {
  const std::string name = call.params[0];
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [&app](WorldSession& session) -> Reply {
        return world_reply(
            worlds::summary_json(session.world(), app.worlds()->queued(session.name())));
      });
}

void get_trace(App& app, Call&& call) {
  const std::string name = call.params[0];
  worlds::TraceQuery query{
      {}, call.query("schema"), call.query("correlate_by"), call.query("value")};
  if (std::string seq = call.query("seq"); !seq.empty()) {
    uint64_t number = 0;
    auto [end, error] = std::from_chars(seq.data(), seq.data() + seq.size(), number);
    if (error != std::errc() || end != seq.data() + seq.size())
      return call.fail({ErrorCode::InvalidRequest, "seq must be a number"});
    query.seq = number;
  } else if (query.schema.empty() || query.correlate_by.empty() || query.value.empty()) {
    return call.fail({ErrorCode::InvalidRequest, "give seq, or schema, correlate_by and value"});
  }
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [query](WorldSession& session) -> Reply {
                      PAWL_TRY(auto program, session.program());
                      PAWL_TRY(std::string body,
                               worlds::trace_json(session.world(), *program, query));
                      return world_reply(std::move(body));
                    },
                    {.alone = true});
}

void diagnose(App& app, Call&& call) {
  const std::string name = call.params[0];
  const std::string text = call.query("run_id");
  auto run = Uuid::parse(text);
  if (!run) return call.fail({ErrorCode::NotFound, "run " + text.substr(0, 128) + " not found"});
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [id = *run](WorldSession& session) -> Reply {
        auto place = session.place_of(id);
        const auto instance =
            place ? session.world().instance(place->first, place->second) : std::nullopt;
        if (!instance) return Error{ErrorCode::NotFound, "run " + id.text() + " not found"};
        return world_reply(
            worlds::diagnose_json(session.world(), place->first, place->second, *instance));
      });
}

void step_test(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(
      std::move(call), {"module", "state", "state_b64", "event", "ctx", "input", "input_b64"});
  if (!request) return;
  answer_from_world(app, request, name, [request](WorldSession& session) -> Reply {
    PAWL_TRY(auto program, session.program());
    PAWL_TRY(std::string body, worlds::step_test(*program, session.world(), session.modules(),
                                                 request->body(), is_lenient(request->call)));
    return world_reply(std::move(body));
  });
}

}  // namespace

void add_world_instance_routes(Router& router) {
  auto add = [&](std::string_view method, std::string_view path, Permission scope, Routing routing,
                 CallHandler handler) {
    router.add({method, path, scope, routing, handler});
  };
  add("GET", "/v1/worlds/{w}/instances", Permission::Read, Routing::ByName, list_instances);
  add("GET", "/v1/worlds/{w}/state/{module}", Permission::Read, Routing::ByName, get_state);
  add("GET", "/v1/worlds/{w}/state/{namespace}/{module}", Permission::Read, Routing::ByName,
      get_state);
  add("GET", "/v1/worlds/{w}/digest", Permission::Read, Routing::ByName, get_digest);
  add("POST", "/v1/worlds/{w}/snapshot", Permission::Operate, Routing::ByName, snapshot);
  add("POST", "/v1/worlds/{w}/replay", Permission::Operate, Routing::ByName, replay);
  add("GET", "/v1/worlds/{w}/trace-summary", Permission::Read, Routing::ByName, get_summary);
  add("GET", "/v1/worlds/{w}/trace", Permission::Read, Routing::ByName, get_trace);
  add("GET", "/v1/worlds/{w}/trace/diagnose", Permission::Read, Routing::ByName, diagnose);
  add("POST", "/v1/worlds/{w}/step-test", Permission::Read, Routing::ByName, step_test);
}

}  // namespace pawl::api
