#include "worldhost/state_table.h"

#include "kernel/settings/doc.h"
#include "worlds/items.h"

namespace pawl {
namespace {

constexpr char kTenantEnd = '\x1f';

}  // namespace

std::string scoped_world(std::string_view tenant, std::string_view name) {
  return tenant.empty() ? std::string(name) : std::string(tenant) + kTenantEnd + std::string(name);
}

std::string_view tenant_of_world(std::string_view scoped) {
  const size_t at = scoped.find(kTenantEnd);
  return at == std::string_view::npos ? std::string_view() : scoped.substr(0, at);
}

std::string_view shown_world(std::string_view scoped) {
  const size_t at = scoped.find(kTenantEnd);
  return at == std::string_view::npos ? scoped : scoped.substr(at + 1);
}

std::string item_doc_key(const Uuid& world, std::string_view item) {
  std::string key;
  key.reserve(16 + item.size());
  world.append_bytes(key);
  key.append(item);
  return key;
}

std::optional<std::string> StateTable::get(std::string_view key) {
  const Doc* doc = state_.find_doc(DocKind::WorldItem, item_doc_key(world_, key));
  return doc == nullptr ? std::nullopt : std::optional(doc->value);
}

void StateTable::scan(std::string_view prefix, std::string_view from,
                      FunctionRef<bool(std::string_view, std::string_view)> visit) {
  state_.each_doc_under(
      DocKind::WorldItem, item_doc_key(world_, prefix),
      from.empty() ? std::string() : item_doc_key(world_, from), SIZE_MAX,
      [&](std::string_view key, std::string_view value) { return visit(key.substr(16), value); });
}

std::optional<Uuid> find_world(const State& state, std::string_view name) {
  const Doc* doc = state.find_doc(DocKind::World, name);
  return doc == nullptr ? std::nullopt : Uuid::from_bytes(doc->value);
}

bool has_world(const State& state, const Uuid& id) {
  return state.find_doc(DocKind::WorldItem, item_doc_key(id, worlds::head_key())) != nullptr;
}

}  // namespace pawl
