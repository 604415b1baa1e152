// /v1/worlds: making, listing and removing worlds; their manifests, blobs and clocks.
#include "api/definition_faults.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "api/worlds/world_call.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "worldhost/own_adapter.h"
#include "worldhost/state_table.h"
#include "worldhost/upkeep.h"
#include "worlds/fault.h"
#include "worlds/hash.h"

namespace pawl::api {
namespace {

// More than the code of a module has, so that larger code is judged as such wherever it was given.
constexpr size_t kBlobBytesMax = 16u << 20;

bool is_world_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || name[0] < 'a' || name[0] > 'z') return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  return true;
}

// --- making

struct WorldWish {
  worlds::NewWorld made;
  bool has_id = false;
};

Result<WorldWish> read_wish(App& app, const WorldRequestPtr& request) {
  Fields fields(request->body());
  WorldWish wish;
  worlds::NewWorld& made = wish.made;
  made.name = fields.required_text("name");
  if (fields.ok() && !is_world_name(made.name))
    fields.complain("name", "must have up to 63 of a-z, 0-9 and '-', and begin with a letter");
  made.created_ms = app.clock().now_ms();
  if (std::string id = fields.text("id"); !id.empty()) {
    auto parsed = Uuid::parse(lower_case(std::move(id)));
    if (!parsed) fields.complain("id", "must be a UUID");
    made.id = parsed.value_or(Uuid());
    wish.has_id = true;
  }
  if (auto test = fields.find("test")) {
    Fields in(*test, "$.test");
    made.test = true;
    made.test_now_ns = in.integer("now_ns", 0, 0, INT64_MAX);
    made.seed = in.text("seed");
    refuse_unknown(request->call, in, {"now_ns", "seed"});
    if (!in.ok()) return in.error(ErrorCode::InvalidContent);
    made.created_ms = made.test_now_ns / 1'000'000;
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return wish;
}

Reply make_world(App& app, const WorldRequestPtr& request, const WorldWish& wish,
                 WorldSession& session) {
  if (session.exists())
    return worlds::refusal(ErrorCode::Conflict, "world.exists",
                           "there is a world " + wish.made.name + " already");
  if (session.is_taken(wish.made.id))
    return worlds::refusal(ErrorCode::Conflict, "world.exists",
                           "there is a world of id " + wish.made.id.text() + " already");
  PAWL_TRY(worlds::ProgramText text, read_program_text(*request, nullptr));
  if (!text.faults.empty()) return invalid_manifest(text);
  session.create(wish.made.id, [&](worlds::Deciding& deciding) {
    worlds::create_world(deciding, wish.made, text);
  });
  const worlds::Head head = session.world().head();
  OwnAdapter::make_keys(session, head, app.vault());
  std::string body;
  json::Writer w(body);
  w.begin_object().key("world");
  write_world(w, head);
  write_faults(w, "warnings", text.warnings);
  w.end_object();
  http::Response response = world_reply(std::move(body), 201);
  response.headers.emplace_back("Location", "/v1/worlds/" + wish.made.name);
  return response;
}

void create(App& app, Call&& call) {
  auto request =
      read_program_call(app, std::move(call), {"name", "id", "manifest", "nodes", "test"});
  if (!request) return;
  auto wish = read_wish(app, request);
  if (!wish.ok()) return request->call.fail(wish.error());
  if (!wish->has_id) {
    SystemRandom random;
    const uint64_t entropy = random.next();
    wish->made.id =
        Uuid::v7(app.clock().now_ms(), entropy, random.next(), app.engine().partition());
  }
  answer_from_world(app, request, wish->made.name,
                    [&app, request, wish = *wish](WorldSession& session) {
                      return make_world(app, request, wish, session);
                    },
                    {.takes_missing = true, .alone = true});
}

// --- reading and removing

std::optional<worlds::Head> head_of(const State& state, const Doc& world) {
  auto id = Uuid::from_bytes(world.value);
  const Doc* item =
      !id ? nullptr : state.find_doc(DocKind::WorldItem, item_doc_key(*id, worlds::head_key()));
  worlds::Head head;
  return item != nullptr && codec::decode(item->value, head) ? std::optional(head) : std::nullopt;
}

void list_worlds(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"worlds"}, kWorldPageUsual,
                    [](const Frame& frame, KeyedList& list) {
                      const State& state = frame.state();
                      list.each_key(state, DocKind::World, SIZE_MAX, [&](std::string_view key) {
                        const Doc* doc = state.find_doc(DocKind::World, key);
                        if (doc == nullptr || is_deleted_world(key) || !list.takes(key))
                          return true;
                        auto head = head_of(state, *doc);
                        if (!head) return list.leave_out(), true;
                        write_world(list.writer(), *head);
                        return true;
                      });
                    });
}

void get_world(App& app, Call&& call) {
  const std::string name = call.params[0];
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [](WorldSession& session) -> Reply {
                      std::string body;
                      json::Writer w(body);
                      const worlds::Head head = session.world().head();
                      w.begin_object();
                      write_world_members(w, head);
                      w.key("world");  // as the reply to its creation has it
                      write_world(w, head);
                      w.end_object();
                      return world_reply(std::move(body));
                    });
}

void remove_world(App& app, Call&& call) {
  const std::string name = call.params[0];
  const bool force = call.query("force") == "true";
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [&app, force](WorldSession& session) -> Reply {
                      const worlds::Totals totals = session.world().head().totals;
                      const bool quiet = totals.running + totals.waiting + totals.workflow_intents +
                                             app.worlds()->queued(session) ==
                                         0;
                      if (!quiet && !force)
                        return worlds::refusal(
                            ErrorCode::Conflict, "world.busy",
                            "the world has instances or effects at work; ?force=true removes "
                            "it all the same");
                      session.remove_world();
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field("name", session.world().head().name);
                      w.field_bool("deleted", true).end_object();
                      return world_reply(std::move(body));
                    },
                    {.alone = true});
}

// --- manifest

void get_manifest(App& app, Call&& call) {
  const std::string name = call.params[0];
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [](WorldSession& session) -> Reply {
                      PAWL_TRY(auto program, session.program());
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field_raw("manifest", program->manifest_json);
                      w.field("manifest_hash", program->manifest_hash).end_object();
                      return world_reply(std::move(body));
                    });
}

void write_def(json::Writer& w, const worlds::Def& def, const std::string& node) {
  w.begin_object().field("name", def.name).field("kind", def.kind).field("hash", def.hash);
  w.key("node");
  auto item = worlds::cbor::read(node);
  if (item.ok()) {
    std::string text;
    worlds::cbor::append_json(text, *item);
    w.raw(text);
  } else {
    w.null();
  }
  w.end_object();
}

void list_defs(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto page = world_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [page = *page](WorldSession& session) -> Reply {
                      PAWL_TRY(auto program, session.program());
                      WorldList list("defs", page);
                      bool begun = page.from.empty();
                      for (const worlds::Def& def : program->defs) {
                        const std::string place = def.kind + ' ' + def.name;
                        begun = begun || place == page.from;
                        if (!begun) continue;
                        if (!list.takes(place)) break;
                        write_def(list.writer(), def, session.world().node(def.hash).value_or(""));
                      }
                      return list.reply();
                    });
}

void validate_manifest(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_program_call(app, std::move(call), {"manifest", "nodes"});
  if (!request) return;
  answer_from_world(app, request, name,
                    [request](WorldSession& session) -> Reply {
                      PAWL_TRY(worlds::ProgramText text,
                               read_program_text(*request, session.exists() ? &session : nullptr));
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field_bool("valid", text.faults.empty());
                      write_faults(w, "errors", text.faults);
                      write_faults(w, "warnings", text.warnings);
                      if (text.faults.empty()) w.field("manifest_hash", text.manifest_hash);
                      w.end_object();
                      return world_reply(std::move(body));
                    },
                    {.takes_missing = true, .alone = true});
}

// --- blobs

void put_blob(App& app, Call&& call) {
  const std::string name = call.params[0];
  if (call.request.body.size() > kBlobBytesMax)
    return call.fail({ErrorCode::TooLarge, "a blob has at most 16 MiB"});
  auto request = bare_world_call(std::move(call));
  answer_from_world(app, request, name,
                    [request](WorldSession& session) -> Reply {
                      const std::string_view bytes = request->call.request.body;
                      const std::string ref = worlds::hash_of_bytes(bytes);
                      session.put(worlds::blob_key(ref), std::string(bytes));
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field("blob_ref", ref);
                      w.field_int("size", static_cast<int64_t>(bytes.size())).end_object();
                      return world_reply(std::move(body), 201);
                    },
                    {.writes = true});
}

void get_blob(App& app, Call&& call) {
  const std::string name = call.params[0];
  const std::string ref = call.params[1];
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [ref](WorldSession& session) -> Reply {
                      auto bytes = worlds::is_hash(ref) ? session.world().blob(ref) : std::nullopt;
                      if (!bytes)
                        return Error{ErrorCode::NotFound, "there is no blob " + ref.substr(0, 128)};
                      http::Response response;
                      response.status = 200;
                      response.content_type = "application/octet-stream";
                      response.body = std::move(*bytes);
                      return response;
                    });
}

// --- the clock of a test world

Reply set_clock(App& app, WorldSession& session, int64_t now_ns) {
  worlds::Head head = session.world().head();
  if (!head.test)
    return worlds::refusal(ErrorCode::Conflict, "world.not_test",
                           "only a test world's clock can be set");
  if (now_ns < head.test_now_ns)
    return Error{ErrorCode::InvalidContent,
                 "the clock does not go back",
                 {{"$.now_ns", "must be at least " + std::to_string(head.test_now_ns), "value"}}};
  PAWL_TRY(uint64_t fired, OwnAdapter::fire_until(session, app.vault(), now_ns));
  head = session.world().head();
  head.test_now_ns = now_ns;
  session.put(worlds::head_key(), codec::encoded(head));
  std::string body;
  json::Writer w(body);
  w.begin_object().field_int("now_ns", now_ns);
  w.field_int("fired", static_cast<int64_t>(fired)).end_object();
  return world_reply(std::move(body));
}

void put_clock(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {"now_ns"});
  if (!request) return;
  Fields fields(request->body());
  const auto given = fields.find("now_ns");
  const auto now_ns = given ? given->as_int() : std::nullopt;
  if (!now_ns || *now_ns < 0)
    return request->call.fail({ErrorCode::InvalidContent,
                               "now_ns must be nanoseconds since 1970",
                               {{"$.now_ns", "must be nanoseconds since 1970", "value"}}});
  answer_from_world(
      app, request, name,
      [&app, now = *now_ns](WorldSession& session) { return set_clock(app, session, now); },
      {.writes = true, .alone = true});
}

}  // namespace

void add_world_routes(Router& router) {
  auto add = [&](std::string_view method, std::string_view path, Permission scope, Routing routing,
                 CallHandler handler, Compiles compiles = Compiles::Nothing) {
    router.add({method, path, scope, routing, handler, {}, compiles});
  };
  add("POST", "/v1/worlds", Permission::Operate, Routing::Create, create, Compiles::Always);
  add("GET", "/v1/worlds", Permission::Read, Routing::Gather, list_worlds);
  add("GET", "/v1/worlds/{w}", Permission::Read, Routing::ByName, get_world);
  add("DELETE", "/v1/worlds/{w}", Permission::Admin, Routing::ByName, remove_world);
  add("GET", "/v1/worlds/{w}/manifest", Permission::Read, Routing::ByName, get_manifest);
  add("GET", "/v1/worlds/{w}/defs", Permission::Read, Routing::ByName, list_defs);
  add("POST", "/v1/worlds/{w}/manifest/validate", Permission::Read, Routing::ByName,
      validate_manifest, Compiles::Always);
  add("POST", "/v1/worlds/{w}/blobs", Permission::Write, Routing::ByName, put_blob);
  add("GET", "/v1/worlds/{w}/blobs/{ref}", Permission::Read, Routing::ByName, get_blob);
  add("POST", "/v1/worlds/{w}/clock", Permission::Operate, Routing::ByName, put_clock);
}

}  // namespace pawl::api
