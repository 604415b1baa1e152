#include "sim/module_code.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/hash.h"
#include "worlds/cbor.h"

namespace pawl::sim {
namespace {

using worlds::CallEnd;
using worlds::ModuleCall;
using worlds::cbor::Item;

constexpr uint64_t kTriesMax = 3;
constexpr int64_t kMsNs = 1'000'000;

std::string code_text(uint64_t program, std::string_view module) {
  return "native " + std::string(module) + " v" + std::to_string(1 + program % 2);
}

std::string workflow_node(uint64_t program, std::string_view name) {
  const auto [event, keyed, context] = module_shape(name);
  std::string node = R"({"$kind":"defmodule","name":")" + std::string(name) +
                     R"(","module_kind":"workflow","wasm_b64":")" +
                     base64(code_text(program, name)) + "\",";
  if (keyed) node += R"("key_schema":"sim/Key@1",)";
  node += R"("abi":{"workflow":{"state":"sim/State@1","event":")" + event + "\"";
  if (context) node += R"(,"context":"sys/WorkflowContext@1")";
  std::string effects;
  for (const std::string& kind : module_effects(name))
    effects += (effects.empty() ? "\"" : ",\"") + kind + "\"";
  if (!effects.empty()) node += R"(,"effects_emitted":[)" + effects + "]";
  return node + "}}}";
}

constexpr std::string_view kFixedNodes =
    R"({"$kind":"defschema","name":"sim/Do@1","type":{"record":{"key":{"text":{}},"id":{"nat":{}},"script":{"text":{}}}}},
{"$kind":"defschema","name":"sim/Fan@1","type":{"record":{"key":{"text":{}},"id":{"nat":{}},"script":{"text":{}}}}},
{"$kind":"defschema","name":"sim/KeyedIn@1","type":{"variant":{"Do":{"ref":"sim/Do@1"},"Fan":{"ref":"sim/Fan@1"},
"Receipt":{"ref":"sys/EffectReceiptEnvelope@1"},"Rejected":{"ref":"sys/EffectReceiptRejected@1"},"Denied":{"ref":"sys/EffectDenied@1"}}}},
{"$kind":"defschema","name":"sim/SingleIn@1","type":{"variant":{"Do":{"ref":"sim/Do@1"},"Receipt":{"ref":"sys/EffectReceiptEnvelope@1"}}}},
{"$kind":"defschema","name":"sim/FanIn@1","type":{"variant":{"Fan":{"ref":"sim/Fan@1"},"Fired":{"ref":"sys/TimerFired@1"}}}},
{"$kind":"defschema","name":"sim/State@1","type":{"record":{"steps":{"nat":{}},"tries":{"nat":{}},"chain":{"text":{}}}}},
{"$kind":"defschema","name":"sim/Key@1","type":{"text":{}}},
{"$kind":"defschema","name":"sim/CallParams@1","type":{"record":{"key":{"text":{}},"id":{"nat":{}},"n":{"nat":{}}}}},
{"$kind":"defschema","name":"sim/CallReceipt@1","type":{"record":{"echo":{"nat":{}}}}},
{"$kind":"defmodule","name":"sim/enforcer@1","module_kind":"pure","wasm_b64":"ZW5mb3JjZXI=",
"abi":{"pure":{"input":"sys/CapCheckInput@1","output":"sys/CapCheckOutput@1"}}},
{"$kind":"defeffect","name":"sim/Call@1","kind":"sim.call","params_schema":"sim/CallParams@1","receipt_schema":"sim/CallReceipt@1","cap_type":"sim","origin_scope":"both"},
{"$kind":"defeffect","name":"sim/Guarded@1","kind":"sim.guarded","params_schema":"sim/CallParams@1","receipt_schema":"sim/CallReceipt@1","cap_type":"guarded","origin_scope":"both"},
{"$kind":"defeffect","name":"sim/Denied@1","kind":"sim.denied","params_schema":"sim/CallParams@1","receipt_schema":"sim/CallReceipt@1","cap_type":"sim","origin_scope":"both"},
{"$kind":"defcap","name":"sim/Cap@1","cap_type":"sim","schema":{"record":{}}},
{"$kind":"defcap","name":"sim/Guard@1","cap_type":"guarded","schema":{"record":{"max":{"nat":{}}}},"enforcer":{"module":"sim/enforcer@1"}},
{"$kind":"defpolicy","name":"sim/policy@1","rules":[{"when":{"effect_kind":"sim.denied"},"decision":"deny"},{"when":{},"decision":"allow"}]})";

// --- what a step does

std::string_view bytes_in(const Item* item, std::string_view name) {
  const Item* found = item == nullptr ? nullptr : item->find(name);
  return found == nullptr ? std::string_view() : found->string;
}
std::string text_in(const Item* item, std::string_view name) {
  return std::string(bytes_in(item, name));
}
uint64_t nat_in(const Item* item, std::string_view name) {
  const Item* found = item == nullptr ? nullptr : item->find(name);
  return found == nullptr ? 0 : found->number;
}

template <class Fill>
std::string record_of(Fill&& fill) {
  std::string out;
  worlds::cbor::Map map(out);
  fill(map);
  map.end();
  return out;
}

class Acting {
 public:
  Acting(std::string code, const Item& input) : code_(std::move(code)) {
    const Item* event = input.find("event");
    value_ = text_in(event, "value");
    const Item* state = input.find("state");
    if (state != nullptr && state->is_bytes()) read_state(state->string);
    if (const Item* ctx = input.find("ctx"); ctx != nullptr && ctx->is_bytes()) {
      auto read = worlds::cbor::read(ctx->string);
      entropy_ = read.ok() ? text_in(&*read, "entropy") : "";
      now_ns_ = read.ok() ? static_cast<int64_t>(nat_in(&*read, "logical_now_ns")) : 0;
    }
    ++steps_;
    has_words_ = value_.find("tagfDenied") != std::string::npos ||
                 value_.find("taghRejected") != std::string::npos;
    std::string seen;
    add_members(seen, input);
    chain_ = to_hex(std::to_string(hash64(seen + code_, hash64(chain_))));
  }

  ModuleCall run() {
    auto value = worlds::cbor::read(value_);
    if (!value.ok()) return {.end = CallEnd::Trap};
    const Item* tag = value->find("$tag");
    const Item* body = tag == nullptr ? &*value : value->find("$value");
    const std::string arm = tag == nullptr ? "Fan" : std::string(tag->string);
    if (arm == "Do" || arm == "Fan") {
      key_ = text_in(body, "key");
      id_ = nat_in(body, "id");
      act_out(text_in(body, "script"));
    } else if (arm == "Receipt") {
      take_receipt(*body);
    } else if (arm == "Fired" && hash64(value_) % 4 == 0) {
      said_ = "completed";
    }
    if (end_ != CallEnd::Returned) return {.end = end_, .output = {}, .fuel = 900};
    return {.end = CallEnd::Returned, .output = output(), .fuel = 100 + effects_.size()};
  }

 private:
  // All that there is to see, but the state, which is in the chain, and what depends on the words
  // of a message.
  void add_members(std::string& seen, const Item& map) {
    for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
      const std::string_view name = map.items[i].string;
      const Item& item = map.items[i + 1];
      if (name == "state" || name == "message" || name == "error_message") continue;
      if (name == "event_hash" && has_words_) continue;
      seen += std::string(name) + "=";
      auto inner =
          name == "ctx" || name == "value" ? worlds::cbor::read(item.string) : Result<Item>(Item{});
      if (inner.ok() && inner->is_map()) {
        add_members(seen, *inner);
      } else if (item.is_map()) {
        add_members(seen, item);
      } else {
        seen += std::string(item.string) + std::to_string(item.number) + ";";
      }
    }
  }

  void read_state(std::string_view bytes) {
    auto state = worlds::cbor::read(bytes);
    if (!state.ok()) return;
    steps_ = nat_in(&*state, "steps");
    tries_ = nat_in(&*state, "tries");
    chain_ = text_in(&*state, "chain");
  }

  std::string call_params() const {
    return record_of([&](worlds::cbor::Map& map) {
      map.text("key", key_).nat("id", id_).nat("n", effects_.size());
    });
  }
  void effect(std::string_view kind, std::string params) {
    effects_.emplace_back(kind, std::move(params));
  }
  void timer(int64_t in_ms) {
    const int64_t at_ns = std::max<int64_t>(0, now_ns_) + in_ms * kMsNs;
    effect("timer.set", record_of([&](worlds::cbor::Map& map) {
             map.integer("deliver_at_ns", at_ns).null("key");
           }));
  }
  void fan(std::string_view key, std::string_view script) {
    events_.push_back(record_of([&](worlds::cbor::Map& map) {
      map.text("key", key).nat("id", id_ * 7 + events_.size()).text("script", script);
    }));
  }

  // A letter is an act; d is followed by a key's letter and a script in brackets.
  void act_out(const std::string& script) {
    for (size_t i = 0; i < script.size(); ++i) {
      if (script[i] != 'd') {
        act(script[i]);
        continue;
      }
      const size_t open = i + 2;
      if (open >= script.size() || script[open] != '(') return;
      size_t close = open;
      for (int depth = 0; close < script.size(); ++close) {
        depth += script[close] == '(' ? 1 : script[close] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      if (close >= script.size()) return;
      fan(script.substr(i + 1, 1), script.substr(open + 1, close - open - 1));
      i = close;
    }
  }

  std::string token() const { return code_ + "/" + chain_ + "/" + std::to_string(effects_.size()); }
  void start_work(bool job) {
    const std::string text = "[\"mw\",\"" + token() + "\"]";
    if (job)
      return effect("job.run", record_of([&](worlds::cbor::Map& map) {
                      map.text("type", "mail.send").text("args_json", text);
                      map.text("queue", id_ % 2 == 0 ? "a" : "b").null("options_json");
                    }));
    effect("run.start", record_of([&](worlds::cbor::Map& map) {
             map.text("definition", "def0").null("version");
             map.text("inputs_json", "{\"mw\":\"" + token() + "\"}");
           }));
  }

  void act(char letter) {
    switch (letter) {
      case 'x':
        return effect("sim.call", call_params());
      case 'g':
        return effect("sim.guarded", call_params());
      case 'p':
        return effect("sim.denied", call_params());
      case 'u':
        return effect("sim.other", call_params());
      case 'v':
        return effect("sim.call", "\xa0");
      case 't':
        return timer(static_cast<int64_t>(id_ % 7) * 400);
      case 'j':
        return start_work(true);
      case 'r':
        return start_work(false);
      case 'b':
        return effect("blob.put",
                      record_of([&](worlds::cbor::Map& map) { map.bytes("bytes", chain_); }));
      case 'B':
        return effect("blob.get", record_of([&](worlds::cbor::Map& map) {
                        map.text("blob_ref", "sha256:" + sha256_hex(id_ % 2 == 0 ? chain_ : code_));
                      }));
      case 'q':
        said_ = "completed";
        return;
      case 'f':
        said_ = "failed";
        return;
      case 'z':
        ends_ = true;
        return;
      case 'S':
        breaks_state_ = true;
        return;
      case 'T':
        end_ = CallEnd::Trap;
        return;
      case 'L':
        end_ = CallEnd::FuelExceeded;
        return;
      case 'O':
        breaks_output_ = true;
        return;
      case 'E':
        events_.push_back("\xa0");
        return;
      case '6':
        for (int i = 0; i < 65; ++i) effect("sim.call", call_params());
        return;
      case '!':  // a chain without end: it comes to the limit of a frame
        fan(key_, "!");
        return;
      case '2':
        fan(key_, "2");
        fan(key_, "");
        return;
    }
  }

  void take_receipt(const Item& envelope) {
    key_ = "r";
    id_ = nat_in(&envelope, "emitted_at_seq");
    const std::string status = text_in(&envelope, "status");
    const std::string kind = text_in(&envelope, "effect_kind");
    const uint64_t how = hash64(text_in(&envelope, "intent_id")) % 16;
    if (how == 15) {
      end_ = CallEnd::Trap;
      return;
    }
    if (status != "ok" && tries_ < kTriesMax) {  // again, after a while that doubles
      timer(int64_t{200} << tries_++);
      return;
    }
    if (kind == "timer.set" && tries_ > 0 && tries_ < kTriesMax) {
      ++tries_;
      effect("sim.call", call_params());
      return;
    }
    if (how < 5) said_ = "completed";
    if (how == 5) ends_ = true;
    if (how == 6) fan("a", "x");
    if (how == 7 && tries_ < kTriesMax) ++tries_, act('j');
  }

  std::string state() const {
    if (breaks_state_) return "\xa1\x61\x61\x01";
    return record_of([&](worlds::cbor::Map& map) {
      map.nat("steps", steps_).nat("tries", tries_).text("chain", chain_);
    });
  }
  std::string output() const {
    if (breaks_output_) return "\xbf\xff";
    return record_of([&](worlds::cbor::Map& map) {
      if (ends_) {
        map.null("state");
      } else {
        map.bytes("state", state());
      }
      if (!said_.empty()) map.text("status", said_);
      if (said_ == "failed") map.text("error", "as the script says");
      std::string& events = map.value("domain_events");
      worlds::cbor::put_array(events, events_.size());
      for (const std::string& event : events_)
        events += record_of([&](worlds::cbor::Map& each) {
          each.text("schema", "sim/Fan@1").bytes("value", event);
        });
      std::string& effects = map.value("effects");
      worlds::cbor::put_array(effects, effects_.size());
      for (const auto& [kind, params] : effects_)
        effects += record_of(
            [&](worlds::cbor::Map& each) { each.text("kind", kind).bytes("params_cbor", params); });
    });
  }

  const std::string code_;
  std::string value_, entropy_, chain_, key_;
  int64_t now_ns_ = 0;
  uint64_t id_ = 0, steps_ = 0, tries_ = 0;
  std::vector<std::pair<std::string, std::string>> effects_;
  std::vector<std::string> events_;
  std::string said_;
  CallEnd end_ = CallEnd::Returned;
  bool ends_ = false, breaks_state_ = false, breaks_output_ = false;
  bool has_words_ = false;  // the event is one whose message the world words
};

// The enforcer of sim/Guard@1: n and id must not be past the maximum together.
ModuleCall enforce_guard(const Item& input) {
  auto given = worlds::cbor::read(bytes_in(&input, "input"));
  if (!given.ok()) return {.end = CallEnd::Trap};
  auto params = worlds::cbor::read(bytes_in(&*given, "effect_params"));
  auto cap = worlds::cbor::read(bytes_in(&*given, "cap_params"));
  if (!params.ok() || !cap.ok()) return {.end = CallEnd::Trap};
  const uint64_t asked = nat_in(&*params, "id") % 20;
  if (asked == 19) return {.end = CallEnd::Trap};
  const bool fine = asked <= nat_in(&*cap, "max");
  const std::string verdict = record_of([&](worlds::cbor::Map& map) {
    map.boolean("constraints_ok", fine);
    if (fine) {
      map.null("deny");
    } else {
      map.raw("deny", record_of([](worlds::cbor::Map& deny) {
                deny.text("code", "too_much").text("message", "past the maximum");
              }));
    }
  });
  return {.end = CallEnd::Returned,
          .output = record_of([&](worlds::cbor::Map& map) { map.bytes("output", verdict); }),
          .fuel = 50};
}

}  // namespace

std::vector<std::string> module_effects(std::string_view module) {
  if (module == "sim/keyed@1")
    return {"blob.get", "blob.put",   "job.run",     "run.start",
            "sim.call", "sim.denied", "sim.guarded", "timer.set"};
  if (module == "sim/single@1")
    return {"blob.put", "job.run", "sim.call", "sim.guarded", "timer.set"};
  if (module == "sim/fan@1") return {"sim.call", "timer.set"};
  return {};
}

bool hears_denials(std::string_view module) { return module == "sim/keyed@1"; }

std::vector<ModuleRoute> module_routes(uint64_t number) {
  std::vector<ModuleRoute> routes = {{"sim/Do@1", "sim/keyed@1", true},
                                     {"sim/Do@1", "sim/single@1", false},
                                     {"sim/Fan@1", "sim/fan@1", true},
                                     {"sim/Fan@1", "sim/keyed@1", true}};
  if (number % 8 < 4) routes.push_back({"sim/Fan@1", "sim/plain@1", false});
  if (number % 4 >= 2) std::reverse(routes.begin(), routes.end());
  return routes;
}

ModuleShape module_shape(std::string_view module) {
  if (module == "sim/keyed@1") return {"sim/KeyedIn@1", true, true};
  if (module == "sim/single@1") return {"sim/SingleIn@1", false, false};
  if (module == "sim/fan@1") return {"sim/FanIn@1", true, true};
  return {"sim/Fan@1", false, false};
}

ModuleCall run_module(uint64_t number, std::string_view module, std::string_view bytes) {
  auto input = worlds::cbor::read(bytes);
  return input.ok() ? Acting(code_text(number, module), *input).run()
                    : ModuleCall{.end = CallEnd::Trap};
}

std::string module_version(uint64_t number, std::string_view module) {
  return "sha256:" + sha256_hex(code_text(number, module));
}

std::string module_program(uint64_t number) {
  std::string routes;
  for (const ModuleRoute& route : module_routes(number)) {
    routes += (routes.empty() ? R"({"event":")" : R"(,{"event":")") + route.schema +
              R"(","module":")" + route.module + "\"";
    routes += route.keyed ? R"(,"key_field":"key"})" : "}";
  }
  return R"({"manifest":{"air_version":"1","defaults":{"policy":"sim/policy@1","cap_grants":[)"
         R"({"name":"g_sim","cap":"sim/Cap@1","params":{}},{"name":"g_guard","cap":"sim/Guard@1","params":{"max":9}},)"
         R"({"name":"g_timer","cap":"sys/Timer@1","params":{}},{"name":"g_blob","cap":"sys/Blob@1","params":{}},)"
         R"({"name":"g_job","cap":"sys/Job@1","params":{}},{"name":"g_run","cap":"sys/Run@1","params":{}}]},)"
         R"("routing":{"subscriptions":[)" +
         routes + "]}},\"nodes\":[" + std::string(kFixedNodes) + "," +
         workflow_node(number, "sim/keyed@1") + "," + workflow_node(number, "sim/single@1") + "," +
         workflow_node(number, "sim/fan@1") + "," + workflow_node(number, "sim/plain@1") + "]}";
}

Result<std::vector<Complaint>> NativeModules::judge(std::string_view, worlds::Entry, uint32_t) {
  return std::vector<Complaint>{};
}

ModuleCall NativeModules::call(std::string_view hash, worlds::LoadCode load, worlds::Entry entry,
                               std::string_view bytes, const worlds::ModuleLimits&) {
  auto at = code_.find(hash);
  if (at == code_.end()) {
    auto code = load(hash);
    if (!code) return {.end = CallEnd::Unavailable, .output = "there is no such code", .fuel = 0};
    at = code_.emplace(hash, std::move(*code)).first;
  }
  if (!is_replay && next == Trouble::Unavailable) {
    next = Trouble::None;
    return {.end = CallEnd::Unavailable, .output = "no room for another instance", .fuel = 0};
  }
  auto input = worlds::cbor::read(bytes);
  if (!input.ok()) return {.end = CallEnd::Trap};
  if (entry == worlds::Entry::Run) return enforce_guard(*input);
  ++steps;
  calls.push_back({at->second, text_in(input->find("event"), "value")});
  if (!is_replay && next == Trouble::Timeout) {
    next = Trouble::None;
    return {.end = CallEnd::Timeout, .output = {}, .fuel = 7};
  }
  return Acting(at->second, *input).run();
}

}  // namespace pawl::sim
