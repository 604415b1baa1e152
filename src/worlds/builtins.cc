#include "worlds/builtins.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/ascii.h"
#include "base/check.h"
#include "base/json.h"
#include "base/quote.h"

namespace pawl::worlds {
namespace {

constexpr BuiltinSchema kSchemas[] = {
    {"sys/TextOrSecretRef@1",
     R"({"variant":{"literal":{"text":{}},"secret":{"record":{"alias":{"text":{}},"version":{"nat":{}}}}}})"},
    {"sys/EffectError@1", R"({"record":{"code":{"text":{}},"message":{"text":{}}}})"},

    {"sys/TimerSetParams@1",
     R"({"record":{"deliver_at_ns":{"time":{}},"key":{"option":{"text":{}}}}})"},
    {"sys/TimerSetReceipt@1",
     R"({"record":{"delivered_at_ns":{"time":{}},"key":{"option":{"text":{}}}}})"},
    {"sys/BlobPutParams@1", R"({"record":{"bytes":{"bytes":{}}}})"},
    {"sys/BlobPutReceipt@1", R"({"record":{"blob_ref":{"hash":{}},"size":{"nat":{}}}})"},
    {"sys/BlobGetParams@1", R"({"record":{"blob_ref":{"hash":{}}}})"},
    {"sys/BlobGetReceipt@1", R"({"record":{"bytes":{"bytes":{}},"size":{"nat":{}}}})"},
    {"sys/HttpRequestParams@1",
     R"({"record":{"method":{"text":{}},"url":{"text":{}},)"
     R"("headers":{"option":{"map":{"key":{"text":{}},"value":{"ref":"sys/TextOrSecretRef@1"}}}},)"
     R"("body":{"option":{"bytes":{}}},"timeout_ms":{"option":{"nat":{}}}}})"},
    {"sys/HttpRequestReceipt@1",
     R"({"record":{"status":{"nat":{}},"headers":{"map":{"key":{"text":{}},"value":{"text":{}}}},)"
     R"("body":{"bytes":{}}}})"},
    {"sys/JobRunParams@1",
     R"({"record":{"type":{"text":{}},"args_json":{"text":{}},"queue":{"option":{"text":{}}},)"
     R"("options_json":{"option":{"text":{}}}}})"},
    {"sys/JobRunReceipt@1",
     R"({"record":{"job_id":{"text":{}},"result_json":{"option":{"text":{}}}}})"},
    {"sys/RunStartParams@1",
     R"({"record":{"definition":{"text":{}},"version":{"option":{"text":{}}},)"
     R"("inputs_json":{"option":{"text":{}}}}})"},
    {"sys/RunStartReceipt@1",
     R"({"record":{"run_id":{"text":{}},"output_json":{"option":{"text":{}}}}})"},

    {"sys/EffectReceiptEnvelope@1",
     R"({"record":{"origin_module_id":{"text":{}},"origin_instance_key":{"option":{"bytes":{}}},)"
     R"("intent_id":{"hash":{}},"effect_kind":{"text":{}},"params_hash":{"hash":{}},)"
     R"("receipt_payload":{"bytes":{}},"status":{"text":{}},"emitted_at_seq":{"nat":{}},)"
     R"("adapter_id":{"text":{}},"cost_cents":{"option":{"nat":{}}},"signature":{"bytes":{}}}})"},
    {"sys/EffectReceiptRejected@1",
     R"({"record":{"origin_module_id":{"text":{}},"origin_instance_key":{"option":{"bytes":{}}},)"
     R"("intent_id":{"hash":{}},"effect_kind":{"text":{}},"params_hash":{"hash":{}},)"
     R"("adapter_id":{"text":{}},"status":{"text":{}},"error_code":{"text":{}},)"
     R"("error_message":{"text":{}},"payload_hash":{"text":{}},"payload_size":{"nat":{}},)"
     R"("emitted_at_seq":{"nat":{}}}})"},
    {"sys/EffectDenied@1",
     R"({"record":{"origin_module_id":{"text":{}},"origin_instance_key":{"option":{"bytes":{}}},)"
     R"("effect_kind":{"text":{}},"params_hash":{"hash":{}},"effect_index":{"nat":{}},)"
     R"("stage":{"text":{}},"code":{"text":{}},"message":{"text":{}},"emitted_at_seq":{"nat":{}}}})"},
    {"sys/TimerFired@1",
     R"({"record":{"intent_id":{"hash":{}},"status":{"text":{}},)"
     R"("requested":{"ref":"sys/TimerSetParams@1"},"receipt":{"ref":"sys/TimerSetReceipt@1"}}})"},
    {"sys/BlobPutResult@1",
     R"({"record":{"intent_id":{"hash":{}},"status":{"text":{}},)"
     R"("requested":{"ref":"sys/BlobPutParams@1"},"receipt":{"ref":"sys/BlobPutReceipt@1"}}})"},
    {"sys/BlobGetResult@1",
     R"({"record":{"intent_id":{"hash":{}},"status":{"text":{}},)"
     R"("requested":{"ref":"sys/BlobGetParams@1"},"receipt":{"ref":"sys/BlobGetReceipt@1"}}})"},

    {"sys/WorkflowContext@1",
     R"({"record":{"now_ns":{"time":{}},"logical_now_ns":{"time":{}},"journal_height":{"nat":{}},)"
     R"("entropy":{"bytes":{}},"event_hash":{"hash":{}},"manifest_hash":{"hash":{}},)"
     R"("workflow":{"text":{}},"key":{"option":{"bytes":{}}},"cell_mode":{"bool":{}}}})"},
    {"sys/PureContext@1", R"({"record":{"logical_now_ns":{"time":{}},"journal_height":{"nat":{}},)"
                          R"("manifest_hash":{"hash":{}},"module":{"text":{}}}})"},
    {"sys/CapCheckInput@1",
     R"({"record":{"cap_def":{"text":{}},"grant_name":{"text":{}},"cap_params":{"bytes":{}},)"
     R"("effect_kind":{"text":{}},"effect_params":{"bytes":{}},)"
     R"("origin":{"record":{"kind":{"text":{}},"name":{"text":{}}}},"logical_now_ns":{"nat":{}}}})"},
    {"sys/CapCheckOutput@1",
     R"({"record":{"constraints_ok":{"bool":{}},)"
     R"("deny":{"option":{"record":{"code":{"text":{}},"message":{"text":{}}}}}}})"},
};

struct BuiltinEffect {
  std::string_view name, kind, cap_type, params, receipt;
};
constexpr BuiltinEffect kEffects[] = {
    {"sys/TimerSet@1", "timer.set", "timer", "sys/TimerSetParams@1", "sys/TimerSetReceipt@1"},
    {"sys/BlobPut@1", "blob.put", "blob", "sys/BlobPutParams@1", "sys/BlobPutReceipt@1"},
    {"sys/BlobGet@1", "blob.get", "blob", "sys/BlobGetParams@1", "sys/BlobGetReceipt@1"},
    {"sys/HttpRequest@1", "http.request", "http.out", "sys/HttpRequestParams@1",
     "sys/HttpRequestReceipt@1"},
    {"sys/JobRun@1", "job.run", "job", "sys/JobRunParams@1", "sys/JobRunReceipt@1"},
    {"sys/RunStart@1", "run.start", "run", "sys/RunStartParams@1", "sys/RunStartReceipt@1"},
};
constexpr std::array kGovernanceVerbs = {
    std::string_view("governance.propose"), std::string_view("governance.shadow"),
    std::string_view("governance.approve"), std::string_view("governance.reject"),
    std::string_view("governance.apply")};

struct BuiltinCap {
  std::string_view name, cap_type, type, enforcer;
};
constexpr BuiltinCap kCaps[] = {
    {"sys/Timer@1", "timer", R"({"record":{}})", "sys/CapAllowAll@1"},
    {"sys/Blob@1", "blob", R"({"record":{}})", "sys/CapAllowAll@1"},
    {"sys/HttpOut@1", "http.out",
     R"({"record":{"hosts":{"option":{"set":{"text":{}}}},"schemes":{"option":{"set":{"text":{}}}},)"
     R"("methods":{"option":{"set":{"text":{}}}}}})",
     "sys/CapEnforceHttpOut@1"},
    {"sys/Job@1", "job",
     R"({"record":{"types":{"option":{"set":{"text":{}}}},"queues":{"option":{"set":{"text":{}}}}}})",
     "sys/CapEnforceJob@1"},
    {"sys/Run@1", "run", R"({"record":{"definitions":{"option":{"set":{"text":{}}}}}})",
     "sys/CapEnforceRun@1"},
};

Type builtin_type(std::string_view expression) {
  const Result<json::Doc> doc = json::parse(expression);
  PAWL_CHECK(doc.ok());
  const Result<std::string> bytes = from_plain_json(doc->root());
  PAWL_CHECK(bytes.ok());
  const Result<cbor::Item> item = cbor::read(*bytes);
  PAWL_CHECK(item.ok());
  std::vector<Complaint> faults;
  Type type = read_type(*item, "", faults);
  PAWL_CHECK(faults.empty());
  return type;
}

// Read once; each program resolves copies of its own.
const std::vector<Type>& builtin_types() {
  static const std::vector<Type> kTypes = [] {
    std::vector<Type> read;
    for (const BuiltinSchema& schema : kSchemas) read.push_back(builtin_type(schema.type));
    return read;
  }();
  return kTypes;
}

const std::vector<Type>& builtin_cap_types() {
  static const std::vector<Type> kTypes = [] {
    std::vector<Type> read;
    for (const BuiltinCap& cap : kCaps) read.push_back(builtin_type(cap.type));
    return read;
  }();
  return kTypes;
}

// --- constraints
Fault constraint(std::string detail) { return Fault{"constraint", std::move(detail)}; }

// The set of texts that a grant allows; null if anything goes.
const cbor::Item* allowed(const cbor::Item& grant, std::string_view name) {
  const cbor::Item* set = grant.find(name);
  return set == nullptr || !set->is_array() ? nullptr : set;
}

bool holds(const cbor::Item& set, std::string_view text) {
  return std::any_of(set.items.begin(), set.items.end(),
                     [text](const cbor::Item& item) { return item.string == text; });
}

bool holds_in_any_case(const cbor::Item& set, std::string_view text) {
  const std::string lower = lower_case(std::string(text));
  return std::any_of(set.items.begin(), set.items.end(), [&lower](const cbor::Item& item) {
    return lower_case(std::string(item.string)) == lower;
  });
}

std::string_view text_member(const cbor::Item& params, std::string_view name) {
  const cbor::Item* found = params.find(name);
  return found == nullptr || !found->is_text() ? std::string_view() : found->string;
}

std::string_view without_brackets(std::string_view host) {
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

bool is_host(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const std::string_view inner = without_brackets(host);
  if (inner.empty() || (bracketed && inner.size() == host.size())) return false;
  return std::all_of(inner.begin(), inner.end(), [bracketed](char c) {
    return bracketed ? hex_digit(c) >= 0 || c == ':' || c == '.'
                     : is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
  });
}

struct PlainUrl {
  std::string_view scheme, host;
};

// scheme "://" host [":" port] and anything after it.
std::optional<PlainUrl> take_apart(std::string_view url) {
  if (std::any_of(url.begin(), url.end(), [](char c) { return c == ' '; }) || !is_printable(url))
    return std::nullopt;
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view scheme = url.substr(0, colon);
  if (scheme.empty() || !is_alpha(scheme.front()) ||
      !std::all_of(scheme.begin(), scheme.end(), is_alphanumeric))
    return std::nullopt;
  std::string_view host = url.substr(colon + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const size_t bracket = host.find(']');
  const size_t port = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (port != std::string_view::npos) {
    const std::string_view digits = host.substr(port + 1);
    if (digits.size() > 5 || !std::all_of(digits.begin(), digits.end(), is_digit))
      return std::nullopt;
    host = host.substr(0, port);
  }
  if (!is_host(host)) return std::nullopt;
  return PlainUrl{scheme, without_brackets(host)};
}

bool holds_host(const cbor::Item& hosts, std::string_view host) {
  const std::string lower = lower_case(std::string(host));
  return std::any_of(hosts.items.begin(), hosts.items.end(), [&lower](const cbor::Item& item) {
    return lower_case(std::string(without_brackets(item.string))) == lower;
  });
}

std::optional<Fault> check_http(const cbor::Item& grant, const cbor::Item& params) {
  const std::string_view method = text_member(params, "method");
  if (const cbor::Item* methods = allowed(grant, "methods");
      methods != nullptr && !holds_in_any_case(*methods, method))
    return constraint("the method " + in_quotes(method) + " is not granted");
  const cbor::Item* hosts = allowed(grant, "hosts");
  const cbor::Item* schemes = allowed(grant, "schemes");
  if (hosts == nullptr && schemes == nullptr) return std::nullopt;
  const std::optional<PlainUrl> url = take_apart(text_member(params, "url"));
  if (!url) return constraint("the url is none that can be checked");
  if (schemes != nullptr && !holds_in_any_case(*schemes, url->scheme))
    return constraint("the scheme " + in_quotes(url->scheme) + " is not granted");
  if (hosts != nullptr && !holds_host(*hosts, url->host))
    return constraint("the host " + in_quotes(url->host) + " is not granted");
  return std::nullopt;
}

// The queue that a job's options name; nothing if they name none, "" if they cannot be read.
std::optional<std::string> queue_of_options(std::string_view options) {
  if (options.empty()) return std::nullopt;
  const Result<json::Doc> doc = json::parse(options);
  if (!doc.ok()) return "";
  const auto queue = doc->root().find("queue");
  if (!queue || queue->is_null()) return std::nullopt;
  return queue->is_string() ? queue->string() : "";
}

std::optional<Fault> check_job(const cbor::Item& grant, const cbor::Item& params) {
  const std::string_view type = text_member(params, "type");
  if (const cbor::Item* types = allowed(grant, "types"); types != nullptr && !holds(*types, type))
    return constraint("the job type " + in_quotes(type) + " is not granted");
  const cbor::Item* queues = allowed(grant, "queues");
  if (queues == nullptr) return std::nullopt;
  const auto of_options = queue_of_options(text_member(params, "options_json"));
  const cbor::Item* named = params.find("queue");
  const bool is_named = named != nullptr && named->is_text();
  const std::string_view queue = is_named ? named->string : of_options ? "" : "default";
  if ((is_named || !of_options) && !holds(*queues, queue))
    return constraint("the queue " + in_quotes(queue) + " is not granted");
  if (of_options && !holds(*queues, *of_options))
    return constraint("the queue of the options is not granted");
  return std::nullopt;
}

std::optional<Fault> check_run(const cbor::Item& grant, const cbor::Item& params) {
  const std::string_view definition = text_member(params, "definition");
  if (const cbor::Item* definitions = allowed(grant, "definitions");
      definitions != nullptr && !holds(*definitions, definition))
    return constraint("the definition " + in_quotes(definition) + " is not granted");
  return std::nullopt;
}

}  // namespace

std::span<const BuiltinSchema> builtin_schemas() { return kSchemas; }

void add_builtin_types(Types& types) {
  const std::vector<Type>& read = builtin_types();
  for (size_t i = 0; i < read.size(); ++i) types.add(std::string(kSchemas[i].name), read[i]);
}

void add_builtin_effects(Program& program) {
  for (const BuiltinEffect& effect : kEffects) {
    Effect out;
    out.name = effect.name;
    out.kind = effect.kind;
    out.params_schema = effect.params;
    out.receipt_schema = effect.receipt;
    out.cap_type = effect.cap_type;
    out.params_type = program.types.find(effect.params);
    out.receipt_type = program.types.find(effect.receipt);
    PAWL_CHECK(out.params_type != nullptr && out.receipt_type != nullptr);
    program.effects.emplace(out.kind, std::move(out));
  }
}

void add_builtin_caps(Program& program) {
  const std::vector<Type>& read = builtin_cap_types();
  for (size_t i = 0; i < read.size(); ++i) {
    Cap cap;
    cap.name = kCaps[i].name;
    cap.cap_type = kCaps[i].cap_type;
    cap.type = read[i];
    cap.enforcer = kCaps[i].enforcer;
    program.caps.emplace(cap.name, std::move(cap));
  }
}

bool is_builtin_effect(std::string_view kind) {
  return std::any_of(std::begin(kEffects), std::end(kEffects),
                     [kind](const BuiltinEffect& effect) { return effect.kind == kind; });
}

bool is_reserved_effect(std::string_view kind) {
  return is_builtin_effect(kind) || std::find(kGovernanceVerbs.begin(), kGovernanceVerbs.end(),
                                              kind) != kGovernanceVerbs.end();
}

std::optional<Fault> check_builtin_cap(std::string_view cap_type, const cbor::Item& grant_params,
                                       const cbor::Item& effect_params) {
  if (cap_type == "http.out") return check_http(grant_params, effect_params);
  if (cap_type == "job") return check_job(grant_params, effect_params);
  if (cap_type == "run") return check_run(grant_params, effect_params);
  return std::nullopt;
}

}  // namespace pawl::worlds
