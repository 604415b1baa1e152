// How calls end, and that they end so every time.
#include "wasm/invocation.h"

#include <pthread.h>

#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "wasm/testing/host_case.h"

namespace pawl::wasm {
namespace {

using testing::end_name;
using testing::kGiveInput;
using testing::module_text;
using testing::step_text;
using testing::wat;
using worlds::Entry;
using worlds::ModuleCall;

class Calls : public testing::HostCase {};

TEST_F(Calls, TakesTheThreeShapes) {
  const std::string packed = step_text(kGiveInput);
  const std::string pair = module_text(
      R"((func (export "step") (param i32 i32) (result i32 i32) local.get 0 local.get 1))");
  const std::string through_memory =
      module_text(R"((func (export "step") (param $ret i32) (param $ptr i32) (param $len i32)
      (i32.store (local.get $ret) (local.get $ptr)) (i32.store offset=4 (local.get $ret) (local.get $len))))");
  for (const std::string& text : {packed, pair, through_memory}) {
    EXPECT_EQ(story(call(wat(text), "the input")), "returned the input") << text;
  }
}

TEST_F(Calls, EachEntryHasItsExport) {
  const std::string code = wat(module_text(R"(
      (data (i32.const 16) "stepran")
      (func (export "step") (param i32 i32) (result i64) (i64.const 0x1000000004))
      (func (export "run") (param i32 i32) (result i32 i32) (i32.const 20) (i32.const 3)))"));
  EXPECT_EQ(story(call(code)), "returned step");
  EXPECT_EQ(story(call(code, "in", {}, Entry::Run)), "returned ran");
}

TEST_F(Calls, InitializesFirstAndAfreshForEachCall) {
  // The start function, then _initialize, then alloc and step add a letter each; a second call
  // begins from nothing.
  const std::string code = wat(R"((module (memory (export "memory") 1)
      (global $at (mut i32) (i32.const 64))
      (func $add (param i32) (i32.store8 (global.get $at) (local.get 0))
        (global.set $at (i32.add (global.get $at) (i32.const 1))))
      (func $start (call $add (i32.const 0x73))) (start $start)
      (func (export "_initialize") (call $add (i32.const 0x69)))
      (func (export "alloc") (param i32) (result i32) (call $add (i32.const 0x61)) i32.const 1024)
      (func (export "step") (param i32 i32) (result i64) (call $add (i32.const 0x65))
        (i64.or (i64.const 0x4000000000) (i64.extend_i32_u (i32.sub (global.get $at) (i32.const 64)))))))");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(story(call(code)), "returned siae");
}

TEST_F(Calls, MemoryOfOneCallIsNotSeenByTheNext) {
  // Gives 16 bytes of what it finds at the end of 3 pages, after it grew by one, and leaves marks
  // in all of them.
  const std::string code = wat(step_text(R"(
      (drop (memory.grow (i32.const 1)))
      (memory.copy (i32.const 64) (i32.const 196592) (i32.const 16))
      (memory.fill (i32.const 80) (i32.const 0x78) (i32.const 196528))
      (i64.const 0x4000000010))"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(to_hex(call(code).output), std::string(32, '0')) << i;
}

TEST_F(Calls, TrapsEndTheCall) {
  const std::map<std::string, std::string> traps{
      {"unreachable", "unreachable"},
      {"division by zero", "(drop (i32.div_s (local.get $len) (i32.const 0))) i64.const 0"},
      {"overflow", "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1))) i64.const 0"},
      {"conversion", "(drop (i32.trunc_f64_s (f64.const 1e30))) i64.const 0"},
      {"load out of bounds", "(drop (i32.load (i32.const 131070))) i64.const 0"},
      {"store out of bounds", "(i32.store (i32.const -4) (i32.const 1)) i64.const 0"},
      {"far out of bounds", "(drop (i64.load offset=4294967295 (i32.const -1))) i64.const 0"},
      {"fill out of bounds",
       "(memory.fill (i32.const 0) (i32.const 0) (i32.const 131073)) i64.const 0"},
  };
  for (const auto& [name, body] : traps)
    EXPECT_EQ(story(call(wat(step_text(body)))), "trap") << name;
  EXPECT_EQ(story(call(wat(
                module_text(R"((table 1 funcref) (func (export "step") (param i32 i32) (result i64)
      (call_indirect (result i64) (i32.const 0))))")))),
            "trap");
  EXPECT_EQ(story(call(wat(module_text(R"((func $f unreachable) (start $f)
      (func (export "step") (param i32 i32) (result i64) i64.const 0))")))),
            "trap");
  EXPECT_EQ(story(call(wat(module_text(R"((func (export "_initialize") unreachable)
      (func (export "step") (param i32 i32) (result i64) i64.const 0))")))),
            "trap");
}

TEST_F(Calls, AnAllocatorThatFailsIsATrap) {
  for (const std::string_view body :
       {"unreachable", "i32.const 0", "i32.const 65535", "i32.const -1"}) {
    const std::string code = wat(
        "(module (memory (export \"memory\") 1) (func (export \"alloc\") (param i32) (result "
        "i32) " +
        std::string(body) + ") (func (export \"step\") (param i32 i32) (result i64) i64.const 0))");
    EXPECT_EQ(story(call(code)), "trap") << body;
  }
}

TEST_F(Calls, RecursionWithoutEndTrapsAtTheSameDepth) {
  const std::string code =
      wat(step_text("(call $down (i32.const 0)) i64.const 0)"
                    "(func $down (param i32) (call $down (i32.add (local.get 0) (i32.const 1)))"));
  const ModuleCall first = call(code);
  EXPECT_EQ(story(first), "trap");
  EXPECT_LT(first.fuel, 1'000'000u);
  EXPECT_EQ(call(code).fuel, first.fuel);
  // Another thread, whose stack is filled differently.
  uint64_t there = 0;
  std::thread([&] { there = call(code).fuel; }).join();
  EXPECT_EQ(there, first.fuel);
}

// There a module that goes as deep as it may would end the process.
TEST_F(Calls, AThreadWithASmallStackIsRefused) {
  struct Call {
    std::string code = wat(step_text(kGiveInput));
    std::string story;
  } small;
  pthread_attr_t attributes;
  ASSERT_EQ(::pthread_attr_init(&attributes), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, 512 << 10), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    auto* call_there = static_cast<Call*>(given);
    call_there->story = story(call(call_there->code));
    return nullptr;
  };
  EXPECT_EQ(story(call(small.code)), "returned in");
  ASSERT_EQ(::pthread_create(&thread, &attributes, run, &small), 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  EXPECT_EQ(small.story, "unavailable");
}

TEST_F(Calls, ALoopWithoutEndSpendsItsFuel) {
  const std::string code = wat(step_text("(loop (br 0)) i64.const 0"));
  for (uint64_t fuel : {1'000ULL, 100'000ULL, 5'000'000ULL}) {
    const ModuleCall ended = call(code, "in", {.fuel = fuel});
    EXPECT_EQ(story(ended), "fuel exceeded");
    EXPECT_EQ(ended.fuel, fuel);
  }
}

TEST_F(Calls, FuelIsCountedOverTheWholeCallAndIsTheSameEveryTime) {
  const std::string loop =
      "(local $i i32) (loop (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const "
      "1)))"
      " (i32.const 10000))))";
  const std::string in_step =
      wat(step_text("(loop (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))"
                    " (i32.const 10000)))) i64.const 0"));
  const std::string in_start =
      wat(module_text("(func $f " + loop +
                      ") (start $f)"
                      "(func (export \"step\") (param i32 i32) (result i64) i64.const 0)"));
  const std::string in_initialize =
      wat(module_text("(func (export \"_initialize\") " + loop +
                      ")"
                      "(func (export \"step\") (param i32 i32) (result i64) i64.const 0)"));
  for (const std::string& code : {in_step, in_start, in_initialize}) {
    const ModuleCall whole = call(code);
    EXPECT_EQ(story(whole), "returned ");
    EXPECT_GT(whole.fuel, 50'000u);
    EXPECT_LT(whole.fuel, 100'000u);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(call(code).fuel, whole.fuel);
    EXPECT_EQ(story(call(code, "in", {.fuel = 20'000})), "fuel exceeded");
    WasmHost other;  // compiled again
    EXPECT_EQ(other.call("x", [&](std::string_view) { return code; }, Entry::Step, "in", {}).fuel,
              whole.fuel);
  }
}

// The limit is exact, also for code behind the last loop or call, where wasmtime does not look.
TEST_F(Calls, ACallMayUseItsFuelToTheLastUnitAndNoMore) {
  const std::string straight =
      step_text("(drop (i32.add (i32.const 1) (i32.const 2))) i64.const 0");
  const std::string loop = step_text(
      "(loop (br_if 0 (local.tee $len (i32.sub (local.get $len) (i32.const 1)))))"
      " (drop (i32.add (i32.const 1) (i32.const 2))) i64.const 0");
  const std::string traps = step_text("(drop (i32.add (i32.const 1) (i32.const 2))) unreachable");
  const std::string bad_output = step_text("i64.const -1");
  for (const std::string& text : {straight, loop, traps, bad_output}) {
    const std::string code = wat(text);
    const ModuleCall free = call(code);
    const ModuleCall enough = call(code, "in", {.fuel = free.fuel});
    EXPECT_EQ(story(enough), story(free)) << text;
    EXPECT_EQ(enough.fuel, free.fuel) << text;
    const ModuleCall short_by_one = call(code, "in", {.fuel = free.fuel - 1});
    EXPECT_EQ(story(short_by_one), "fuel exceeded") << text;
    EXPECT_EQ(short_by_one.fuel, free.fuel - 1) << text;
  }
}

// A module cannot buy much work with little fuel: bulk operations cost what they move.
TEST_F(Calls, BulkOperationsCostFuelBySize) {
  const std::string fill =
      step_text("(memory.fill (i32.const 0) (i32.const 1) (i32.const 100000)) i64.const 0");
  const std::string copy =
      step_text("(memory.copy (i32.const 0) (i32.const 8) (i32.const 100000)) i64.const 0");
  for (const std::string& text : {fill, copy}) {
    EXPECT_EQ(story(call(wat(text), "in", {.fuel = 90'000})), "fuel exceeded");
    EXPECT_EQ(story(call(wat(text), "in", {.fuel = 110'000})), "returned ");
  }
}

TEST_F(Calls, MemoryGrowsToItsLimitAndNotBeyond) {
  // Gives what memory.grow said, as 4 bytes.
  const auto grow = [&](int pages) {
    return wat(step_text("(i32.store (i32.const 64) (memory.grow (i32.const " +
                         std::to_string(pages) + "))) (i64.const 0x4000000004)"));
  };
  EXPECT_EQ(to_hex(call(grow(254)).output), "02000000");
  EXPECT_EQ(to_hex(call(grow(255)).output), "ffffffff");
  EXPECT_EQ(to_hex(call(grow(-1)).output), "ffffffff");
  EXPECT_EQ(to_hex(call(grow(1), "in", {.memory_pages = 3}).output), "02000000");
  EXPECT_EQ(to_hex(call(grow(2), "in", {.memory_pages = 3}).output), "ffffffff");
  EXPECT_EQ(to_hex(call(grow(4094), "in", {.memory_pages = 4096}).output), "02000000");
  EXPECT_EQ(to_hex(call(grow(4095), "in", {.memory_pages = 4096}).output), "ffffffff");
  EXPECT_EQ(story(call(grow(0), "in", {.memory_pages = 1})), "trap");  // it begins with 2
}

TEST_F(Calls, TablesGrowToTheirBound) {
  const std::string code =
      wat(module_text(R"((table 1 funcref) (func (export "step") (param i32 i32) (result i64)
      (i32.store (i32.const 64) (table.grow (ref.null func) (i32.const 65535)))
      (i32.store (i32.const 68) (table.grow (ref.null func) (i32.const 1)))
      (i64.const 0x4000000008)))"));
  EXPECT_EQ(to_hex(call(code).output), "01000000ffffffff");
}

TEST_F(Calls, OutputLiesInTheMemory) {
  const std::map<std::string, std::string> outputs{
      {"0", "returned "},
      {"0x0001ffff00000001", std::string("returned \0", 10)},  // the last byte of two pages
      {"0x0001ffff00000002", "bad output"},
      {"0x0002000000000000", "returned "},
      {"0x0002000000000001", "bad output"},
      {"0x7fffffff00000001", "bad output"},
      {"0xffffffff00000001", "bad output"},
      {"0x00000001ffffffff", "bad output"},
      {"-1", "bad output"},
  };
  for (const auto& [output, end] : outputs) {
    EXPECT_EQ(story(call(wat(step_text("i64.const " + output)))), end) << output;
  }
}

TEST_F(Calls, OutputIsTwoMebibytesAtMost) {
  const std::string code = wat(step_text("(i64.extend_i32_u (i32.load (local.get $ptr)))", "64"));
  const auto give = [&](uint32_t size) {
    return call(code, {reinterpret_cast<const char*>(&size), sizeof size});
  };
  EXPECT_EQ(give(2u << 20).output.size(), 2u << 20);
  EXPECT_EQ(end_name(give((2u << 20) + 1).end), "output limit");
  EXPECT_EQ(end_name(give(4u << 20).end), "output limit");
}

TEST_F(Calls, NaNsAreCanonical) {
  // A NaN with a payload and a sign, which an operation must not pass on.
  const std::string_view odd = "(f64.reinterpret_i64 (i64.const 0xfff4000000001234))";
  for (const std::string_view operation :
       {"(f64.add (local.get $x) (f64.const 1))", "(f64.mul (local.get $x) (local.get $x))",
        "(f64.sqrt (f64.const -1))", "(f64.div (f64.const 0) (f64.const 0))",
        "(f64.min (local.get $x) (f64.const 1))", "(f64.ceil (local.get $x))",
        "(f64.sub (f64.const inf) (f64.const inf))",
        "(f64.promote_f32 (f32.demote_f64 (local.get $x)))"}) {
    const std::string code =
        wat(step_text("(local.set $x " + std::string(odd) + ") (f64.store (i32.const 64) " +
                      std::string(operation) + ") (i64.const 0x4000000008)"));
    EXPECT_EQ(to_hex(call(code).output), "000000000000f87f") << operation;
  }
}

TEST_F(Calls, RealTimeIsLimited) {
  const std::string code = wat(step_text("(loop (br 0)) i64.const 0"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(story(call(code, "in", {.fuel = 1'000'000'000'000, .time_ms = 200})), "timeout");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  // In the start function too.
  const std::string start = wat(module_text(R"((func $f (loop (br 0))) (start $f)
      (func (export "step") (param i32 i32) (result i64) i64.const 0))"));
  EXPECT_EQ(story(call(start, "in", {.fuel = 1'000'000'000'000, .time_ms = 100})), "timeout");
}

}  // namespace
}  // namespace pawl::wasm
