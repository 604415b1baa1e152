// The host keeps the contract of modules: what is accepted, how a call ends, and that both are the
// same every time.
#include "wasm/wasm_host.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/hash.h"
#include "wasm/testing/wat.h"
#include "wasm/wasmtime_library.h"

namespace pawl::wasm {
namespace {

using testing::wat;
using worlds::CallEnd;
using worlds::Entry;
using worlds::ModuleCall;
using worlds::ModuleLimits;

std::string_view end_name(CallEnd end) {
  switch (end) {
    case CallEnd::Returned:
      return "returned";
    case CallEnd::Trap:
      return "trap";
    case CallEnd::FuelExceeded:
      return "fuel exceeded";
    case CallEnd::Timeout:
      return "timeout";
    case CallEnd::BadOutput:
      return "bad output";
    case CallEnd::OutputLimit:
      return "output limit";
    case CallEnd::Unavailable:
      return "unavailable";
  }
  return "";
}

std::string hex_of(std::string_view bytes) { return to_hex(bytes); }

// A module with a memory, an allocator that only goes forward, and `rest`.
std::string module_text(std::string_view rest, std::string_view memory = "2") {
  std::string text = "(module (memory (export \"memory\") ";
  text += memory;
  text += R"()
    (global $top (mut i32) (i32.const 4096))
    (func $alloc (export "alloc") (param i32) (result i32)
      global.get $top
      (global.set $top (i32.add (global.get $top) (local.get 0)))))";
  return text.append(rest) + ")";
}

// The entry `step` of the packed shape; `body` leaves an i64, $ptr and $len are the input.
std::string step_text(std::string_view body, std::string_view memory = "2") {
  return module_text(
      "(func (export \"step\") (param $ptr i32) (param $len i32) (result i64) (local $i i32) "
      "(local $x f64)" +
          std::string(body) + ")",
      memory);
}

constexpr std::string_view kGiveInput =
    "(i64.or (i64.shl (i64.extend_i32_u (local.get $ptr)) (i64.const 32)) (i64.extend_i32_u "
    "(local.get $len)))";

// What the program's handlers of signals were before any runtime was loaded.
const std::array<decltype(sigaction::sa_sigaction), NSIG>& handlers_before() {
  static const auto handlers = [] {
    std::array<decltype(sigaction::sa_sigaction), NSIG> found{};
    for (size_t number = 1; number < found.size(); ++number) {
      struct sigaction now {};
      if (::sigaction(static_cast<int>(number), nullptr, &now) == 0)
        found[number] = now.sa_sigaction;
    }
    return found;
  }();
  return handlers;
}

class Wasm : public ::testing::Test {
 protected:
  void SetUp() override {
    handlers_before();
    if (Status ready = host().ready(); !ready.ok()) GTEST_SKIP() << ready.error().message;
  }

  static WasmHost& host() {
    static WasmHost host;
    return host;
  }

  // "" if it is accepted, else the codes.
  static std::string judged(std::string_view code, Entry entry = Entry::Step,
                            uint32_t pages = 256) {
    Result<std::vector<Complaint>> found = host().judge(code, entry, pages);
    if (!found.ok()) return std::string(wire_code(found.error()));
    std::string codes;
    for (const Complaint& complaint : *found) codes += (codes.empty() ? "" : " ") + complaint.code;
    return codes;
  }

  static ModuleCall call(const std::string& code, std::string_view input = "in",
                         const ModuleLimits& limits = {}, Entry entry = Entry::Step) {
    return host().call(
        "sha256:" + sha256_hex(code), [&](std::string_view) { return code; }, entry, input, limits);
  }

  static std::string story(const ModuleCall& call) {
    std::string text(end_name(call.end));
    return call.end == CallEnd::Returned ? text + " " + call.output : text;
  }
};

// --- what is accepted

TEST_F(Wasm, JudgesByExportsImportsAndMemory) {
  const std::string step = R"((func (export "step") (param i32 i32) (result i64) i64.const 0))";
  const std::string memory = R"((memory (export "memory") 1))";
  const std::string alloc = R"((func (export "alloc") (param i32) (result i32) i32.const 8))";
  const std::map<std::string, std::string> cases{
      {"(module" + memory + alloc + step + ")", ""},
      {"(module" + memory + alloc +
           R"((func (export "step") (param i32 i32) (result i32 i32) i32.const 0 i32.const 0)))",
       ""},
      {"(module" + memory + alloc + R"((func (export "step") (param i32 i32 i32))))", ""},
      {"(module" + memory + alloc + step +
           R"((func (export "_initialize"))(func (export "other"))))",
       ""},
      {"(module)", "module.exports module.exports module.exports"},
      {"(module" + alloc + step + ")", "module.exports"},
      {"(module" + memory + step + ")", "module.exports"},
      {"(module" + memory + alloc + ")", "module.exports"},
      {"(module" + memory + alloc +
           R"((func (export "run") (param i32 i32) (result i64) i64.const 0)))",
       "module.exports"},
      {"(module (func (export \"memory\"))" + alloc + step + ")", "module.exports"},
      {"(module" + memory + step +
           R"((func (export "alloc") (param i64) (result i32) i32.const 8)))",
       "module.exports"},
      {"(module" + memory + step + R"((func (export "alloc") (param i32))))", "module.exports"},
      {"(module" + memory + alloc +
           R"((func (export "step") (param i32) (result i64) i64.const 0)))",
       "module.exports"},
      {"(module" + memory + alloc +
           R"((func (export "step") (param i32 i32) (result i32) i32.const 0)))",
       "module.exports"},
      {"(module" + memory + alloc +
           R"((func (export "step") (param i32 i32 i32) (result i64) i64.const 0)))",
       "module.exports"},
      {"(module" + memory + alloc + R"((global (export "step") i32 (i32.const 0))))",
       "module.exports"},
      {"(module" + memory + alloc + step + R"((func (export "_initialize") (param i32))))",
       "module.exports"},
      {R"((module (import "env" "abort" (func)))" + memory + alloc + step + ")", "module.imports"},
      {R"((module (import "env" "memory" (memory 1)))" + alloc + step +
           R"((export "memory" (memory 0))))",
       "module.imports"},
      {R"((module (import "env" "abort" (func))))",
       "module.imports module.exports module.exports module.exports"},
      {"(module (memory (export \"memory\") 256)" + alloc + step + ")", ""},
      {"(module (memory (export \"memory\") 257)" + alloc + step + ")", "module.memory"},
      {"(module (memory (export \"memory\") 1 65536)" + alloc + step + ")", ""},
      {"(module (memory (export \"memory\") 60000)" + alloc + step + ")", "module.memory"},
  };
  for (const auto& [text, codes] : cases) EXPECT_EQ(judged(wat(text)), codes) << text;
}

TEST_F(Wasm, PureModulesExportRun) {
  const std::string text =
      module_text(R"((func (export "run") (param i32 i32) (result i64) i64.const 0))");
  EXPECT_EQ(judged(wat(text), Entry::Run), "");
  EXPECT_EQ(judged(wat(step_text("i64.const 0")), Entry::Run), "module.exports");
}

TEST_F(Wasm, SaysWhichImportItRefuses) {
  const std::string code = wat(
      R"((module (import "wasi_snapshot_preview1" "fd_write" (func)) (import "env" "x" (func))))");
  Result<std::vector<Complaint>> found = host().judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->front().message,
            R"(it has 2 imports, such as "wasi_snapshot_preview1.fd_write"; a module gets none)");
}

TEST_F(Wasm, RefusesWhatIsNoModule) {
  const std::string whole = wat(step_text("i64.const 0"));
  EXPECT_EQ(judged(""), "module.invalid");
  EXPECT_EQ(judged("(module)"), "module.invalid");                         // text
  EXPECT_EQ(judged(std::string("\0asm\x0d\0\1\0", 8)), "module.invalid");  // a component
  EXPECT_EQ(judged(whole.substr(0, whole.size() - 1)), "module.invalid");
  EXPECT_EQ(judged(whole + "x"), "module.invalid");
  EXPECT_EQ(
      judged(wat(module_text(R"((func (export "step") (param i32 i32) (result i64) i64.const 0)
                                      (table 70000 funcref))"))),
      "module.invalid");
}

TEST_F(Wasm, RefusesFeaturesThatDependOnTheMachineOrAreNotNeeded) {
  const std::map<std::string, std::string> features{
      {"SIMD", step_text("(drop (v128.const i64x2 0 0)) i64.const 0")},
      {"threads", step_text("(drop (i32.atomic.load (i32.const 0))) i64.const 0")},
      {"shared memory", "(module (memory (export \"memory\") 1 2 shared))"},
      {"memory64", "(module (memory (export \"memory\") i64 1))"},
      {"several memories", "(module (memory (export \"memory\") 1) (memory 1))"},
      {"exceptions", "(module (tag) (memory (export \"memory\") 1) (func (throw 0)))"},
      {"tail calls", "(module (memory (export \"memory\") 1) (func $f (return_call $f)))"},
      {"GC", "(module (type (struct (field i32))) (memory (export \"memory\") 1))"},
      {"typed references", "(module (type $t (func)) (func (param (ref $t))))"},
      {"external references", "(module (func (param externref)))"},
      {"wide arithmetic", step_text("(i64.mul_wide_u (i64.const 1) (i64.const 2)) drop")},
  };
  for (const auto& [name, text] : features) EXPECT_EQ(judged(wat(text)), "module.invalid") << name;
}

TEST_F(Wasm, AcceptsWhatCompilersEmitByDefault) {
  const std::map<std::string, std::string> features{
      {"sign extension", "(drop (i32.extend8_s (local.get $len)))"},
      {"saturating conversion", "(drop (i32.trunc_sat_f64_s (f64.const 1e30)))"},
      {"bulk memory",
       "(memory.fill (i32.const 0) (i32.const 0) (i32.const 8)) (memory.copy (i32.const 0) "
       "(i32.const 8) (i32.const 8))"},
      {"several results", "(block (result i32 i32) (i32.const 1) (i32.const 2)) drop drop"},
      {"function references", "(drop (ref.is_null (ref.null func)))"},
  };
  for (const auto& [name, body] : features)
    EXPECT_EQ(judged(wat(step_text(body + " i64.const 0"))), "") << name;
}

TEST_F(Wasm, TheLargestModuleIsEightMebibytes) {
  std::string code = wat(step_text("i64.const 0"));
  const size_t content =
      worlds::kWasmBytesMax - code.size() - 1 - 4;  // a custom section: id, its size in 4 bytes
  code += '\0';
  for (int part = 0; part < 4; ++part)
    code += static_cast<char>((content >> 7 * part & 0x7f) | (part < 3 ? 0x80 : 0));
  code += std::string("\1x");
  code.resize(worlds::kWasmBytesMax, 'x');
  EXPECT_EQ(judged(code), "");
  EXPECT_EQ(judged(code + "x"), "module.invalid");
}

// --- how a call ends

TEST_F(Wasm, TakesTheThreeShapes) {
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

TEST_F(Wasm, EachEntryHasItsExport) {
  const std::string code = wat(module_text(R"(
      (data (i32.const 16) "stepran")
      (func (export "step") (param i32 i32) (result i64) (i64.const 0x1000000004))
      (func (export "run") (param i32 i32) (result i32 i32) (i32.const 20) (i32.const 3)))"));
  EXPECT_EQ(story(call(code)), "returned step");
  EXPECT_EQ(story(call(code, "in", {}, Entry::Run)), "returned ran");
}

TEST_F(Wasm, InitializesFirstAndAfreshForEachCall) {
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

TEST_F(Wasm, MemoryOfOneCallIsNotSeenByTheNext) {
  // Gives 16 bytes of what it finds at the end of 3 pages, after it grew by one, and leaves marks
  // in all of them.
  const std::string code = wat(step_text(R"(
      (drop (memory.grow (i32.const 1)))
      (memory.copy (i32.const 64) (i32.const 196592) (i32.const 16))
      (memory.fill (i32.const 80) (i32.const 0x78) (i32.const 196528))
      (i64.const 0x4000000010))"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(hex_of(call(code).output), std::string(32, '0')) << i;
}

TEST_F(Wasm, TrapsEndTheCall) {
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

TEST_F(Wasm, AnAllocatorThatFailsIsATrap) {
  for (const std::string_view body :
       {"unreachable", "i32.const 0", "i32.const 65535", "i32.const -1"}) {
    const std::string code = wat(
        "(module (memory (export \"memory\") 1) (func (export \"alloc\") (param i32) (result "
        "i32) " +
        std::string(body) + ") (func (export \"step\") (param i32 i32) (result i64) i64.const 0))");
    EXPECT_EQ(story(call(code)), "trap") << body;
  }
}

TEST_F(Wasm, RecursionWithoutEndTrapsAtTheSameDepth) {
  // Each level leaves its number in memory, and a second module of the same depth less one returns.
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

TEST_F(Wasm, ALoopWithoutEndSpendsItsFuel) {
  const std::string code = wat(step_text("(loop (br 0)) i64.const 0"));
  for (uint64_t fuel : {1'000ULL, 100'000ULL, 5'000'000ULL}) {
    const ModuleCall ended = call(code, "in", {.fuel = fuel});
    EXPECT_EQ(story(ended), "fuel exceeded");
    EXPECT_EQ(ended.fuel, fuel);
  }
}

TEST_F(Wasm, FuelIsCountedOverTheWholeCallAndIsTheSameEveryTime) {
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

// A module cannot buy much work with little fuel: bulk operations cost what they move.
TEST_F(Wasm, BulkOperationsCostFuelBySize) {
  const std::string fill =
      step_text("(memory.fill (i32.const 0) (i32.const 1) (i32.const 100000)) i64.const 0");
  const std::string copy =
      step_text("(memory.copy (i32.const 0) (i32.const 8) (i32.const 100000)) i64.const 0");
  for (const std::string& text : {fill, copy}) {
    EXPECT_EQ(story(call(wat(text), "in", {.fuel = 90'000})), "fuel exceeded");
    EXPECT_EQ(story(call(wat(text), "in", {.fuel = 110'000})), "returned ");
  }
}

TEST_F(Wasm, MemoryGrowsToItsLimitAndNotBeyond) {
  // Gives what memory.grow said, as 4 bytes.
  const auto grow = [&](int pages) {
    return wat(step_text("(i32.store (i32.const 64) (memory.grow (i32.const " +
                         std::to_string(pages) + "))) (i64.const 0x4000000004)"));
  };
  EXPECT_EQ(hex_of(call(grow(254)).output), "02000000");
  EXPECT_EQ(hex_of(call(grow(255)).output), "ffffffff");
  EXPECT_EQ(hex_of(call(grow(-1)).output), "ffffffff");
  EXPECT_EQ(hex_of(call(grow(1), "in", {.memory_pages = 3}).output), "02000000");
  EXPECT_EQ(hex_of(call(grow(2), "in", {.memory_pages = 3}).output), "ffffffff");
  EXPECT_EQ(hex_of(call(grow(4094), "in", {.memory_pages = 4096}).output), "02000000");
  EXPECT_EQ(hex_of(call(grow(4095), "in", {.memory_pages = 4096}).output), "ffffffff");
  EXPECT_EQ(story(call(grow(0), "in", {.memory_pages = 1})), "trap");  // it begins with 2
}

TEST_F(Wasm, TablesGrowToTheirBound) {
  const std::string code =
      wat(module_text(R"((table 1 funcref) (func (export "step") (param i32 i32) (result i64)
      (i32.store (i32.const 64) (table.grow (ref.null func) (i32.const 65535)))
      (i32.store (i32.const 68) (table.grow (ref.null func) (i32.const 1)))
      (i64.const 0x4000000008)))"));
  EXPECT_EQ(hex_of(call(code).output), "01000000ffffffff");
}

TEST_F(Wasm, OutputLiesInTheMemory) {
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

TEST_F(Wasm, OutputIsTwoMebibytesAtMost) {
  const std::string code = wat(step_text("(i64.extend_i32_u (i32.load (local.get $ptr)))", "64"));
  const auto give = [&](uint32_t size) {
    return call(code, {reinterpret_cast<const char*>(&size), sizeof size});
  };
  EXPECT_EQ(give(2u << 20).output.size(), 2u << 20);
  EXPECT_EQ(end_name(give((2u << 20) + 1).end), "output limit");
  EXPECT_EQ(end_name(give(4u << 20).end), "output limit");
}

TEST_F(Wasm, NaNsAreCanonical) {
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
    EXPECT_EQ(hex_of(call(code).output), "000000000000f87f") << operation;
  }
}

TEST_F(Wasm, RealTimeIsLimited) {
  const std::string code = wat(step_text("(loop (br 0)) i64.const 0"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(story(call(code, "in", {.fuel = 1'000'000'000'000, .time_ms = 200})), "timeout");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  // In the start function too.
  const std::string start = wat(module_text(R"((func $f (loop (br 0))) (start $f)
      (func (export "step") (param i32 i32) (result i64) i64.const 0))"));
  EXPECT_EQ(story(call(start, "in", {.fuel = 1'000'000'000'000, .time_ms = 100})), "timeout");
}

// --- many of them

TEST_F(Wasm, CallsOfManyThreadsDoNotMeet) {
  const std::string code = wat(step_text(kGiveInput));
  std::vector<std::thread> threads;
  std::array<int, 8> right{};
  for (size_t thread = 0; thread < right.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const std::string input = std::to_string(thread) + ":" + std::to_string(i);
        right[thread] += call(code, input).output == input;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array<int, 8>{500, 500, 500, 500, 500, 500, 500, 500}));
}

TEST_F(Wasm, MoreCallsThanPlacesWait) {
  WasmHost narrow({.calls_max = 2});
  const std::string code = wat(step_text(kGiveInput));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        right += narrow.call("x", [&](std::string_view) { return code; }, Entry::Step, "in", {})
                     .output == "in";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 1'200);
}

TEST_F(Wasm, AModuleIsLoadedOnceUntilOthersPushItOut) {
  WasmHost small({.loaded_bytes_max = 200 << 10});  // for two
  std::map<std::string, int> loads;
  const auto run = [&](int number) {
    const std::string name = std::to_string(number);
    const std::string code =
        wat(step_text("(drop (i32.const " + name + "))" + std::string(kGiveInput)));
    return small
        .call(name, [&](std::string_view) { return ++loads[name], code; }, Entry::Step, name, {})
        .output;
  };
  for (int number : {1, 1, 2, 1, 3, 1, 2}) EXPECT_EQ(run(number), std::to_string(number));
  EXPECT_EQ(loads, (std::map<std::string, int>{{"1", 1}, {"2", 2}, {"3", 1}}));
}

TEST_F(Wasm, WhatWasJudgedIsNotCompiledAgain) {
  const std::string code = wat(step_text(std::string(kGiveInput) + "(i64.const 1) drop"));
  EXPECT_EQ(judged(code), "");
  const auto never = [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
  EXPECT_EQ(story(host().call("sha256:" + sha256_hex(code), never, Entry::Step, "in", {})),
            "returned in");
  EXPECT_EQ(story(host().call("sha256:unknown", never, Entry::Step, "in", {})), "unavailable");
}

TEST_F(Wasm, ManyThreadsThatNeedOneModuleCompileItOnce) {
  WasmHost fresh;
  const std::string code = wat(step_text(kGiveInput));
  std::atomic<int> loads{0};
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      right +=
          fresh.call("x", [&](std::string_view) { return ++loads, code; }, Entry::Step, "in", {})
              .output == "in";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
  EXPECT_EQ(loads, 1);
}

// --- compiling

std::string leb(size_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

// A module of `count` functions (i32) -> i32 with the same local declarations and body; the first
// is `step`.
std::string module_of(size_t count, const std::string& locals, const std::string& body) {
  const auto section = [](char id, const std::string& content) {
    return id + leb(content.size()) + content;
  };
  const std::string function = locals + body + '\x0b';
  std::string types;
  std::string code;
  for (size_t i = 0; i < count; ++i) {
    types += '\0';
    code += leb(function.size()) + function;
  }
  return std::string("\0asm\1\0\0\0", 8) + section(1, std::string("\1\x60\1\x7f\1\x7f", 6)) +
         section(3, leb(count) + types) + section(5, std::string("\1\0\1", 3)) +
         section(10, leb(count) + code);
}

std::string times(size_t count, const std::string& part) {
  std::string whole;
  for (size_t i = 0; i < count; ++i) whole += part;
  return whole;
}

// 20 KB that keep the compiler busy for most of a minute: each function has all the locals there
// may be.
TEST_F(Wasm, ACompilationThatTakesTooLongIsStopped) {
  WasmHost hasty({.judge_limits = {.cpu_s = 1}});
  const std::string code = module_of(2'000, "\1" + leb(49'000) + "\x7f", std::string("\x20\0", 2));
  Result<std::vector<Complaint>> found = hasty.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().code, "module.invalid");
  EXPECT_EQ(found->front().message, "it takes more than 1 s to compile");
}

// By real time too, should the compiler wait for something.
TEST_F(Wasm, ACompilerThatDoesNotEndIsStopped) {
  WasmHost hasty({.judge_limits = {.real_s = 1}});
  ASSERT_TRUE(hasty.ready().ok());
  const std::string code = module_of(2'000, "\1" + leb(49'000) + "\x7f", std::string("\x20\0", 2));
  Result<std::vector<Complaint>> found = hasty.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->front().code, "module.invalid");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Wasm, ACompilationThatTakesTooMuchMemoryIsStopped) {
  WasmHost lean({.judge_limits = {.memory_bytes = 64 << 20}});
  const std::string code =
      module_of(1, std::string(1, '\0'), std::string("\x20\0", 2) + times(100'000, "\x28\2\10"));
  Result<std::vector<Complaint>> found = lean.judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->front().code, "module.invalid");
  EXPECT_EQ(found->front().message,
            "it takes more than 64 MiB to compile, or the compiler failed on it");
}
#endif

// The compiler's process has nothing of this one: no file, so no lock or port, and none of its
// handlers.
TEST_F(Wasm, CompilingLeavesNoProcessAndNoFile) {
  const auto files = [] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
      ++count;
    return count;
  };
  judged(wat(step_text("i64.const 17")));
  const size_t before = files();
  for (int i = 0; i < 5; ++i) judged(wat(step_text("i64.const " + std::to_string(100 + i))));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // there is no child
}

// The crash book and the sanitizers own the signals of faults.
TEST_F(Wasm, TakesNoSignalHandlers) {
  EXPECT_EQ(story(call(wat(step_text("(drop (i32.load (i32.const -1))) i64.const 0")))), "trap");
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(number, nullptr, &now), 0);
    EXPECT_EQ(handlers_before()[static_cast<size_t>(number)], now.sa_sigaction) << number;
  }
}

// --- the library

TEST(WasmLibrary, SaysHowToGetItWhenItIsMissing) {
  WasmHost host({.library = "/nowhere/libwasmtime.so"});
  Result<std::vector<Complaint>> judged = host.judge("", Entry::Step, 1);
  ASSERT_FALSE(judged.ok());
  EXPECT_EQ(wire_code(judged.error()), "worlds.no_runtime");
  EXPECT_EQ(judged.error().code, ErrorCode::Unavailable);
  EXPECT_NE(judged.error().message.find("tools/setup wasm"), std::string::npos);
  const auto load = [](std::string_view) -> std::optional<std::string> { return ""; };
  EXPECT_EQ(host.call("x", load, Entry::Step, "", {}).end, CallEnd::Unavailable);
}

TEST(WasmLibrary, RefusesAnotherLibrary) {
  WasmHost host({.library = "libz.so.1"});
  Status ready = host.ready();
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find("another version"), std::string::npos);
}

// tools/setup fetches the version that the declarations are of.
TEST(WasmLibrary, SetUpFetchesThisVersion) {
  std::ifstream file("tools/wasmtime.txt");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\nwasmtime==" + std::string(kWasmtimeVersion) + " --hash=sha256:"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::wasm
