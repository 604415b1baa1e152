#include "worlds/manifest_reader.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/quote.h"
#include "worlds/hash.h"
#include "worlds/json_pointer.h"
#include "worlds/members.h"
#include "worlds/node_reader.h"

namespace pawl::worlds {
namespace {

using Complaints = std::vector<Complaint>;

// A whole number from 0 up to `most`.
std::optional<uint64_t> number_of(const cbor::Item& item, uint64_t most) {
  if (item.kind != cbor::Kind::Nat || item.number > most) return std::nullopt;
  return item.number;
}

void read_air_version(const Members& members, Complaints& faults) {
  if (!members.is_object()) return;
  const cbor::Item* given = members.find("air_version");
  if (given == nullptr || !(given->is_text() && given->string == "1"))
    complain(faults, members.path("air_version"), "air_version", "must be \"1\"");
}

EntryDraft read_entry(const cbor::Item& item, std::string path, DefKind kind, Complaints& faults) {
  EntryDraft entry;
  entry.path = path;
  const Members members(item, std::move(path), {"name", "hash"}, faults);
  entry.name = members.text("name", "name.invalid");
  if (is_reserved_name(entry.name)) {
    complain(faults, members.path("name"), "name.reserved",
             "names under sys/ are always there and never listed");
    entry.name.clear();
  } else if (!entry.name.empty() && !is_def_name(entry.name) &&
             !(kind == DefKind::Secret && is_secret_name(entry.name))) {
    complain(faults, members.path("name"), "name.invalid",
             in_quotes(entry.name) + " is not of the form ns/name@N");
    entry.name.clear();
  }
  const cbor::Item* hash = members.find("hash");
  if (hash == nullptr || (hash->is_text() && is_zero_hash(hash->string))) return entry;
  entry.hash_is_bad = !hash->is_text() || !is_hash(hash->string);
  if (entry.hash_is_bad)
    complain(faults, members.path("hash"), "hash.mismatch",
             "must be \"sha256:\" and 64 hexadecimal digits in lower case");
  else
    entry.hash = std::string(hash->string);
  return entry;
}

void read_list(const Members& manifest, DefKind kind, ManifestDraft& draft, Complaints& faults) {
  const std::string_view name = def_list_name(kind);
  if (manifest.find(name) == nullptr) return;
  auto& entries = draft.list(kind).emplace();
  const std::vector<cbor::Item>& given = manifest.array(name);
  if (given.size() > kNodesMax) {
    complain(faults, manifest.path(name), "limit.invalid",
             "has more than " + std::to_string(kNodesMax) + " entries");
    return;
  }
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < given.size(); ++i) {
    EntryDraft entry = read_entry(given[i], below(manifest.path(name), i), kind, faults);
    if (entry.name.empty()) continue;
    if (names.insert(entry.name).second)
      entries.push_back(std::move(entry));
    else
      complain(faults, entry.path + "/name", "name.duplicate",
               in_quotes(entry.name) + " is listed twice");
  }
}

GrantDraft read_grant(const cbor::Item& item, std::string path, Complaints& faults) {
  GrantDraft grant;
  grant.path = path;
  const Members members(item, std::move(path), {"name", "cap", "params", "expiry_ns"}, faults);
  grant.name = members.text("name", "name.invalid");
  if (!grant.name.empty() && !is_slot_name(grant.name)) {
    complain(faults, members.path("name"), "name.invalid",
             in_quotes(grant.name) + " is no name for a grant");
    grant.name.clear();
  }
  grant.cap = members.text("cap");
  if (const cbor::Item* params = members.need("params"))
    cbor::append(grant.params.emplace(), *params);
  if (const cbor::Item* expiry = members.find("expiry_ns")) {
    const auto number = number_of(*expiry, std::numeric_limits<int64_t>::max());
    if (number)
      grant.expiry_ns = static_cast<int64_t>(*number);
    else
      complain(faults, members.path("expiry_ns"), "type.invalid",
               "must be a time: nanoseconds since 1970 as a whole number");
  }
  return grant;
}

void read_defaults(const Members& manifest, ManifestDraft& draft, Complaints& faults) {
  const cbor::Item* given = manifest.find("defaults");
  if (given == nullptr) return;
  const Members defaults(*given, manifest.path("defaults"), {"policy", "cap_grants"}, faults);
  draft.policy = defaults.optional_text("policy");
  size_t index = 0;
  for (const cbor::Item& item : defaults.array("cap_grants")) {
    GrantDraft grant = read_grant(item, below(defaults.path("cap_grants"), index++), faults);
    if (!grant.name.empty() || !grant.cap.empty()) draft.grants.push_back(std::move(grant));
  }
}

BindingDraft read_binding(std::string_view module, const cbor::Item& item, std::string path,
                          Complaints& faults) {
  BindingDraft binding;
  binding.module = std::string(module);
  binding.path = path;
  const Members members(item, std::move(path), {"slots"}, faults);
  const cbor::Item* slots = members.find("slots");
  if (slots == nullptr) return binding;
  if (!slots->is_map()) {
    complain(faults, members.path("slots"), "type.invalid", "must be an object of slot: grant");
    return binding;
  }
  for (size_t i = 0; i < slots->items.size(); i += 2) {
    const std::string_view slot = slots->items[i].string;
    const std::string at = below(members.path("slots"), slot);
    binding.slots.emplace_back(slot, text_of(slots->items[i + 1], at, "type.invalid", faults));
  }
  return binding;
}

void read_bindings(const Members& manifest, ManifestDraft& draft, Complaints& faults) {
  const cbor::Item* given = manifest.find("module_bindings");
  if (given == nullptr) return;
  const std::string path = manifest.path("module_bindings");
  if (!given->is_map()) {
    complain(faults, path, "type.invalid", "must be an object of module: {slots}");
    return;
  }
  for (size_t i = 0; i < given->items.size(); i += 2) {
    const std::string_view module = given->items[i].string;
    draft.bindings.push_back(
        read_binding(module, given->items[i + 1], below(path, module), faults));
  }
}

// A member under its name of today, or under that of old: `old_name` if that is how it was written.
std::string_view name_written(const Members& members, std::string_view name,
                              std::string_view old_name, Complaints& faults, Complaints& warnings) {
  if (members.find(old_name) == nullptr) return name;
  if (members.find(name) != nullptr) {
    complain(faults, members.path(old_name), "field.unknown",
             "is the old name of " + std::string(name) + ", which is there too");
    return name;
  }
  complain(warnings, members.path(old_name), "field.alias",
           "is the old name of " + std::string(name) + " and was read as that");
  return old_name;
}

RouteDraft read_route(const cbor::Item& item, std::string path, Complaints& faults,
                      Complaints& warnings) {
  RouteDraft route;
  route.path = path;
  const Members members(item, std::move(path), {"event", "module", "reducer", "key_field"}, faults);
  route.event = members.text("event");
  route.module_member = name_written(members, "module", "reducer", faults, warnings);
  route.module = members.text(route.module_member);
  route.key_field = members.optional_text("key_field", "routing.key_field");
  route.key_field_is_bad = members.find("key_field") != nullptr && !route.key_field;
  return route;
}

void read_routing(const Members& manifest, ManifestDraft& draft, Complaints& faults,
                  Complaints& warnings) {
  const cbor::Item* given = manifest.find("routing");
  if (given == nullptr) return;
  const Members routing(*given, manifest.path("routing"), {"subscriptions", "events", "inboxes"},
                        faults);
  const std::string_view list = name_written(routing, "subscriptions", "events", faults, warnings);
  size_t index = 0;
  for (const cbor::Item& item : routing.array(list)) {
    RouteDraft route = read_route(item, below(routing.path(list), index++), faults, warnings);
    if (!route.event.empty() || !route.module.empty()) draft.routes.push_back(std::move(route));
  }
  index = 0;
  for (const cbor::Item& item : routing.array("inboxes")) {
    InboxDraft inbox;
    inbox.path = below(routing.path("inboxes"), index++);
    const Members members(item, inbox.path, {"source", "workflow"}, faults);
    inbox.source = members.text("source");
    inbox.workflow = members.text("workflow");
    if (!inbox.workflow.empty()) draft.inboxes.push_back(std::move(inbox));
  }
}

std::optional<uint64_t> read_limit(const Members& limits, std::string_view name, uint64_t most,
                                   Complaints& faults) {
  const cbor::Item* given = limits.find(name);
  if (given == nullptr) return std::nullopt;
  const auto number = number_of(*given, most);
  if (number && *number > 0) return number;
  complain(faults, limits.path(name), "limit.invalid",
           "must be a whole number from 1 to " + std::to_string(most));
  return std::nullopt;
}

void read_limits(const Members& manifest, ManifestDraft& draft, Complaints& faults) {
  const cbor::Item* given = manifest.find("limits");
  if (given == nullptr) return;
  const Members limits(*given, manifest.path("limits"), {"fuel", "memory_pages"}, faults);
  draft.limits.emplace();
  draft.limits->fuel = read_limit(limits, "fuel", kFuelMax, faults);
  if (const auto pages = read_limit(limits, "memory_pages", kMemoryPagesMax, faults))
    draft.limits->memory_pages = static_cast<uint32_t>(*pages);
}

void write_lists(const ManifestDraft& manifest, cbor::Map& map) {
  for (const DefKind kind : kDefKinds) {
    std::string list;
    const auto& entries = manifest.list(kind);
    cbor::put_array(list, entries ? entries->size() : 0);
    if (entries)
      for (const EntryDraft& entry : *entries)
        cbor::Map(list).text("name", entry.name).text("hash", entry.hash).end();
    map.raw(def_list_name(kind), list);
  }
}

std::string written_defaults(const ManifestDraft& manifest) {
  std::string grants;
  cbor::put_array(grants, manifest.grants.size());
  for (const GrantDraft& grant : manifest.grants) {
    cbor::Map map(grants);
    map.text("name", grant.name).text("cap", grant.cap).raw("params", grant.params.value_or(""));
    if (grant.expiry_ns) map.integer("expiry_ns", *grant.expiry_ns);
    map.end();
  }
  std::string out;
  cbor::Map map(out);
  if (manifest.policy) map.text("policy", *manifest.policy);
  map.raw("cap_grants", grants).end();
  return out;
}

std::string written_bindings(const ManifestDraft& manifest) {
  std::string out;
  cbor::Map map(out);
  for (const BindingDraft& binding : manifest.bindings) {
    std::string slots, entry;
    cbor::Map slot_map(slots);
    for (const auto& [slot, grant] : binding.slots) slot_map.text(slot, grant);
    slot_map.end();
    cbor::Map(entry).raw("slots", slots).end();
    map.raw(binding.module, entry);
  }
  map.end();
  return out;
}

std::string written_routing(const ManifestDraft& manifest) {
  std::string routes, inboxes, out;
  cbor::put_array(routes, manifest.routes.size());
  for (const RouteDraft& route : manifest.routes) {
    cbor::Map map(routes);
    map.text("event", route.event).text("module", route.module);
    if (route.key_field) map.text("key_field", *route.key_field);
    map.end();
  }
  cbor::put_array(inboxes, manifest.inboxes.size());
  for (const InboxDraft& inbox : manifest.inboxes)
    cbor::Map(inboxes).text("source", inbox.source).text("workflow", inbox.workflow).end();
  cbor::Map(out).raw("subscriptions", routes).raw("inboxes", inboxes).end();
  return out;
}

std::string written_limits(const LimitsDraft& limits) {
  std::string out;
  cbor::Map map(out);
  if (limits.fuel) map.nat("fuel", *limits.fuel);
  if (limits.memory_pages) map.nat("memory_pages", *limits.memory_pages);
  map.end();
  return out;
}

}  // namespace

std::string_view def_list_name(DefKind kind) {
  switch (kind) {
    case DefKind::Schema:
      return "schemas";
    case DefKind::Module:
      return "modules";
    case DefKind::Effect:
      return "effects";
    case DefKind::Cap:
      return "caps";
    case DefKind::Policy:
      return "policies";
    case DefKind::Secret:
      return "secrets";
  }
  return {};
}

ManifestDraft read_manifest(const cbor::Item& manifest, Complaints& faults, Complaints& warnings) {
  ManifestDraft draft;
  const Members members(manifest, "/manifest",
                        {"$kind", "air_version", "schemas", "modules", "effects", "caps",
                         "policies", "secrets", "defaults", "module_bindings", "routing", "limits"},
                        faults);
  if (const cbor::Item* kind = members.find("$kind")) {
    draft.says_kind = true;
    if (!(kind->is_text() && kind->string == "manifest"))
      complain(faults, members.path("$kind"), "kind.unknown", "must be manifest");
  }
  read_air_version(members, faults);
  for (const DefKind kind : kDefKinds) read_list(members, kind, draft, faults);
  read_defaults(members, draft, faults);
  read_bindings(members, draft, faults);
  read_routing(members, draft, faults, warnings);
  read_limits(members, draft, faults);
  return draft;
}

std::string write_manifest(const ManifestDraft& manifest) {
  std::string out;
  cbor::Map map(out);
  if (manifest.says_kind) map.text("$kind", "manifest");
  map.text("air_version", "1");
  write_lists(manifest, map);
  map.raw("defaults", written_defaults(manifest));
  map.raw("module_bindings", written_bindings(manifest));
  map.raw("routing", written_routing(manifest));
  if (manifest.limits) map.raw("limits", written_limits(*manifest.limits));
  map.end();
  return out;
}

}  // namespace pawl::worlds
