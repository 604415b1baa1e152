// Pools: named sets of queues with weights, for external schedulers. They are stored and returned;
// they do not change which jobs a worker gets, which follows the order of queues in its fetch.
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr size_t kPoolBytesMax = 64 * 1024;
constexpr size_t kPoolsMax = 10'000;

std::string pool_key(const Call& call) { return scoped_queue(call.tenant, call.params[0]); }

// The members as sent, with the name of the path first.
Result<std::string> parse_pool(const json::Doc& doc, const std::string& name) {
  Fields fields(doc.root());
  if (!is_queue_name(name)) fields.complain("name", "must be a name as queues have");
  if (fields.has("name") && fields.text("name") != name)
    fields.complain("name", "is not the one in the path");
  (void)fields.text("strategy");
  if (auto queues = fields.find("queues"); queues && !queues->is_object() && !queues->is_array())
    fields.complain("queues", "must be an object or an array");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  json::ObjectWriter w;
  w.field("name", name);
  doc.root().each_member([&](json::View key, json::View value) {
    if (!key.equals("name")) w.key(key.string()).raw(value.raw());
  });
  std::string text = w.close();
  if (text.size() > kPoolBytesMax)
    return Error{ErrorCode::TooLarge, "a pool is at most 64 KiB of JSON"};
  return text;
}

http::Response pool_response(int status, std::string_view pool) {
  json::ObjectWriter w;
  w.field_raw("pool", pool);
  return json_response(Surface::Ojs, status, w.close());
}

void put_pool(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto pool, parse_pool(doc, call.params[0]));
  std::string key = pool_key(call);
  app.decide(std::move(call), [key, pool](Frame& frame) -> Reply {
    bool existed = frame.state().find_doc(DocKind::Pool, key) != nullptr;
    size_t count = 0;
    if (!existed)
      frame.state().each_doc(DocKind::Pool, "", kPoolsMax,
                             [&](const Doc&) { return ++count < kPoolsMax; });
    if (count >= kPoolsMax)
      return Error{ErrorCode::Overloaded, "the server has as many pools as it may hold"};
    put_doc(frame, DocKind::Pool, key, pool);
    return pool_response(existed ? 200 : 201, pool);
  });
}

void get_pool(App& app, Call&& call) {
  std::string key = pool_key(call);
  app.decide(std::move(call), [key](Frame& frame) -> Reply {
    const Doc* doc = frame.state().find_doc(DocKind::Pool, key);
    if (doc == nullptr) return Error{ErrorCode::NotFound, "no such pool"};
    return pool_response(200, doc->value);
  });
}

void remove_pool(App& app, Call&& call) {
  std::string key = pool_key(call);
  app.decide(std::move(call), [key](Frame& frame) -> Reply {
    PAWL_TRY_DO(delete_doc(frame, DocKind::Pool, key));
    std::string body;
    json::Writer(body).begin_object().field_bool("deleted", true).end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void list_pools(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"pools"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_pools) {
                      frame.state().each_doc(DocKind::Pool, "", kPoolsMax, [&](const Doc& doc) {
                        if (list_pools.takes(doc.key)) list_pools.writer().raw(doc.value);
                        return true;
                      });
                    });
}

}  // namespace

void add_pool_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/pools", Permission::Read, Routing::Settings, list_pools});
  router.add(
      {"PUT", "/ojs/v1/admin/pools/{name}", Permission::Operate, Routing::Settings, put_pool});
  router.add({"GET", "/ojs/v1/admin/pools/{name}", Permission::Read, Routing::Settings, get_pool});
  router.add({"DELETE", "/ojs/v1/admin/pools/{name}", Permission::Operate, Routing::Settings,
              remove_pool});
}

}  // namespace pawl::api
