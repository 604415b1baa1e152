#include "expr/datum.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json_writer.h"
#include "base/table_hash.h"

namespace pawl::expr {
namespace {

constexpr size_t kObjectLinearMax = 12;  // up to here a scan beats hashing
constexpr size_t kNowhere = SIZE_MAX;
constexpr uint64_t kNodeBytes = 48;  // what an allocation costs beside its content

int order_of_kind(const Datum& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return 0;
    case Value::Kind::Bool:
      return value.as_bool() ? 2 : 1;
    case Value::Kind::Int:
    case Value::Kind::Double:
      return 3;
    case Value::Kind::String:
      return 4;
    case Value::Kind::Array:
      return 5;
    case Value::Kind::Object:
      return 6;
  }
  return 0;
}

int three_way(auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; }

int compare_int_double(int64_t a, double b) {
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const double whole = std::floor(b);
  const int by_whole = three_way(a, static_cast<int64_t>(whole));
  return by_whole != 0 ? by_whole : (b > whole ? -1 : 0);
}

int order_of_numbers(const Datum& a, const Datum& b) {
  if (a.is_int() && b.is_int()) return three_way(a.as_int(), b.as_int());
  const bool nan_a = a.is_double() && std::isnan(a.as_double());
  const bool nan_b = b.is_double() && std::isnan(b.as_double());
  if (nan_a || nan_b) return three_way(nan_b, nan_a);
  if (a.is_int()) return compare_int_double(a.as_int(), b.as_double());
  if (b.is_int()) return -compare_int_double(b.as_int(), a.as_double());
  return three_way(a.as_double(), b.as_double());
}

int compare_objects(const Datum::Object& a, const Datum::Object& b, Budget& budget) {
  if (!pay_sorting(a, budget) || !pay_sorting(b, budget)) return 0;
  const auto left = a.sorted();
  const auto right = b.sorted();
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    if (const int by_key = left[i]->key->compare(*right[i]->key); by_key != 0) return by_key;
  }
  if (left.size() != right.size()) return three_way(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    const int by_value = compare(left[i]->value, right[i]->value, budget);
    if (by_value != 0) return by_value;
  }
  return 0;
}

void append_json(std::string& out, const Datum& value, Budget& budget) {
  const size_t before = out.size();
  switch (value.kind()) {
    case Value::Kind::Null:
      out += "null";
      break;
    case Value::Kind::Bool:
      out += value.as_bool() ? "true" : "false";
      break;
    case Value::Kind::Int:
    case Value::Kind::Double:
      out += number_text(value);
      break;
    case Value::Kind::String:
      // Escapes may make six bytes of one.
      if (!budget.spend_steps(1 + price::scanning(value.as_string().size())) ||
          !budget.spend_bytes(value.as_string().size()))
        return;
      json::append_quoted(out, value.as_string());
      break;
    case Value::Kind::Array: {
      out += '[';
      const char* separator = "";
      for (const Datum& element : value.as_array()) {
        out += separator;
        separator = ",";
        append_json(out, element, budget);
        if (budget.exceeded() != Budget::Exceeded::None) return;
      }
      out += ']';
      if (!budget.spend_steps(1)) return;
      return;
    }
    case Value::Kind::Object: {
      out += '{';
      const char* separator = "";
      for (const Datum::Member& member : value.as_object().members()) {
        out += separator;
        separator = ",";
        if (!budget.spend_bytes(member.key->size() + 4) ||
            !budget.spend_steps(1 + price::scanning(member.key->size())))
          return;
        json::append_quoted(out, *member.key);
        out += ':';
        append_json(out, member.value, budget);
        if (budget.exceeded() != Budget::Exceeded::None) return;
      }
      out += '}';
      if (!budget.spend_steps(1)) return;
      return;
    }
  }
  if (!budget.spend_bytes(out.size() - before) || !budget.spend_steps(1)) return;
}

}  // namespace

// Each key is read in every round.
bool pay_sorting(const Datum::Object& object, Budget& budget) {
  const uint64_t rounds = price::rounds(object.size());
  if (!budget.spend_steps(object.size() * (1 + rounds / 4))) return false;
  uint64_t bytes = 0;
  for (const Datum::Member& member : object.members()) bytes += member.key->size();
  return budget.spend_steps(rounds * price::reading(bytes));
}

size_t Datum::Object::locate(std::string_view key) const {
  if (slots_.empty()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (*members_[i].key == key) return i;
    }
    return kNowhere;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t at = table_hash(key) & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return kNowhere;
    const size_t index = slots_[at] - 1;
    if (*members_[index].key == key) return index;
  }
}

void Datum::Object::reindex() {
  slots_.clear();
  if (members_.size() <= kObjectLinearMax) return;
  size_t size = 64;
  while (size < members_.size() * 3) size *= 2;
  slots_.resize(size);
  for (size_t i = 0; i < members_.size(); ++i) {
    size_t at = table_hash(*members_[i].key) & (size - 1);
    while (slots_[at] != 0) at = (at + 1) & (size - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

const Datum* Datum::Object::find(std::string_view key) const {
  const size_t index = locate(key);
  return index == kNowhere ? nullptr : &members_[index].value;
}

Datum* Datum::Object::find(std::string_view key) {
  const size_t index = locate(key);
  return index == kNowhere ? nullptr : &members_[index].value;
}

void Datum::Object::set(Text key, Datum value) {
  const size_t index = locate(*key);
  if (index != kNowhere) {
    members_[index].value = std::move(value);
    return;
  }
  members_.push_back({std::move(key), std::move(value)});
  if (members_.size() <= kObjectLinearMax) return;
  if (slots_.size() < members_.size() * 2) return reindex();
  const size_t mask = slots_.size() - 1;
  size_t at = table_hash(*members_.back().key) & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = static_cast<uint32_t>(members_.size());
}

void Datum::Object::erase(std::string_view key) {
  const size_t index = locate(key);
  if (index == kNowhere) return;
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
  reindex();
}

std::vector<const Datum::Member*> Datum::Object::sorted() const {
  std::vector<const Member*> out;
  out.reserve(members_.size());
  for (const Member& member : members_) out.push_back(&member);
  std::sort(out.begin(), out.end(),
            [](const Member* a, const Member* b) { return *a->key < *b->key; });
  return out;
}

uint32_t Datum::depth() const {
  if (is_array()) return (*std::get_if<std::shared_ptr<const ArrayNode>>(&content_))->depth;
  if (is_object()) return (*std::get_if<std::shared_ptr<const ObjectNode>>(&content_))->depth;
  return 0;
}

Datum Datum::string(std::string text, Budget& budget) {
  if (!budget.spend_bytes(text.size() + kNodeBytes) ||
      !budget.spend_steps(price::reading(text.size())))
    return {};
  return Datum(Content(std::make_shared<const std::string>(std::move(text))));
}

Datum Datum::array(Array elements, Budget& budget) {
  if (!budget.spend_bytes(elements.size() * sizeof(Datum) + kNodeBytes) ||
      !budget.spend_steps(price::copying(elements.size())))
    return {};
  auto node = std::make_shared<ArrayNode>();
  for (const Datum& element : elements) node->depth = std::max(node->depth, element.depth() + 1);
  if (node->depth > kDatumDepthMax) {
    (void)budget.allow_depth(UINT32_MAX);
    return {};
  }
  node->elements = std::move(elements);
  return Datum(Content(std::shared_ptr<const ArrayNode>(std::move(node))));
}

Datum Datum::object(Object members, Budget& budget) {
  if (!budget.spend_bytes(members.size() * sizeof(Member) + kNodeBytes) ||
      !budget.spend_steps(price::copying(members.size())))
    return {};
  auto node = std::make_shared<ObjectNode>();
  for (const Member& member : members.members())
    node->depth = std::max(node->depth, member.value.depth() + 1);
  if (node->depth > kDatumDepthMax) {
    (void)budget.allow_depth(UINT32_MAX);
    return {};
  }
  node->members = std::move(members);
  return Datum(Content(std::shared_ptr<const ObjectNode>(std::move(node))));
}

Datum::Array& Datum::edit_array(Budget& budget) {
  auto& node = *std::get_if<std::shared_ptr<const ArrayNode>>(&content_);
  if (node.use_count() != 1) {
    (void)(budget.spend_bytes(node->elements.size() * sizeof(Datum) + kNodeBytes) &&
           budget.spend_steps(price::copying(node->elements.size())));
    node = std::make_shared<ArrayNode>(*node);
  }
  return const_cast<ArrayNode&>(*node).elements;
}

Datum::Object& Datum::edit_object(Budget& budget) {
  auto& node = *std::get_if<std::shared_ptr<const ObjectNode>>(&content_);
  if (node.use_count() != 1) {
    (void)(budget.spend_bytes(node->members.size() * sizeof(Member) + kNodeBytes) &&
           budget.spend_steps(price::copying(node->members.size())));
    node = std::make_shared<ObjectNode>(*node);
  }
  return const_cast<ObjectNode&>(*node).members;
}

void Datum::deepen(const Datum& part, Budget& budget) {
  const uint32_t needed = part.depth() + 1;
  if (needed <= depth()) return;
  if (needed > kDatumDepthMax) {
    (void)budget.allow_depth(UINT32_MAX);
    *this = Datum();
    return;
  }
  if (is_array()) {
    const auto& node = *std::get_if<std::shared_ptr<const ArrayNode>>(&content_);
    const_cast<ArrayNode&>(*node).depth = needed;
  } else {
    const auto& node = *std::get_if<std::shared_ptr<const ObjectNode>>(&content_);
    const_cast<ObjectNode&>(*node).depth = needed;
  }
}

namespace {

Datum copy_from(const Value& value, Budget& budget, uint32_t depth) {
  if (depth > kDatumDepthMax) {
    (void)budget.allow_depth(UINT32_MAX);
    return {};
  }
  switch (value.kind()) {
    case Value::Kind::Null:
      return {};
    case Value::Kind::Bool:
      return Datum::boolean(value.as_bool());
    case Value::Kind::Int:
      return Datum::integer(value.as_int());
    case Value::Kind::Double:
      return Datum::real(value.as_double());
    case Value::Kind::String:
      return Datum::string(value.as_string(), budget);
    case Value::Kind::Array: {
      Datum::Array elements;
      if (!budget.spend_steps(price::copying(2 * value.as_array().size()))) return {};
      for (const Value& element : value.as_array()) {
        elements.push_back(copy_from(element, budget, depth + 1));
        if (budget.exceeded() != Budget::Exceeded::None) return {};
      }
      return Datum::array(std::move(elements), budget);
    }
    case Value::Kind::Object: {
      Datum::Object members;
      for (const Value::Member& member : value.as_object()) {
        if (!budget.spend_bytes(member.key.size() + kNodeBytes) ||
            !budget.spend_steps(2 + price::reading(member.key.size())))
          return {};
        members.set(std::make_shared<const std::string>(member.key),
                    copy_from(member.value, budget, depth + 1));
        if (budget.exceeded() != Budget::Exceeded::None) return {};
      }
      return Datum::object(std::move(members), budget);
    }
  }
  return {};
}

}  // namespace

Datum Datum::from(const Value& value, Budget& budget) { return copy_from(value, budget, 0); }

Value Datum::to_value(Budget& budget) const {
  if (!budget.spend_steps(1) || !budget.spend_bytes(sizeof(Value))) return {};
  switch (kind()) {
    case Kind::Null:
      return {};
    case Kind::Bool:
      return Value(as_bool());
    case Kind::Int:
      return Value(as_int());
    case Kind::Double:
      // JSON has no word for these.
      if (std::isnan(as_double())) return {};
      if (std::isinf(as_double()))
        return Value(std::copysign(std::numeric_limits<double>::max(), as_double()));
      return Value(as_double());
    case Kind::String:
      if (!budget.spend_bytes(as_string().size()) ||
          !budget.spend_steps(price::reading(as_string().size())))
        return {};
      return Value(as_string());
    case Kind::Array: {
      Value::Array elements;
      for (const Datum& element : as_array()) {
        elements.push_back(element.to_value(budget));
        if (budget.exceeded() != Budget::Exceeded::None) return {};
      }
      return Value(std::move(elements));
    }
    case Kind::Object: {
      Value::Object members;
      for (const Member& member : as_object().members()) {
        if (!budget.spend_bytes(member.key->size() + kNodeBytes) ||
            !budget.spend_steps(2 + price::reading(member.key->size())))
          return {};
        members.set(*member.key, member.value.to_value(budget));
        if (budget.exceeded() != Budget::Exceeded::None) return {};
      }
      return Value(std::move(members));
    }
  }
  return {};
}

int compare(const Datum& a, const Datum& b, Budget& budget) {
  if (!budget.spend_steps(1)) return 0;
  const int by_kind = three_way(order_of_kind(a), order_of_kind(b));
  if (by_kind != 0) return by_kind;
  if (a.is_number()) return order_of_numbers(a, b);
  if (a.is_string()) {
    if (!budget.spend_steps(price::reading(std::min(a.as_string().size(), b.as_string().size()))))
      return 0;
    return a.as_string().compare(b.as_string());
  }
  if (a.is_object()) return compare_objects(a.as_object(), b.as_object(), budget);
  if (!a.is_array()) return 0;
  const Datum::Array& left = a.as_array();
  const Datum::Array& right = b.as_array();
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    const int by_element = compare(left[i], right[i], budget);
    if (by_element != 0 || budget.exceeded() != Budget::Exceeded::None) return by_element;
  }
  return three_way(left.size(), right.size());
}

std::string_view type_name(const Datum& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return "null";
    case Value::Kind::Bool:
      return "boolean";
    case Value::Kind::Int:
    case Value::Kind::Double:
      return "number";
    case Value::Kind::String:
      return "string";
    case Value::Kind::Array:
      return "array";
    case Value::Kind::Object:
      return "object";
  }
  return "null";
}

Datum number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0 &&
      !(value == 0 && std::signbit(value)))
    return Datum::integer(static_cast<int64_t>(value));
  return Datum::real(value);
}

std::string number_text(const Datum& number) {
  char text[40];
  if (number.is_int())
    return std::string(text, std::to_chars(text, text + sizeof text, number.as_int()).ptr);
  double value = number.as_double();
  if (std::isnan(value)) return "null";
  if (std::isinf(value)) value = std::copysign(std::numeric_limits<double>::max(), value);
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

Datum joined(std::string_view a, std::string_view b, Budget& budget) {
  const size_t size = a.size() + b.size();
  if (!budget.spend_bytes(size + kNodeBytes) || !budget.spend_steps(price::reading(size)))
    return {};
  std::string text;
  text.reserve(size);
  text.append(a).append(b);
  return Datum::text(std::make_shared<const std::string>(std::move(text)));
}

bool pay_parsing(std::string_view json, Budget& budget) {
  uint64_t values = 1;
  bool in_quotes = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_quotes = !in_quotes;
    if (in_quotes && c == '\\') ++i;
    if (!in_quotes && (c == ',' || c == '[' || c == '{')) ++values;
  }
  return budget.spend_steps(4 * values + price::scanning(2 * json.size())) &&
         budget.spend_bytes(values * sizeof(Value) + json.size());
}

std::string json_text(const Datum& value, Budget& budget) {
  std::string out;
  append_json(out, value, budget);
  return out;
}

}  // namespace pawl::expr
