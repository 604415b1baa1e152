// The modules that other tests run do what their first lines say: so the header that they are
// written with, which is the C++ SDK for modules, reads and writes what the contract says.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/hash.h"
#include "wasm/testing/module_file.h"
#include "wasm/wasm_host.h"
#include "worlds/cbor.h"

namespace pawl::wasm {
namespace {

namespace cbor = worlds::cbor;
using testing::module_file;
using worlds::CallEnd;
using worlds::Entry;

std::string nat(uint64_t value) {
  std::string out;
  cbor::put_nat(out, value);
  return out;
}

// CBOR as JSON, with the members of maps in canonical order.
std::string shown(std::string_view bytes) {
  Result<std::string> canonical = cbor::canonical(bytes);
  if (!canonical.ok()) return "no CBOR: " + to_hex(bytes);
  std::string text;
  cbor::append_json(text, *cbor::read(*canonical));
  return text;
}

struct Event {
  std::string value;
  std::optional<std::string> state = std::nullopt;
  std::optional<std::string> key = std::nullopt;
  std::optional<std::string> ctx = std::nullopt;
};

std::string step_input(const Event& event) {
  std::string inner;
  cbor::Map members(inner);
  members.text("schema", "test/Event@1").bytes("value", event.value);
  if (event.key) members.bytes("key", *event.key);
  members.end();
  std::string out;
  cbor::Map map(out);
  map.nat("version", 1).raw("event", inner);
  if (event.state)
    map.bytes("state", *event.state);
  else
    map.null("state");
  if (event.ctx) map.bytes("ctx", *event.ctx);
  map.end();
  return out;
}

class Modules : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Status ready = host().ready(); !ready.ok()) GTEST_SKIP() << ready.error().message;
    if (!module_file("echo")) GTEST_SKIP() << "modules are not compiled: tools/setup modules";
  }

  static WasmHost& host() {
    static WasmHost host;
    return host;
  }

  static worlds::ModuleCall call(std::string_view module, std::string_view input,
                                 Entry entry = Entry::Step) {
    return host().call(module, [&](std::string_view) { return module_file(module); }, entry, input,
                       {.fuel = 5'000'000});
  }

  // One member of the output of a step; a state as the value that it is.
  static std::string out(std::string_view module, const Event& event,
                         std::string_view member = "state") {
    const worlds::ModuleCall called = call(module, step_input(event));
    if (called.end != CallEnd::Returned)
      return "end " + std::to_string(static_cast<int>(called.end));
    Result<cbor::Item> item = cbor::read(called.output);
    if (!item.ok()) return "no CBOR";
    const cbor::Item* found = item->find(member);
    if (found == nullptr) return "none";
    if (found->is_bytes()) return shown(found->string);
    std::string encoded;
    cbor::append(encoded, *found);
    return shown(encoded);
  }

  static std::string state_after(std::string_view module, const Event& event) {
    const worlds::ModuleCall called = call(module, step_input(event));
    Result<cbor::Item> item = cbor::read(called.output);
    return item.ok() && item->find("state") != nullptr ? std::string(item->find("state")->string)
                                                       : "";
  }
};

std::string record(const std::map<std::string, std::string>& members) {
  std::string out;
  cbor::Map map(out);
  for (const auto& [name, value] : members) map.raw(name, value);
  map.end();
  return out;
}

std::string text(std::string_view value) {
  std::string out;
  cbor::put_text(out, value);
  return out;
}

std::string bytes(std::string_view value) {
  std::string out;
  cbor::put_bytes(out, value);
  return out;
}

std::string arm(std::string_view tag, const std::string& value) {
  return record({{"$tag", text(tag)}, {"$value", value}});
}

const std::string kNull = "\xf6";

TEST_F(Modules, AreAccepted) {
  for (const std::string_view name :
       {"echo", "counter", "emitter", "misbehaver", "fan_out", "retry", "order_workflow"}) {
    EXPECT_TRUE(host().judge(*module_file(name), Entry::Step, 2).value().empty()) << name;
  }
  for (const std::string_view name : {"doubler", "cap_enforcer"}) {
    EXPECT_TRUE(host().judge(*module_file(name), Entry::Run, 2).value().empty()) << name;
  }
}

TEST_F(Modules, EchoKeepsWhatItGot) {
  const Event event{.value = nat(5)};
  EXPECT_EQ(out("echo", event),
            R"({"ctx":null,"key":null,"count":1,"value":"BQ==","schema":"test/Event@1"})");
  const Event full{.value = text("x"),
                   .state = state_after("echo", event),
                   .key = nat(7),
                   .ctx = record({{"a", nat(1)}})};
  EXPECT_EQ(out("echo", full),
            R"({"ctx":"oWFhAQ==","key":"Bw==","count":2,"value":"YXg=","schema":"test/Event@1"})");
}

TEST_F(Modules, EchoKeepsLargeValues) {
  const std::string large = bytes(std::string(700'000, 'x'));
  const std::string state = state_after("echo", {.value = large});
  Result<cbor::Item> item = cbor::read(state);
  ASSERT_TRUE(item.ok());
  EXPECT_EQ(item->find("value")->string, large);
}

TEST_F(Modules, CounterAddsNumbersOfEverySize) {
  for (const uint64_t by : {0ULL, 23ULL, 24ULL, 255ULL, 256ULL, 65'535ULL, 65'536ULL,
                            4'294'967'295ULL, 4'294'967'296ULL}) {
    EXPECT_EQ(out("counter", {.value = nat(by), .state = nat(1)}), std::to_string(by + 1));
    EXPECT_EQ(out("counter", {.value = record({{"id", text("a")}, {"by", nat(by)}})}),
              std::to_string(by));
    EXPECT_EQ(out("counter", {.value = arm("Add", nat(by))}), std::to_string(by));
  }
}

TEST_F(Modules, EmitterEmitsAndCounts) {
  const std::string order = record({{"kind", text("test.note")},
                                    {"params", bytes(nat(3))},
                                    {"count", nat(2)},
                                    {"slot", text("s")},
                                    {"key", kNull}});
  const Event event{.value = arm("Emit", order)};
  EXPECT_EQ(
      out("emitter", event, "effects"),
      R"([{"kind":"test.note","cap_slot":"s","params_cbor":"Aw=="},{"kind":"test.note","cap_slot":"s","params_cbor":"Aw=="}])");
  const std::string state = state_after("emitter", event);
  EXPECT_EQ(shown(state), R"({"last":"","denied":0,"emitted":2,"receipts":0,"rejected":0})");
  EXPECT_EQ(out("emitter", {.value = arm("Receipt", nat(9)), .state = state}),
            R"({"last":"CQ==","denied":0,"emitted":2,"receipts":1,"rejected":0})");
  EXPECT_EQ(out("emitter", {.value = arm("Finish", kNull), .state = state}, "status"),
            R"("completed")");
}

TEST_F(Modules, MisbehaverBreaksWhatItIsToldTo) {
  const auto mode = [](std::string_view name, uint64_t n) {
    return step_input({.value = record({{"mode", text(name)}, {"n", nat(n)}})});
  };
  const auto end = [&](std::string_view name) { return call("misbehaver", mode(name, 1)).end; };
  const auto output = [&](std::string_view name, uint64_t n) {
    return shown(call("misbehaver", mode(name, n)).output);
  };
  EXPECT_EQ(output("ok", 0), R"({"state":"AQ=="})");
  EXPECT_EQ(output("state", 0), R"({"state":"Zm5vIG5hdA=="})");
  EXPECT_EQ(output("end", 0), R"({"state":null})");
  EXPECT_EQ(output("fail", 0), R"({"error":"it was told to","state":"AQ==","status":"failed"})");
  EXPECT_EQ(output("undeclared", 4),
            R"({"state":"AQ==","effects":[{"kind":"test.undeclared","params_cbor":"oWFuBA=="}]})");
  EXPECT_EQ(output("member", 0), R"({"extra":1,"state":"AQ=="})");
  EXPECT_EQ(output("cbor", 0), "no CBOR: ffff");
  EXPECT_EQ(output("float", 0), "no CBOR: a1657374617465fb0000000000000000");
  EXPECT_EQ(call("misbehaver", mode("raw", 2 << 20)).output.size(), 2u << 20);
  EXPECT_EQ(call("misbehaver", mode("raw", (2 << 20) + 1)).end, CallEnd::OutputLimit);
  EXPECT_EQ(output("memory", 0), R"({"state":"GQEA"})");  // 256 pages
  const worlds::ModuleCall many = call("misbehaver", mode("events", 257));
  Result<cbor::Item> events = cbor::read(many.output);
  EXPECT_EQ(events->find("domain_events")->items.size(), 257u);
  EXPECT_EQ(end("pointer"), CallEnd::BadOutput);
  EXPECT_EQ(end("loop"), CallEnd::FuelExceeded);
  EXPECT_EQ(end("recursion"), CallEnd::Trap);
  EXPECT_EQ(end("trap"), CallEnd::Trap);
  EXPECT_EQ(end("bounds"), CallEnd::Trap);
}

TEST_F(Modules, FanOutGivesEachItemItsEvent) {
  std::string items;
  cbor::put_array(items, 2);
  items += text("a") + text("b");
  const Event event{.value = record({{"id", text("o")}, {"items", items}})};
  const std::string a = record({{"id", text("o")}, {"item", text("a")}});
  const worlds::ModuleCall called = call("fan_out", step_input(event));
  Result<cbor::Item> output = cbor::read(called.output);
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->find("domain_events")->items.size(), 2u);
  EXPECT_EQ(output->find("domain_events")->items[0].find("value")->string, a);
  EXPECT_EQ(output->find("status")->string, "completed");
}

TEST_F(Modules, RetryWaitsTwiceAsLongEachTime) {
  const std::string ctx = record({{"logical_now_ns", nat(1'000)}});
  const auto receipt = [&](std::string_view kind, std::string_view status) {
    return arm("Receipt", record({{"effect_kind", text(kind)}, {"status", text(status)}}));
  };
  const std::string start =
      arm("Start", record({{"id", text("w")}, {"max", nat(3)}, {"wait_ns", nat(100)}}));
  std::string state = state_after("retry", {.value = start, .ctx = ctx});
  for (const std::string_view due : {"1100", "1200"}) {
    EXPECT_EQ(
        out("retry", {.value = receipt("test.work", "ok"), .state = state, .ctx = ctx}, "status"),
        R"("completed")");
    state = state_after("retry",
                        {.value = receipt("test.work", "timeout"), .state = state, .ctx = ctx});
    EXPECT_NE(shown(state).find("\"due_ns\":" + std::string(due)), std::string::npos)
        << shown(state);
    state = state_after("retry", {.value = receipt("timer.set", "ok"), .state = state, .ctx = ctx});
  }
  EXPECT_NE(shown(state).find("\"attempt\":3"), std::string::npos) << shown(state);
  EXPECT_EQ(
      out("retry", {.value = receipt("test.work", "error"), .state = state, .ctx = ctx}, "status"),
      R"("failed")");
}

TEST_F(Modules, TheOrderIsChargedOnce) {
  const std::string order =
      arm("Order", record({{"order_id", text("o-1")}, {"amount_cents", nat(4'200)}}));
  const auto receipt = [](std::string_view status) {
    return arm("Receipt", record({{"status", text(status)}}));
  };
  EXPECT_EQ(
      out("order_workflow", {.value = order}, "effects"),
      R"([{"kind":"payment.charge","cap_slot":"payments","params_cbor":"omhvcmRlcl9pZGNvLTFsYW1vdW50X2NlbnRzGRBo"}])");
  const std::string state = state_after("order_workflow", {.value = order});
  EXPECT_EQ(shown(state), R"({"pc":{"$tag":"AwaitingCharge"},"order_id":"o-1"})");
  EXPECT_EQ(out("order_workflow", {.value = order, .state = state}, "effects"), "none");
  EXPECT_EQ(out("order_workflow", {.value = receipt("ok"), .state = state}),
            R"({"pc":{"$tag":"Done"},"order_id":"o-1"})");
  EXPECT_EQ(out("order_workflow", {.value = receipt("error"), .state = state}, "status"),
            R"("failed")");
}

TEST_F(Modules, PureOnesCompute) {
  const auto run = [](std::string_view module, const std::string& input) {
    const worlds::ModuleCall called =
        call(module, record({{"version", nat(1)}, {"input", bytes(input)}}), Entry::Run);
    Result<cbor::Item> item = cbor::read(called.output);
    return item.ok() && item->find("output") != nullptr ? shown(item->find("output")->string)
                                                        : "none";
  };
  EXPECT_EQ(run("doubler", nat(21)), "42");
  EXPECT_EQ(run("doubler", text("21")), "none");
  const auto check = [&](uint64_t cents) {
    return run("cap_enforcer",
               record({{"cap_params", bytes(record({{"max_cents", nat(10'000)}}))},
                       {"effect_params", bytes(record({{"amount_cents", nat(cents)}}))}}));
  };
  EXPECT_EQ(check(10'000), R"({"deny":null,"constraints_ok":true})");
  EXPECT_EQ(
      check(10'001),
      R"({"deny":{"code":"over_limit","message":"more than the grant allows"},"constraints_ok":false})");
}

}  // namespace
}  // namespace pawl::wasm
