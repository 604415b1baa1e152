#include "worlds/testing/values.h"

#include "base/ascii.h"
#include "base/check.h"
#include "base/hash.h"

namespace pawl::worlds {
namespace {

std::string hex_or_message(const Result<std::string>& bytes) {
  return bytes.ok() ? to_hex(*bytes) : bytes.error().message;
}

Types types_of(std::string_view schemas_json) {
  const std::string bytes = cbor_of(schemas_json);
  const auto schemas = cbor::read(bytes);
  PAWL_CHECK(schemas.ok());
  Types types;
  std::vector<Complaint> faults;
  for (size_t i = 0; i < schemas->items.size(); i += 2)
    types.add(std::string(schemas->items[i].string), read_type(schemas->items[i + 1], "", faults));
  types.resolve({}, faults);
  PAWL_CHECK(faults.empty());
  return types;
}

}  // namespace

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(hex_digit(hex[i]) << 4 | hex_digit(hex[i + 1])));
  return out;
}

std::string cbor_of(std::string_view json) {
  const auto doc = json::parse(json);
  PAWL_CHECK(doc.ok());
  auto bytes = from_plain_json(doc->root());
  PAWL_CHECK(bytes.ok());
  return std::move(bytes).value();
}

Type type_of(std::string_view type_json) { return type_of(type_json, "{}"); }

Type type_of(std::string_view type_json, std::string_view schemas_json) {
  const std::string bytes = cbor_of(type_json);
  const auto item = cbor::read(bytes);
  PAWL_CHECK(item.ok());
  std::vector<Complaint> faults;
  Type type = read_type(*item, "", faults);
  types_of(schemas_json).resolve(type, "", faults);
  PAWL_CHECK(faults.empty());
  return type;
}

std::string json_to_hex(const Type& type, std::string_view json, Lens lens) {
  const auto doc = json::parse(json);
  return doc.ok() ? hex_or_message(from_json(type, doc->root(), lens)) : doc.error().message;
}

std::string cbor_to_hex(const Type& type, std::string_view hex) {
  return hex_or_message(from_cbor(type, from_hex(hex)));
}

std::string hex_to_json(const Type& type, std::string_view hex) {
  std::string out;
  append_json(out, type, from_hex(hex));
  return out;
}

}  // namespace pawl::worlds
