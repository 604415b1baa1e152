// Datum: a JSON value that is cheap to copy, for languages that build and take apart whole
// documents.
//
// Shared, and immutable while shared: a copy is a reference count. Building one pays the budget for
// its bytes; once the budget is spent every result is null and meaningless, and the evaluation must
// end. Since parts are shared, a small Datum can stand for a huge document: everything that walks
// one pays for each part it visits. Nesting is bounded by kDatumDepthMax, so walks may recurse.
//
// Thread: may be copied and read from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/value.h"
#include "expr/budget.h"

namespace pawl::expr {

inline constexpr uint32_t kDatumDepthMax = 400;

class Datum {
 public:
  using Kind = Value::Kind;
  using Array = std::vector<Datum>;

  struct Member;
  // In insertion order; found by hash once there are more than a few.
  class Object {
   public:
    const std::vector<Member>& members() const { return members_; }
    size_t size() const;
    const Datum* find(std::string_view key) const;
    Datum* find(std::string_view key);
    // Sets or replaces; a replaced member keeps its place.
    void set(std::shared_ptr<const std::string> key, Datum value);
    void erase(std::string_view key);
    // The members ordered by key, the order that comparisons and listings follow.
    std::vector<const Member*> sorted() const;

   private:
    size_t locate(std::string_view key) const;
    void reindex();

    std::vector<Member> members_;
    std::vector<uint32_t> slots_;  // open addressing, index + 1; empty while small
  };
  using Text = std::shared_ptr<const std::string>;

  Datum() = default;
  static Datum boolean(bool value) { return Datum(Content(value)); }
  static Datum integer(int64_t value) { return Datum(Content(value)); }
  static Datum real(double value) { return Datum(Content(value)); }
  static Datum text(Text text) { return Datum(Content(std::move(text))); }
  static Datum string(std::string text, Budget& budget);
  static Datum array(Array elements, Budget& budget);
  static Datum object(Object members, Budget& budget);
  // The whole tree is copied and paid for. As a Value, NaN is null and infinities are the largest
  // doubles.
  static Datum from(const Value& value, Budget& budget);
  Value to_value(Budget& budget) const;

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_int() const { return kind() == Kind::Int; }
  bool is_double() const { return kind() == Kind::Double; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return kind() == Kind::String; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }
  // Conditions treat every value except null and false as true.
  bool truthy() const { return !is_null() && !(is_bool() && !as_bool()); }

  // The accessors rely on the caller to have checked kind().
  bool as_bool() const { return *std::get_if<bool>(&content_); }
  int64_t as_int() const { return *std::get_if<int64_t>(&content_); }
  double as_double() const {
    return is_int() ? static_cast<double>(as_int()) : *std::get_if<double>(&content_);
  }
  const std::string& as_string() const { return **std::get_if<Text>(&content_); }
  const Text& as_text() const { return *std::get_if<Text>(&content_); }
  const Array& as_array() const;
  const Object& as_object() const;
  uint32_t depth() const;  // 0 for scalars

  // Gives the parts for changing: in place if they are not shared, else as a copy that is paid for.
  // The caller pays for added parts, and calls deepen() with each of them.
  Array& edit_array(Budget& budget);
  Object& edit_object(Budget& budget);
  void deepen(const Datum& part, Budget& budget);

 private:
  struct ArrayNode;
  struct ObjectNode;
  using Content = std::variant<std::monostate, bool, int64_t, double, Text,
                               std::shared_ptr<const ArrayNode>, std::shared_ptr<const ObjectNode>>;
  explicit Datum(Content content) : content_(std::move(content)) {}

  Content content_;
};

struct Datum::Member {
  Text key;
  Datum value;
};

struct Datum::ArrayNode {
  Array elements;
  uint32_t depth = 1;
};
struct Datum::ObjectNode {
  Object members;
  uint32_t depth = 1;
};

inline size_t Datum::Object::size() const { return members_.size(); }
inline const Datum::Array& Datum::as_array() const {
  return (*std::get_if<std::shared_ptr<const ArrayNode>>(&content_))->elements;
}
inline const Datum::Object& Datum::as_object() const {
  return (*std::get_if<std::shared_ptr<const ObjectNode>>(&content_))->members;
}

// A total order: null, false, true, numbers, strings, arrays, objects (by their keys, then by their
// values). Numbers compare exactly; NaN comes before every number. Pays a step per part.
int compare(const Datum& a, const Datum& b, Budget& budget);
// "null", "boolean", "number", "string", "array", "object".
std::string_view type_name(const Datum& value);
// An integral double as an integer where that is exact.
Datum number(double value);
// A number as JSON writes it, without ".0"; infinities as the largest doubles, NaN as null.
std::string number_text(const Datum& number);
// Compact JSON, paid for byte by byte.
std::string json_text(const Datum& value, Budget& budget);
// Pays for putting the members of an object into the order of their keys.
bool pay_sorting(const Datum::Object& object, Budget& budget);
// Both texts concatenated, paid for in advance.
Datum joined(std::string_view a, std::string_view b, Budget& budget);
// Pays for reading JSON text into values, which take many times its bytes.
bool pay_parsing(std::string_view json, Budget& budget);

}  // namespace pawl::expr
