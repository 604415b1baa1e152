#include "effects/webhook.h"

#include <utility>

#include "base/hash.h"
#include "kernel/cold.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

const std::string kCursorKey = "cursor";
constexpr std::string_view kSubscriptionPrefix = "subscription/";

// The sealed part of a subscription.
struct Hidden {
  std::string secret;
  std::vector<std::string> values;  // of its headers, in their order

  static void fields(auto& self, auto&& visit) {
    visit(1, "secret", self.secret);
    visit(2, "values", self.values);
  }
};

std::string sealing_name(const Webhook& webhook) { return "webhook/" + webhook.id; }

std::string subscription_key(std::string_view id) {
  return std::string(kSubscriptionPrefix) + std::string(id);
}

// About a day of tries: 5 s doubling up to three hours.
RetryPolicy delivery_retries() {
  return {.max_attempts = 15,
          .initial_ms = 5'000,
          .coefficient_milli = 2'000,
          .max_ms = 3 * 3600 * 1000,
          .on_exhaustion = OnExhaustion::DeadLetter};
}

}  // namespace

std::optional<Webhook> find_webhook(const State& state, std::string_view id) {
  const Doc* doc = state.find_doc(DocKind::Webhook, subscription_key(id));
  if (doc == nullptr) return std::nullopt;
  Webhook webhook;
  if (!codec::decode(doc->value, webhook)) unreadable_row("webhook", id);
  return webhook;
}

std::vector<Webhook> all_webhooks(const State& state) {
  std::vector<Webhook> list;
  state.each_doc(DocKind::Webhook, kSubscriptionPrefix, kWebhooksMax, [&](const Doc& doc) {
    // Skip an unreadable subscription; the others must still be served.
    if (!codec::decode(doc.value, list.emplace_back())) list.pop_back();
    return true;
  });
  return list;
}

Status open_webhook(Webhook& webhook, const actions::Vault* vault) {
  if (webhook.sealed.empty()) return ok_status();
  if (vault == nullptr)
    return Error{ErrorCode::Corrupt, "the subscription's secret is sealed, and there is no vault"};
  PAWL_TRY(std::string opened, vault->unseal(sealing_name(webhook), webhook.sealed));
  Hidden hidden;
  if (!codec::decode(opened, hidden) || hidden.values.size() != webhook.headers.size())
    return Error{ErrorCode::Corrupt, "what is sealed of the subscription does not fit it"};
  webhook.secret = std::move(hidden.secret);
  for (size_t i = 0; i < hidden.values.size(); ++i)
    webhook.headers[i].value = std::move(hidden.values[i]);
  webhook.sealed.clear();
  return ok_status();
}

void put_webhook(Frame& frame, Webhook webhook, const actions::Vault* vault) {
  PAWL_CHECK(webhook.sealed.empty());
  webhook.signs = !webhook.secret.empty();
  if (vault != nullptr && (webhook.signs || !webhook.headers.empty())) {
    Hidden hidden{std::exchange(webhook.secret, {}), {}};
    for (WebhookHeader& header : webhook.headers)
      hidden.values.push_back(std::exchange(header.value, {}));
    webhook.sealed = vault->seal(sealing_name(webhook), codec::encoded(hidden));
  }
  std::string key = subscription_key(webhook.id);
  put_doc(frame, DocKind::Webhook, key, codec::encoded(webhook));
  keep_webhook_cursor(frame, key);
}

Status delete_webhook(Frame& frame, std::string_view id) {
  PAWL_TRY_DO(delete_doc(frame, DocKind::Webhook, subscription_key(id)));
  keep_webhook_cursor(frame, subscription_key(id));
  return ok_status();
}

void keep_webhook_cursor(Frame& frame, const std::string& key) {
  const Doc* subscription = frame.state().find_doc(DocKind::Webhook, key);
  if (subscription == nullptr) {
    if (all_webhooks(frame.state()).empty())
      (void)delete_doc(frame, DocKind::Webhook, kCursorKey);  // there may be none yet
  } else if (!webhook_cursor(frame.state())) {
    put_webhook_cursor(frame, EventPosition{subscription->version, EventPosition::kAllParts});
  }
}

std::optional<EventPosition> webhook_cursor(const State& state) {
  const Doc* doc = state.find_doc(DocKind::Webhook, kCursorKey);
  return doc == nullptr ? std::nullopt : EventPosition::parse(doc->value);
}

void put_webhook_cursor(Frame& frame, const EventPosition& position) {
  put_doc(frame, DocKind::Webhook, kCursorKey, position.text());
}

std::string webhook_signature(std::string_view secret, std::string_view timestamp,
                              std::string_view body) {
  std::string content(timestamp);
  content.append(".").append(body);
  return "sha256=" + hmac_sha256_hex(secret, content);
}

NewJob delivery_job(std::string_view webhook_id, std::string_view event_type,
                    std::string_view event_json) {
  RetryPolicy retries = delivery_retries();
  JobSpec spec;
  spec.type = kWebhookJobType;
  json::Writer(spec.args).begin_array().string(webhook_id).raw(event_json).end_array();
  json::Writer(spec.meta).begin_object().field("event", event_type).end_object();
  codec::encode(spec.retry, retries);
  NewJob job;
  job.queue = kWebhookQueue;
  job.type = spec.type;
  job.max_attempts = retries.max_attempts;
  codec::encode(job.spec, spec);
  return job;
}

}  // namespace pawl
