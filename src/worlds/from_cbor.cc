// CBOR through a type. Bytes that are canonical already, as those of a careful module are, are only
// looked over; others are read as items and written again.
#include <optional>

#include "worlds/cbor_head.h"
#include "worlds/hash.h"
#include "worlds/type.h"
#include "worlds/value_rules.h"

namespace pawl::worlds {
namespace {

using cbor::Item;

// Whether bytes are the canonical encoding of a value of a type.
class CanonicalCheck {
 public:
  explicit CanonicalCheck(std::string_view bytes) : bytes_(bytes) {}

  bool run(const Type& type) { return value(type, 0) && at_ == bytes_.size(); }

 private:
  // The next head, if it is the shortest one and of this major type.
  bool head(uint8_t major, uint64_t& argument) {
    cbor::Head head;
    if (!cbor::take_head(bytes_, at_, head)) return false;
    argument = head.argument;
    return head.major == major && head.shortest && head.info <= 27;
  }

  bool literal(std::string_view bytes) {
    if (bytes_.substr(at_, bytes.size()) != bytes) return false;
    at_ += bytes.size();
    return true;
  }

  // A string of this major type.
  bool string(uint8_t major, std::string_view& out) {
    uint64_t size = 0;
    if (!head(major, size) || size > bytes_.size() - at_) return false;
    out = bytes_.substr(at_, static_cast<size_t>(size));
    at_ += out.size();
    return true;
  }

  bool name(std::string_view name) {
    std::string_view found;
    return string(cbor::kMajorText, found) && found == name;
  }

  bool value(const Type& declared, size_t depth) {
    const Type& type = declared.plain();
    switch (type.kind) {
      case TypeKind::Bool:
        return literal("\xf4") || literal("\xf5");
      case TypeKind::Int:
      case TypeKind::Nat:
      case TypeKind::Time:
      case TypeKind::Duration:
        return integer(type.kind);
      case TypeKind::Dec128:
      case TypeKind::Text:
      case TypeKind::Hash:
      case TypeKind::Uuid:
        return text(type.kind);
      case TypeKind::Bytes: {
        std::string_view bytes;
        return string(cbor::kMajorBytes, bytes);
      }
      case TypeKind::Unit:
        return literal("\xf6");
      case TypeKind::Option:
        return literal("\xf6") || value(type.inner.front(), depth);
      case TypeKind::Record:
        return depth < cbor::kDepthMax && record(type, depth);
      case TypeKind::Variant:
        return depth < cbor::kDepthMax && variant(type, depth);
      case TypeKind::List:
        return depth < cbor::kDepthMax && list(type, depth);
      case TypeKind::Set:
        return depth < cbor::kDepthMax && set(type, depth);
      case TypeKind::Map:
        return depth < cbor::kDepthMax && map(type, depth);
      case TypeKind::Ref:
        return false;
    }
    return false;
  }

  bool integer(TypeKind kind) {
    cbor::Head head;
    return cbor::take_head(bytes_, at_, head) && head.major <= cbor::kMajorNegative &&
           head.shortest && head.info <= 27 &&
           fits(kind, Integer{head.major == cbor::kMajorNegative, head.argument});
  }

  bool text(TypeKind kind) {
    std::string_view text;
    if (!string(cbor::kMajorText, text)) return false;
    if (kind == TypeKind::Dec128) return is_dec128(text);
    if (kind == TypeKind::Hash) return is_hash(text);
    if (kind == TypeKind::Uuid) return is_folded_uuid(text);
    return cbor::is_utf8(text);
  }

  bool record(const Type& type, size_t depth) {
    uint64_t count = 0;
    if (!head(cbor::kMajorMap, count) || count != type.members.size()) return false;
    for (const auto& [field, member] : type.members)
      if (!name(field) || !value(member, depth + 1)) return false;
    return true;
  }

  bool variant(const Type& type, size_t depth) {
    uint64_t count = 0;
    std::string_view tag;
    if (!head(cbor::kMajorMap, count) || !name("$tag") || !string(cbor::kMajorText, tag))
      return false;
    const Type* arm = type.member(tag);
    if (arm == nullptr) return false;
    if (arm->plain().kind == TypeKind::Unit) return count == 1;
    return count == 2 && name("$value") && value(*arm, depth + 1);
  }

  bool list(const Type& type, size_t depth) {
    uint64_t count = 0;
    if (!head(cbor::kMajorArray, count)) return false;
    for (; count > 0; --count)
      if (!value(type.inner.front(), depth + 1)) return false;
    return true;
  }

  // What value() reads next, if it comes behind `last`, which it becomes.
  bool ascending(const Type& type, size_t depth, std::string_view& last) {
    const size_t begin = at_;
    if (!value(type, depth)) return false;
    const std::string_view found = bytes_.substr(begin, at_ - begin);
    if (found <= last) return false;
    last = found;
    return true;
  }

  bool set(const Type& type, size_t depth) {
    uint64_t count = 0;
    if (!head(cbor::kMajorArray, count)) return false;
    std::string_view last;
    for (; count > 0; --count)
      if (!ascending(type.inner.front(), depth + 1, last)) return false;
    return true;
  }

  bool map(const Type& type, size_t depth) {
    uint64_t count = 0;
    if (!head(cbor::kMajorMap, count)) return false;
    std::string_view last;
    for (; count > 0; --count)
      if (!ascending(type.inner[0], depth + 1, last) || !value(type.inner[1], depth + 1))
        return false;
    return true;
  }

  const std::string_view bytes_;
  size_t at_ = 0;
};

class ItemReader : public ValueSink {
 public:
  explicit ItemReader(size_t size_guess) : ValueSink(size_guess) {}

  bool value(const Type& declared, const Item& item, const Spot* spot, size_t depth) {
    const Type& type = declared.plain();
    switch (type.kind) {
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
        return scalar(type.kind, item) || fail(spot, type);
      case TypeKind::Record:
        return record(type, item, spot, depth);
      case TypeKind::Variant:
        return variant(type, item, spot, depth);
      case TypeKind::List:
        return list(type, item, spot, depth);
      case TypeKind::Set:
        return set(type, item, spot, depth);
      case TypeKind::Map:
        return map(type, item, spot, depth);
      case TypeKind::Option:
        if (item.is_null()) return cbor::put_null(out_), true;
        return value(type.inner.front(), item, spot, depth);
      case TypeKind::Ref:
        break;
    }
    return fail(spot, type);
  }

 private:
  bool scalar(TypeKind kind, const Item& item) {
    if (kind == TypeKind::Bytes) {
      if (item.is_bytes()) cbor::put_bytes(out_, item.string);
      return item.is_bytes();
    }
    if (item.is_text()) {
      const bool text = kind == TypeKind::Text || kind == TypeKind::Dec128 ||
                        kind == TypeKind::Hash || kind == TypeKind::Uuid;
      return text && put_text_of(kind, item.string);
    }
    if (item.kind == cbor::Kind::Nat || item.kind == cbor::Kind::Negative) {
      const Integer integer{item.kind == cbor::Kind::Negative, item.number};
      const bool number = kind == TypeKind::Int || kind == TypeKind::Nat ||
                          kind == TypeKind::Time || kind == TypeKind::Duration;
      if (!number || !fits(kind, integer)) return false;
      return put_integer(integer), true;
    }
    const bool boolean = item.kind == cbor::Kind::True || item.kind == cbor::Kind::False;
    if (kind == TypeKind::Bool && boolean)
      return cbor::put_bool(out_, item.kind == cbor::Kind::True), true;
    if (kind == TypeKind::Unit && item.is_null()) return cbor::put_null(out_), true;
    return false;
  }

  bool record(const Type& type, const Item& item, const Spot* spot, size_t depth) {
    if (!item.is_map()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t base = fields_.size();
    fields_.resize(base + type.members.size(), nullptr);
    const bool good = find_fields(type, item, base, spot) && put_fields(type, base, spot, depth);
    fields_.resize(base);
    return good;
  }

  bool find_fields(const Type& type, const Item& item, size_t base, const Spot* spot) {
    for (size_t i = 0; i + 1 < item.items.size(); i += 2) {
      const Item& key = item.items[i];
      if (!key.is_text()) return fail(spot, "a key of a record is no text");
      const Spot at{spot, key.string};
      const size_t index = type.index_of(key.string);
      if (index == type.members.size()) return fail(&at, "there is no such field");
      if (fields_[base + index] != nullptr) return fail(&at, "stands twice");
      fields_[base + index] = &item.items[i + 1];
    }
    return true;
  }

  bool put_fields(const Type& type, size_t base, const Spot* spot, size_t depth) {
    cbor::put_map(out_, type.members.size());
    for (size_t i = 0; i < type.members.size(); ++i) {
      const auto& [name, member] = type.members[i];
      const Spot at{spot, name};
      cbor::put_text(out_, name);
      if (const Item* field = fields_[base + i]; field != nullptr) {
        if (!value(member, *field, &at, depth + 1)) return false;
      } else if (member.plain().kind == TypeKind::Option) {
        cbor::put_null(out_);
      } else {
        return fail(&at, "is missing");
      }
    }
    return true;
  }

  bool variant(const Type& type, const Item& item, const Spot* spot, size_t depth) {
    const size_t size = item.items.size() / 2;
    if (!item.is_map() || size == 0 || size > 2) return fail(spot, type);
    const Item* tag = item.find("$tag");
    const Item* payload = item.find("$value");
    if (tag == nullptr) {
      if (size != 1 || payload != nullptr) return fail(spot, type);
      tag = &item.items[0];
      payload = &item.items[1];
    } else if (size == 2 && payload == nullptr) {
      return fail(spot, type);
    }
    if (!tag->is_text()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t index = type.index_of(tag->string);
    if (index == type.members.size()) return fail(spot, "there is no arm of this name");
    const auto& [name, arm] = type.members[index];
    const Spot at{spot, name};
    const bool unit = arm.plain().kind == TypeKind::Unit;
    cbor::put_map(out_, unit ? 1 : 2);
    cbor::put_text(out_, "$tag");
    cbor::put_text(out_, name);
    if (unit) return payload == nullptr || payload->is_null() || fail(&at, arm.plain());
    if (payload == nullptr) return fail(&at, "the arm's value is missing");
    cbor::put_text(out_, "$value");
    return value(arm, *payload, &at, depth + 1);
  }

  bool list(const Type& type, const Item& item, const Spot* spot, size_t depth) {
    if (!item.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    cbor::put_array(out_, item.items.size());
    Spot at{spot};
    for (const Item& element : item.items) {
      if (!value(type.inner.front(), element, &at, depth + 1)) return false;
      ++at.index;
    }
    return true;
  }

  bool set(const Type& type, const Item& item, const Spot* spot, size_t depth) {
    if (!item.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t begin = out_.size();
    const size_t first_part = parts_.size();
    Spot at{spot};
    for (const Item& element : item.items) {
      const size_t from = out_.size();
      if (!value(type.inner.front(), element, &at, depth + 1)) return false;
      parts_.push_back({from, out_.size(), out_.size()});
      ++at.index;
    }
    end_set(begin, first_part);
    return true;
  }

  bool map(const Type& type, const Item& item, const Spot* spot, size_t depth) {
    if (!item.is_map() && !item.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t first_part = parts_.size();
    Spot at{spot};
    if (item.is_map()) {
      cbor::put_map(out_, item.items.size() / 2);
      for (size_t i = 0; i + 1 < item.items.size(); i += 2, ++at.index) {
        at.name = item.items[i].is_text() ? item.items[i].string : std::string_view();
        if (!entry(type, item.items[i], item.items[i + 1], &at, depth)) return false;
      }
    } else {
      cbor::put_map(out_, item.items.size());
      for (const Item& pair : item.items) {
        if (!pair.is_array() || pair.items.size() != 2)
          return fail(&at, "expected a key with a value");
        if (!entry(type, pair.items[0], pair.items[1], &at, depth)) return false;
        ++at.index;
      }
    }
    return end_map(first_part) || fail(spot, "a key stands twice");
  }

  bool entry(const Type& type, const Item& key, const Item& member, const Spot* spot,
             size_t depth) {
    cbor::Part part{out_.size(), 0, 0};
    if (!value(type.inner[0], key, spot, depth + 1)) return false;
    part.key_end = out_.size();
    if (!value(type.inner[1], member, spot, depth + 1)) return false;
    part.end = out_.size();
    parts_.push_back(part);
    return true;
  }

  std::vector<const Item*> fields_;  // of all records that are being read, the outer ones first
};

}  // namespace

Result<std::string> from_cbor(const Type& type, std::string_view bytes) {
  if (CanonicalCheck(bytes).run(type)) return std::string(bytes);
  PAWL_TRY(const cbor::Item item, cbor::read(bytes));
  ItemReader reader(bytes.size());
  return reader.take(reader.value(type, item, nullptr, 0));
}

Result<std::string> from_cbor(const Type& type, const cbor::Item& item) {
  ItemReader reader(0);
  return reader.take(reader.value(type, item, nullptr, 0));
}

}  // namespace pawl::worlds
