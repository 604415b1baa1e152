// Value: an owning JSON value. Null, bool, int64, double, string, array, object in insertion order.
//
// JSON integers that fit int64 stay integers; every other number is a double. Object keys are
// unique; lookup is O(1) beyond a few members. Equality is structural: 1 and 1.0 are equal, member
// order does not matter. A Value is a plain value type: not shared, no locks; const access is safe
// from any thread.
//
// parse() reads what base/json.h reads, under its limits; of duplicate keys the last one counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl {

class Value {
 public:
  enum class Kind : uint8_t { Null, Bool, Int, Double, String, Array, Object };

  using Array = std::vector<Value>;

  struct Member;

  class Object {
   public:
    // Defined once Member is complete.
    Object();
    Object(std::initializer_list<Member> members);
    Object(const Object& other);
    Object(Object&& other) noexcept;
    Object& operator=(const Object& other);
    Object& operator=(Object&& other) noexcept;
    ~Object();

    size_t size() const;
    bool empty() const { return size() == 0; }
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    // Sets or replaces; a replaced member keeps its place.
    Value& set(std::string_view key, Value value);
    Value& operator[](std::string_view key);
    // Removes in O(n); returns whether the key was there.
    bool erase(std::string_view key);

    const Member* begin() const;
    const Member* end() const;
    const Member& at(size_t index) const;
    Value& value_at(size_t index);

    bool operator==(const Object& other) const;

   private:
    uint32_t locate(std::string_view key) const;
    void index_last();
    void reindex();

    std::vector<Member> members_;
    std::vector<uint32_t> slots_;  // open addressing, index + 1; empty while the object is small
  };

  Value() = default;
  Value(std::nullptr_t) {}                                         // NOLINT(runtime/explicit)
  Value(bool value) : content_(value) {}                           // NOLINT(runtime/explicit)
  Value(int value) : content_(static_cast<int64_t>(value)) {}      // NOLINT(runtime/explicit)
  Value(int64_t value) : content_(value) {}                        // NOLINT(runtime/explicit)
  Value(double value) : content_(value) {}                         // NOLINT(runtime/explicit)
  Value(const char* value) : content_(std::string(value)) {}       // NOLINT(runtime/explicit)
  Value(std::string_view value) : content_(std::string(value)) {}  // NOLINT(runtime/explicit)
  Value(std::string value) : content_(std::move(value)) {}         // NOLINT(runtime/explicit)
  Value(Array value) : content_(std::move(value)) {}               // NOLINT(runtime/explicit)
  Value(Object value) : content_(std::move(value)) {}              // NOLINT(runtime/explicit)

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_int() const { return kind() == Kind::Int; }
  bool is_double() const { return kind() == Kind::Double; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return kind() == Kind::String; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  // Each demands its kind: calling it on another is a bug and stops the process.
  bool as_bool() const { return get<bool>(); }
  int64_t as_int() const { return get<int64_t>(); }
  double as_double() const { return is_int() ? static_cast<double>(as_int()) : get<double>(); }
  const std::string& as_string() const { return get<std::string>(); }
  const Array& as_array() const { return get<Array>(); }
  Array& as_array() { return const_cast<Array&>(get<Array>()); }
  const Object& as_object() const { return get<Object>(); }
  Object& as_object() { return const_cast<Object&>(get<Object>()); }

  // Member of an object, or null pointer if this is no object or has no such key.
  const Value* find(std::string_view key) const {
    return is_object() ? as_object().find(key) : nullptr;
  }

  bool operator==(const Value& other) const;

  static Result<Value> parse(std::string_view text, const json::Limits& limits = {});
  static Result<Value> from(json::View view);

  // Compact JSON. Doubles print shortest that reads back the same, always recognisable as a number
  // that is not an integer ("1.0"); NaN and infinities, which JSON cannot say, print as null.
  std::string json() const;
  void append_json(std::string& out) const;

 private:
  template <typename T>
  const T& get() const {
    const T* content = std::get_if<T>(&content_);
    PAWL_CHECK(content != nullptr);
    return *content;
  }

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> content_;
};

struct Value::Member {
  std::string key;
  Value value;

  bool operator==(const Member&) const = default;
};

// A value's JSON text with what json::parse() would make of it, written in one pass: for readers of
// JSON that are given values, and keep parts of the text.
class ValueDoc {
 public:
  explicit ValueDoc(const Value& value);
  ValueDoc& operator=(ValueDoc&&) = delete;

  // What parse() would refuse: the root is only to be read if it is fine.
  const Status& status() const { return status_; }
  const std::string& text() const { return text_; }
  json::View root() const { return doc_.root(); }

 private:
  class Places;
  std::string text_;
  json::Doc doc_;
  Status status_ = ok_status();
};

inline size_t Value::Object::size() const { return members_.size(); }
inline const Value::Member* Value::Object::begin() const { return members_.data(); }
inline const Value::Member* Value::Object::end() const { return members_.data() + members_.size(); }
inline const Value::Member& Value::Object::at(size_t index) const { return members_[index]; }
inline Value& Value::Object::value_at(size_t index) { return members_[index].value; }

}  // namespace pawl
