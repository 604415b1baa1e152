// JSON as it arrives: parsed once into a flat list of nodes that point into the source text.
//
// parse() accepts exactly RFC 8259 (UTF-8 checked, no lone surrogates, bounded depth and node
// count). A View is a cheap handle, valid while both the Doc and its source text live; raw() is the
// value's exact source text, so that what only passes through is never re-rendered. Of duplicate
// keys the last one counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl {
class ValueDoc;
}

namespace pawl::json {

enum class Kind : uint8_t { Null, False, True, Number, String, Array, Object };
std::string_view kind_name(Kind kind);  // "null", "boolean", "number", "string", "array", "object"

struct Limits {
  uint32_t depth_max = 64;
  uint32_t nodes_max = 16'000'000;
};

struct Node {
  uint32_t begin = 0;  // of the value's source text
  uint32_t end = 0;
  uint32_t next = 0;   // index of the node after this value and all it holds
  uint32_t count = 0;  // elements or members
  Kind kind = Kind::Null;
  bool escaped = false;  // a string that holds backslashes
};

class View;

class Doc {
 public:
  View root() const;

 private:
  friend class View;
  friend class Parser;
  friend class pawl::ValueDoc;
  friend Result<Doc> parse(std::string_view, const Limits&);

  std::string_view text_;
  std::vector<Node> nodes_;
};

Result<Doc> parse(std::string_view text, const Limits& limits = {});

class View {
 public:
  View() = default;
  View(const Doc* doc, uint32_t index) : doc_(doc), index_(index) {}

  Kind kind() const { return node().kind; }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_object() const { return kind() == Kind::Object; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_string() const { return kind() == Kind::String; }
  bool is_number() const { return kind() == Kind::Number; }
  bool is_bool() const { return kind() == Kind::True || kind() == Kind::False; }
  bool is_true() const { return kind() == Kind::True; }

  std::string_view raw() const {
    return doc_->text_.substr(node().begin, node().end - node().begin);
  }
  size_t size() const { return node().count; }

  std::string string() const;                // decoded; only for strings
  bool equals(std::string_view text) const;  // a string with this value
  std::optional<int64_t> as_int() const;  // a number with an exact int64 value (1.0 and 1e3 count)
  std::optional<double> as_double() const;

  std::optional<View> find(std::string_view key) const;  // nothing for non-objects

  // visit(View key, View value)
  void each_member(auto&& visit) const {
    if (!is_object()) return;
    uint32_t at = index_ + 1;
    for (uint32_t i = 0; i < node().count; ++i) {
      uint32_t value = doc_->nodes_[at].next;
      visit(View(doc_, at), View(doc_, value));
      at = doc_->nodes_[value].next;
    }
  }
  // visit(View element)
  void each_element(auto&& visit) const {
    if (!is_array()) return;
    uint32_t at = index_ + 1;
    for (uint32_t i = 0; i < node().count; ++i) {
      visit(View(doc_, at));
      at = doc_->nodes_[at].next;
    }
  }
  // The text from this value's first to the other's last byte: used to cut members out of an
  // object.
  std::string_view raw_through(const View& last) const {
    return doc_->text_.substr(node().begin, last.node().end - node().begin);
  }

 private:
  const Node& node() const { return doc_->nodes_[index_]; }

  const Doc* doc_ = nullptr;
  uint32_t index_ = 0;
};

inline View Doc::root() const { return View(this, 0); }

}  // namespace pawl::json
