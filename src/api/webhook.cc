#include "api/webhook.h"

#include "kernel/settings.h"

namespace pawl::api {
namespace {

const std::string kCursorKey = "cursor";
constexpr std::string_view kSubscriptionPrefix = "subscription/";

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
  PAWL_CHECK(codec::decode(doc->value, webhook));
  return webhook;
}

std::vector<Webhook> all_webhooks(const State& state) {
  std::vector<Webhook> list;
  state.each_doc(DocKind::Webhook, kSubscriptionPrefix, kWebhooksMax, [&](const Doc& doc) {
    // One that cannot be read is no reason to serve nobody.
    if (!codec::decode(doc.value, list.emplace_back())) list.pop_back();
    return true;
  });
  return list;
}

void put_webhook(Frame& frame, const Webhook& webhook) {
  std::string key = subscription_key(webhook.id);
  put_doc(frame, DocKind::Webhook, key, codec::encoded(webhook));
  if (webhook_cursor(frame.state())) return;
  uint64_t sequence = frame.state().find_doc(DocKind::Webhook, key)->version;
  put_webhook_cursor(frame, EventPosition{sequence, EventPosition::kAllParts});
}

Status delete_webhook(Frame& frame, std::string_view id) {
  PAWL_TRY_DO(delete_doc(frame, DocKind::Webhook, subscription_key(id)));
  if (all_webhooks(frame.state()).empty())
    PAWL_CHECK(delete_doc(frame, DocKind::Webhook, kCursorKey).ok());
  return ok_status();
}

std::optional<EventPosition> webhook_cursor(const State& state) {
  const Doc* doc = state.find_doc(DocKind::Webhook, kCursorKey);
  return doc == nullptr ? std::nullopt : EventPosition::parse(doc->value);
}

void put_webhook_cursor(Frame& frame, const EventPosition& position) {
  put_doc(frame, DocKind::Webhook, kCursorKey, position.text());
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

}  // namespace pawl::api
