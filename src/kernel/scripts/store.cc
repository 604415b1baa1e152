// The scopes of definitions' runs: lookup in memory and on disk, and their effects.
#include <algorithm>

#include "kernel/mutable_state.h"
#include "kernel/run_family.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_parts.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/scripts/text.h"
#include "kernel/settings/doc.h"
#include "kernel/state_memory.h"
#include "plan/definition.h"

namespace pawl {
namespace {

constexpr size_t kPlanHoldersMax = 100'000;

}  // namespace
// --- scopes

Scope* State::resident_scope(const Run& run, std::string_view path) const {
  ScriptRun& script = *run.script;
  auto at = script.scopes.find(path);
  if (at != script.scopes.end()) return at->second.gone ? nullptr : &at->second;
  if (!run.row_durable) return nullptr;
  auto row = cold_.get(Space::Scope, scope_row_key(run.id, path));
  constexpr uint64_t kBytesPerList = 1'024;
  memory_->bytes_read += kBytesPerList;
  if (!row) return nullptr;
  memory_->bytes_read += row->size();
  return &script.scopes.emplace(std::string(path), read_scope(run, path, *row)).first->second;
}

Scope State::read_scope(const Run& run, std::string_view path, std::string_view row) const {
  Scope scope;
  if (!codec::decode(row, scope)) unreadable_row("list", path);
  connect_texts(cold_, memory_->texts_in_memory, run.id, scope);
  return scope;
}

const Scope* State::find_scope(const Run& run, std::string_view path) const {
  return resident_scope(run, path);
}

const StepRecord* State::find_step(const Run& run, std::string_view step) const {
  auto [scope_path, id] = split_step(step);
  const Scope* scope = find_scope(run, scope_path);
  return scope == nullptr ? nullptr : scope->find(id);
}

void State::each_scope(const Run& run, std::string_view prefix,
                       FunctionRef<bool(const Scope&)> visit) const {
  const auto& resident = run.script->scopes;
  auto at = resident.lower_bound(prefix);
  auto fits = [&](std::string_view path) { return path.substr(0, prefix.size()) == prefix; };
  bool going = true;
  auto offer_resident_before = [&](const std::string_view* path) {
    while (going && at != resident.end() && fits(at->first) && (!path || at->first < *path)) {
      if (!at->second.gone) going = visit(at->second);
      ++at;
    }
    return going;
  };
  if (run.row_durable) {
    std::string low = scope_row_key(run.id, prefix);
    cold_.scan(Space::Scope, low, prefix_end(low), false, SIZE_MAX,
               [&](std::string_view key, std::string_view value) {
                 std::string_view path = key.substr(run.id.bytes().size());
                 if (!offer_resident_before(&path)) return false;
                 if (at != resident.end() && at->first == path) return true;  // offered in its turn
                 return going = visit(read_scope(run, path, value));
               });
  }
  offer_resident_before(nullptr);
}

const plan::Script* State::script_of(const Run& run) const {
  ScriptRun& script = *run.script;
  if (script.plan) return script.plan.get();
  std::string source = script.source;
  if (source.empty()) {
    const Doc* doc =
        find_doc(DocKind::Definition, definition_key(script.definition, script.version));
    StoredDefinition stored;
    if (doc == nullptr || !codec::decode(doc->value, stored)) return nullptr;
    source = stored.canonical;
  }
  script.plan = memory_->plans.get(source);
  memory_->plan_holders.push_back(run.id);
  return script.plan.get();
}

const plan::Script* State::compiled_script(const std::string& canonical) const {
  return memory_->plans.get(canonical).get();
}

// Runs keep a pointer to their plan so that steps need not look it up; a released plan is looked up
// again.
void MutableState::release_plans() {
  if (!memory_->plans.too_large() && memory_->plan_holders.size() <= kPlanHoldersMax) return;
  for (const RunId& id : std::exchange(memory_->plan_holders, {}))
    if (Run* run = memory_->runs.find(id)) family_of(*run).release_plan(*run);
  for (auto& [run, buried] : memory_->buried_runs) family_of(*buried).release_plan(*buried);
  memory_->plans.trim();
}

// --- effects

void MutableState::note_cancelled_effect(const Run& run, uint32_t effect) {
  memory_->new_effects.push_back({run.id, effect, true});
}

void MutableState::plan_recall() {
  memory_->new_effects.clear();
  cold_.scan_keys(Space::Busy, "", "", SIZE_MAX, [&](std::string_view key) {
    memory_->to_recall.insert(RunId(*Uuid::from_bytes(key)));
    return true;
  });
  memory_->dirty.each([&](const Resident* entity) {
    if (entity->kind == EntityKind::Run)
      memory_->to_recall.insert(static_cast<const Run*>(entity)->id);
  });
  std::erase_if(memory_->to_recall, [&](const RunId& id) {
    Run* run = memory_->runs.find(id);
    if (run == nullptr) return false;
    line_up(*run);
    if (!run->forgotten) recall_effects(*run);
    return true;
  });
}

void State::recall_effects(const Run& run) const {
  family_of(run).each_open_effect(run, [&](uint32_t effect) {
    memory_->new_effects.push_back({run.id, effect, false});
  });
}

void MutableState::recall(size_t bytes_max) {
  constexpr uint64_t kBytesPerRun = 1'024;
  const uint64_t before = memory_->bytes_read;
  while (!memory_->to_recall.empty()) {
    const RunId id = *memory_->to_recall.begin();
    memory_->bytes_read += kBytesPerRun;
    resident_run(id);
    memory_->to_recall.erase(id);
    if (memory_->bytes_read - before >= bytes_max) return;
  }
}

}  // namespace pawl
