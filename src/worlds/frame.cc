#include "worlds/frame.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/unreadable.h"
#include "worlds/hash.h"
#include "worlds/intent.h"

namespace pawl::worlds {
namespace {

bool is_terminal(InstanceStatus status) {
  return status == InstanceStatus::Completed || status == InstanceStatus::Failed;
}

uint64_t& status_count(Totals& totals, InstanceStatus status) {
  switch (status) {
    case InstanceStatus::Running:
      return totals.running;
    case InstanceStatus::Waiting:
      return totals.waiting;
    case InstanceStatus::Completed:
      return totals.completed;
    case InstanceStatus::Failed:
      return totals.failed;
  }
  return totals.failed;
}

// Equal scripts give equal ids: nothing but the world, the instance and the frame that made it goes
// in.
Uuid run_id_of(const Head& head, int64_t now_ms, std::string_view module, std::string_view key,
               uint64_t seq) {
  const uint64_t seed = hash64(module, head.id.hi ^ hash64(key, head.id.lo ^ seq));
  return Uuid::v7(now_ms, hash64(key, seed), hash64(module, ~seed), 0);
}

// What retention may remove: nobody will ever ask for more of it than its record.
bool may_be_forgotten(const Instance& instance, std::string_view key) {
  return !key.empty() && instance.ended_ms != 0 && !instance.has_state && instance.inflight.empty();
}

bool shows_another(const std::optional<Instance>& before, const std::optional<Instance>& after) {
  if (!before || !after) return before.has_value() != after.has_value();
  return before->status != after->status || before->module_version != after->module_version ||
         before->error_code != after->error_code || before->error_seq != after->error_seq;
}

[[noreturn]] void lost_intent(const std::string& hash) {
  throw Unreadable{Error{ErrorCode::Corrupt, "the world's item of intent '" + hash + "' is gone"}};
}

}  // namespace

Frame::Frame(Deciding& deciding, Clock clock)
    : deciding_(deciding), head_(deciding.world().head()), seq_(head_.height + 1) {
  if (clock == Clock::Moves) head_.logical_now_ns = deciding.stamp().logical_now_ns;
}

StampRecord Frame::stamp_record() const {
  return {.now_ns = stamp().now_ns,
          .logical_now_ns = stamp().logical_now_ns,
          .entropy = stamp().entropy,
          .manifest_hash = head_.manifest_hash};
}

uint32_t Frame::append(RecordKind kind, std::string bytes) {
  const uint32_t n = next_place();
  bytes_ += bytes.size();
  records_.push_back({static_cast<uint8_t>(kind), std::move(bytes)});
  return n;
}

Frame::Work& Frame::work(std::string_view module, std::string_view key) {
  std::string item_key = instance_key(module, key);
  const auto at = instances_.lower_bound(item_key);
  if (at != instances_.end() && at->first == item_key) return at->second;
  Work loaded{.module = std::string(module), .key = std::string(key)};
  loaded.after = deciding_.world().instance(module, key);
  return instances_.emplace_hint(at, std::move(item_key), std::move(loaded))->second;
}

Frame::Work& Frame::changed_work(std::string_view module, std::string_view key) {
  Work& found = work(module, key);
  if (std::exchange(found.changed, true)) return found;
  if (found.after) {
    std::string state = std::exchange(found.after->state, {});
    found.before = found.after;
    found.after->state = std::move(state);
  }
  return found;
}

const Instance* Frame::instance(std::string_view module, std::string_view key) {
  const Work& found = work(module, key);
  return found.after ? &*found.after : nullptr;
}

Instance& Frame::change_instance(std::string_view module, std::string_view key) {
  Work& found = changed_work(module, key);
  if (!found.after) {
    Instance& made = found.after.emplace();
    made.created_ms = now_ms();
    made.run_id = run_id_of(head_, made.created_ms, module, key, seq_);
  }
  return *found.after;
}

void Frame::remove_instance(std::string_view module, std::string_view key) {
  changed_work(module, key).after.reset();
}

Frame::IntentWork* Frame::intent_work(const std::string& hash) {
  if (const auto at = intents_.find(hash); at != intents_.end()) return &at->second;
  std::optional<Intent> stored = deciding_.world().intent(hash);
  if (!stored) return nullptr;
  return &intents_.emplace(hash, IntentWork{.intent = *std::move(stored)}).first->second;
}

const Intent* Frame::intent(const std::string& hash) {
  const IntentWork* found = intent_work(hash);
  return found ? &found->intent : nullptr;
}

void Frame::add_intent(NewIntent wanted) {
  const bool governance = wanted.origin == OriginKind::Governance;
  EffectIntentRecord record{.intent_hash = wanted.hash,
                            .kind = wanted.kind,
                            .cap_name = wanted.cap_name,
                            .params = wanted.params,
                            .params_hash = wanted.params_hash,
                            .idempotency_key = wanted.idempotency_key,
                            .requested_key = wanted.requested_key,
                            .origin = {.kind = origin_name(wanted.origin),
                                       .name = wanted.origin_name,
                                       .instance_key = record_key(wanted.instance_key),
                                       .emitted_at_seq = seq_,
                                       .ordinal = wanted.ordinal,
                                       .effect_index = wanted.effect_index}};
  IntentWork made;
  made.opened = true;
  Intent& intent = made.intent;
  intent.record = effect_intent_record(record);
  intent.n = append(RecordKind::EffectIntent, intent.record);
  intent.seq = seq_;
  intent.emitted_ns = stamp().now_ns;
  intent.origin = static_cast<uint8_t>(wanted.origin);
  intent.keyed = !wanted.instance_key.empty();
  intent.deliver_at_ns = wanted.deliver_at_ns;
  if (wanted.origin == OriginKind::Workflow) {
    change_instance(wanted.origin_name, wanted.instance_key)
        .inflight.push_back({wanted.hash, wanted.kind, wanted.params_hash, seq_, intent.n});
    ++totals().workflow_intents;
  }
  intent.kind = std::move(wanted.kind);
  intent.cap_name = std::move(wanted.cap_name);
  intent.params = std::move(wanted.params);
  intent.params_hash = std::move(wanted.params_hash);
  intent.origin_name = std::move(wanted.origin_name);
  intent.instance_key = std::move(wanted.instance_key);
  if (!governance) {
    ++totals().intents;
    ++totals().open_intents;
  } else {
    made.settled = true;
    intent.settlement = Settlement::Dropped;
    intent.settled_seq = seq_;
    intent.settled_ms = now_ms();
  }
  opened_.push_back(wanted.hash);
  intents_.insert_or_assign(std::move(wanted.hash), std::move(made));
}

void Frame::settle(const std::string& hash, Settlement settlement, std::string_view status,
                   std::string_view adapter_id) {
  IntentWork* found = intent_work(hash);
  if (found == nullptr) lost_intent(hash);
  Intent& intent = found->intent;
  if (intent.settlement != Settlement::Open) return;
  intent.settlement = settlement;
  intent.settled_seq = seq_;
  intent.settled_ms = now_ms();
  intent.receipt_status = status;
  intent.adapter_id = adapter_id;
  found->settled = true;
  settled_.push_back(hash);
  --totals().open_intents;
  if (static_cast<OriginKind>(intent.origin) != OriginKind::Workflow) return;
  --totals().workflow_intents;
  if (instance(intent.origin_name, intent.instance_key) == nullptr) return;
  auto& inflight = change_instance(intent.origin_name, intent.instance_key).inflight;
  std::erase_if(inflight, [&](const Inflight& open) { return open.hash == hash; });
}

uint64_t Frame::drop_open_intents(Instance& instance) {
  const std::vector<Inflight> open = std::exchange(instance.inflight, {});
  for (const Inflight& intent : open) settle(intent.hash, Settlement::Dropped);
  return open.size();
}

void Frame::forget_intent(const std::string& hash, uint64_t seq, uint32_t n) {
  forgotten_.push_back(intent_key(hash));
  forgotten_.push_back(settled_key(seq, n));
}

void Frame::finish() {
  for (auto& [item_key, work] : instances_)
    if (work.changed) write_instance(item_key, work);
  write_intents();
  FrameRecords frame{.records = std::move(records_), .written_ms = now_ms()};
  frame.checksum = frame_checksum(seq_, frame);
  std::string bytes;
  bytes.reserve(bytes_ + 16 * frame.records.size() + 32);
  codec::encode(bytes, frame);
  deciding_.writes().put(frame_key(seq_), std::move(bytes));
  head_.height = seq_;
  deciding_.writes().put(head_key(), codec::encoded(head_));
}

void Frame::write_instance(const std::string& item_key, Work& work) {
  if (work.after) {
    Instance& after = *work.after;
    if (!is_terminal(after.status)) {
      after.ended_ms = 0;
    } else if (after.ended_ms == 0 || after.last_seq == seq_) {
      after.ended_ms = std::max<int64_t>(1, now_ms());
    }
    ++status_count(totals(), after.status);
    if (!work.before) ++totals().instances;
    deciding_.writes().put(item_key, codec::encoded(after));
  } else if (work.before) {
    deciding_.writes().remove(item_key);
    --totals().instances;
  }
  if (work.before) {
    --status_count(totals(), work.before->status);
    if (may_be_forgotten(*work.before, work.key))
      deciding_.writes().remove(ended_key(work.before->ended_ms, work.module, work.key));
  }
  if (work.after && may_be_forgotten(*work.after, work.key))
    deciding_.writes().put(ended_key(work.after->ended_ms, work.module, work.key), {});
  if (!shows_another(work.before, work.after)) return;
  deciding_.changed.insert_or_assign(item_key, InstanceChange{.module = std::move(work.module),
                                                              .key = std::move(work.key),
                                                              .before = std::move(work.before),
                                                              .after = std::move(work.after)});
}

void Frame::write_intents() {
  Overlay& writes = deciding_.writes();
  for (const std::string& hash : opened_) {
    const IntentWork& made = intents_.at(hash);
    const Intent& intent = made.intent;
    writes.put(intent_key(hash), codec::encoded(intent));
    writes.put(made.settled ? settled_key(intent.seq, intent.n) : open_key(intent.seq, intent.n),
               hash_bytes(hash));
    if (!made.settled) deciding_.opened.push_back(hash);
  }
  for (const std::string& hash : settled_) {
    const IntentWork& done = intents_.at(hash);
    if (done.opened) continue;
    const Intent& intent = done.intent;
    writes.put(intent_key(hash), codec::encoded(intent));
    writes.remove(open_key(intent.seq, intent.n));
    writes.put(settled_key(intent.seq, intent.n), hash_bytes(hash));
    deciding_.settled.push_back(hash);
  }
  for (const std::string& item_key : forgotten_) writes.remove(item_key);
}

void add_governance_intent(Frame& frame, std::string_view verb, std::string_view proposal_id,
                           std::string_view manifest_hash) {
  NewIntent intent;
  intent.kind = "governance." + std::string(verb);
  intent.origin = OriginKind::Governance;
  intent.origin_name = verb;
  MapWriter(intent.params, 2)
      .text_or_null("proposal_id", proposal_id)
      .text_or_null("manifest_hash", manifest_hash);
  intent.params_hash = hash_of_bytes(intent.params);
  intent.idempotency_key = idempotency_key({.origin_kind = origin_name(intent.origin),
                                            .origin_name = verb,
                                            .effect_kind = intent.kind,
                                            .params = intent.params,
                                            .seq = frame.seq()});
  intent.hash = intent_hash(intent.kind, intent.params, {}, intent.idempotency_key);
  frame.add_intent(std::move(intent));
}

Status has_room(const Head& head) {
  if (head.totals.open_intents <= kOpenIntentsMax) return ok_status();
  return refusal(ErrorCode::RateLimited, "world.busy",
                 "the world has " + std::to_string(head.totals.open_intents) +
                     " open intents: it takes no more work until some are settled");
}

Status writable(const Head& head) {
  if (head.quarantine_code.empty()) return ok_status();
  return refusal(ErrorCode::Conflict, "world.quarantined",
                 "the world is quarantined (" + head.quarantine_code + " at frame " +
                     std::to_string(head.quarantine_seq) + "): it takes no writes");
}

}  // namespace pawl::worlds
