#include "base/value.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/json_writer.h"
#include "base/plain_text.h"
#include "base/table_hash.h"
#include "base/utf8.h"

namespace pawl {
namespace {

constexpr size_t kLinearMax = 12;  // up to here a scan beats hashing
constexpr uint32_t kNowhere = UINT32_MAX;

}  // namespace

Value::Object::Object() = default;
Value::Object::Object(const Object& other) = default;
Value::Object::Object(Object&& other) noexcept = default;
Value::Object& Value::Object::operator=(const Object& other) = default;
Value::Object& Value::Object::operator=(Object&& other) noexcept = default;
Value::Object::~Object() = default;

Value::Object::Object(std::initializer_list<Member> members) {
  for (const Member& member : members) set(member.key, member.value);
}

uint32_t Value::Object::locate(std::string_view key) const {
  if (slots_.empty()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].key == key) return static_cast<uint32_t>(i);
    }
    return kNowhere;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t at = table_hash(key) & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return kNowhere;
    if (members_[slots_[at] - 1].key == key) return slots_[at] - 1;
  }
}

const Value* Value::Object::find(std::string_view key) const {
  const uint32_t at = locate(key);
  return at == kNowhere ? nullptr : &members_[at].value;
}

Value* Value::Object::find(std::string_view key) {
  const uint32_t at = locate(key);
  return at == kNowhere ? nullptr : &members_[at].value;
}

void Value::Object::index_last() {
  if (members_.size() <= kLinearMax) return;
  if (slots_.size() < members_.size() * 2) {
    reindex();
    return;
  }
  const size_t mask = slots_.size() - 1;
  size_t at = table_hash(members_.back().key) & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = static_cast<uint32_t>(members_.size());
}

void Value::Object::reindex() {
  slots_.clear();
  if (members_.size() <= kLinearMax) return;
  size_t slots = 32;
  while (slots < members_.size() * 4) slots *= 2;
  slots_.assign(slots, 0);
  for (size_t i = 0; i < members_.size(); ++i) {
    size_t at = table_hash(members_[i].key) & (slots - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

Value& Value::Object::set(std::string_view key, Value value) {
  const uint32_t at = locate(key);
  if (at != kNowhere) return members_[at].value = std::move(value);
  members_.push_back(Member{std::string(key), std::move(value)});
  index_last();
  return members_.back().value;
}

Value& Value::Object::operator[](std::string_view key) {
  const uint32_t at = locate(key);
  return at != kNowhere ? members_[at].value : set(key, Value());
}

bool Value::Object::erase(std::string_view key) {
  const uint32_t at = locate(key);
  if (at == kNowhere) return false;
  members_.erase(members_.begin() + at);
  reindex();
  return true;
}

bool Value::Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const Member& member : members_) {
    const Value* twin = other.find(member.key);
    if (twin == nullptr || !(*twin == member.value)) return false;
  }
  return true;
}

bool Value::operator==(const Value& other) const {
  if (is_number() && other.is_number()) {
    if (is_int() && other.is_int()) return as_int() == other.as_int();
    return as_double() == other.as_double();
  }
  return content_ == other.content_;
}

namespace {

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, end);
  if (std::string_view(text, static_cast<size_t>(end - text)).find_first_of(".e") ==
      std::string_view::npos) {
    out += ".0";
  }
}

// One writer for both: `Places` notes where each value stands, or nothing.
struct NoPlaces {
  void begin(const std::string&, json::Kind) {}
  void end(const std::string&, size_t) {}
};

void write_text(std::string& out, const std::string& text, auto& places) {
  places.begin(out, json::Kind::String);
  json::append_quoted(out, text);
  places.end(out, 0);
}

json::Kind json_kind(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return json::Kind::Null;
    case Value::Kind::Bool:
      return value.as_bool() ? json::Kind::True : json::Kind::False;
    case Value::Kind::Int:
      return json::Kind::Number;
    case Value::Kind::Double:
      return std::isfinite(value.as_double()) ? json::Kind::Number : json::Kind::Null;
    case Value::Kind::String:
      return json::Kind::String;
    case Value::Kind::Array:
      return json::Kind::Array;
    case Value::Kind::Object:
      return json::Kind::Object;
  }
  return json::Kind::Null;
}

void write_value(std::string& out, const Value& value, auto& places) {
  if (value.is_string()) return write_text(out, value.as_string(), places);
  places.begin(out, json_kind(value));
  size_t count = 0;
  switch (value.kind()) {
    case Value::Kind::Null:
      out += "null";
      break;
    case Value::Kind::Bool:
      out += value.as_bool() ? "true" : "false";
      break;
    case Value::Kind::Int: {
      char text[24];
      out.append(text, std::to_chars(text, text + sizeof text, value.as_int()).ptr);
      break;
    }
    case Value::Kind::Double:
      append_number(out, value.as_double());
      break;
    case Value::Kind::String:
      break;
    case Value::Kind::Array:
      out += '[';
      for (const Value& element : value.as_array()) {
        if (count++ > 0) out += ',';
        write_value(out, element, places);
      }
      out += ']';
      break;
    case Value::Kind::Object:
      out += '{';
      for (const Value::Member& member : value.as_object()) {
        if (count++ > 0) out += ',';
        write_text(out, member.key, places);
        out += ':';
        write_value(out, member.value, places);
      }
      out += '}';
      break;
  }
  places.end(out, count);
}

}  // namespace

// Makes the nodes that the parser would, and finds what it would refuse.
class ValueDoc::Places {
 public:
  explicit Places(std::vector<json::Node>& nodes) : nodes_(nodes) {}

  void begin(const std::string& out, json::Kind kind) {
    if (open_.size() > limits_.depth_max)
      refuse("nested deeper than " + std::to_string(limits_.depth_max), out.size());
    if (nodes_.size() >= limits_.nodes_max) refuse("too many values", out.size());
    open_.push_back(static_cast<uint32_t>(nodes_.size()));
    json::Node& node = nodes_.emplace_back();
    node.begin = static_cast<uint32_t>(out.size());
    node.kind = kind;
  }
  void end(const std::string& out, size_t count) {
    json::Node& node = nodes_[open_.back()];
    open_.pop_back();
    node.end = static_cast<uint32_t>(out.size());
    node.next = static_cast<uint32_t>(nodes_.size());
    node.count = static_cast<uint32_t>(count);
    if (node.kind != json::Kind::String) return;
    const std::string_view text = std::string_view(out).substr(node.begin);
    node.escaped = text.find('\\') != std::string_view::npos;
    for (size_t at = 0; at < text.size();) {
      at += json::plain_length<json::HighBytes::Special>(text.substr(at));
      if (at == text.size()) break;
      const size_t length =
          static_cast<unsigned char>(text[at]) < 0x80 ? 1 : utf8::sequence_length(text.substr(at));
      if (length == 0) return refuse("invalid UTF-8", node.begin + at);
      at += length;
    }
  }
  void refuse(const std::string& what, size_t at) {
    if (status_.ok())
      status_ = Error{ErrorCode::Malformed, "JSON: " + what + " at byte " + std::to_string(at)};
  }
  const Status& status() const { return status_; }

 private:
  const json::Limits limits_;
  std::vector<json::Node>& nodes_;
  std::vector<uint32_t> open_;
  Status status_ = ok_status();
};

ValueDoc::ValueDoc(const Value& value) {
  Places places(doc_.nodes_);
  write_value(text_, value, places);
  if (text_.size() > UINT32_MAX) status_ = Error{ErrorCode::TooLarge, "JSON: text too large"};
  if (status_.ok()) status_ = places.status();
  doc_.text_ = text_;
}

void Value::append_json(std::string& out) const {
  NoPlaces nowhere;
  write_value(out, *this, nowhere);
}

std::string Value::json() const {
  std::string out;
  append_json(out);
  return out;
}

Result<Value> Value::from(json::View view) {
  switch (view.kind()) {
    case json::Kind::Null:
      return Value();
    case json::Kind::False:
    case json::Kind::True:
      return Value(view.is_true());
    case json::Kind::Number: {
      const bool integral = view.raw().find_first_of(".eE") == std::string_view::npos;
      if (const auto exact = view.as_int(); integral && exact) return Value(*exact);
      if (const auto real = view.as_double()) return Value(*real);
      // Out of double's range: too small becomes 0, too large cannot be represented.
      const double nearest = std::strtod(std::string(view.raw()).c_str(), nullptr);
      if (!std::isfinite(nearest)) {
        return Error{ErrorCode::Malformed, "JSON: a number is outside the range of double"};
      }
      return Value(nearest);
    }
    case json::Kind::String:
      return Value(view.string());
    case json::Kind::Array: {
      Array elements;
      elements.reserve(view.size());
      Status status = ok_status();
      view.each_element([&](json::View element) {
        if (!status.ok()) return;
        Result<Value> value = from(element);
        if (!value.ok()) {
          status = std::move(value).error();
        } else {
          elements.push_back(std::move(*value));
        }
      });
      PAWL_TRY_DO(std::move(status));
      return Value(std::move(elements));
    }
    case json::Kind::Object: {
      Object members;
      Status status = ok_status();
      view.each_member([&](json::View key, json::View member) {
        if (!status.ok()) return;
        Result<Value> value = from(member);
        if (!value.ok()) {
          status = std::move(value).error();
        } else {
          members.set(key.string(), std::move(*value));
        }
      });
      PAWL_TRY_DO(std::move(status));
      return Value(std::move(members));
    }
  }
  return Value();
}

Result<Value> Value::parse(std::string_view text, const json::Limits& limits) {
  PAWL_TRY(const json::Doc doc, json::parse(text, limits));
  return from(doc.root());
}

}  // namespace pawl
