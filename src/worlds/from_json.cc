// JSON through a type: the sugar that people write, and the tagged form, which names every type.
#include <cstring>

#include "base/base64.h"
#include "worlds/type.h"
#include "worlds/value_rules.h"

namespace pawl::worlds {
namespace {

using json::View;

// The text of a string or member name; `room` holds it if it has to be decoded.
std::string_view text_in(View string, std::string& room) {
  const std::string_view raw = string.raw();
  const std::string_view inner = raw.substr(1, raw.size() - 2);
  if (std::memchr(inner.data(), '\\', inner.size()) == nullptr) return inner;
  room = string.string();
  return room;
}

class JsonValueReader : public ValueSink {
 public:
  JsonValueReader(Lens lens, size_t size_guess) : ValueSink(size_guess), lens_(lens) {}

  bool value(const Type& declared, View v, const Spot* spot, size_t depth) {
    const Type& type = declared.plain();
    return lens_ == Lens::Sugar ? sugar(type, v, spot, depth) : tagged(type, v, spot, depth);
  }

 private:
  struct Member {
    View key;
    View value;
  };

  bool sugar(const Type& type, View v, const Spot* spot, size_t depth) {
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
        return scalar(type, v, spot);
      case TypeKind::Record:
        return record(type, v, spot, depth);
      case TypeKind::Variant:
        return sugar_variant(type, v, spot, depth);
      case TypeKind::List:
        return list(type, v, spot, depth);
      case TypeKind::Set:
        return set(type, v, spot, depth);
      case TypeKind::Map:
        return v.is_object() ? object_map(type, v, spot, depth) : pairs_map(type, v, spot, depth);
      case TypeKind::Option:
        if (v.is_null()) return cbor::put_null(out_), true;
        return value(type.inner.front(), v, spot, depth);
      case TypeKind::Ref:
        break;
    }
    return fail(spot, type);
  }

  bool tagged(const Type& type, View v, const Spot* spot, size_t depth) {
    Member only;
    const bool one = v.is_object() && v.size() == 1;
    if (one) only = first_member(v);
    if (type.kind == TypeKind::Option) {
      const bool none = one && only.key.equals("null") && is_empty_object(only.value);
      if (none) return cbor::put_null(out_), true;
      return value(type.inner.front(), v, spot, depth);
    }
    if (!one || !only.key.equals(type_name(type.kind)))
      return fail(spot, "expected {\"" + std::string(type_name(type.kind)) + "\": …}");
    return tagged_body(type, only.value, spot, depth);
  }

  bool tagged_body(const Type& type, View body, const Spot* spot, size_t depth) {
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
        return scalar(type, body, spot);
      case TypeKind::Unit:
        if (!is_empty_object(body)) return fail(spot, "expected {\"unit\": {}}");
        return cbor::put_null(out_), true;
      case TypeKind::Record:
        return record(type, body, spot, depth);
      case TypeKind::Variant:
        return tagged_variant(type, body, spot, depth);
      case TypeKind::List:
        return list(type, body, spot, depth);
      case TypeKind::Set:
        return set(type, body, spot, depth);
      case TypeKind::Map:
        return tagged_map(type, body, spot, depth);
      case TypeKind::Option:
      case TypeKind::Ref:
        break;
    }
    return fail(spot, type);
  }

  static bool is_empty_object(View v) { return v.is_object() && v.size() == 0; }

  static Member first_member(View object) {
    Member first;
    bool found = false;
    object.each_member([&](View key, View value) {
      if (!std::exchange(found, true)) first = {key, value};
    });
    return first;
  }

  bool scalar(const Type& type, View v, const Spot* spot) {
    switch (type.kind) {
      case TypeKind::Bool:
        if (!v.is_bool()) break;
        return cbor::put_bool(out_, v.is_true()), true;
      case TypeKind::Int:
      case TypeKind::Nat:
      case TypeKind::Time:
      case TypeKind::Duration:
        if (!v.is_number() || !integer(type.kind, v.raw())) break;
        return true;
      case TypeKind::Dec128:
      case TypeKind::Text:
      case TypeKind::Hash:
      case TypeKind::Uuid:
        if (!v.is_string() || !put_text_of(type.kind, text_in(v, room_))) break;
        return true;
      case TypeKind::Bytes:
        if (!v.is_string() || !bytes(text_in(v, room_))) break;
        return true;
      case TypeKind::Unit:
        if (!v.is_null()) break;
        return cbor::put_null(out_), true;
      case TypeKind::Record:
      case TypeKind::Variant:
      case TypeKind::List:
      case TypeKind::Set:
      case TypeKind::Map:
      case TypeKind::Option:
      case TypeKind::Ref:
        break;
    }
    return fail(spot, type);
  }

  bool integer(TypeKind kind, std::string_view text) {
    const std::optional<Integer> parsed = parse_integer(text);
    if (!parsed || !fits(kind, *parsed)) return false;
    put_integer(*parsed);
    return true;
  }

  bool bytes(std::string_view text) {
    bytes_.clear();
    if (!append_from_base64(bytes_, text)) return false;
    cbor::put_bytes(out_, bytes_);
    return true;
  }

  bool record(const Type& type, View v, const Spot* spot, size_t depth) {
    if (!v.is_object()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t base = fields_.size();
    fields_.resize(base + type.members.size());
    bool good = true;
    v.each_member([&](View key, View member) {
      if (!good) return;
      const std::string_view name = text_in(key, room_);
      const Spot at{spot, name};
      const size_t index = type.index_of(name);
      if (index == type.members.size()) {
        good = fail(&at, "there is no such field");
      } else if (fields_[base + index]) {
        good = fail(&at, "stands twice");
      } else {
        fields_[base + index] = member;
      }
    });
    if (good) good = put_fields(type, base, spot, depth);
    fields_.resize(base);
    return good;
  }

  bool put_fields(const Type& type, size_t base, const Spot* spot, size_t depth) {
    cbor::put_map(out_, type.members.size());
    for (size_t i = 0; i < type.members.size(); ++i) {
      const auto& [name, member] = type.members[i];
      const Spot at{spot, name};
      cbor::put_text(out_, name);
      if (fields_[base + i]) {
        if (!value(member, *fields_[base + i], &at, depth + 1)) return false;
      } else if (member.plain().kind == TypeKind::Option) {
        cbor::put_null(out_);
      } else {
        return fail(&at, "is missing");
      }
    }
    return true;
  }

  bool sugar_variant(const Type& type, View v, const Spot* spot, size_t depth) {
    if (!v.is_object() || v.size() == 0 || v.size() > 2) return fail(spot, type);
    std::optional<View> tag, payload, key;
    bool other = false;
    v.each_member([&](View name, View member) {
      if (name.equals("$tag") && !tag) {
        tag = member;
      } else if (name.equals("$value") && !payload) {
        payload = member;
      } else {
        other = key.has_value();
        key = name;
        payload = member;
      }
    });
    if (other || tag.has_value() == key.has_value() || (key && v.size() == 2))
      return fail(spot, type);
    if (tag && !tag->is_string()) return fail(spot, "$tag must be text");
    return variant(type, tag ? *tag : *key, payload, spot, depth);
  }

  bool tagged_variant(const Type& type, View body, const Spot* spot, size_t depth) {
    std::optional<View> tag, payload;
    bool good = body.is_object();
    body.each_member([&](View name, View member) {
      if (name.equals("tag") && !tag) {
        tag = member;
      } else if (name.equals("value") && !payload) {
        payload = member;
      } else {
        good = false;
      }
    });
    if (!good || !tag || !tag->is_string())
      return fail(spot, "expected {\"variant\": {\"tag\": tag, \"value\": …}}");
    return variant(type, *tag, payload, spot, depth);
  }

  bool variant(const Type& type, View tag, std::optional<View> payload, const Spot* spot,
               size_t depth) {
    if (!enter(spot, depth)) return false;
    const size_t index = type.index_of(text_in(tag, room_));
    if (index == type.members.size()) return fail(spot, "there is no arm of this name");
    const auto& [name, arm] = type.members[index];
    const Spot at{spot, name};
    const bool unit = arm.plain().kind == TypeKind::Unit;
    cbor::put_map(out_, unit ? 1 : 2);
    cbor::put_text(out_, "$tag");
    cbor::put_text(out_, name);
    if (!unit) {
      if (!payload) return fail(&at, "the arm's value is missing");
      cbor::put_text(out_, "$value");
      return value(arm, *payload, &at, depth + 1);
    }
    if (!payload) return true;
    const size_t size = out_.size();
    if (!value(arm, *payload, &at, depth + 1)) return false;
    out_.resize(size);
    return true;
  }

  bool list(const Type& type, View v, const Spot* spot, size_t depth) {
    if (!v.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    cbor::put_array(out_, v.size());
    return elements(v, spot, [&](View element, const Spot* at) {
      return value(type.inner.front(), element, at, depth + 1);
    });
  }

  bool set(const Type& type, View v, const Spot* spot, size_t depth) {
    if (!v.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t begin = out_.size();
    const size_t first_part = parts_.size();
    const bool good = elements(v, spot, [&](View element, const Spot* at) {
      const size_t from = out_.size();
      if (!value(type.inner.front(), element, at, depth + 1)) return false;
      parts_.push_back({from, out_.size(), out_.size()});
      return true;
    });
    if (good) end_set(begin, first_part);
    return good;
  }

  template <class Visit>
  bool elements(View array, const Spot* spot, Visit&& visit) {
    Spot at{spot};
    bool good = true;
    array.each_element([&](View element) {
      if (good) good = visit(element, &at);
      ++at.index;
    });
    return good;
  }

  // Keys that are no text cannot be members: as elsewhere, "1" is no integer.
  bool object_map(const Type& type, View v, const Spot* spot, size_t depth) {
    const TypeKind key_kind = type.inner[0].plain().kind;
    if (v.size() > 0 && (key_kind == TypeKind::Int || key_kind == TypeKind::Nat))
      return fail(spot, "expected a map, as a list of [key, value]: its keys are integers");
    if (!enter(spot, depth)) return false;
    const size_t first_part = parts_.size();
    cbor::put_map(out_, v.size());
    bool good = true;
    v.each_member([&](View key, View member) {
      if (!good) return;
      std::string room;
      const std::string_view text = text_in(key, room);
      const Spot at{spot, text};
      cbor::Part part{out_.size(), 0, 0};
      if (!put_text_of(key_kind, text)) {
        good = fail(&at, std::string("as a key: ").append(expectation(key_kind)));
        return;
      }
      part.key_end = out_.size();
      good = value(type.inner[1], member, &at, depth + 1);
      part.end = out_.size();
      parts_.push_back(part);
    });
    return good && (end_map(first_part) || fail(spot, "a key stands twice"));
  }

  bool pairs_map(const Type& type, View v, const Spot* spot, size_t depth) {
    return entries_map(type, v, spot, depth, [](View entry) -> std::optional<Member> {
      if (!entry.is_array() || entry.size() != 2) return std::nullopt;
      Member pair;
      bool second = false;
      entry.each_element(
          [&](View element) { (std::exchange(second, true) ? pair.value : pair.key) = element; });
      return pair;
    });
  }

  bool tagged_map(const Type& type, View v, const Spot* spot, size_t depth) {
    return entries_map(type, v, spot, depth, [](View entry) -> std::optional<Member> {
      const std::optional<View> key = entry.find("key");
      const std::optional<View> value = entry.find("value");
      if (entry.size() != 2 || !key || !value) return std::nullopt;
      return Member{*key, *value};
    });
  }

  // pair_of(entry): its key and value, or nothing.
  template <class PairOf>
  bool entries_map(const Type& type, View v, const Spot* spot, size_t depth, PairOf&& pair_of) {
    if (!v.is_array()) return fail(spot, type);
    if (!enter(spot, depth)) return false;
    const size_t first_part = parts_.size();
    cbor::put_map(out_, v.size());
    const bool good = elements(v, spot, [&](View entry, const Spot* at) {
      const std::optional<Member> pair = pair_of(entry);
      if (!pair) return fail(at, "expected a key with a value");
      cbor::Part part{out_.size(), 0, 0};
      if (!value(type.inner[0], pair->key, at, depth + 1)) return false;
      part.key_end = out_.size();
      if (!value(type.inner[1], pair->value, at, depth + 1)) return false;
      part.end = out_.size();
      parts_.push_back(part);
      return true;
    });
    return good && (end_map(first_part) || fail(spot, "a key stands twice"));
  }

  const Lens lens_;
  std::vector<std::optional<View>>
      fields_;  // of all records that are being read, the outer ones first
  std::string room_;
  std::string bytes_;
};

class PlainJsonReader : public ValueSink {
 public:
  explicit PlainJsonReader(size_t size_guess) : ValueSink(size_guess) {}

  bool value(View v, const Spot* spot, size_t depth) {
    switch (v.kind()) {
      case json::Kind::Null:
        return cbor::put_null(out_), true;
      case json::Kind::False:
      case json::Kind::True:
        return cbor::put_bool(out_, v.is_true()), true;
      case json::Kind::Number: {
        const std::optional<Integer> integer = parse_integer(v.raw());
        if (!integer) return fail(spot, "expected an integer from -2^64 to 2^64-1");
        return put_integer(*integer), true;
      }
      case json::Kind::String:
        return cbor::put_text(out_, text_in(v, room_)), true;
      case json::Kind::Array:
        return array(v, spot, depth);
      case json::Kind::Object:
        return object(v, spot, depth);
    }
    return false;
  }

 private:
  bool array(View v, const Spot* spot, size_t depth) {
    if (!enter(spot, depth)) return false;
    cbor::put_array(out_, v.size());
    Spot at{spot};
    bool good = true;
    v.each_element([&](View element) {
      if (good) good = value(element, &at, depth + 1);
      ++at.index;
    });
    return good;
  }

  bool object(View v, const Spot* spot, size_t depth) {
    if (!enter(spot, depth)) return false;
    const size_t first_part = parts_.size();
    cbor::put_map(out_, v.size());
    bool good = true;
    v.each_member([&](View key, View member) {
      if (!good) return;
      std::string room;
      const std::string_view name = text_in(key, room);
      const Spot at{spot, name};
      cbor::Part part{out_.size(), 0, 0};
      cbor::put_text(out_, name);
      part.key_end = out_.size();
      good = value(member, &at, depth + 1);
      part.end = out_.size();
      parts_.push_back(part);
    });
    return good && (end_map(first_part) || fail(spot, "a member stands twice"));
  }

  std::string room_;
};

}  // namespace

Result<std::string> from_json(const Type& type, json::View value, Lens lens) {
  JsonValueReader reader(lens, value.raw().size());
  return reader.take(reader.value(type, value, nullptr, 0));
}

Result<std::string> from_plain_json(json::View value) {
  PlainJsonReader reader(value.raw().size());
  return reader.take(reader.value(value, nullptr, 0));
}

}  // namespace pawl::worlds
