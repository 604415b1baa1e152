#include "api/merge_patch.h"

#include <map>

#include "base/json_writer.h"

namespace pawl::api {
namespace {

using PatchMembers = std::map<std::string, json::View>;

PatchMembers members_of(const json::View* object) {
  PatchMembers members;
  if (object != nullptr)
    object->each_member([&](json::View key, json::View value) { members[key.string()] = value; });
  return members;
}

// Its depth is that of the patch, which the parser bounds.
std::string merged(const json::View* target, json::View patch) {
  if (!patch.is_object()) return std::string(patch.raw());
  PatchMembers old = members_of(target);
  PatchMembers changes = members_of(&patch);
  json::ObjectWriter w;
  for (const auto& [name, value] : old)
    if (changes.count(name) == 0) w.key(name).raw(value.raw());
  for (const auto& [name, value] : changes) {
    if (value.is_null()) continue;
    auto before = old.find(name);
    w.key(name).raw(merged(before == old.end() ? nullptr : &before->second, value));
  }
  return w.close();
}

}  // namespace

std::string merge_patch(json::View target, json::View patch) { return merged(&target, patch); }

}  // namespace pawl::api
