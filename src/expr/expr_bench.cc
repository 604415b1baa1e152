// Micro benchmarks: the cost of a compiled guard, of compiling, and of hostile text.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "expr/cel/program.h"
#include "expr/template/template.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pawl::expr {
namespace {

constexpr std::string_view kGuard =
    R"(steps.a.status == 200 && inputs.env in ["prod","staging"] && size(steps.b.items) > 2)";

const Value& document() {
  static const Value* const kDocument = new Value(*Value::parse(
      R"({"steps":{"a":{"status":200,"body":{"id":7}},"b":{"items":[1,2,3,4]}},"inputs":{"env":"prod","user":"ada"}})"));
  return *kDocument;
}

Variables variables() {
  Variables result;
  for (const Value::Member& member : document().as_object()) result.json(member.key, member.value);
  return result;
}

void BM_Guard(benchmark::State& state) {
  const auto program = Program::compile(kGuard, CompileOptions::workflow()).value();
  const Variables scope = variables();
  const uint64_t before = allocations;
  for (auto _ : state) {
    Budget budget;
    benchmark::DoNotOptimize(program->test(scope, budget).value());
  }
  state.counters["allocations"] =
      static_cast<double>(allocations - before) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_Guard);

void BM_GuardFromCache(benchmark::State& state) {
  ProgramCache cache;
  const Variables scope = variables();
  for (auto _ : state) {
    Budget budget;
    benchmark::DoNotOptimize(cache.get(kGuard).value()->test(scope, budget).value());
  }
}
BENCHMARK(BM_GuardFromCache);

void BM_Compile(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(Program::compile(kGuard, CompileOptions::workflow()).value());
}
BENCHMARK(BM_Compile);

void BM_FilterMap(benchmark::State& state) {
  Value::Array items;
  for (int i = 0; i < 1000; ++i) items.push_back(Value::Object{{"n", i}});
  const Value list = std::move(items);
  Variables scope;
  scope.json("items", list);
  const auto program = Program::compile("items.filter(x, x.n % 2 == 0).map(x, x.n * 2)").value();
  for (auto _ : state) {
    Budget budget;
    benchmark::DoNotOptimize(program->evaluate(scope, budget).value());
  }
}
BENCHMARK(BM_FilterMap);

void BM_Interpolate(benchmark::State& state) {
  const Value tree = *Value::parse(
      R"({"url":"https://example.org/${{ steps.a.body.id }}?u=${{ inputs.user }}","items":"${{ steps.b.items }}","plain":"text"})");
  ProgramCache cache;
  const Variables scope = variables();
  for (auto _ : state) {
    Budget budget;
    benchmark::DoNotOptimize(interpolate(tree, scope, cache, budget).value());
  }
}
BENCHMARK(BM_Interpolate);

// Expressions built at random from the most expensive pieces. Each must end within its budget.
std::string hostile(std::mt19937_64& random) {
  static constexpr const char* kPieces[] = {"lists.range(1000)", "x + x", "[x, x]", "'a'", "1",
                                            "'(a?){300}'",       "x"};
  const auto piece = [&] { return std::string(kPieces[random() % std::size(kPieces)]); };
  std::string source = "x";
  for (size_t i = random() % 40; i > 0 && source.size() <= 4000; --i) {
    switch (random() % 6) {
      case 0:
        source = fmt::format("cel.bind(x, {}, {})", piece(), source);
        break;
      case 1:
        source = fmt::format("lists.range(1000).map(x, {})", source);
        break;
      case 2:
        source = fmt::format("lists.range(1000).all(y, {} == {})", source, piece());
        break;
      case 3:
        source = fmt::format("'%s%s'.format([{}, x])", source);
        break;
      case 4:
        source = fmt::format("[{}].exists(x, string(x).matches('(a?){{200}}' + 'b*'))", source);
        break;
      default:
        source = fmt::format("[{}, {}]", source, piece());
        break;
    }
  }
  return source;
}

void BM_Hostile10000(benchmark::State& state) {
  for (auto _ : state) {
    std::mt19937_64 random(7);
    uint64_t spent = 0;
    for (int i = 0; i < 10'000; ++i) {
      const auto program = Program::compile(hostile(random));
      if (!program.ok()) continue;
      Budget budget(BudgetLimits{.steps_max = 10'000, .bytes_max = 1 << 20});
      Variables scope;
      scope.set("x", Val::string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
      spent += (*program)->evaluate(scope, budget).ok() ? 0 : 1;
    }
    state.counters["spent"] = static_cast<double>(spent);
  }
}
BENCHMARK(BM_Hostile10000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace pawl::expr

BENCHMARK_MAIN();
