#include "rehearse/worlds/world_stage.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "worlds/record_view.h"
#include "worlds/reading.h"
#include "worlds/written.h"

namespace pawl::rehearse {
namespace {

constexpr std::string_view kTimerKind = "timer.set";
constexpr std::string_view kServersAdapter = "pawl";
constexpr uint64_t kTimersPerMoveMax = 100'000;
constexpr size_t kOpenShownMax = 10;

Value value_of_json(const std::string& text) {
  auto value = Value::parse(text);
  return value.ok() ? std::move(value).value() : Value();
}

// Through the writer that prints values in replies.
Value value_of_bytes(const worlds::Type* type, std::string_view canonical) {
  std::string text;
  json::Writer w(text);
  w.begin_object().key("value");
  worlds::write_value(w, type, canonical);
  w.end_object();
  const Value holder = value_of_json(text);
  const Value* value = holder.find("value");
  return value == nullptr ? Value() : *value;
}

std::string text_of(const Value& holder, std::string_view name) {
  const Value* found = holder.find(name);
  return found != nullptr && found->is_string() ? found->as_string() : "";
}

std::string timer_payload(const worlds::Intent& intent, int64_t now_ns) {
  std::string payload;
  worlds::cbor::Map map(payload);
  map.integer("delivered_at_ns", now_ns);
  auto params = worlds::cbor::read(intent.params);
  const worlds::cbor::Item* key = params.ok() ? params->find("key") : nullptr;
  if (key == nullptr || !key->is_text()) {
    map.null("key");
  } else {
    map.text("key", key->string);
  }
  map.end();
  return payload;
}

}  // namespace

Result<std::shared_ptr<const worlds::Program>> WorldStage::read_program(std::string_view text,
                                                                        worlds::ProgramText& into) {
  PAWL_TRY(const json::Doc doc, json::parse(text));
  const auto node = [&](std::string_view hash) { return world_.node(hash); };
  const auto blob = [&](std::string_view hash) { return world_.blob(hash); };
  PAWL_TRY(into, worlds::read_program(doc.root().find("manifest"), doc.root().find("nodes"), node,
                                      blob, host_));
  if (into.program != nullptr) return into.program;
  Error error{ErrorCode::InvalidContent, "the manifest is not valid"};
  error.complaints = into.faults;
  return error;
}

Status WorldStage::create(std::string_view program, const std::string& seed, int64_t now_ns) {
  worlds::ProgramText text;
  PAWL_TRY(program_, read_program(program, text));
  now_ns_ = now_ns;
  worlds::NewWorld made;
  made.name = "test";
  made.test = true;
  made.seed = seed;
  made.test_now_ns = now_ns;
  worlds::Head head;
  head.test = true;
  head.seed = seed;
  head.test_now_ns = now_ns;
  worlds::Deciding deciding(items_, program_, host_, worlds::next_stamp(head, 0, {}));
  worlds::create_world(deciding, made, text);
  keep(deciding);
  return ok_status();
}

worlds::Deciding WorldStage::begin(int64_t now_ns) {
  worlds::Head head = world_.head();
  head.test_now_ns = now_ns;
  return worlds::Deciding(items_, program_, host_, worlds::next_stamp(head, 0, {}));
}

void WorldStage::keep(worlds::Deciding& deciding) {
  for (auto& [key, value] : deciding.writes().take()) {
    if (value) {
      items_.put(key, std::move(*value));
    } else {
      items_.remove(key);
    }
  }
}

Result<worlds::EventReply> WorldStage::post(const Value& event) {
  const ValueDoc doc(event);
  PAWL_TRY_DO(doc.status());
  worlds::GivenEvent given;
  given.schema = text_of(event, "schema");
  given.client_id = text_of(event, "client_id");
  given.value = doc.root().find("value");
  given.key = doc.root().find("key");
  if (text_of(event, "lens") == "tagged") given.lens = worlds::Lens::Tagged;
  if (const Value* encoded = event.find("value_b64")) {
    std::string bytes;
    if (!encoded->is_string() || !from_base64(encoded->as_string(), bytes))
      return Error{ErrorCode::InvalidContent, "value_b64 must be padded base64"};
    given.value_bytes = std::move(bytes);
  }
  PAWL_TRY(const worlds::Event judged, worlds::judge_event(*program_, given));
  worlds::Deciding deciding = begin(now_ns_);
  PAWL_TRY(worlds::EventReply reply, worlds::post_event(deciding, judged));
  keep(deciding);
  return reply;
}

Result<std::string> WorldStage::find_intent(const Value& receipt) {
  const std::string kind = text_of(receipt, "of");
  std::string found, open;
  size_t seen = 0;
  world_.each_open("", [&](std::string_view, const std::string& hash, const worlds::Intent& intent) {
    const worlds::Effect* effect = program_->effect(intent.kind);
    const Value params = value_of_bytes(effect ? effect->params_type.get() : nullptr, intent.params);
    if (seen++ < kOpenShownMax) open += "; open: " + intent.kind + " " + params.json();
    const Value* key = receipt.find("key");
    const Value* wanted = receipt.find("params");
    const std::string module = text_of(receipt, "module");
    if (intent.kind == kind && (module.empty() || module == intent.origin_name) &&
        (key == nullptr || *key == key_value(intent.origin_name, intent.instance_key)) &&
        (wanted == nullptr || *wanted == params))
      found = hash;
    return found.empty();
  });
  if (!found.empty()) return found;
  return Error{ErrorCode::NotFound,
               "no open effect fits this receipt" + (open.empty() ? "; none is open" : open)};
}

Result<worlds::ReceiptReply> WorldStage::settle(const Value& receipt) {
  worlds::GivenReceipt given;
  PAWL_TRY(given.intent_hash, find_intent(receipt));
  given.adapter_id = text_of(receipt, "adapter");
  if (given.adapter_id.empty()) given.adapter_id = "test";
  given.status = text_of(receipt, "status");
  if (given.status != "ok" && given.status != "error" && given.status != "timeout")
    return Error{ErrorCode::InvalidContent, "a receipt's status is ok, error or timeout"};
  if (const Value* cost = receipt.find("cost_cents"); cost != nullptr && cost->is_int())
    given.cost_cents = cost->as_int();
  if (const Value* encoded = receipt.find("payload_b64")) {
    if (!encoded->is_string() || !from_base64(encoded->as_string(), given.payload))
      return Error{ErrorCode::InvalidContent, "payload_b64 must be padded base64"};
  } else {
    const Value* payload = receipt.find("payload");
    given.payload_is_plain_json = true;
    given.payload_json = payload == nullptr ? "null" : payload->json();
    PAWL_TRY(const json::Doc doc, json::parse(given.payload_json));
    PAWL_TRY(given.payload, worlds::from_plain_json(doc.root()));
  }
  worlds::Deciding deciding = begin(now_ns_);
  PAWL_TRY(worlds::ReceiptReply reply, worlds::take_receipt(deciding, given));
  keep(deciding);
  return reply;
}

Status WorldStage::fire(const std::string& intent_hash, const worlds::Intent& intent) {
  worlds::GivenReceipt given;
  given.intent_hash = intent_hash;
  given.adapter_id = kServersAdapter;
  given.status = "ok";
  given.payload = timer_payload(intent, now_ns_);
  worlds::Deciding deciding = begin(now_ns_);
  PAWL_TRY_DO(worlds::take_receipt(deciding, given));
  keep(deciding);
  return ok_status();
}

Result<uint64_t> WorldStage::move_clock(int64_t to_ns) {
  if (to_ns < now_ns_)
    return Error{ErrorCode::InvalidContent, "the clock of a world does not go back"};
  for (uint64_t fired = 0; fired <= kTimersPerMoveMax; ++fired) {
    std::optional<worlds::Intent> next;
    std::string hash;
    world_.each_open("", [&](std::string_view, const std::string& one, const worlds::Intent& intent) {
      if (intent.kind == kTimerKind && intent.deliver_at_ns <= to_ns &&
          (!next || std::tie(intent.deliver_at_ns, one) < std::tie(next->deliver_at_ns, hash))) {
        next = intent;
        hash = one;
      }
      return true;
    });
    if (!next) {
      now_ns_ = to_ns;
      return fired;
    }
    now_ns_ = std::max(now_ns_, next->deliver_at_ns);
    PAWL_TRY_DO(fire(hash, *next));
  }
  return Error{ErrorCode::Overloaded, "timers never come to an end"};
}

Status WorldStage::apply(std::string_view program) {
  worlds::ProgramText text;
  PAWL_TRY(auto candidate, read_program(program, text));
  worlds::Deciding deciding = begin(now_ns_);
  worlds::keep_program_text(deciding.world(), deciding.writes(), text);
  // Nothing is ever leased here, so all that is open is queued.
  const uint64_t queued = world_.head().totals.open_intents;
  PAWL_TRY_DO(worlds::apply_program(deciding, "", candidate, {queued}));
  keep(deciding);
  program_ = candidate;
  return ok_status();
}

Result<std::pair<std::string, std::string>> WorldStage::instance_of(const Value& which) {
  const std::string name = text_of(which, "module");
  const worlds::Module* module = program_->module(name);
  if (module == nullptr) return Error{ErrorCode::NotFound, "there is no module " + in_quotes(name)};
  const Value* key = which.find("key");
  if (!module->keyed() || key == nullptr) return std::pair(name, std::string());
  const ValueDoc doc(*key);
  PAWL_TRY_DO(doc.status());
  PAWL_TRY(std::string bytes, worlds::from_json(*module->key_type, doc.root()));
  return std::pair(name, std::move(bytes));
}

Status WorldStage::terminate(const Value& which) {
  PAWL_TRY(const auto place, instance_of(which));
  worlds::Deciding deciding = begin(now_ns_);
  PAWL_TRY_DO(worlds::terminate_instance(deciding, place.first, place.second));
  keep(deciding);
  return ok_status();
}

Status WorldStage::retry(const Value& which) {
  PAWL_TRY(const auto place, instance_of(which));
  worlds::Deciding deciding = begin(now_ns_);
  PAWL_TRY_DO(worlds::retry_instance(deciding, place.first, place.second));
  keep(deciding);
  return ok_status();
}

void WorldStage::snapshot() {
  worlds::Deciding deciding = begin(now_ns_);
  worlds::take_snapshot(deciding);
  keep(deciding);
}

Status WorldStage::replay(worlds::ReplayFrom from) {
  PAWL_TRY(const worlds::Replayed again,
           worlds::replay(world_, host_, from, [] { return true; }));
  if (again.digest == worlds::digest_of(world_)) return ok_status();
  return Error{ErrorCode::Conflict, "a replay of the journal comes to another state"};
}

Result<std::string> WorldStage::step(std::string_view request) {
  PAWL_TRY(const json::Doc doc, json::parse(request));
  return worlds::step_test(*program_, world_, host_, doc.root());
}

Value WorldStage::key_value(std::string_view module, const std::string& key) const {
  if (key.empty()) return {};
  const worlds::Module* found = program_->module(module);
  return value_of_bytes(found == nullptr ? nullptr : found->key_type.get(), key);
}

Value::Array WorldStage::instances() {
  Value::Array all;
  world_.each_instance("", "", [&](std::string_view, const std::string& module,
                                   const std::string& key, const worlds::Instance& instance) {
    Value::Object one;
    one.set("module", module);
    one.set("key", key_value(module, key));
    one.set("status", worlds::status_name(instance.status));
    const worlds::Module* known = program_->module(module);
    one.set("state", instance.has_state
                         ? value_of_bytes(known ? known->state_type.get() : nullptr, instance.state)
                         : Value());
    one.set("error", instance.error_code.empty() ? Value() : Value(instance.error_code));
    Value::Array inflight;
    for (const worlds::Inflight& open : instance.inflight) inflight.emplace_back(open.kind);
    one.set("inflight", std::move(inflight));
    all.emplace_back(std::move(one));
    return true;
  });
  return all;
}

Value::Array WorldStage::open_effects() {
  Value::Array all;
  world_.each_open("", [&](std::string_view, const std::string&, const worlds::Intent& intent) {
    const worlds::Effect* effect = program_->effect(intent.kind);
    Value::Object one;
    one.set("kind", intent.kind);
    one.set("module", intent.origin_name);
    one.set("key", key_value(intent.origin_name, intent.instance_key));
    one.set("params", value_of_bytes(effect ? effect->params_type.get() : nullptr, intent.params));
    one.set("cap_name", intent.cap_name);
    all.emplace_back(std::move(one));
    return true;
  });
  return all;
}

Value::Array WorldStage::events_since(uint64_t seq) {
  Value::Array all;
  world_.each_frame(seq + 1, [&](uint64_t, const worlds::FrameRecords& frame) {
    for (const worlds::JournalRecord& record : frame.records) {
      if (static_cast<worlds::RecordKind>(record.kind) != worlds::RecordKind::DomainEvent) continue;
      const worlds::RecordView view(record.bytes);
      if (view.is_null("cause")) continue;  // it came from outside
      Value::Object one;
      const std::string schema(view.text("schema"));
      one.set("schema", schema);
      one.set("value", value_of_bytes(program_->types.find(schema).get(), view.bytes("value")));
      one.set("key", view.is_null("key") ? Value() : value_of_bytes(nullptr, view.bytes("key")));
      all.emplace_back(std::move(one));
    }
    return true;
  });
  return all;
}

Value::Array WorldStage::journal_since(uint64_t seq) {
  Value::Array all;
  world_.each_frame(seq + 1, [&](uint64_t, const worlds::FrameRecords& frame) {
    for (const worlds::JournalRecord& record : frame.records)
      all.emplace_back(
          worlds::record_kind_name(static_cast<worlds::RecordKind>(record.kind)));
    return true;
  });
  return all;
}

}  // namespace pawl::rehearse
