// TimedJudge: the modules of one program, each judged once, all in bounded time. A few kilobytes of
// code can take the compiler seconds, and a body has room for thousands of such modules: without a
// bound one call would hold its thread, and its share of the compilers, for hours.
//
// When the time is up, no further module is begun: Unavailable. What was compiled by then stays
// with the host, so that the same call, sent again, goes on from there.
//
// Thread: one at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "worlds/module_host.h"

namespace pawl {

constexpr int64_t kJudgeMsMax = 60'000;

class TimedJudge final : public worlds::ModuleHost {
 public:
  TimedJudge(worlds::ModuleHost& host, Clock& clock)
      : host_(host), clock_(clock), until_ms_(clock.now_ms() + kJudgeMsMax) {}

  Result<std::vector<Complaint>> judge(std::string_view code, worlds::Entry entry,
                                       uint32_t memory_pages) override {
    const std::tuple name(sha256(code), entry, memory_pages);
    if (const auto known = judged_.find(name); known != judged_.end()) return known->second;
    if (clock_.now_ms() > until_ms_)
      return Error{ErrorCode::Unavailable,
                   "the modules take more than 60 s to compile; those that are done are kept: send "
                   "it again to go on"};
    PAWL_TRY(std::vector<Complaint> complaints, host_.judge(code, entry, memory_pages));
    return judged_.emplace(name, std::move(complaints)).first->second;
  }
  worlds::ModuleCall call(std::string_view wasm_hash, worlds::LoadCode load, worlds::Entry entry,
                          std::string_view input, const worlds::ModuleLimits& limits) override {
    return host_.call(wasm_hash, load, entry, input, limits);
  }

 private:
  worlds::ModuleHost& host_;
  Clock& clock_;
  const int64_t until_ms_;
  std::map<std::tuple<std::array<uint8_t, 32>, worlds::Entry, uint32_t>, std::vector<Complaint>>
      judged_;
};

}  // namespace pawl
