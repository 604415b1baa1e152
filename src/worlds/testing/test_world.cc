#include "worlds/testing/test_world.h"

#include <utility>

#include "base/check.h"
#include "worlds/hash.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

std::string schema_node(std::string_view name, std::string_view type) {
  return R"({"$kind":"defschema","name":"t/)" + std::string(name) + R"(@1","type":)" +
         std::string(type) + "}";
}

std::string workflow_node(std::string_view name, std::string_view key, std::string_view abi) {
  return R"({"$kind":"defmodule","name":"t/)" + std::string(name) +
         R"(@1","module_kind":"workflow","wasm_b64":")" + base64(name) + "\"" + std::string(key) +
         R"(,"abi":{"workflow":{"state":"t/State@1",)" + std::string(abi) + "}}}";
}

std::string effect_node(std::string_view name, std::string_view kind, std::string_view cap_type) {
  return R"({"$kind":"defeffect","name":"t/)" + std::string(name) + R"(@1","kind":")" +
         std::string(kind) +
         R"(","params_schema":"t/Params@1","receipt_schema":"t/Done@1","cap_type":")" +
         std::string(cap_type) + R"(","origin_scope":"workflow"})";
}

constexpr std::string_view kKey = R"(,"key_schema":"t/Id@1")";

// sys/CapCheckOutput@1: lets everything through.
ModuleCall let_through(std::string_view) {
  std::string check, out;
  cbor::Map(check).boolean("constraints_ok", true).null("deny").end();
  cbor::Map(out).bytes("output", check).end();
  return {.end = CallEnd::Returned, .output = out, .fuel = 10};
}

std::string refused(const Error& error) { return "refused " + std::string(wire_code(error)); }

}  // namespace

WorldText::WorldText()
    : manifest(R"({"air_version":"1","defaults":{"cap_grants":[
  {"name":"cap_work","cap":"t/Work@1","params":{"max":10}},
  {"name":"cap_safe","cap":"t/Safe@1","params":{"max":10}},
  {"name":"cap_timer","cap":"sys/Timer@1","params":{}},
  {"name":"cap_http","cap":"sys/HttpOut@1","params":{"hosts":["a.test"]}}]},
 "routing":{"subscriptions":[
  {"event":"t/Start@1","module":"t/flow@1","key_field":"id"},
  {"event":"t/Poke@1","module":"t/flow@1","key_field":"id"},
  {"event":"t/Note@1","module":"t/plain@1"},
  {"event":"t/Note@1","module":"t/deaf@1"},
  {"event":"t/Tick@1","module":"t/timer@1","key_field":"id"}]},
 "module_bindings":{"t/flow@1":{"slots":{"work":"cap_work","safe":"cap_safe"}}}})") {
  nodes = {
      schema_node("Start", R"({"record":{"id":{"text":{}},"n":{"nat":{}}}})"),
      schema_node("Poke", R"({"record":{"id":{"text":{}}}})"),
      schema_node("Tick", R"({"record":{"id":{"text":{}}}})"),
      schema_node("Note", R"({"record":{"text":{"text":{}}}})"),
      schema_node("Id", R"({"text":{}})"),
      schema_node("State", R"({"record":{"log":{"list":{"text":{}}}}})"),
      schema_node("Params", R"({"record":{"n":{"nat":{}}}})"),
      schema_node("Done",
                  R"({"record":{"text":{"text":{}},"tags":{"option":{"set":{"text":{}}}}}})"),
      schema_node("FlowEvent", R"({"variant":{"Start":{"ref":"t/Start@1"},"Poke":{"ref":"t/Poke@1"},
  "Receipt":{"ref":"sys/EffectReceiptEnvelope@1"},"Rejected":{"ref":"sys/EffectReceiptRejected@1"},
  "Denied":{"ref":"sys/EffectDenied@1"}}})"),
      schema_node("PlainEvent", R"({"variant":{"Note":{"ref":"t/Note@1"},
  "Receipt":{"ref":"sys/EffectReceiptEnvelope@1"}}})"),
      schema_node("TimerEvent", R"({"variant":{"Tick":{"ref":"t/Tick@1"},
  "Fired":{"ref":"sys/TimerFired@1"}}})"),
      workflow_node("flow", kKey, R"("event":"t/FlowEvent@1","context":"sys/WorkflowContext@1",
  "effects_emitted":["work.do","safe.do","timer.set","http.request"],
  "cap_slots":{"work":"work","safe":"safe"})"),
      workflow_node("plain", "", R"("event":"t/PlainEvent@1","effects_emitted":["work.do"])"),
      workflow_node("timer", kKey, R"("event":"t/TimerEvent@1","effects_emitted":["timer.set"])"),
      workflow_node("deaf", "", R"("event":"t/Note@1","effects_emitted":["work.do"])"),
      R"({"$kind":"defmodule","name":"t/guard@1","module_kind":"pure","wasm_b64":")" +
          base64("guard") + R"(","abi":{"pure":{"input":"sys/CapCheckInput@1",
  "output":"sys/CapCheckOutput@1"}}})",
      effect_node("Work", "work.do", "work"),
      effect_node("Safe", "safe.do", "safe"),
      R"({"$kind":"defcap","name":"t/Work@1","cap_type":"work","schema":{"record":{"max":{"nat":{}}}}})",
      R"({"$kind":"defcap","name":"t/Safe@1","cap_type":"safe","schema":{"record":{"max":{"nat":{}}}},
  "enforcer":{"module":"t/guard@1"}})",
  };
}

WorldText& WorldText::with(std::string_view part, std::string_view other) {
  size_t found = 0;
  auto replace_in = [&](std::string& text) {
    const size_t at = text.find(part);
    if (at == std::string::npos) return;
    ++found;
    text.replace(at, part.size(), other);
  };
  replace_in(manifest);
  for (std::string& node : nodes) replace_in(node);
  PAWL_CHECK(found == 1);
  return *this;
}

std::string WorldText::text() const {
  std::string out = R"({"manifest":)" + manifest + R"(,"nodes":[)";
  for (const std::string& node : nodes) {
    if (out.back() != '[') out += ',';
    out += node;
  }
  return out + "]}";
}

TestWorld::TestWorld(const WorldText& body) {
  for (const std::string_view name : {"flow", "plain", "timer", "deaf"})
    host.set(name, saying_at_first([](StepSaid&) {}));
  host.set("guard", let_through);
  ProgramText text;
  program_ = read(body, text);
  NewWorld made{.id = *Uuid::parse("01890a5d-ac96-774b-bcce-b302099a8057"), .name = "test"};
  const std::string genesis = run([&](Deciding& deciding) {
    create_world(deciding, made, text);
    return ok_status();
  });
  PAWL_CHECK(genesis == "manifest");
}

std::shared_ptr<const Program> TestWorld::read(const WorldText& body, ProgramText& text) {
  const std::string json = body.text();
  Result<json::Doc> doc = json::parse(json);
  PAWL_CHECK(doc.ok());
  Result<ProgramText> read = read_program(
      doc->root().find("manifest"), doc->root().find("nodes"),
      [&](std::string_view hash) { return world_.node(hash); },
      [&](std::string_view hash) { return world_.blob(hash); }, host);
  PAWL_CHECK(read.ok());
  text = *std::move(read);
  for (const Complaint& fault : text.faults) error.message += fault.path + " " + fault.code + "; ";
  PAWL_CHECK(text.program != nullptr);
  return text.program;
}

void TestWorld::use(const WorldText& body) {
  ProgramText text;
  program_ = read(body, text);
  keep_program_text(world_, table_, text);
  Head head = world_.head();
  head.manifest_hash = text.manifest_hash;
  table_.put(head_key(), codec::encoded(head));
}

std::string TestWorld::run(FunctionRef<Status(Deciding&)> command) {
  const Head before = world_.head();
  now_ns += 1'000'000'000;
  Deciding deciding(
      table_, program_, host,
      next_stamp(before, now_ns,
                 entropy.empty() ? sha512("entropy " + std::to_string(before.height)) : entropy));
  deciding.timed_out = timed_out;
  const Status status = command(deciding);
  if (!status.ok()) {
    error = status.error();
    PAWL_CHECK(deciding.writes().writes().empty());
    return refused(status.error());
  }
  changed = std::move(deciding.changed);
  opened = std::move(deciding.opened);
  settled = std::move(deciding.settled);
  for (auto& [key, value] : deciding.writes().take()) {
    if (value) {
      table_.put(key, *std::move(value));
    } else {
      table_.remove(key);
    }
  }
  return world_.head().height == before.height ? "nothing" : last_frame();
}

std::string TestWorld::post(std::string_view schema, std::string_view json,
                            std::string_view key_json, std::string_view client_id) {
  reply.reset();
  Result<json::Doc> doc = json::parse(json);
  PAWL_CHECK(doc.ok());
  Result<json::Doc> key = json::parse(key_json.empty() ? "null" : key_json);
  PAWL_CHECK(key.ok());
  GivenEvent given;
  given.schema = schema;
  given.value = doc->root();
  if (!key_json.empty()) given.key = key->root();
  given.client_id = client_id;
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY(const Event event, judge_event(deciding.program(), given));
    PAWL_TRY(reply, post_event(deciding, event));
    return ok_status();
  });
}

std::string TestWorld::receipt(const std::string& intent, std::string_view status,
                               std::string_view payload_json) {
  GivenReceipt given;
  given.intent_hash = intent;
  given.adapter_id = "hand";
  given.status = status;
  given.payload_is_plain_json = true;
  given.payload_json = payload_json;
  given.payload = cbor_text(payload_json);
  given.signature = "signed";
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY(receipt_reply, take_receipt(deciding, given));
    return ok_status();
  });
}

std::string TestWorld::system_effect(std::string_view kind, std::string_view params_json,
                                     std::string_view cap) {
  Result<json::Doc> doc = json::parse(params_json);
  PAWL_CHECK(doc.ok());
  return run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(emit_system_effect(deciding, kind, doc->root(), cap));
    return ok_status();
  });
}

std::string TestWorld::terminate(std::string_view module, std::string_view key_json) {
  const std::string key = key_json.empty() ? "" : cbor_text(key_json);
  return run([&](Deciding& deciding) { return terminate_instance(deciding, module, key); });
}

std::string TestWorld::retry(std::string_view module, std::string_view key_json) {
  const std::string key = key_json.empty() ? "" : cbor_text(key_json);
  return run([&](Deciding& deciding) { return retry_instance(deciding, module, key); });
}

std::string TestWorld::forget(int64_t ended_before_ms, size_t at_most) {
  return run([&](Deciding& deciding) {
    forget_old(deciding, ended_before_ms, at_most);
    return ok_status();
  });
}

std::string TestWorld::instance(std::string_view module, std::string_view key_json) {
  const auto found =
      world_.instance(module, key_json.empty() ? std::string() : cbor_text(key_json));
  if (!found) return "none";
  std::string out(status_name(found->status));
  if (!found->error_code.empty()) out += " " + found->error_code;
  if (!found->has_state) return out + " without state";
  for (const std::string& line : log_of(found->state)) out += " " + line;
  return out;
}

std::vector<std::string> TestWorld::open() {
  std::vector<std::string> out;
  world_.each_open({}, [&](std::string_view, const std::string& hash, const Intent&) {
    out.push_back(hash);
    return true;
  });
  return out;
}

std::string TestWorld::record(uint32_t n, uint64_t seq) {
  const auto frame = world_.frame(seq == 0 ? world_.head().height : seq);
  PAWL_CHECK(frame && n < frame->records.size());
  return frame->records[n].bytes;
}

std::string TestWorld::records_of(std::string_view kind) {
  const auto frame = world_.frame(world_.head().height);
  size_t count = 0;
  for (const JournalRecord& record : frame->records)
    if (record_kind_name(static_cast<RecordKind>(record.kind)) == kind) ++count;
  return std::to_string(count);
}

std::string work_params(uint64_t n) { return cbor_text(R"({"n":)" + std::to_string(n) + "}"); }

NativeHost::Function saying_at_first(std::function<void(StepSaid&)> say) {
  return [say = std::move(say)](std::string_view input) {
    const StepSeen seen(input);
    std::vector<std::string> log = log_of(seen.state);
    const bool first = log.empty();
    log.emplace_back(seen.arm.empty() ? "event" : seen.arm);
    StepSaid said;
    said.state(log_state(log));
    if (first) say(said);
    return said.call();
  };
}

std::string cbor_text(std::string_view json) {
  Result<json::Doc> doc = json::parse(json);
  PAWL_CHECK(doc.ok());
  Result<std::string> read = from_plain_json(doc->root());
  PAWL_CHECK(read.ok());
  return *std::move(read);
}

std::string log_state(const std::vector<std::string>& lines) {
  std::string list, out;
  cbor::put_array(list, lines.size());
  for (const std::string& line : lines) cbor::put_text(list, line);
  cbor::Map(out).raw("log", list).end();
  return out;
}

std::vector<std::string> log_of(MaybeBytes state) {
  std::vector<std::string> out;
  if (!state) return out;
  Result<cbor::Item> item = cbor::read(*state);
  PAWL_CHECK(item.ok() && item->find("log") != nullptr);
  for (const cbor::Item& line : item->find("log")->items) out.emplace_back(line.string);
  return out;
}

}  // namespace pawl::worlds
