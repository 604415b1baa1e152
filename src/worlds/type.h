// Type: what a schema of a world says a value is. Values live as canonical CBOR bytes; JSON is only
// read and printed at the edges.
//
// The functions take types whose refs were resolved (Types::resolve): every ref points to another
// Type, there is no recursion, and with its refs a type is at most kTypeDepthMax levels deep. A ref
// that was not resolved has no values.
//
// Types do not change once they are resolved; then any thread may use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "worlds/cbor.h"

namespace pawl::worlds {

constexpr size_t kTypeDepthMax = 64;
// Of one encoded value. Fields that are left out in JSON take bytes in CBOR: so a small text could
// stand for a value that fills the memory.
constexpr size_t kValueBytesMax = 16u << 20;

enum class TypeKind : uint8_t {
  Bool,
  Int,
  Nat,
  Dec128,
  Bytes,
  Text,
  Time,
  Duration,
  Hash,
  Uuid,
  Unit,
  Record,
  Variant,
  List,
  Set,
  Map,
  Option,
  Ref,
};

struct Type {
  TypeKind kind = TypeKind::Unit;
  // Record: fields; Variant: arms. In the order of their names' encodings (shorter first, then
  // bytewise).
  std::vector<std::pair<std::string, Type>> members;
  std::vector<Type> inner;             // List, Set, Option: one; Map: key, value
  std::string ref;                     // Ref: the schema's name
  std::shared_ptr<const Type> target;  // Ref: what it names, once resolved; else null

  // Defined in type.cc, so that vectors of members are made where Type is complete.
  Type();
  Type(const Type& other);
  Type(Type&& other) noexcept;
  Type& operator=(const Type& other);
  Type& operator=(Type&& other) noexcept;
  ~Type();

  const Type* member(std::string_view name) const;
  size_t index_of(std::string_view name) const;  // of a member; members.size() if there is none
  // This, or what it refers to at the end of all refs.
  const Type& plain() const;
};

std::string_view type_name(TypeKind kind);  // as type expressions have it: "bool", "record" …
// What keys of maps may be: int, nat, text, uuid, hash.
bool is_key_kind(TypeKind kind);

// Reads a type expression such as {"record": {"n": {"nat": {}}}}. Complaints have JSON pointers
// below `path` and codes of the manifest reader (type.invalid, field.unknown …).
Type read_type(const cbor::Item& expression, const std::string& path,
               std::vector<Complaint>& faults);

// Schemas by name.
class Types {
 public:
  void add(const std::string& name, Type type);
  std::shared_ptr<const Type> find(std::string_view name) const;
  // Points every ref to its target. Complains of unknown names (ref.unknown), and of recursion, too
  // many levels, and keys and options that turn out to be impossible (type.invalid). Complaints
  // have JSON pointers below those of the schemas' type expressions in `paths`. A ref that is
  // complained of stays unresolved.
  void resolve(const std::map<std::string, std::string>& paths, std::vector<Complaint>& faults);
  // Resolves the refs of a type outside the table (a cap's schema). The table's own are resolved
  // before.
  void resolve(Type& type, const std::string& path, std::vector<Complaint>& faults) const;

 private:
  struct Schema {
    std::shared_ptr<Type> type;
    size_t levels = 0;  // with all that it refers to; 0: not resolved
  };
  class Resolver;
  class Graph;

  std::map<std::string, Schema, std::less<>> schemas_;
};

enum class Lens : uint8_t { Sugar, Tagged };

// Each gives canonical CBOR, or InvalidContent with the place and what is expected there.
Result<std::string> from_json(const Type& type, json::View value, Lens lens = Lens::Sugar);
// CBOR in the sugar's shapes with native types; text never passes for bytes, int or bool.
Result<std::string> from_cbor(const Type& type, std::string_view bytes);
Result<std::string> from_cbor(const Type& type, const cbor::Item& item);

// Canonical bytes of this type as sugar JSON. The bytes must be valid.
void append_json(std::string& out, const Type& type, std::string_view canonical);
void append_json(std::string& out, const Type& type, const cbor::Item& item);

// JSON -> canonical CBOR without a schema (nodes, signed payloads): as expected; numbers that are
// no integers are refused.
Result<std::string> from_plain_json(json::View value);

// The item at a dotted path of a value ("order.id", "$value.id" enters a variant's arm) and its
// type, behind refs and options. Nothing if the value has none there: another arm, no arm's value,
// an option that is null. A path that the type can never have is a fault of the manifest: see
// path_type().
struct Place {
  const cbor::Item* item = nullptr;
  const Type* type = nullptr;
};
Place find_path(const Type& type, const cbor::Item& value, std::string_view path);
// The same in canonical bytes, without reading them as items: the encoding of what is there, or
// nothing.
std::string_view find_bytes(const Type& type, std::string_view canonical, std::string_view path);
// The type at that path, behind refs and options, for checking a manifest; null if no arm has it,
// or arms disagree.
const Type* path_type(const Type& type, std::string_view path);

}  // namespace pawl::worlds
