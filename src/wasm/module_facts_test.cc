// Which code is accepted as a module, and what is said of the other.
#include "wasm/module_facts.h"

#include <map>

#include "wasm/testing/host_case.h"

namespace pawl::wasm {
namespace {

using testing::module_text;
using testing::step_text;
using testing::wat;
using worlds::Entry;

class Judging : public testing::HostCase {};

TEST_F(Judging, JudgesByExportsImportsAndMemory) {
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

TEST_F(Judging, PureModulesExportRun) {
  const std::string text =
      module_text(R"((func (export "run") (param i32 i32) (result i64) i64.const 0))");
  EXPECT_EQ(judged(wat(text), Entry::Run), "");
  EXPECT_EQ(judged(wat(step_text("i64.const 0")), Entry::Run), "module.exports");
}

TEST_F(Judging, SaysWhichImportItRefuses) {
  const std::string code = wat(
      R"((module (import "wasi_snapshot_preview1" "fd_write" (func)) (import "env" "x" (func))))");
  Result<std::vector<Complaint>> found = host().judge(code, Entry::Step, 256);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->front().message,
            R"(it has 2 imports, such as "wasi_snapshot_preview1.fd_write"; a module gets none)");
}

TEST_F(Judging, RefusesWhatIsNoModule) {
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

TEST_F(Judging, RefusesFeaturesThatDependOnTheMachineOrAreNotNeeded) {
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

TEST_F(Judging, AcceptsWhatCompilersEmitByDefault) {
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

TEST_F(Judging, TheLargestModuleIsEightMebibytes) {
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

}  // namespace
}  // namespace pawl::wasm
