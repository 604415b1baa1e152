// The types of a world's schemas as declarations in the languages that modules are written in, with
// what reads and writes them by the SDKs of sdk/. For `pawl worlds types`.
//
// Deterministic: the same schemas give the same text. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "worlds/type.h"

namespace pawl::worlds {

enum class ModuleLanguage : uint8_t { Cpp, Rust, Ts };
std::optional<ModuleLanguage> parse_module_language(std::string_view name);  // cpp, rust, ts

// One declaration, of a type that needs a name: a schema, or a record or variant within one.
struct DeclaredType {
  enum class Kind : uint8_t { Record, Variant, Alias } kind = Kind::Alias;
  std::string name;
  std::string schema;  // "" for a type within one
  struct Member {
    std::string name;
    const Type* type = nullptr;
    std::string declared;  // of a record or variant right there: its name
  };
  std::vector<Member> members;  // of an alias: one
};

// Names of declared types, for the writers of the languages.
class TypeNames {
 public:
  virtual ~TypeNames() = default;
  // The declared name of a schema, or of a record or variant within one.
  virtual const std::string& name_of(const Type& type) const = 0;
};

// How a language spells types that have no declaration; list, map and option take those within.
struct TypeWords {
  std::string_view boolean, integer, natural, bytes, text, unit, list, map, option;
};
// `reference`: of a schema that is referred to.
std::string spell_type(const TypeWords& words, const Type& type, const TypeNames& names,
                       FunctionRef<std::string(const Type&)> reference);
inline std::string spell_type(const TypeWords& words, const Type& type, const TypeNames& names) {
  return spell_type(words, type, names, [&](const Type& named) { return names.name_of(named); });
}

std::string declare_cpp(const std::vector<DeclaredType>& types, const TypeNames& names);
std::string declare_rust(const std::vector<DeclaredType>& types, const TypeNames& names);
std::string declare_ts(const std::vector<DeclaredType>& types, const TypeNames& names);

// `nodes`: of the manifest; those that are no schemas are passed over. The built-in schemas that
// they refer to are declared too. InvalidContent with what is wrong with a schema.
Result<std::string> types_for(json::View nodes, ModuleLanguage language);

}  // namespace pawl::worlds
