// What a call of a module costs beside its own work, and what compiling one costs.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "wasm/wasm_host.h"
#include "worlds/cbor.h"

namespace pawl::wasm {
namespace {

namespace cbor = worlds::cbor;

std::string module_bytes(std::string_view name) {
  std::ifstream file(PAWL_MODULES "/" + std::string(name) + ".wasm", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// A step with a state, 200 bytes of text and a context such as the kernel gives.
std::string step_input(std::string_view value, std::string_view state) {
  std::string ctx;
  cbor::Map(ctx)
      .nat("now_ns", 1'700'000'000'000'000'000)
      .nat("logical_now_ns", 1'700'000'000'000'000'000)
      .bytes("entropy", std::string(64, 'e'))
      .text("event_hash", "sha256:" + std::string(64, '0'))
      .text("manifest_hash", "sha256:" + std::string(64, '0'))
      .end();
  std::string event;
  cbor::Map(event).text("schema", "com.acme/OrderEvent@1").bytes("value", value).end();
  std::string input;
  cbor::Map(input)
      .nat("version", 1)
      .bytes("state", state)
      .raw("event", event)
      .bytes("ctx", ctx)
      .end();
  return input;
}

WasmHost& host() {
  static WasmHost host;
  return host;
}

void call(benchmark::State& state, std::string_view module, const std::string& input) {
  const std::string code = module_bytes(module);
  uint64_t fuel = 0;
  for (auto _ : state) {
    const worlds::ModuleCall called =
        host().call(module, [&](std::string_view) { return code; }, worlds::Entry::Step, input, {});
    if (called.end != worlds::CallEnd::Returned) return state.SkipWithError("it did not return");
    fuel = called.fuel;
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) state.counters["fuel"] = static_cast<double>(fuel);
}

void BM_Counter(benchmark::State& state) {
  std::string one;
  cbor::put_nat(one, 1);
  call(state, "counter", step_input(one, one));
}
BENCHMARK(BM_Counter)->Unit(benchmark::kMicrosecond)->ThreadRange(1, 2)->UseRealTime();

void BM_Echo(benchmark::State& state) {
  std::string kept;
  cbor::Map(kept).nat("count", 1).end();
  std::string value;
  cbor::put_text(value, std::string(200, 'x'));
  call(state, "echo", step_input(value, kept));
}
BENCHMARK(BM_Echo)->Unit(benchmark::kMicrosecond)->ThreadRange(1, 2)->UseRealTime();

// A fresh host each time: its process, the compiler and the loading.
void BM_Compile(benchmark::State& state) {
  std::string code = module_bytes("retry");
  uint64_t number = 0;
  for (auto _ : state) {
    // Another name section each time, so that it is another module.
    const std::string other =
        code + std::string("\0\x0a\1x", 4) + std::to_string(10'000'000 + number++);
    benchmark::DoNotOptimize(host().judge(other, worlds::Entry::Step, 256));
  }
}
BENCHMARK(BM_Compile)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace pawl::wasm

int main(int argc, char** argv) {
  if (pawl::Status ready = pawl::wasm::host().ready(); !ready.ok()) {
    std::fprintf(stderr, "%s\n", ready.error().message.c_str());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
