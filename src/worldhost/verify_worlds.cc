#include "worldhost/verify_worlds.h"

#include "engine/recovery.h"
#include "engine/store_cold.h"
#include "kernel/mutable_state.h"
#include "worldhost/state_table.h"
#include "worldhost/upkeep.h"
#include "worlds/commands.h"

namespace pawl {
namespace {

Result<WorldVerdict> verify_world(const State& state, const std::string& name, const Uuid& id,
                                  worlds::ModuleHost& modules) {
  StateTable table(state, id);
  worlds::World world(table);
  WorldVerdict verdict{.name = name};
  const worlds::Head head = world.head();
  const auto from =
      head.first_kept > 1 ? worlds::ReplayFrom::Baseline : worlds::ReplayFrom::Genesis;
  auto replayed = worlds::replay(world, modules, from, [] { return true; });
  if (replayed.ok()) {
    verdict.frames = replayed->frames;
    return verdict;
  }
  const Error& error = replayed.error();
  if (error.code == ErrorCode::Unavailable) return error;
  verdict.code = wire_code(error);
  verdict.message = error.message;
  return verdict;
}

}  // namespace

Result<std::vector<WorldVerdict>> verify_worlds(Store& store, worlds::ModuleHost& modules,
                                                FunctionRef<void(const std::string&)> progress) {
  StoreCold cold(store);
  MutableState state(cold, StateConfig{});
  Recovery tail;
  PAWL_TRY_DO(recover(store, state, {}, tail, [](uint64_t, size_t, int64_t) {}));
  std::vector<WorldVerdict> verdicts;
  Result<Unit> walked = ok_status();
  Status read = reading([&] {
    state.each_doc_key(DocKind::World, "", SIZE_MAX, [&](std::string_view key) {
      const auto id = find_world(state, key);
      if (!id || is_deleted_world(key)) return true;
      const std::string name(shown_world(key));
      progress(name);
      auto verdict = verify_world(state, name, *id, modules);
      if (!verdict.ok()) return walked = verdict.error(), false;
      verdicts.push_back(std::move(*verdict));
      return true;
    });
  });
  PAWL_TRY_DO(read);
  PAWL_TRY_DO(walked);
  return verdicts;
}

}  // namespace pawl
