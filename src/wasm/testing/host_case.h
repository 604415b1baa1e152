// What tests of the host are written with: modules as text, and a host that all cases of a program
// share.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>

#include "wasm/testing/wat.h"
#include "wasm/wasm_host.h"

namespace pawl::wasm::testing {

std::string_view end_name(worlds::CallEnd end);

// A module with a memory of so many pages, an allocator that only goes forward, and `rest`.
std::string module_text(std::string_view rest, std::string_view pages = "2");

// With the entry `step` of the packed shape: `body` leaves an i64; $ptr and $len are the input, $i
// and $x are for its use.
std::string step_text(std::string_view body, std::string_view pages = "2");

// A body that gives the input back.
inline constexpr std::string_view kGiveInput =
    "(i64.or (i64.shl (i64.extend_i32_u (local.get $ptr)) (i64.const 32)) (i64.extend_i32_u "
    "(local.get $len)))";

// Skips its case if there is no runtime, and says how to get it.
class HostCase : public ::testing::Test {
 protected:
  using Handlers = std::array<decltype(sigaction::sa_sigaction), NSIG>;

  void SetUp() override;
  static WasmHost& host();

  // The codes, or "" if it is accepted.
  static std::string judged(std::string_view code, worlds::Entry entry = worlds::Entry::Step,
                            uint32_t pages = 256);
  static worlds::ModuleCall call(const std::string& code, std::string_view input = "in",
                                 const worlds::ModuleLimits& limits = {},
                                 worlds::Entry entry = worlds::Entry::Step);
  // "returned <output>", or how else it ended.
  static std::string story(const worlds::ModuleCall& call);

  // The program's handlers of signals, as they were before it loaded a runtime.
  static const Handlers& handlers_before();
};

}  // namespace pawl::wasm::testing
