#include "worlds/program.h"

namespace pawl::worlds {

std::string_view origin_name(OriginKind kind) {
  switch (kind) {
    case OriginKind::Workflow:
      return "workflow";
    case OriginKind::System:
      return "system";
    case OriginKind::Governance:
      return "governance";
  }
  return {};
}

std::optional<OriginKind> parse_origin(std::string_view name) {
  for (const OriginKind kind : {OriginKind::Workflow, OriginKind::System, OriginKind::Governance})
    if (origin_name(kind) == name) return kind;
  return std::nullopt;
}

const Module* Program::module(std::string_view name) const {
  const auto found = modules.find(name);
  return found == modules.end() ? nullptr : &found->second;
}

const Effect* Program::effect(std::string_view kind) const {
  const auto found = effects.find(kind);
  return found == effects.end() ? nullptr : &found->second;
}

std::string arm_of(const Type& type, std::string_view schema) {
  const Type& plain = type.plain();
  if (plain.kind != TypeKind::Variant) return {};
  for (const auto& [name, arm] : plain.members)
    if (arm.kind == TypeKind::Ref && arm.ref == schema) return name;
  return {};
}

}  // namespace pawl::worlds
