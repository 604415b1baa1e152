// Applies settings of queues and limits, documents and crons, which are replaced as a whole. And
// fold(), which finds the right apply() for a journaled event.
#include "kernel/cold.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/settings/doc.h"
#include "kernel/state_memory.h"

namespace pawl {

void MutableState::apply(const QueueConfigured& event, Stamp stamp) {
  Queue* queue = queue_for(event.queue, stamp);
  if (queue == nullptr) return;
  queue->settings = event.settings;
  if (!event.settings.paused) wake(*queue);  // resumed, or a rate has changed
}

void MutableState::apply(const LimitConfigured& event, Stamp stamp) {
  Limit* limit = limit_for(event.key, stamp);
  if (limit == nullptr) return;
  limit->settings = event.settings;
  for (auto& [name, held_back] : std::exchange(limit->held_back, {})) wake(*held_back);
}

void MutableState::apply(const DocPut& event, Stamp stamp) {
  Doc* doc = resident_doc(event.kind, event.key);
  if (doc == nullptr) {
    auto fresh = std::make_unique<Doc>();
    fresh->doc_kind = event.kind;
    fresh->key = event.key;
    doc =
        memory_->docs.emplace(doc_key(event.kind, event.key), std::move(fresh)).first->second.get();
  }
  if (doc->version >= stamp.sequence) return;
  changed(*doc, stamp);
  doc->value = event.value;
  doc->expires_ms = event.expires_ms;
  doc->put_ms = stamp.time_ms;
  doc->deleted = false;
  if (event.kind == DocKind::Definition) memory_->definition_heads.erase(event.key);
  if (event.kind == DocKind::RunGate) gate_changed(*doc);
  if (event.kind == DocKind::Outbox && !folding_) memory_->new_messages = true;
}

void MutableState::apply(const DocDeleted& event, Stamp stamp) {
  Doc* doc = resident_doc(event.kind, event.key);
  if (doc == nullptr || doc->version >= stamp.sequence) return;
  changed(*doc, stamp);
  doc->deleted = true;
  doc->value.clear();
  if (event.kind == DocKind::Definition) memory_->definition_heads.erase(event.key);
  if (event.kind == DocKind::RunGate) gate_changed(*doc);
}

void MutableState::schedule_cron(Cron& cron, int64_t next_ms, int64_t planned_ms) {
  memory_->cron_timers.erase({cron.next_ms, cron.spec.name});
  cron.next_ms = next_ms;
  cron.planned_ms = planned_ms;
  if (next_ms != 0 && !cron.spec.paused && !cron.deleted)
    memory_->cron_timers.emplace(next_ms, cron.spec.name);
}

// Waits for the run or job of the cron's last firing.
void MutableState::await_last(Cron& cron, int64_t waiting_ms) {
  Uuid last = cron.last_run.is_nil() ? Uuid(cron.last_job) : Uuid(cron.last_run);
  memory_->awaited.erase({last, cron.spec.name});
  memory_->cron_looks.erase(cron.spec.name);
  cron.waiting_ms = waiting_ms;
  if (waiting_ms == 0) return;
  memory_->awaited.emplace(last, cron.spec.name);
  if (folding_) memory_->cron_looks.insert(cron.spec.name);  // its end may be on disk already
}

Cron* MutableState::cron_for(std::string_view name, Stamp stamp) {
  auto at = memory_->crons.find(name);
  if (at == memory_->crons.end()) {
    at = memory_->crons.emplace(name, std::make_unique<Cron>()).first;
    at->second->spec.name = name;
    at->second->deleted = true;
  }
  if (at->second->version >= stamp.sequence) return nullptr;
  changed(*at->second, stamp);
  return at->second.get();
}

void MutableState::apply(const CronPut& event, Stamp stamp) {
  Cron* cron = cron_for(event.cron.name, stamp);
  if (cron == nullptr) return;
  schedule_cron(*cron, 0, 0);
  await_last(*cron, 0);
  if (cron->deleted) {  // a new one under an old name
    cron->last_ms = cron->last_error_ms = 0;
    cron->last_job = JobId();
    cron->last_run = RunId();
    cron->last_error.clear();
  }
  cron->spec = event.cron;
  cron->deleted = false;
  schedule_cron(*cron, event.next_ms, event.planned_ms);
}

void MutableState::apply(const CronDeleted& event, Stamp stamp) {
  Cron* cron = cron_for(event.name, stamp);
  if (cron == nullptr) return;
  schedule_cron(*cron, 0, 0);
  await_last(*cron, 0);
  cron->deleted = true;
}

void MutableState::apply(const CronFired& event, Stamp stamp) {
  Cron* cron = cron_for(event.name, stamp);
  if (cron == nullptr) return;
  schedule_cron(*cron, event.next_ms, event.planned_ms);
  int64_t still_waiting_ms = event.waited ? 0 : cron->waiting_ms;
  await_last(*cron, 0);
  cron->last_ms = stamp.time_ms;
  cron->last_job = event.job;
  cron->last_run = event.run;
  cron->last_error.clear();
  cron->last_error_ms = 0;
  await_last(*cron, still_waiting_ms);
}

void MutableState::apply(const CronSkipped& event, Stamp stamp) {
  Cron* cron = cron_for(event.name, stamp);
  if (cron == nullptr) return;
  schedule_cron(*cron, event.next_ms, event.planned_ms);
  if (event.waited) await_last(*cron, 0);
  if (event.miss == CronMiss::Waits) await_last(*cron, event.due_ms);
  if (event.miss != CronMiss::Failed) return;
  cron->last_error = event.reason;
  cron->last_error_ms = stamp.time_ms;
}

Status MutableState::fold(const journal::EventBytes& event) {
  folding_ = true;
  Status folded = reading([&] { return fold_one(event); });
  folding_ = false;
  return folded;
}

Status MutableState::fold_one(const journal::EventBytes& event) {
  Stamp stamp{event.sequence, event.time_ms};
  auto unreadable = [&] {
    return Error{ErrorCode::Corrupt,
                 "journal record " + std::to_string(journal::record_of(event.sequence)) +
                     ": event " + std::to_string(journal::index_of(event.sequence)) + " (" +
                     std::string(event_name(event.type)) + ") cannot be read"};
  };
  switch (event.type) {
#define PAWL_EVENT(number, name)                                   \
  case EventType::name: {                                          \
    name decoded;                                                  \
    if (!codec::decode(event.bytes, decoded)) return unreadable(); \
    apply(std::move(decoded), stamp);                              \
    return ok_status();                                            \
  }
#include "journal/event_types.def"
#include "kernel/jobs/queue.h"
#include "kernel/settings/doc.h"
#include "kernel/state_memory.h"
#undef PAWL_EVENT
  }
  return unreadable();
}

}  // namespace pawl
