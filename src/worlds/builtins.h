// sys/*: the schemas, effects and caps that every world has. They are in no manifest, and nobody
// can define them; their kinds of effects are the server's own.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "worlds/cbor.h"
#include "worlds/fault.h"
#include "worlds/program.h"

namespace pawl::worlds {

struct BuiltinSchema {
  std::string_view name;
  std::string_view type;  // type expression, as JSON
};
std::span<const BuiltinSchema> builtin_schemas();

// To be resolved with the others.
void add_builtin_types(Types& types);
// Once the program's types are resolved.
void add_builtin_effects(Program& program);
void add_builtin_caps(Program& program);

bool is_builtin_effect(std::string_view kind);   // one that the adapter `pawl` serves
bool is_reserved_effect(std::string_view kind);  // that, or a verb of governance

// Whether a grant of a sys cap lets these params through: its cap's type (http.out, job, run;
// others have nothing to check), and both params as their schemas have them. A fault of code
// `constraint` denies.
//
// Hosts, schemes and methods are compared without regard to case. A URL is taken apart only in its
// plain form: a user, escapes or other than ASCII in the authority, blanks or control characters
// anywhere are denied where hosts or schemes are constrained, since the client that follows might
// read another host there. An effect without a queue goes to "default", and one that its options
// name counts as well.
std::optional<Fault> check_builtin_cap(std::string_view cap_type, const cbor::Item& grant_params,
                                       const cbor::Item& effect_params);

}  // namespace pawl::worlds
