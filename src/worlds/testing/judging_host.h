// JudgingHost: a ModuleHost for tests of what is judged before anything runs. Code is any text; if
// that begins with "module." it is the code of the complaint that judging it gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worlds/module_host.h"

namespace pawl::worlds {

class JudgingHost final : public ModuleHost {
 public:
  Result<std::vector<Complaint>> judge(std::string_view code, Entry entry,
                                       uint32_t memory_pages) override {
    if (!available) return Error{ErrorCode::Unavailable, "there is no runtime"};
    judged.push_back(std::string(code) + (entry == Entry::Step ? " step " : " run ") +
                     std::to_string(memory_pages));
    if (!code.starts_with("module.")) return std::vector<Complaint>{};
    return std::vector<Complaint>{{"", "judged", std::string(code)}};
  }
  ModuleCall call(std::string_view, LoadCode, Entry, std::string_view,
                  const ModuleLimits&) override {
    return {.end = CallEnd::Unavailable};
  }

  bool available = true;
  std::vector<std::string> judged;
};

}  // namespace pawl::worlds
