#include "worlds/testing/random_value.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "worlds/cbor_head.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

using cbor::Item;

constexpr TypeKind kScalars[] = {TypeKind::Bool,   TypeKind::Int,      TypeKind::Nat,
                                 TypeKind::Dec128, TypeKind::Bytes,    TypeKind::Text,
                                 TypeKind::Time,   TypeKind::Duration, TypeKind::Hash,
                                 TypeKind::Uuid,   TypeKind::Unit};
constexpr TypeKind kKeys[] = {TypeKind::Int, TypeKind::Nat, TypeKind::Text, TypeKind::Uuid,
                              TypeKind::Hash};
constexpr std::string_view kNames[] = {"a",        "b", "cc",  "dd",
                                       "order_id", "Z", "_x1", "a_name_of_some_twenty_seven"};

std::string scalar_type(TypeKind kind) { return "{\"" + std::string(type_name(kind)) + "\":{}}"; }

template <class T>
void shuffle(Choices& choices, std::vector<T>& items) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[choices.below(i)]);
}

std::string in_quotes(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

// Some characters as escapes.
std::string in_quotes(Choices& choices, std::string_view text) {
  std::string out = in_quotes(text);
  if (text.empty() || static_cast<unsigned char>(text.front()) >= 0x7f || text.front() < ' ' ||
      !choices.chance(3))
    return out;
  const size_t front = out[1] == '\\' ? 2 : 1;
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(text.front());
  return std::string("\"\\u00") + kHex[byte >> 4] + kHex[byte & 15] + out.substr(front + 1);
}

std::string joined(const std::vector<std::string>& parts, char open, char close) {
  std::string out(1, open);
  for (const std::string& part : parts) {
    if (out.size() > 1) out += ',';
    out += part;
  }
  return out + close;
}

std::string random_text(Choices& choices) {
  constexpr std::string_view kTexts[] = {
      "", "a", "b", "ab", "ä", "😀", "\"\\\n", "order-1", "0", "text with 24 characters."};
  std::string out(kTexts[choices.below(std::size(kTexts))]);
  if (choices.chance(4)) out += std::to_string(choices.below(1000));
  return out;
}

std::string random_hash(Choices& choices) {
  return hash_of_bytes(std::to_string(choices.below(50)));
}

std::string random_uuid(Choices& choices) { return Uuid{choices.any(), choices.any()}.text(); }

std::string random_dec128(Choices& choices) {
  std::string out = std::to_string(choices.below(10'000));
  if (choices.chance(2)) out += "." + std::to_string(choices.below(1000));
  const bool zero = out.find_first_of("123456789") == std::string::npos;
  return !zero && choices.chance(2) ? "-" + out : out;
}

std::string random_scalar(Choices& choices, TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return choices.chance(2) ? "true" : "false";
    case TypeKind::Int:
    case TypeKind::Duration:
      return std::to_string(static_cast<int64_t>(choices.any()));
    case TypeKind::Nat:
      return std::to_string(choices.any());
    case TypeKind::Time:
      return std::to_string(choices.any() >> 1);
    case TypeKind::Dec128:
      return in_quotes(random_dec128(choices));
    case TypeKind::Bytes:
      return in_quotes(base64(random_text(choices)));
    case TypeKind::Text:
      return in_quotes(random_text(choices));
    case TypeKind::Hash:
      return in_quotes(random_hash(choices));
    case TypeKind::Uuid:
      return in_quotes(random_uuid(choices));
    case TypeKind::Unit:
    case TypeKind::Record:
    case TypeKind::Variant:
    case TypeKind::List:
    case TypeKind::Set:
    case TypeKind::Map:
    case TypeKind::Option:
    case TypeKind::Ref:
      break;
  }
  return "null";
}

std::vector<std::pair<std::string, std::string>> random_members(Choices& choices, size_t levels,
                                                                size_t least) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const std::string_view name : kNames)
    if (choices.chance(3) || members.size() < least)
      members.emplace_back(name, random_type(choices, levels - 1));
  return members;
}

std::string scalar_json(const Item& item) {
  std::string out;
  cbor::append_json(out, item);
  return out;
}

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

class JsonSpeller {
 public:
  JsonSpeller(Choices& choices, Lens lens) : choices_(choices), tagged_(lens == Lens::Tagged) {}

  std::string spell(const Type& declared, const Item& item) {
    const Type& type = declared.plain();
    if (type.kind == TypeKind::Option) {
      if (!item.is_null()) return spell(type.inner[0], item);
      return tagged_ ? "{\"null\":{}}" : "null";
    }
    std::string body = spell_body(type, item);
    if (!tagged_) return body;
    return "{\"" + std::string(type_name(type.kind)) + "\":" + body + "}";
  }

 private:
  std::string spell_body(const Type& type, const Item& item) {
    switch (type.kind) {
      case TypeKind::Uuid:
        return in_quotes(choices_.chance(2) ? upper_case(std::string(item.string))
                                            : std::string(item.string));
      case TypeKind::Text:
        return in_quotes(choices_, item.string);
      case TypeKind::Unit:
        return tagged_ ? "{}" : "null";
      case TypeKind::Record:
        return record(type, item);
      case TypeKind::Variant:
        return variant(type, item);
      case TypeKind::List:
      case TypeKind::Set:
        return list(type, item);
      case TypeKind::Map:
        return map(type, item);
      case TypeKind::Bool:
      case TypeKind::Int:
      case TypeKind::Nat:
      case TypeKind::Dec128:
      case TypeKind::Bytes:
      case TypeKind::Time:
      case TypeKind::Duration:
      case TypeKind::Hash:
      case TypeKind::Option:
      case TypeKind::Ref:
        break;
    }
    return scalar_json(item);
  }

  std::string record(const Type& type, const Item& item) {
    std::vector<std::string> members;
    for (size_t i = 0; i < type.members.size(); ++i) {
      const auto& [name, member] = type.members[i];
      const Item& field = item.items[2 * i + 1];
      if (field.is_null() && member.plain().kind == TypeKind::Option && choices_.chance(2))
        continue;
      members.push_back(in_quotes(choices_, name) + ":" + spell(member, field));
    }
    shuffle(choices_, members);
    return joined(members, '{', '}');
  }

  std::string variant(const Type& type, const Item& item) {
    const std::string tag(item.find("$tag")->string);
    const Type& arm = *type.member(tag);
    const bool unit = arm.plain().kind == TypeKind::Unit;
    static const Item kNull;
    const std::string value = spell(arm, unit ? kNull : *item.find("$value"));
    if (!tagged_ && choices_.chance(2)) return "{" + in_quotes(choices_, tag) + ":" + value + "}";
    std::vector<std::string> members{(tagged_ ? "\"tag\":" : "\"$tag\":") +
                                     in_quotes(choices_, tag)};
    if (!unit || choices_.chance(2))
      members.push_back((tagged_ ? "\"value\":" : "\"$value\":") + value);
    shuffle(choices_, members);
    return joined(members, '{', '}');
  }

  std::string list(const Type& type, const Item& item) {
    std::vector<std::string> elements;
    for (const Item& element : item.items) elements.push_back(spell(type.inner[0], element));
    if (type.kind == TypeKind::Set) {
      if (!item.items.empty() && choices_.chance(2))
        elements.push_back(spell(type.inner[0], item.items[0]));
      shuffle(choices_, elements);
    }
    return joined(elements, '[', ']');
  }

  std::string map(const Type& type, const Item& item) {
    const TypeKind key_kind = type.inner[0].plain().kind;
    const bool integers = key_kind == TypeKind::Int || key_kind == TypeKind::Nat;
    const bool object = !tagged_ && !integers && choices_.chance(2);
    std::vector<std::string> entries;
    for (size_t i = 0; i < item.items.size(); i += 2) {
      const std::string key = spell(type.inner[0], item.items[i]);
      const std::string value = spell(type.inner[1], item.items[i + 1]);
      std::string entry = tagged_ ? "{\"value\":" : object ? "" : "[";
      entry += tagged_ ? value : key;
      entry += tagged_ ? ",\"key\":" : object ? ":" : ",";
      entry += tagged_ ? key : value;
      entry += tagged_ ? "}" : object ? "" : "]";
      entries.push_back(std::move(entry));
    }
    shuffle(choices_, entries);
    return object ? joined(entries, '{', '}') : joined(entries, '[', ']');
  }

  Choices& choices_;
  const bool tagged_;
};

class CborSpeller {
 public:
  explicit CborSpeller(Choices& choices) : choices_(choices) {}

  std::string spell(const Type& declared, const Item& item) {
    const Type& type = declared.plain();
    switch (type.kind) {
      case TypeKind::Option:
        return item.is_null() ? plain(item) : spell(type.inner[0], item);
      case TypeKind::Uuid:
        return text(choices_.chance(2) ? upper_case(std::string(item.string))
                                       : std::string(item.string));
      case TypeKind::Record:
        return record(type, item);
      case TypeKind::Variant:
        return variant(type, item);
      case TypeKind::List:
      case TypeKind::Set:
        return list(type, item);
      case TypeKind::Map:
        return map(type, item);
      case TypeKind::Bool:
      case TypeKind::Int:
      case TypeKind::Nat:
      case TypeKind::Dec128:
      case TypeKind::Bytes:
      case TypeKind::Text:
      case TypeKind::Time:
      case TypeKind::Duration:
      case TypeKind::Hash:
      case TypeKind::Unit:
      case TypeKind::Ref:
        break;
    }
    return plain(item);
  }

  std::string plain(const Item& item) {
    switch (item.kind) {
      case cbor::Kind::Nat:
        return head(cbor::kMajorNat, item.number);
      case cbor::Kind::Negative:
        return head(cbor::kMajorNegative, item.number);
      case cbor::Kind::Bytes:
        return head(cbor::kMajorBytes, item.string.size()).append(item.string);
      case cbor::Kind::Text:
        return text(item.string);
      case cbor::Kind::Array: {
        std::string out = head(cbor::kMajorArray, item.items.size());
        for (const Item& element : item.items) out += plain(element);
        return out;
      }
      case cbor::Kind::Map: {
        std::vector<std::string> entries;
        for (size_t i = 0; i < item.items.size(); i += 2)
          entries.push_back(plain(item.items[i]) + plain(item.items[i + 1]));
        return shuffled(cbor::kMajorMap, std::move(entries));
      }
      case cbor::Kind::False:
        return "\xf4";
      case cbor::Kind::True:
        return "\xf5";
      case cbor::Kind::Null:
        break;
    }
    return "\xf6";
  }

 private:
  std::string head(uint8_t major, uint64_t argument) {
    std::string shortest;
    cbor::put_head(shortest, major, argument);
    const size_t size =
        choices_.below(6);  // of the argument: 1, 2, 4 or 8 bytes where they are more than needed
    if (size > 3 || (size_t{1} << size) < shortest.size()) return shortest;
    std::string out(1, static_cast<char>(major << 5 | (24 + size)));
    for (size_t i = size_t{1} << size; i > 0; --i)
      out.push_back(static_cast<char>(argument >> (8 * (i - 1)) & 0xff));
    return out;
  }

  std::string text(std::string_view text) {
    return head(cbor::kMajorText, text.size()).append(text);
  }

  std::string shuffled(uint8_t major, std::vector<std::string> parts) {
    shuffle(choices_, parts);
    std::string out = head(major, parts.size());
    for (const std::string& part : parts) out += part;
    return out;
  }

  std::string record(const Type& type, const Item& item) {
    std::vector<std::string> members;
    for (size_t i = 0; i < type.members.size(); ++i) {
      const auto& [name, member] = type.members[i];
      const Item& field = item.items[2 * i + 1];
      if (field.is_null() && member.plain().kind == TypeKind::Option && choices_.chance(2))
        continue;
      members.push_back(text(name) + spell(member, field));
    }
    return shuffled(cbor::kMajorMap, std::move(members));
  }

  std::string variant(const Type& type, const Item& item) {
    const std::string tag(item.find("$tag")->string);
    const Type& arm = *type.member(tag);
    const bool unit = arm.plain().kind == TypeKind::Unit;
    const std::string value = unit ? "\xf6" : spell(arm, *item.find("$value"));
    if (choices_.chance(2)) return shuffled(cbor::kMajorMap, {text(tag) + value});
    std::vector<std::string> members{text("$tag") + text(tag)};
    if (!unit) members.push_back(text("$value") + value);
    return shuffled(cbor::kMajorMap, std::move(members));
  }

  std::string list(const Type& type, const Item& item) {
    std::vector<std::string> elements;
    for (const Item& element : item.items) elements.push_back(spell(type.inner[0], element));
    if (type.kind == TypeKind::Set) {
      if (!item.items.empty() && choices_.chance(2))
        elements.push_back(spell(type.inner[0], item.items[0]));
      return shuffled(cbor::kMajorArray, std::move(elements));
    }
    std::string out = head(cbor::kMajorArray, elements.size());
    for (const std::string& element : elements) out += element;
    return out;
  }

  std::string map(const Type& type, const Item& item) {
    const bool pairs = choices_.chance(4);
    std::vector<std::string> entries;
    for (size_t i = 0; i < item.items.size(); i += 2)
      entries.push_back((pairs ? head(cbor::kMajorArray, 2) : "") +
                        spell(type.inner[0], item.items[i]) +
                        spell(type.inner[1], item.items[i + 1]));
    return shuffled(pairs ? cbor::kMajorArray : cbor::kMajorMap, std::move(entries));
  }

  Choices& choices_;
};

}  // namespace

uint64_t Choices::below(uint64_t bound) {
  if (seeded_) return (state_ = mix64(state_ + 1)) % bound;
  uint64_t value = 0;
  for (uint64_t reach = 1; reach < bound && reach < 65536 && !bytes_.empty(); reach <<= 8) {
    value = value << 8 | static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
  }
  return value % bound;
}

uint64_t Choices::any() {
  constexpr uint64_t kLimits[] = {0,
                                  23,
                                  24,
                                  255,
                                  256,
                                  65535,
                                  65536,
                                  UINT32_MAX,
                                  uint64_t{UINT32_MAX} + 1,
                                  INT64_MAX,
                                  uint64_t{1} << 63,
                                  UINT64_MAX};
  if (chance(2)) return kLimits[below(std::size(kLimits))];
  uint64_t value = 0;
  for (uint64_t i = below(9); i > 0; --i) value = value << 8 | below(256);
  return value;
}

std::string random_type(Choices& choices, size_t levels) {
  const uint64_t choice = levels == 0 ? 0 : choices.below(12);
  if (choice < 3) return scalar_type(kScalars[choices.below(std::size(kScalars))]);
  if (choice < 8) {
    const bool record = choice < 6;
    std::vector<std::string> members;
    for (const auto& [name, type] : random_members(choices, levels, record ? 0 : 1))
      members.push_back(in_quotes(name) + ":" + type);
    return std::string(record ? "{\"record\":" : "{\"variant\":") + joined(members, '{', '}') + "}";
  }
  if (choice == 8) return "{\"list\":" + random_type(choices, levels - 1) + "}";
  if (choice == 9) return "{\"set\":" + random_type(choices, levels - 1) + "}";
  if (choice == 10)
    return "{\"map\":{\"key\":" + scalar_type(kKeys[choices.below(std::size(kKeys))]) +
           ",\"value\":" + random_type(choices, levels - 1) + "}}";
  const std::string inner = random_type(choices, levels - 1);
  const bool good = !inner.starts_with("{\"option\"") && !inner.starts_with("{\"unit\"");
  return good ? "{\"option\":" + inner + "}" : inner;
}

std::string random_json(Choices& choices, const Type& declared) {
  const Type& type = declared.plain();
  std::vector<std::string> parts;
  switch (type.kind) {
    case TypeKind::Record:
      for (const auto& [name, member] : type.members)
        parts.push_back(in_quotes(name) + ":" + random_json(choices, member));
      return joined(parts, '{', '}');
    case TypeKind::Variant: {
      const auto& [name, arm] = type.members[choices.below(type.members.size())];
      return "{" + in_quotes(name) + ":" + random_json(choices, arm) + "}";
    }
    case TypeKind::List:
    case TypeKind::Set:
      for (uint64_t i = choices.below(choices.chance(8) ? 40 : 5); i > 0; --i)
        parts.push_back(random_json(choices, type.inner[0]));
      return joined(parts, '[', ']');
    case TypeKind::Map: {
      std::vector<std::string> keys;
      for (uint64_t i = choices.below(choices.chance(8) ? 40 : 5); i > 0; --i)
        keys.push_back(random_json(choices, type.inner[0]));
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      for (const std::string& key : keys)
        parts.push_back("[" + key + "," + random_json(choices, type.inner[1]) + "]");
      return joined(parts, '[', ']');
    }
    case TypeKind::Option:
      return choices.chance(3) ? "null" : random_json(choices, type.inner[0]);
    case TypeKind::Bool:
    case TypeKind::Int:
    case TypeKind::Nat:
    case TypeKind::Dec128:
    case TypeKind::Bytes:
    case TypeKind::Text:
    case TypeKind::Time:
    case TypeKind::Duration:
    case TypeKind::Hash:
    case TypeKind::Uuid:
    case TypeKind::Unit:
    case TypeKind::Ref:
      break;
  }
  return random_scalar(choices, type.kind);
}

std::string respell_json(Choices& choices, const Type& type, const cbor::Item& item, Lens lens) {
  return JsonSpeller(choices, lens).spell(type, item);
}

std::string respell_cbor(Choices& choices, const Type& type, const cbor::Item& item) {
  return CborSpeller(choices).spell(type, item);
}

std::string respell_cbor(Choices& choices, const cbor::Item& item) {
  return CborSpeller(choices).plain(item);
}

}  // namespace pawl::worlds
