// StoredDefinition: a registered version of a definition, as its document holds it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.h"

namespace pawl {

struct StoredDefinition {
  std::string name;
  std::string version;
  uint32_t number = 0;    // counts versions; the highest is the one that runs by default
  std::string canonical;  // compact JSON
  std::string description;
  std::string input_schema;   // JSON
  std::string output_schema;  // JSON
  std::string triggers;       // JSON
  int64_t created_ms = 0;
  bool removed = false;  // removed while it had live runs, which still need the text

  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "version", self.version);
    visit(3, "number", self.number);
    visit(4, "canonical", self.canonical);
    visit(5, "description", self.description);
    visit(6, "input_schema", self.input_schema);
    visit(7, "output_schema", self.output_schema);
    visit(8, "triggers", self.triggers);
    visit(9, "created_ms", self.created_ms);
    visit(10, "removed", self.removed);
  }
};

// The data of a version for lists: all but its text.
struct DefinitionHead {
  std::string name;
  std::string version;
  uint32_t number = 0;
  std::string description;
  int64_t created_ms = 0;
  bool removed = false;
};

inline DefinitionHead head_of(const StoredDefinition& stored) {
  return {stored.name,        stored.version,    stored.number,
          stored.description, stored.created_ms, stored.removed};
}

// name, unit separator, version: the versions of one definition are adjacent.
inline std::string definition_key(std::string_view name, std::string_view version) {
  return std::string(name).append(1, '\x1f').append(version);
}

}  // namespace pawl
