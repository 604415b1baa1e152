// One call of a module on what a client gives, judged like a live step up to its caps; nothing is
// kept.
#include <initializer_list>

#include "worlds/cbor.h"
#include "worlds/fault.h"
#include "worlds/gate.h"
#include "worlds/hash.h"
#include "worlds/intent.h"
#include "worlds/judged_step.h"
#include "worlds/members.h"
#include "worlds/reading.h"
#include "worlds/route.h"
#include "worlds/step_io.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr size_t kDryEntropyBytes = 64;

Error bad_member(std::string path, std::string message) {
  Error error{ErrorCode::InvalidContent, message};
  error.complaints.push_back({std::move(path), std::move(message)});
  return error;
}

// `path` of a body: "".
Status only_members(json::View object, const std::string& path,
                    std::initializer_list<std::string_view> names, bool lenient) {
  if (!object.is_object()) return bad_member(path.empty() ? "/" : path, "must be an object");
  Status status = ok_status();
  if (lenient) return status;
  object.each_member([&](json::View key, json::View) {
    for (const std::string_view name : names)
      if (key.equals(name)) return;
    if (status.ok()) status = bad_member(path + "/" + key.string(), "is not known here");
  });
  return status;
}

Result<std::string> text_member(json::View object, const std::string& path, std::string_view name) {
  const auto found = object.find(name);
  if (!found || !found->is_string())
    return bad_member(path + "/" + std::string(name), "must be a text");
  return found->string();
}

// A value given as JSON or as the bytes of CBOR; nullopt: neither, or null.
Result<std::optional<std::string>> given_value(json::View object, const std::string& path,
                                               const std::string& name, const Type& type) {
  auto value = object.find(name);
  auto encoded = object.find(name + "_b64");
  if (encoded && encoded->is_null()) encoded.reset();
  if (encoded && value && value->is_null()) value.reset();
  if (value && encoded) return bad_member(path + "/" + name, "stands beside its _b64: give one");
  if (encoded) {
    std::string bytes;
    if (!encoded->is_string() || !from_base64(encoded->string(), bytes))
      return bad_member(path + "/" + name + "_b64", "must be padded base64");
    auto canonical = from_cbor(type, bytes);
    if (!canonical.ok()) return bad_member(path + "/" + name + "_b64", canonical.error().message);
    return std::optional(std::move(canonical).value());
  }
  if (!value || (value->is_null() && type.plain().kind != TypeKind::Unit))
    return std::optional<std::string>();
  auto canonical = from_json(type, *value);
  if (!canonical.ok()) return bad_member(path + "/" + name, canonical.error().message);
  return std::optional(std::move(canonical).value());
}

Result<int64_t> integer_member(json::View object, const std::string& path, std::string_view name,
                               int64_t otherwise) {
  const auto found = object.find(name);
  if (!found) return otherwise;
  const auto value = found->as_int();
  if (!value || *value < 0)
    return bad_member(path + "/" + std::string(name), "must be a time, 0 or more");
  return *value;
}

struct DryStep {
  std::optional<std::string> state;
  std::string schema, value, arm;  // of the event, not yet in its arm
  std::optional<std::string> explicit_key;
  std::string key;  // of the instance; "" = not keyed
  int64_t now_ns = 0, logical_now_ns = 0, journal_height = 0;
  std::string entropy = std::string(kDryEntropyBytes, '\0');
};

Status read_dry_event(const Program& program, const Module& module, json::View body, bool lenient,
                      DryStep& dry) {
  const auto event = body.find("event");
  if (!event) return bad_member("/event", "is missing");
  PAWL_TRY_DO(only_members(*event, "/event", {"schema", "value", "value_b64", "key"}, lenient));
  PAWL_TRY(dry.schema, text_member(*event, "/event", "schema"));
  const auto type = program.types.find(dry.schema);
  if (dry.schema != module.event_schema) dry.arm = arm_of(*module.event_type, dry.schema);
  if (type == nullptr || (dry.schema != module.event_schema && dry.arm.empty()))
    return bad_member("/event/schema", "is neither the module's event schema nor in an arm of it");
  PAWL_TRY(auto value, given_value(*event, "/event", "value", *type));
  if (!value) return bad_member("/event/value", "is missing");
  dry.value = *std::move(value);
  auto key = event->find("key");
  if (key && key->is_null()) key.reset();
  if (!module.keyed())
    return key ? Status(bad_member("/event/key", "the module is not keyed")) : ok_status();
  if (key) {
    auto encoded = from_json(*module.key_type, *key);
    if (!encoded.ok()) return bad_member("/event/key", encoded.error().message);
    dry.key = std::move(encoded).value();
    dry.explicit_key = dry.key;
    return ok_status();
  }
  // As a live event would find its instance.
  for (const Subscription& subscription : program.subscriptions)
    if (subscription.module == module.name && subscription.event == dry.schema)
      dry.key = find_bytes(*type, dry.value, subscription.key_field);
  return dry.key.empty() ? bad_member("/event/key", "is missing: the module is keyed")
                         : ok_status();
}

Status read_dry_context(json::View body, bool lenient, DryStep& dry) {
  const auto context = body.find("ctx");
  if (!context || context->is_null()) return ok_status();
  PAWL_TRY_DO(only_members(*context, "/ctx",
                           {"now_ns", "logical_now_ns", "journal_height", "entropy_b64"}, lenient));
  PAWL_TRY(dry.now_ns, integer_member(*context, "/ctx", "now_ns", 0));
  PAWL_TRY(dry.logical_now_ns, integer_member(*context, "/ctx", "logical_now_ns", dry.now_ns));
  PAWL_TRY(dry.journal_height, integer_member(*context, "/ctx", "journal_height", 0));
  const auto entropy = context->find("entropy_b64");
  if (!entropy) return ok_status();
  if (!entropy->is_string() || !from_base64(entropy->string(), dry.entropy) ||
      dry.entropy.size() != kDryEntropyBytes)
    return bad_member("/ctx/entropy_b64", "must be padded base64 of 64 bytes");
  return ok_status();
}

void write_bytes(json::Writer& w, std::string_view name, const MaybeBytes& bytes) {
  w.key(name);
  if (bytes) {
    w.string(base64(*bytes));
  } else {
    w.null();
  }
}

std::string failed_json(const Fault& fault, uint64_t fuel) {
  std::string out;
  json::Writer w(out);
  w.begin_object().key("failed").begin_object();
  w.field("code", fault.code).field("detail", fault.detail).end_object();
  write_nat(w, "fuel", fuel);
  w.end_object();
  return out;
}

void write_dry_events(json::Writer& w, const Program& program, const JudgedStep& step) {
  w.key("domain_events").begin_array();
  for (const JudgedEvent& event : step.events) {
    w.begin_object().field("schema", event.schema).key("value");
    write_value(w, program.types.find(event.schema).get(), event.value);
    w.field("value_b64", base64(event.value));
    write_key(w, "key", event.key ? std::string_view(*event.key) : std::string_view());
    w.end_object();
  }
  w.end_array();
}

void write_dry_effects(json::Writer& w, const JudgedStep& step, const StepOutput& output) {
  w.key("effects").begin_array();
  for (size_t i = 0; i < step.effects.size(); ++i) {
    const JudgedEffect& effect = step.effects[i];
    w.begin_object().field("kind", effect.sound.effect->kind).key("params");
    write_value(w, effect.sound.effect->params_type.get(), effect.sound.params);
    w.field("params_b64", base64(effect.sound.params)).field("params_hash", effect.params_hash);
    w.key("cap_slot");
    if (const auto& slot = output.effects[i].cap_slot) {
      w.string(*slot);
    } else {
      w.null();
    }
    w.key("idempotency_key");
    if (effect.requested_key) {
      w.string(base64(*effect.requested_key));
    } else {
      w.null();
    }
    w.end_object();
  }
  w.end_array();
}

std::string_view said_status(const JudgedStep& step) {
  if (step.said == Said::Failed) return "failed";
  return step.said == Said::Completed || !step.state ? "completed" : "running";
}

std::string stepped_json(const Program& program, const Module& module, const JudgedStep& step,
                         const StepOutput& output, uint64_t fuel) {
  std::string out;
  json::Writer w(out);
  w.begin_object().key("state");
  if (step.state) {
    write_value(w, module.state_type.get(), *step.state);
  } else {
    w.null();
  }
  write_bytes(w, "state_b64", step.state ? MaybeBytes(*step.state) : std::nullopt);
  w.field("status", said_status(step)).key("error");
  if (output.error) {
    w.string(step.error);
  } else {
    w.null();
  }
  write_dry_events(w, program, step);
  write_dry_effects(w, step, output);
  write_bytes(w, "ann_b64", output.ann);
  write_nat(w, "fuel", fuel);
  w.end_object();
  return out;
}

Result<std::string> dry_workflow(const Program& program, const Module& module, ModuleHost& host,
                                 LoadCode load, json::View body, bool lenient) {
  PAWL_TRY_DO(only_members(body, "", {"module", "state", "state_b64", "event", "ctx"}, lenient));
  DryStep dry;
  PAWL_TRY(dry.state, given_value(body, "", "state", *module.state_type));
  PAWL_TRY_DO(read_dry_event(program, module, body, lenient, dry));
  PAWL_TRY_DO(read_dry_context(body, lenient, dry));
  // The key of a continuation names its instance, and is no part of the event.
  const bool from_outside = dry.explicit_key && !is_reserved_name(dry.schema);
  const MaybeBytes explicit_key = from_outside ? MaybeBytes(*dry.explicit_key) : std::nullopt;
  const std::string hash = event_hash(dry.schema, dry.value, explicit_key);
  const std::string value = in_arm(module, dry.arm, dry.value);
  const std::string input = step_input({.module = module,
                                        .state = dry.state ? MaybeBytes(*dry.state) : std::nullopt,
                                        .value = value,
                                        .key = dry.key.empty() ? MaybeBytes() : MaybeBytes(dry.key),
                                        .now_ns = dry.now_ns,
                                        .logical_now_ns = dry.logical_now_ns,
                                        .seq = static_cast<uint64_t>(dry.journal_height),
                                        .entropy = dry.entropy,
                                        .event_hash = hash,
                                        .manifest_hash = program.manifest_hash});
  const ModuleCall call = host.call(module.wasm_hash, load, Entry::Step, input, program.limits);
  if (call.end == CallEnd::Unavailable) return no_runtime(call.output);
  if (const auto fault = fault_of_call(call.end)) return failed_json(*fault, call.fuel);
  StepOutput output;
  if (const auto fault = read_step_output(call.output, output))
    return failed_json(*fault, call.fuel);
  JudgedStep step;
  if (const auto fault = judge_step(program, module, output, false, step))
    return failed_json(*fault, call.fuel);
  return stepped_json(program, module, step, output, call.fuel);
}

std::optional<Fault> pure_fault(const ModuleCall& call) {
  switch (call.end) {
    case CallEnd::Returned:
    case CallEnd::Unavailable:
      return std::nullopt;
    case CallEnd::Trap:
      return Fault{"pure.trap", "the module trapped"};
    case CallEnd::FuelExceeded:
      return Fault{"pure.fuel_exceeded", "the module used up its fuel"};
    case CallEnd::Timeout:
      return Fault{"pure.trap", "the module was stopped after too much real time"};
    case CallEnd::BadOutput:
      return Fault{"pure.output_invalid", "the output does not lie in the module's memory"};
    case CallEnd::OutputLimit:
      return Fault{"pure.output_invalid", "the output is too large"};
  }
  return std::nullopt;
}

Result<std::string> dry_pure(const Program& program, const Module& module, ModuleHost& host,
                             LoadCode load, json::View body, bool lenient) {
  PAWL_TRY_DO(only_members(body, "", {"module", "input", "input_b64", "ctx"}, lenient));
  PAWL_TRY(auto given, given_value(body, "", "input", *module.input_type));
  if (!given) return bad_member("/input", "is missing");
  DryStep dry;
  PAWL_TRY_DO(read_dry_context(body, lenient, dry));
  const std::string input = pure_input({.module = module,
                                        .input = *given,
                                        .logical_now_ns = dry.logical_now_ns,
                                        .seq = static_cast<uint64_t>(dry.journal_height),
                                        .manifest_hash = program.manifest_hash});
  const ModuleCall call = host.call(module.wasm_hash, load, Entry::Run, input, program.limits);
  if (call.end == CallEnd::Unavailable) return no_runtime(call.output);
  if (const auto fault = pure_fault(call)) return failed_json(*fault, call.fuel);
  std::string_view output;
  if (const auto fault = read_pure_output(call.output, output))
    return failed_json(*fault, call.fuel);
  const auto canonical = from_cbor(*module.output_type, output);
  if (!canonical.ok())
    return failed_json({"pure.output_invalid", canonical.error().message}, call.fuel);
  std::string out;
  json::Writer w(out);
  w.begin_object().key("output");
  write_value(w, module.output_type.get(), *canonical);
  w.field("output_b64", base64(*canonical));
  write_nat(w, "fuel", call.fuel);
  w.end_object();
  return out;
}

}  // namespace

Result<std::string> step_test(const Program& program, World& world, ModuleHost& host,
                              json::View body, bool lenient) {
  if (!body.is_object()) return bad_member("/", "must be an object");
  PAWL_TRY(const std::string name, text_member(body, "", "module"));
  const Module* module = program.module(name);
  if (module == nullptr) return bad_member("/module", "is no module of the manifest");
  const auto load = [&](std::string_view hash) { return world.blob(hash); };
  return module->kind == ModuleKind::Workflow
             ? dry_workflow(program, *module, host, load, body, lenient)
             : dry_pure(program, *module, host, load, body, lenient);
}

}  // namespace pawl::worlds
