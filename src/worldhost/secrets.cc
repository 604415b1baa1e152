#include "worldhost/secrets.h"

#include <map>

#include "actions/secret_binding.h"
#include "base/quote.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "worlds/hash.h"

namespace pawl {
namespace {

using worlds::Type;
using worlds::TypeKind;
using worlds::cbor::Item;
using Visit = FunctionRef<void(std::string& out, const std::string& name)>;

constexpr std::string_view kSecretRef = "sys/TextOrSecretRef@1";

std::string secret_name(const Item& reference) {
  const Item* alias = reference.find("alias");
  const Item* version = reference.find("version");
  if (alias == nullptr || version == nullptr) return "";
  return std::string(alias->string) + "@" + std::to_string(version->number);
}

void copy_params(std::string& out, const Type& given, const Item& item, Visit secret);

void copy_map(std::string& out, const Type& type, const Item& item, Visit secret) {
  worlds::cbor::put_map(out, item.items.size() / 2);
  for (size_t i = 0; i + 1 < item.items.size(); i += 2) {
    const Item& key = item.items[i];
    worlds::cbor::append(out, key);
    const bool is_record = type.kind == TypeKind::Record;  // whose `inner` is empty
    const Type* of = is_record ? type.member(key.string) : &type.inner.back();
    copy_params(out, *of, item.items[i + 1], secret);
  }
}

// The params again; `secret` writes what stands in the place of one.
void copy_params(std::string& out, const Type& given, const Item& item, Visit secret) {
  if (given.kind == TypeKind::Ref && given.ref == kSecretRef) {
    const Item* tag = item.find("$tag");
    const Item* value = item.find("$value");
    if (tag != nullptr && value != nullptr && tag->string == "secret")
      return secret(out, secret_name(*value));
    return worlds::cbor::append(out, item);
  }
  const Type& type = given.plain();
  const bool walks =
      !item.is_null() && (item.is_map() || item.is_array() || type.kind == TypeKind::Option);
  if (!walks) return worlds::cbor::append(out, item);
  if (type.kind == TypeKind::Option) return copy_params(out, type.inner.front(), item, secret);
  if (type.kind == TypeKind::Record || type.kind == TypeKind::Map)
    return copy_map(out, type, item, secret);
  if (type.kind == TypeKind::Variant && item.items.size() == 4) {
    const Item* tag = item.find("$tag");
    const Item* value = item.find("$value");
    worlds::cbor::Map map(out);
    map.text("$tag", tag->string);
    copy_params(map.value("$value"), *type.member(tag->string), *value, secret);
    return map.end();
  }
  if (type.kind == TypeKind::List || type.kind == TypeKind::Set) {
    worlds::cbor::put_array(out, item.items.size());
    for (const Item& element : item.items) copy_params(out, type.inner.front(), element, secret);
    return;
  }
  worlds::cbor::append(out, item);
}

}  // namespace

std::vector<std::string> named_secrets(const Type& type, std::string_view params) {
  std::vector<std::string> names;
  auto item = worlds::cbor::read(params);
  if (!item.ok()) return names;
  std::string unused;
  copy_params(unused, type, *item, [&](std::string& out, const std::string& name) {
    names.push_back(name);
    worlds::cbor::put_null(out);
  });
  return names;
}

Result<std::string> SecretOpener::reveal(const worlds::Program& program,
                                         const std::string& name) const {
  const Error unknown{ErrorCode::NotFound, "there is no secret " + in_quotes(name)};
  auto declared = program.secrets.find(name);
  if (declared == program.secrets.end() || vault_ == nullptr) return unknown;
  const worlds::Secret& secret = declared->second;
  std::optional<std::string> stored;
  PAWL_TRY_DO(line_.read([&](const State& state) {
    const Doc* doc = state.find_doc(DocKind::Secret, secret.binding_id);
    if (doc != nullptr) stored = doc->value;
  }));
  if (!stored) return unknown;
  auto text = actions::open_secret(*vault_, secret.binding_id, *stored);
  if (!text.ok()) return unknown;
  if (secret.expected_digest && *secret.expected_digest != worlds::hash_of_bytes(*text))
    return Error{ErrorCode::Conflict,
                 "secret " + in_quotes(name) + " is not the one that the world expects"};
  return text;
}

Result<std::string> SecretOpener::open(const worlds::Program& program, const Type& type,
                                       std::string_view params) const {
  std::map<std::string, std::string> opened;
  for (const std::string& name : named_secrets(type, params)) {
    PAWL_TRY(opened[name], reveal(program, name));
  }
  if (opened.empty()) return std::string(params);
  PAWL_TRY(Item item, worlds::cbor::read(params));
  std::string out;
  copy_params(out, type, item, [&](std::string& into, const std::string& name) {
    worlds::cbor::Map map(into);
    map.text("$tag", "literal").text("$value", opened.at(name)).end();
  });
  return out;
}

}  // namespace pawl
