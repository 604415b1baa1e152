#include <map>

#include "worlds/judge_program.h"
#include "worlds/members.h"

namespace pawl::worlds {
namespace {

using Complaints = std::vector<Complaint>;

// The code of modules, judged once however many of them have it.
class CodeJudge {
 public:
  CodeJudge(const Draft& draft, uint32_t memory_pages, FindBytes find_blob, ModuleHost& host)
      : memory_pages_(memory_pages), find_blob_(find_blob), host_(host) {
    for (const NodeDraft& node : draft.nodes)
      if (node.code) given_.emplace(std::get<ModuleDraft>(node.def).module.wasm_hash, *node.code);
  }

  // Null if the code is nowhere.
  Result<const Complaints*> judge(std::string_view hash, Entry entry) {
    const std::pair<std::string_view, Entry> name(hash, entry);
    if (const auto known = judged_.find(name); known != judged_.end()) return &known->second;
    if (const auto here = given_.find(hash); here != given_.end()) {
      PAWL_TRY(judged_[name], host_.judge(here->second, entry, memory_pages_));
      return &judged_[name];
    }
    const std::optional<std::string> stored = find_blob_(hash);
    if (!stored) return nullptr;
    PAWL_TRY(judged_[name], host_.judge(*stored, entry, memory_pages_));
    return &judged_[name];
  }

 private:
  const uint32_t memory_pages_;
  FindBytes find_blob_;
  ModuleHost& host_;
  std::map<std::string_view, std::string_view> given_;  // by hash
  std::map<std::pair<std::string_view, Entry>, Complaints> judged_;
};

}  // namespace

Status judge_code(const Draft& draft, const ModuleLimits& limits, FindBytes find_blob,
                  ModuleHost& host, Complaints& faults) {
  CodeJudge judge(draft, limits.memory_pages, find_blob, host);
  for (const NodeDraft& node : draft.nodes) {
    const ModuleDraft* module = std::get_if<ModuleDraft>(&node.def);
    if (module == nullptr || !module->has_kind || module->module.wasm_hash.empty()) continue;
    const bool pure = module->module.kind == ModuleKind::Pure;
    PAWL_TRY(const Complaints* judged,
             judge.judge(module->module.wasm_hash, pure ? Entry::Run : Entry::Step));
    if (judged == nullptr) {
      complain(faults, node.path + "/wasm_hash", "ref.unknown",
               "no code of this hash was given or is stored");
      continue;
    }
    const std::string path = node.path + (node.code ? "/wasm_b64" : "/wasm_hash");
    for (const Complaint& complaint : *judged)
      complain(faults, path, complaint.code, complaint.message);
  }
  return ok_status();
}

}  // namespace pawl::worlds
