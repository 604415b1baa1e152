#include "wasm/testing/host_case.h"

#include "base/hash.h"

namespace pawl::wasm::testing {

using worlds::CallEnd;

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

std::string module_text(std::string_view rest, std::string_view pages) {
  std::string text = "(module (memory (export \"memory\") ";
  text += pages;
  text += R"()
    (global $top (mut i32) (i32.const 4096))
    (func $alloc (export "alloc") (param i32) (result i32)
      global.get $top
      (global.set $top (i32.add (global.get $top) (local.get 0)))))";
  return text.append(rest) + ")";
}

std::string step_text(std::string_view body, std::string_view pages) {
  return module_text(
      "(func (export \"step\") (param $ptr i32) (param $len i32) (result i64) (local $i i32) "
      "(local $x f64)" +
          std::string(body) + ")",
      pages);
}

void HostCase::SetUp() {
  handlers_before();
  if (Status ready = host().ready(); !ready.ok()) GTEST_SKIP() << ready.error().message;
}

WasmHost& HostCase::host() {
  static WasmHost host;
  return host;
}

std::string HostCase::judged(std::string_view code, worlds::Entry entry, uint32_t pages) {
  Result<std::vector<Complaint>> found = host().judge(code, entry, pages);
  if (!found.ok()) return std::string(wire_code(found.error()));
  std::string codes;
  for (const Complaint& complaint : *found) codes += (codes.empty() ? "" : " ") + complaint.code;
  return codes;
}

worlds::ModuleCall HostCase::call(const std::string& code, std::string_view input,
                                  const worlds::ModuleLimits& limits, worlds::Entry entry) {
  const auto load = [&](std::string_view) { return code; };
  return host().call("sha256:" + sha256_hex(code), load, entry, input, limits);
}

std::string HostCase::story(const worlds::ModuleCall& call) {
  std::string text(end_name(call.end));
  return call.end == CallEnd::Returned ? text + " " + call.output : text;
}

const HostCase::Handlers& HostCase::handlers_before() {
  static const auto handlers = [] {
    Handlers found{};
    for (size_t number = 1; number < found.size(); ++number) {
      struct sigaction now {};
      if (::sigaction(static_cast<int>(number), nullptr, &now) == 0) {
        found[number] = now.sa_sigaction;
      }
    }
    return found;
  }();
  return handlers;
}

}  // namespace pawl::wasm::testing
