// StateTable: the items of a world, read on the engine's thread from the state of its partition.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "kernel/state.h"
#include "worlds/table.h"

namespace pawl {

// The key of the document that holds an item.
std::string item_doc_key(const Uuid& world, std::string_view item);

class StateTable final : public worlds::Table {
 public:
  StateTable(const State& state, const Uuid& world) : state_(state), world_(world) {}
  std::optional<std::string> get(std::string_view key) override;
  void scan(std::string_view prefix, std::string_view from,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;

 private:
  const State& state_;
  const Uuid world_;
};

// Worlds are kept under scoped names: of a tenant's world, the tenant, a unit separator, its name.
std::string scoped_world(std::string_view tenant, std::string_view name);
std::string_view tenant_of_world(std::string_view scoped);
std::string_view shown_world(std::string_view scoped);

// The id of the world of this scoped name; nothing if there is none.
std::optional<Uuid> find_world(const State& state, std::string_view name);

// Whether a world has this id, under any name. One that was deleted has it until its items are
// gone.
bool has_world(const State& state, const Uuid& id);

}  // namespace pawl
