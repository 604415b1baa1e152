// /ojs/v1/webhooks/subscriptions: subscriptions to events. A secret is never returned, except once
// if the server generated it.
#include <algorithm>

#include "actions/header_rule.h"
#include "actions/http_client.h"
#include "actions/http_url.h"
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/routes.h"
#include "base/hash.h"
#include "base/quote.h"
#include "effects/webhook.h"
#include "kernel/frame.h"
#include "kernel/jobs/push_jobs.h"

namespace pawl::api {
namespace {

constexpr size_t kWebhookSecretBytesMax = 256;
constexpr size_t kHeadersMax = 20;
constexpr size_t kHeaderValueBytesMax = 4096;
constexpr size_t kListMax = 100;
constexpr size_t kWebhookDescriptionBytesMax = 1024;
constexpr size_t kSecretMadeBytes = 32;

bool is_known_pattern(const std::string& pattern) {
  for (std::string_view name : event_type_names())
    if (matches_event_type(pattern, name)) return true;
  return false;
}

// Headers that a delivery sets itself.
bool is_own_header(std::string_view name) {
  const std::string plain = actions::plain_header_name(name);
  return plain == "content-type" || plain == "user-agent" || plain.starts_with("x-ojs-");
}

void read_headers(Fields& fields, Webhook& webhook) {
  auto given = fields.find("headers");
  if (!given) return;
  webhook.headers.clear();
  if (!given->is_object()) return fields.complain("headers", "must be an object of strings");
  if (given->size() > kHeadersMax) return fields.complain("headers", "must be at most 20");
  given->each_member([&](json::View key, json::View value) {
    std::string name = key.string();
    std::string text = value.is_string() ? value.string() : "";
    if (!value.is_string() || text.size() > kHeaderValueBytesMax)
      return fields.complain("headers", "cannot send " + in_quotes(name));
    if (std::string problem = actions::header_problem(name, text); !problem.empty())
      return fields.complain("headers", "are refused: " + problem);
    if (is_own_header(name)) return fields.complain("headers", "must not set " + in_quotes(name));
    webhook.headers.push_back({std::move(name), std::move(text)});
  });
}

void read_events_wanted(Fields& fields, Webhook& webhook) {
  webhook.events = fields.texts("events");
  if (!fields.ok()) return;
  if (webhook.events.empty() || webhook.events.size() > kListMax)
    return fields.complain("events", "must name 1 to 100 event types");
  for (const std::string& pattern : webhook.events)
    if (!is_known_pattern(pattern))
      return fields.complain("events", "names " + in_quotes(pattern) +
                                           ", which no event has; there are job.completed, "
                                           "job.failed and others, 'job.*' and '*'");
}

std::string read_secret(Fields& fields) {
  std::string secret = fields.text("secret");
  if (secret.size() > kWebhookSecretBytesMax)
    fields.complain("secret", "must be at most 256 bytes");
  return secret;
}

// Reads the given members; `whole` requires the mandatory ones.
Status read_webhook(Fields& fields, Webhook& webhook, bool whole) {
  if (whole || fields.has("url")) {
    webhook.url = fields.required_text("url");
    Status url = actions::check_url(webhook.url);
    if (fields.ok() && !url.ok()) fields.complain("url", "is refused: " + url.error().message);
  }
  if (whole || fields.has("events")) read_events_wanted(fields, webhook);
  if (fields.has("secret")) webhook.secret = read_secret(fields);
  webhook.active = fields.boolean("active", webhook.active);
  read_headers(fields, webhook);
  if (fields.has("queues")) webhook.queues = fields.texts("queues");
  if (fields.has("job_types")) webhook.job_types = fields.texts("job_types");
  if (webhook.queues.size() > kListMax) fields.complain("queues", "must be at most 100");
  if (webhook.job_types.size() > kListMax) fields.complain("job_types", "must be at most 100");
  webhook.description = fields.text("description", webhook.description);
  if (webhook.description.size() > kWebhookDescriptionBytesMax)
    fields.complain("description", "must be at most 1 KiB");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return ok_status();
}

void render_webhook_list(json::Writer& w, std::string_view name,
                         const std::vector<std::string>& list_webhooks) {
  w.key(name).begin_array();
  for (const std::string& one : list_webhooks) w.string(one);
  w.end_array();
}

void render_webhook_members(json::Writer& w, const Webhook& webhook) {
  w.field("id", webhook.id).field("url", webhook.url);
  render_webhook_list(w, "events", webhook.events);
  w.field_bool("active", webhook.active);
  w.field_bool("signed", webhook.signs || !webhook.secret.empty());
  w.key("header_names").begin_array();
  for (const WebhookHeader& header : webhook.headers) w.string(header.name);
  w.end_array();
  if (!webhook.queues.empty()) render_webhook_list(w, "queues", webhook.queues);
  if (!webhook.job_types.empty()) render_webhook_list(w, "job_types", webhook.job_types);
  if (!webhook.tenant.empty()) w.field("tenant", webhook.tenant);
  if (!webhook.description.empty()) w.field("description", webhook.description);
  w.field_time("created_at", webhook.created_ms).field_time("updated_at", webhook.updated_ms);
}

void render_webhook(json::Writer& w, const Webhook& webhook) {
  w.begin_object();
  render_webhook_members(w, webhook);
  w.end_object();
}

// {"subscription": {…}, and the same members beside it}: some clients read one, some the other.
http::Response webhook_reply(int status, const Webhook& webhook, std::string_view secret = "",
                             const std::vector<std::string>& dropped = {}) {
  json::ObjectWriter w;
  w.key("subscription");
  render_webhook(w, webhook);
  render_webhook_members(w, webhook);
  if (!secret.empty()) w.field("secret", secret).field("new_secret", secret);
  if (!dropped.empty()) render_webhook_list(w, "dropped", dropped);
  return json_response(Surface::Ojs, status, w.close());
}

bool visible(const Webhook& webhook, std::string_view tenant) {
  return tenant.empty() || webhook.tenant == tenant;
}

Result<Webhook> visible_webhook(const State& state, std::string_view id, std::string_view tenant) {
  auto webhook = find_webhook(state, id);
  if (!webhook || !visible(*webhook, tenant))
    return Error{ErrorCode::NotFound, "webhook subscription " + in_quotes(id) + " not found"};
  return std::move(*webhook);
}

void create_webhook(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  Webhook webhook;
  webhook.active = true;
  webhook.tenant = call.tenant;
  if (Status read = read_webhook(fields, webhook, true); !read.ok()) return call.fail(read.error());
  call.secret = true;
  app.decide(std::move(call), [&app, webhook = std::move(webhook)](Frame& frame) mutable -> Reply {
    if (all_webhooks(frame.state()).size() >= kWebhooksMax)
      return Error{ErrorCode::Conflict, "there are as many subscriptions as there may be"};
    webhook.id = frame.fresh_id().text();
    webhook.created_ms = webhook.updated_ms = frame.now_ms();
    app.webhooks_change();
    put_webhook(frame, webhook, app.vault());
    http::Response response = webhook_reply(201, webhook);
    response.headers.emplace_back("Location", "/ojs/v1/webhooks/subscriptions/" + webhook.id);
    return response;
  });
}

void list_webhooks(App& app, Call&& call) {
  std::string tenant = call.tenant;
  app.decide(std::move(call), [tenant](Frame& frame) -> Reply {
    json::ObjectWriter w;
    int64_t count = 0;
    for (std::string_view name : {"subscriptions", "items"}) {  // the latter for the admin UI
      w.key(name).begin_array();
      count = 0;
      for (const Webhook& webhook : all_webhooks(frame.state())) {
        if (!visible(webhook, tenant)) continue;
        render_webhook(w, webhook);
        ++count;
      }
      w.end_array();
    }
    w.field_int("total", count).key("pagination").begin_object().field_int("total", count);
    w.field_int("page", 1).field_int("per_page", count).field_bool("has_more", false);
    w.end_object();
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void get_one(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_webhook,
            [](Frame&, const Webhook& webhook) -> Reply { return webhook_reply(200, webhook); });
}

bool same_origin(const std::string& one, const std::string& other) {
  auto a = actions::HttpUrl::parse(one);
  auto b = actions::HttpUrl::parse(other);
  return a.ok() && b.ok() && a->same_origin(*b);
}

// A person who may change a subscription, but has never seen its secret and header values, must not
// have them sent to another server: they are dropped unless the same call gives new ones. Returns
// the dropped names, for the reply.
std::vector<std::string> drop_for_new_origin(Webhook& webhook, Fields& fields) {
  std::vector<std::string> dropped;
  if (!webhook.headers.empty() && !fields.has("headers")) dropped.push_back("headers");
  if (!webhook.secret.empty() && !fields.has("secret")) dropped.push_back("secret");
  webhook.headers.clear();
  webhook.secret.clear();
  webhook.signs = false;
  return dropped;
}

// The body is parsed again in the decision, where the current subscription is known.
void change_webhook(App& app, Call&& call, bool replaces) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  std::string body(call.request.body);
  call.secret = true;
  decide_on(app, std::move(call), visible_webhook,
            [&app, body, replaces](Frame& frame, Webhook webhook) -> Reply {
              PAWL_TRY_DO(open_webhook(webhook, app.vault()));
              PAWL_TRY(json::Doc again, json::parse(body));
              Fields fields(again.root());
              // The admin UI sends only the changed members with PUT.
              bool whole = replaces && fields.has("url") && fields.has("events");
              if (whole) {
                webhook.queues.clear();
                webhook.job_types.clear();
                webhook.description.clear();
                webhook.active = true;
              }
              std::vector<std::string> dropped;
              if (fields.has("url") && !same_origin(fields.text("url"), webhook.url))
                dropped = drop_for_new_origin(webhook, fields);
              if (whole && !fields.has("headers")) webhook.headers.clear();
              PAWL_TRY_DO(read_webhook(fields, webhook, whole));
              webhook.updated_ms = frame.now_ms();
              app.webhooks_change();
              put_webhook(frame, webhook, app.vault());
              return webhook_reply(200, webhook, "", dropped);
            });
}

void patch_webhook(App& app, Call&& call) { change_webhook(app, std::move(call), false); }
void replace(App& app, Call&& call) { change_webhook(app, std::move(call), true); }

void remove_webhook(App& app, Call&& call) {
  std::string id = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, id, tenant](Frame& frame) -> Reply {
    PAWL_TRY_DO(visible_webhook(frame.state(), id, tenant));
    app.webhooks_change();
    PAWL_TRY_DO(delete_webhook(frame, id));
    std::string body;
    json::Writer(body).begin_object().field_bool("deleted", true).field("id", id).end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void rotate_secret(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  std::string given = read_secret(fields);
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  std::string made = given.empty() ? random_secret(kSecretMadeBytes) : "";
  call.secret = true;
  decide_on(app, std::move(call), visible_webhook,
            [&app, given, made](Frame& frame, Webhook webhook) -> Reply {
              PAWL_TRY_DO(open_webhook(webhook, app.vault()));
              webhook.secret = given.empty() ? made : given;
              webhook.updated_ms = frame.now_ms();
              app.webhooks_change();
              put_webhook(frame, webhook, app.vault());
              return webhook_reply(200, webhook, made);
            });
}

// Delivers an event that never happened, the same way as real ones.
void test(App& app, Call&& call) {
  decide_on(
      app, std::move(call), visible_webhook, [](Frame& frame, const Webhook& webhook) -> Reply {
        const std::string& id = webhook.id;
        constexpr std::string_view kType = "webhook.test";
        json::ObjectWriter e;
        e.field("specversion", "1.0").field("id", "evt_" + frame.fresh_id().text());
        e.field("type", kType).field("source", "/ojs/v1").field_time("time", frame.now_ms());
        e.field("subject", id).key("data").begin_object().field("subscription_id", id).end_object();
        std::string event = e.close();
        PAWL_TRY(std::vector<Pushed> pushed, push_jobs(frame, {delivery_job(id, kType, event)}));
        json::ObjectWriter w;
        w.key("delivery_id").uuid(pushed[0].id).field_raw("event", event);
        return json_response(Surface::Ojs, 202, w.close());
      });
}

}  // namespace

void add_webhook_routes(Router& router) {
  constexpr std::string_view kAll = "/ojs/v1/webhooks/subscriptions";
  constexpr std::string_view kOne = "/ojs/v1/webhooks/subscriptions/{id}";
  router.add({"POST", kAll, Permission::Operate, Routing::Settings, create_webhook});
  router.add({"GET", kAll, Permission::Read, Routing::Settings, list_webhooks});
  router.add({"GET", kOne, Permission::Read, Routing::Settings, get_one});
  router.add({"PATCH", kOne, Permission::Operate, Routing::Settings, patch_webhook});
  router.add({"PUT", kOne, Permission::Operate, Routing::Settings, replace});
  router.add({"DELETE", kOne, Permission::Operate, Routing::Settings, remove_webhook});
  router.add({"POST", "/ojs/v1/webhooks/subscriptions/{id}/test", Permission::Operate,
              Routing::Settings, test});
  router.add({"POST", "/ojs/v1/webhooks/subscriptions/{id}/rotate-secret", Permission::Operate,
              Routing::Settings, rotate_secret});
}

}  // namespace pawl::api
