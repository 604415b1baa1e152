#include "kernel/messages/copied_settings.h"

#include "base/partition.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/outbox.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

// As effects/webhook.h names the place in the journal up to which deliveries were made.
constexpr std::string_view kWebhookCursor = "cursor";

bool is_copied(DocKind kind, std::string_view key) {
  switch (kind) {
    case DocKind::ApiKey:
    case DocKind::Schema:
    case DocKind::Pool:
    case DocKind::Definition:
    case DocKind::Secret:
    case DocKind::Maintenance:
      return true;
    case DocKind::Webhook:
      return key != kWebhookCursor;
    case DocKind::None:
    case DocKind::Idempotency:
    case DocKind::Decision:
    case DocKind::Breaker:
    case DocKind::RunCount:
    case DocKind::RunGate:
    case DocKind::RunTurn:
    case DocKind::Skipped:
    case DocKind::PlannedRun:
    case DocKind::World:
    case DocKind::WorldItem:
    case DocKind::Outbox:
    case DocKind::Mail:
    case DocKind::Elsewhere:
    case DocKind::Unwanted:
    case DocKind::Claim:
      return false;
  }
  return false;
}

bool tells_others(const State& state) { return state.partition() == 0 && state.partitions() > 1; }

}  // namespace

void copy_setting(Frame& frame, const DocPut& event) {
  if (tells_others(frame.state()) && is_copied(event.kind, event.key))
    send_message(frame, kEverybody, message_of(MessageKind::DocPut, event));
}

void copy_setting(Frame& frame, const DocDeleted& event) {
  if (tells_others(frame.state()) && is_copied(event.kind, event.key))
    send_message(frame, kEverybody, message_of(MessageKind::DocDeleted, event));
}

void copy_setting(Frame& frame, const QueueConfigured& event) {
  if (tells_others(frame.state()))
    send_message(frame, kEverybody, message_of(MessageKind::QueueConfigured, event));
}

void copy_setting(Frame& frame, const LimitConfigured& event) {
  const State& state = frame.state();
  if (tells_others(state) && home_of(NameKind::Limit, "", event.key, state.partitions()) != 0)
    send_message(frame, kEverybody, message_of(MessageKind::LimitConfigured, event));
}

void take_copied_doc(Frame& frame, const DocPut& event) { frame.emit(event); }

void take_copied_deletion(Frame& frame, const DocDeleted& event) {
  if (frame.state().find_doc(event.kind, event.key) != nullptr) frame.emit(event);
}

void take_copied_queue(Frame& frame, const QueueConfigured& event) {
  const Queue* queue = frame.state().find_queue(event.queue);
  if (queue != nullptr && queue->settings == event.settings) return;
  QueueConfigured copy = event;
  copy.copied = true;
  copy.paused_before = queue != nullptr && queue->settings.paused;
  // A job was pushed here after partition 0 had decided: as after a push to a deleted queue.
  if (queue != nullptr && queue->depth() + queue->count(JobState::Active) != 0)
    copy.settings.deleted = false;
  frame.emit(copy);
}

void take_copied_limit(Frame& frame, const LimitConfigured& event) { frame.emit(event); }

void share_queue_rate(Frame& frame, const QueueConfigured& event) {
  const State& state = frame.state();
  if (state.partitions() == 1 || state.partition() == 0) return;
  SharedQueueRate rate{event.queue, event.settings.rate_per_second};
  send_message(frame, 0, message_of(MessageKind::QueueRate, rate));
}

void take_queue_rate(Frame& frame, const SharedQueueRate& rate) {
  const Queue* queue = frame.state().find_queue(rate.queue);
  if (queue != nullptr && queue->settings.rate_per_second == rate.rate_per_second) return;
  QueueConfigured event;
  event.queue = rate.queue;
  if (queue != nullptr) event.settings = queue->settings;
  event.paused_before = event.settings.paused;
  event.settings.rate_per_second = rate.rate_per_second;
  frame.emit(event);
}

std::optional<CopiedDoc> copied_doc(const Message& message) {
  if (message.kind == MessageKind::DocPut) {
    DocPut event;
    if (codec::decode(message.body, event)) return CopiedDoc{event.kind, event.key};
  } else if (message.kind == MessageKind::DocDeleted) {
    DocDeleted event;
    if (codec::decode(message.body, event)) return CopiedDoc{event.kind, event.key};
  }
  return std::nullopt;
}

}  // namespace pawl
