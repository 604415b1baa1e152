// Webhook: subscriptions to events, and the internal job that delivers an event.
//
// Subscriptions are documents. One cursor document marks the position up to which events have been
// turned into delivery jobs. It exists exactly as long as there is a subscription. The secret and
// the values of headers are stored sealed; only a server without a vault, which has no disk either,
// keeps them as plain text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actions/vault.h"
#include "plan/ojs/job_spec.h"
#include "wire/event_projection.h"

namespace pawl {

class Frame;
class State;

constexpr std::string_view kWebhookQueue = "pawl.webhooks";
constexpr std::string_view kWebhookJobType = "pawl.webhook";
constexpr size_t kWebhooksMax = 1'000;

struct WebhookHeader {
  std::string name;
  std::string value;

  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "value", self.value);
  }
};

struct Webhook {
  std::string id;
  std::string url;
  std::vector<std::string> events;
  std::string secret;
  bool active = false;
  std::vector<WebhookHeader> headers;
  std::vector<std::string> queues;
  std::vector<std::string> job_types;
  std::string tenant;
  std::string description;
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  bool signs = false;  // there is a secret, sealed or not
  std::string sealed;  // secret and values of headers, which are empty then

  static void fields(auto& self, auto&& visit) {
    visit(1, "id", self.id);
    visit(2, "url", self.url);
    visit(3, "events", self.events);
    visit(4, "secret", self.secret);
    visit(5, "active", self.active);
    visit(6, "headers", self.headers);
    visit(7, "queues", self.queues);
    visit(8, "job_types", self.job_types);
    visit(9, "tenant", self.tenant);
    visit(10, "description", self.description);
    visit(11, "created_ms", self.created_ms);
    visit(12, "updated_ms", self.updated_ms);
    visit(13, "signs", self.signs);
    visit(14, "sealed", self.sealed);
  }

  EventFilter filter() const { return {events, queues, job_types, tenant}; }
};

// As stored: secret and values of headers sealed, see open_webhook().
std::optional<Webhook> find_webhook(const State& state, std::string_view id);
std::vector<Webhook> all_webhooks(const State& state);

// Decrypts the secret and the values of headers. Corrupt if they do not open, because the vault is
// another one. Does nothing for an open webhook.
Status open_webhook(Webhook& webhook, const actions::Vault* vault);

// Writes an open subscription, sealed if there is a vault, and the cursor with the first one.
void put_webhook(Frame& frame, Webhook webhook, const actions::Vault* vault);
// NotFound if there is none. Deleting the last one also deletes the cursor.
Status delete_webhook(Frame& frame, std::string_view id);

// Of the document of this key, when it was put or deleted: the first subscription gets a cursor
// that begins with it, the last one takes it along. Each partition has its own.
void keep_webhook_cursor(Frame& frame, const std::string& key);
std::optional<EventPosition> webhook_cursor(const State& state);
void put_webhook_cursor(Frame& frame, const EventPosition& position);

// X-OJS-Signature of a delivery: "sha256=" and the hex HMAC-SHA256 of X-OJS-Timestamp, "." and the
// body, as the Open Job Spec defines.
std::string webhook_signature(std::string_view secret, std::string_view timestamp,
                              std::string_view body);

// The job that delivers one event to one subscription: args [subscription id, event].
NewJob delivery_job(std::string_view webhook_id, std::string_view event_type,
                    std::string_view event_json);

}  // namespace pawl
