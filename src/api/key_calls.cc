// /v1/keys: the API keys of this server. A key's text is shown once, in the reply to its creation.
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "base/json_writer.h"
#include "kernel/frame.h"

namespace pawl::api {
namespace {

constexpr size_t kKeysMax = 10'000;
constexpr size_t kKeyNameBytesMax = 255;

size_t key_count(const State& state) {
  size_t count = 0;
  each_stored_key(state, [&](const ApiKey&) { ++count; });
  return count;
}

Result<NewApiKey> parse_key(const json::Doc& doc, int64_t now_ms) {
  Fields fields(doc.root());
  std::string name = fields.required_text("name");
  if (name.size() > kKeyNameBytesMax) fields.complain("name", "must be at most 255 bytes");
  std::vector<std::string> scopes = fields.texts("scopes");
  doc.root().each_member([&](json::View key, json::View) {
    if (!key.equals("name") && !key.equals("scopes"))
      fields.complain(key.string(), "is unknown", "unknown_field");
  });
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  PAWL_TRY(uint32_t bits, parse_scopes(scopes));
  return make_api_key(name, bits, now_ms);
}

void create_key(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto made, parse_key(doc, app.clock().now_ms()));
  auto decide = [made](Frame& frame) -> Reply {
    if (key_count(frame.state()) >= kKeysMax)
      return Error{ErrorCode::Conflict, "there are as many keys as there may be; revoke some"};
    store_key(frame, made.key);
    json::ObjectWriter w;
    write_key(w, made.key);
    w.field("key", made.text);
    return json_response(Surface::V1, 201, w.close());
  };
  app.decide_unkept(std::move(call), std::move(decide),
                    [&app, key = made.key] { app.keys().put(key); });
}

void list_keys(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"keys"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_keys) {
                      each_stored_key(frame.state(), [&](const ApiKey& key) {
                        if (!list_keys.takes_unscoped(key.id)) return;
                        list_keys.writer().begin_object();
                        write_key(list_keys.writer(), key);
                        list_keys.writer().end_object();
                      });
                    });
}

void revoke(App& app, Call&& call) {
  std::string id = call.params[0];
  auto decide = [id](Frame& frame) -> Reply {
    PAWL_TRY_DO(revoke_stored_key(frame, id));
    std::string body;
    json::Writer(body).begin_object().field("id", id).field_bool("revoked", true).end_object();
    return json_response(Surface::V1, 200, std::move(body));
  };
  app.decide_unkept(std::move(call), std::move(decide), [&app, id] { app.keys().remove(id); });
}

}  // namespace

void add_key_routes(Router& router) {
  router.add({"POST", "/v1/keys", Permission::Admin, Routing::Settings, create_key});
  router.add({"GET", "/v1/keys", Permission::Admin, Routing::Settings, list_keys});
  router.add({"DELETE", "/v1/keys/{id}", Permission::Admin, Routing::Settings, revoke});
}

}  // namespace pawl::api
