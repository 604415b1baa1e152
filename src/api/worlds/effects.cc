// Effects of a world: reading them, leasing them to adapters, taking receipts; adapters; effects of
// operators.
#include "api/paging.h"
#include "api/routes.h"
#include "api/worlds/world_call.h"
#include "worldhost/own_keys.h"
#include "worldhost/secrets.h"
#include "worldhost/state_table.h"
#include "worlds/fault.h"
#include "worlds/frame.h"
#include "worlds/hash.h"
#include "worlds/reading.h"

namespace pawl::api {
namespace {

constexpr int64_t kLeaseMsMax = 3'600'000;
constexpr int64_t kLeaseWaitMsMax = 60'000;
constexpr size_t kLeaseLimitMax = 100;
constexpr size_t kAdapterSecretMin = 16;
constexpr size_t kEd25519Bytes = 32;
constexpr size_t kAdaptersMax = 1'000;
constexpr size_t kReceiptBytesMax = 16u << 20;  // twice the largest blob: its bytes may be there

std::string adapter_vault_name(const Uuid& world, std::string_view id) {
  return "world/" + world.text() + "/adapter/" + std::string(id);
}

// --- reading

enum class EffectFilterState : uint8_t { Open, Queued, Inflight, Settled };

struct EffectFilter {
  EffectFilterState state = EffectFilterState::Open;
  std::string module;
  std::string key;                                             // as the client wrote it
  std::vector<std::pair<std::string, std::string>> instances;  // that it may mean: module, key

  bool takes(const worlds::Intent& intent) const {
    if (!module.empty() && intent.origin_name != module) return false;
    if (key.empty()) return true;
    return std::find(instances.begin(), instances.end(),
                     std::pair(intent.origin_name, intent.instance_key)) != instances.end();
  }
};

Result<EffectFilter> read_filter(const Call& call) {
  EffectFilter filter;
  filter.module = call.query("module");
  filter.key = call.query("key");
  const std::string state = call.query("state");
  if (state == "queued") {
    filter.state = EffectFilterState::Queued;
  } else if (state == "inflight") {
    filter.state = EffectFilterState::Inflight;
  } else if (state == "settled") {
    filter.state = EffectFilterState::Settled;
  } else if (!state.empty()) {
    return Error{ErrorCode::InvalidRequest, "state must be queued, inflight or settled"};
  }
  return filter;
}

Reply effects_page(App& app, WorldSession& session, EffectFilter filter, const WorldPage& page) {
  PAWL_TRY(auto program, session.program());
  if (!filter.key.empty())
    for (const auto& [name, module] : program->modules)
      for (std::string& key : keys_of_query(&module, filter.key))
        filter.instances.emplace_back(name, std::move(key));
  WorldList list("effects", page);
  size_t looked_at = 0;
  auto visit = [&](std::string_view item_key, const std::string& hash,
                   const worlds::Intent& intent) {
    if (++looked_at > kItemsScannedMax) return list.cut(item_key), false;
    if (!filter.takes(intent)) return true;
    const worlds::IntentWork work = filter.state == EffectFilterState::Settled
                                        ? worlds::IntentWork{}
                                        : app.worlds()->work_of(session.name(), hash);
    if (filter.state == EffectFilterState::Queued && work.inflight) return true;
    if (filter.state == EffectFilterState::Inflight && !work.inflight) return true;
    if (!list.takes(item_key)) return false;
    worlds::write_effect(list.writer(), *program, hash, intent, work);
    return true;
  };
  if (filter.state == EffectFilterState::Settled) {
    session.world().each_settled(page.from, visit);
  } else {
    session.world().each_open(page.from, visit);
  }
  return list.reply();
}

void list_effects(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto filter = read_filter(call);
  if (!filter.ok()) return call.fail(filter.error());
  auto page = world_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [&app, filter = *filter, page = *page](WorldSession& session) {
                      return effects_page(app, session, filter, page);
                    });
}

// --- leases

struct LeasedEffects {
  std::vector<std::string> hashes;
  int64_t until_ms = 0;
  std::vector<std::string> withheld = {};  // their secrets cannot be had
};

Reply leased_reply(App& app, WorldSession& session, LeasedEffects& leased) {
  leased.withheld.clear();
  PAWL_TRY(auto program, session.program());
  const SecretOpener secrets(app.worlds()->line(), app.vault());
  std::string body;
  json::Writer w(body);
  w.begin_object().key("effects").begin_array();
  for (const std::string& hash : leased.hashes) {
    auto intent = session.world().intent(hash);
    if (!intent || intent->settlement != worlds::Settlement::Open) continue;
    const worlds::Effect* effect = program->effect(intent->kind);
    if (effect != nullptr) {
      auto opened = secrets.open(*program, *effect->params_type, intent->params);
      if (!opened.ok()) {
        leased.withheld.push_back(hash);
        continue;
      }
      intent->params = std::move(*opened);
    }
    worlds::write_effect(w, *program, hash, *intent, app.worlds()->work_of(session.name(), hash),
                         leased.until_ms);
  }
  w.end_array().end_object();
  return world_reply(std::move(body));
}

// Gives the leased effects to the client that waited for them.
void deliver(App& app, const WorldRequestPtr& request, const std::string& name,
             LeasedEffects&& found) {
  auto leased = std::make_shared<LeasedEffects>(std::move(found));
  const std::string scoped = scoped_world(request->call.tenant, name);
  answer_from_world(
      app, request, name,
      [&app, leased](WorldSession& session) { return leased_reply(app, session, *leased); },
      {.answered = [&app, scoped, leased](bool is_given) {
        const auto& back = is_given ? leased->withheld : leased->hashes;
        if (!back.empty()) app.worlds()->hand_back(scoped, back);
      }});
}

void lease(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request =
      read_world_call(std::move(call), {"adapter_id", "kinds", "limit", "lease_ms", "wait_ms"});
  if (!request) return;
  Fields fields(request->body());
  LeaseOrder order;
  order.adapter = fields.required_text("adapter_id");
  order.kinds = fields.texts("kinds");
  order.limit = static_cast<size_t>(fields.integer("limit", 10, 1, kLeaseLimitMax));
  order.lease_ms = fields.integer("lease_ms", 30'000, 1, kLeaseMsMax);
  order.wait_ms = fields.integer("wait_ms", 0, 0, kLeaseWaitMsMax);
  if (fields.ok() && order.kinds.empty()) fields.complain("kinds", "is required", "required");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  const std::string scoped = scoped_world(request->call.tenant, name);
  // First the world is asked for, so that a missing one is told from one without work.
  struct Held {
    WorldRequestPtr request;
    Status verdict = ok_status();
  };
  auto held = std::make_shared<Held>(Held{request});
  WorldOrder check;
  check.work = [held, name, adapter = order.adapter](WorldSession& session) {
    held->verdict = ok_status();
    if (!session.exists()) {
      held->verdict = no_such_world(name);
    } else if (Status open = worlds::writable(session.world().head()); !open.ok()) {
      held->verdict = open.error();
    } else if (adapter == kOwnAdapter || !session.world().adapter(adapter)) {
      held->verdict = worlds::refusal(ErrorCode::Forbidden, "adapter.unknown",
                                      "no adapter of this name is registered for the world");
    }
    return ok_status();
  };
  check.done = [&app, held, order, scoped, name](const Status& outcome) {
    if (!outcome.ok()) return held->request->call.fail(outcome.error());
    if (!held->verdict.ok()) return held->request->call.fail(held->verdict.error());
    http::Responder& client = held->request->call.responder;
    if (order.wait_ms > 0)
      client.on_disconnect([&app, scoped] { app.worlds()->drop_unwanted(scoped); });
    app.worlds()->lease(
        scoped, order,
        [&app, held, name](Result<std::vector<std::string>> hashes, int64_t until_ms) {
          if (!hashes.ok()) return held->request->call.fail(hashes.error());
          if (hashes->empty()) return held->request->call.answer(world_reply(R"({"effects":[]})"));
          deliver(app, held->request, name, {std::move(*hashes), until_ms});
        },
        [&client] { return !client.disconnected(); });
  };
  if (app.worlds() == nullptr)
    return request->call.fail({ErrorCode::Unavailable, "this server runs no worlds"});
  if (Status taken = app.worlds()->post(scoped, std::move(check)); !taken.ok())
    request->call.fail(taken.error());
}

// --- receipts

Result<worlds::GivenReceipt> read_receipt(const WorldRequestPtr& request) {
  Fields fields(request->body());
  worlds::GivenReceipt receipt;
  receipt.intent_hash = fields.required_text("intent_hash");
  receipt.adapter_id = fields.required_text("adapter_id");
  receipt.status = fields.required_text("status");
  const bool knows_status =
      receipt.status == "ok" || receipt.status == "error" || receipt.status == "timeout";
  if (fields.ok() && !knows_status) fields.complain("status", "must be ok, error or timeout");
  if (fields.ok() && !worlds::is_hash(receipt.intent_hash))
    fields.complain("intent_hash", "must be sha256: and 64 hex digits");
  if (auto cost = fields.find("cost_cents")) {
    receipt.cost_cents = cost->as_int();
    if (!receipt.cost_cents || *receipt.cost_cents < 0)
      fields.complain("cost_cents", "must be a number that is not negative", "type");
  }
  // None, or one that is no signature, is a bad one, which is told later: after an unknown intent.
  if (!worlds::from_base64(fields.text("sig"), receipt.signature)) receipt.signature.clear();
  std::optional<json::View> payload;  // null is a payload, too
  request->body().each_member([&](json::View name, json::View value) {
    if (name.equals("payload")) payload = value;
  });
  if (fields.has("payload_b64")) {
    if (payload) fields.complain("payload_b64", "must not stand beside payload");
    if (!worlds::from_base64(fields.text("payload_b64"), receipt.payload))
      fields.complain("payload_b64", "must be canonical base64 with padding");
  } else if (payload) {
    auto plain = worlds::from_plain_json(*payload);
    if (!plain.ok()) {
      fields.complain("payload", plain.error().message);
    } else {
      receipt.payload = std::move(*plain);
      receipt.payload_is_plain_json = true;
      receipt.payload_json = payload->raw();
    }
  } else {
    fields.complain("payload", "is required", "required");
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return receipt;
}

Result<std::string> opened_key(App& app, WorldSession& session, const std::string& id,
                               const worlds::Adapter& adapter) {
  if (!adapter.sealed) return adapter.key;
  if (app.vault() == nullptr)
    return Error{ErrorCode::Unavailable, "the adapter's secret needs the vault"};
  return app.vault()->unseal(adapter_vault_name(session.id(), id), adapter.key);
}

Reply settle(App& app, WorldSession& session, const worlds::GivenReceipt& receipt) {
  PAWL_TRY(auto program, session.program());
  const auto adapter = session.world().adapter(receipt.adapter_id);
  std::string key;
  if (adapter) {
    PAWL_TRY(key, opened_key(app, session, receipt.adapter_id, *adapter));
  }
  PAWL_TRY_DO(worlds::judge_receipt(session.world(), *program, receipt,
                                    adapter ? &*adapter : nullptr, key));
  PAWL_TRY(worlds::ReceiptReply reply, session.frame([&](worlds::Deciding& deciding) {
    return worlds::take_receipt(deciding, receipt);
  }));
  std::string body;
  json::Writer w(body);
  w.begin_object().field("outcome", worlds::outcome_name(reply.outcome)).key("seq");
  if (reply.seq) {
    w.integer(static_cast<int64_t>(*reply.seq));
  } else {
    w.null();
  }
  w.end_object();
  return world_reply(std::move(body));
}

void post_receipt(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {"intent_hash", "adapter_id", "status", "payload",
                                                   "payload_b64", "cost_cents", "sig"});
  if (!request) return;
  auto receipt = read_receipt(request);
  if (!receipt.ok()) return request->call.fail(receipt.error());
  if (std::max(receipt->payload.size(), receipt->payload_json.size()) > kReceiptBytesMax)
    return request->call.fail({ErrorCode::TooLarge, "a receipt's payload has at most 16 MiB"});
  auto given = std::make_shared<worlds::GivenReceipt>(std::move(*receipt));
  answer_from_world(
      app, request, name,
      [&app, given](WorldSession& session) { return settle(app, session, *given); },
      {.writes = true, .needs = [given](const worlds::Program&, std::vector<std::string>& keys) {
         keys.push_back(worlds::intent_key(given->intent_hash));
       }});
}

// --- adapters

void write_adapter(json::Writer& w, std::string_view id, const worlds::Adapter& adapter) {
  w.begin_object().field("id", id).field("algorithm", adapter.hmac ? "hmac-sha256" : "ed25519");
  if (!adapter.hmac) w.field("public_key", worlds::base64(adapter.key));
  if (adapter.only_kinds && id != kOwnAdapter) {
    w.key("kinds").begin_array();
    for (const std::string& kind : adapter.kinds) w.string(kind);
    w.end_array();
  }
  w.end_object();
}

void list_adapters(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto page = world_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [page = *page](WorldSession& session) -> Reply {
        WorldList list("adapters", page);
        const std::string prefix = worlds::adapter_key("");
        session.table().scan(prefix, page.from, [&](std::string_view key, std::string_view value) {
          worlds::Adapter adapter;
          if (!codec::decode(value, adapter)) return true;
          if (!list.takes(key)) return false;
          write_adapter(list.writer(), key.substr(prefix.size()), adapter);
          return true;
        });
        return list.reply();
      });
}

bool is_adapter_id(std::string_view id) {
  if (id.empty() || id.size() > 255) return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
  });
}

Result<worlds::Adapter> read_adapter(const WorldRequestPtr& request) {
  Fields fields(request->body());
  worlds::Adapter adapter;
  const std::string algorithm = fields.required_text("algorithm");
  adapter.hmac = algorithm == "hmac-sha256";
  if (fields.ok() && !adapter.hmac && algorithm != "ed25519")
    fields.complain("algorithm", "must be ed25519 or hmac-sha256");
  const std::string_view member = adapter.hmac ? "secret" : "public_key";
  if (fields.ok() && !worlds::from_base64(fields.required_text(member), adapter.key))
    fields.complain(member, "must be canonical base64 with padding");
  if (fields.has(adapter.hmac ? "public_key" : "secret"))
    fields.complain(adapter.hmac ? "public_key" : "secret", "does not belong to this algorithm");
  if (fields.ok() && adapter.hmac && adapter.key.size() < kAdapterSecretMin)
    fields.complain("secret", "must have at least 16 bytes");
  if (fields.ok() && !adapter.hmac && adapter.key.size() != kEd25519Bytes)
    fields.complain("public_key", "must have 32 bytes");
  if (fields.has("kinds")) {
    adapter.only_kinds = true;
    adapter.kinds = fields.texts("kinds");
    if (std::find(adapter.kinds.begin(), adapter.kinds.end(), "timer.set") != adapter.kinds.end())
      fields.complain("kinds", "timer.set is the server's own");
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return adapter;
}

void put_adapter(App& app, Call&& call) {
  const std::string name = call.params[0];
  const std::string id = call.params[1];
  auto request = read_world_call(std::move(call), {"algorithm", "public_key", "secret", "kinds"});
  if (!request) return;
  request->call.secret = true;
  if (!is_adapter_id(id) || id == kOwnAdapter)
    return request->call.fail(
        {ErrorCode::InvalidContent, id == kOwnAdapter
                                        ? "pawl is the server's own adapter"
                                        : "an adapter's id has letters, digits and _-.: only"});
  auto adapter = read_adapter(request);
  if (!adapter.ok()) return request->call.fail(adapter.error());
  answer_from_world(
      app, request, name,
      [&app, id, given = *adapter](WorldSession& session) -> Reply {
        worlds::Adapter kept = given;
        size_t others = 0;
        session.table().scan(worlds::adapter_key(""), "", [&](std::string_view, std::string_view) {
          return ++others < kAdaptersMax;
        });
        if (others >= kAdaptersMax)
          return Error{ErrorCode::RateLimited, "the world has as many adapters as it may"};
        if (kept.hmac && app.vault() != nullptr) {
          kept.key = app.vault()->seal(adapter_vault_name(session.id(), id), kept.key);
          kept.sealed = true;
        }
        session.change_adapter(id, kept);
        std::string body;
        json::Writer w(body);
        write_adapter(w, id, given);
        return world_reply(std::move(body));
      },
      {.writes = true});
}

void remove_adapter(App& app, Call&& call) {
  const std::string name = call.params[0];
  const std::string id = call.params[1];
  answer_from_world(app, bare_world_call(std::move(call)), name,
                    [id](WorldSession& session) -> Reply {
                      if (id == kOwnAdapter || !session.world().adapter(id))
                        return Error{ErrorCode::NotFound, "adapter not found"};
                      session.change_adapter(id, std::nullopt);
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field("id", id).field_bool("deleted", true).end_object();
                      return world_reply(std::move(body));
                    },
                    {.writes = true});
}

// --- effects of operators

void system_effect(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call), {"kind", "params", "cap"});
  if (!request) return;
  Fields fields(request->body());
  const std::string kind = fields.required_text("kind");
  const std::string cap = fields.text("cap");
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent));
  answer_from_world(app, request, name,
                    [request, kind, cap](WorldSession& session) -> Reply {
                      PAWL_TRY(worlds::EmittedEffect emitted,
                               session.frame([&](worlds::Deciding& deciding) {
                                 return worlds::emit_system_effect(
                                     deciding, kind, Fields(request->body()).find("params"), cap);
                               }));
                      std::string body;
                      json::Writer w(body);
                      w.begin_object().field("intent_hash", emitted.intent_hash);
                      w.field_int("seq", static_cast<int64_t>(emitted.seq)).end_object();
                      return world_reply(std::move(body), 201);
                    },
                    {.writes = true});
}

}  // namespace

void add_world_effect_routes(Router& router) {
  auto add = [&](std::string_view method, std::string_view path, Permission scope, Routing routing,
                 CallHandler handler) {
    router.add({method, path, scope, routing, handler});
  };
  add("GET", "/v1/worlds/{w}/effects", Permission::Read, Routing::ByName, list_effects);
  add("POST", "/v1/worlds/{w}/effects/lease", Permission::Worker, Routing::ByName, lease);
  add("POST", "/v1/worlds/{w}/receipts", Permission::Worker, Routing::ByName, post_receipt);
  add("GET", "/v1/worlds/{w}/adapters", Permission::Read, Routing::ByName, list_adapters);
  add("PUT", "/v1/worlds/{w}/adapters/{id}", Permission::Admin, Routing::ByName, put_adapter);
  add("DELETE", "/v1/worlds/{w}/adapters/{id}", Permission::Admin, Routing::ByName, remove_adapter);
  add("POST", "/v1/worlds/{w}/system/effects", Permission::Operate, Routing::ByName, system_effect);
}

}  // namespace pawl::api
