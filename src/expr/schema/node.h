// A schema as compiled: one node per subschema, references already followed. Private to the
// validator (schema/).
//
// Nodes point into Document::source, which never changes once it was compiled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"
#include "expr/regex.h"
#include "expr/schema/formats.h"

namespace pawl::expr::schema {

inline constexpr uint32_t kSchemaDepthMax = 128;
inline constexpr size_t kNodesMax = 20'000;
inline constexpr size_t kPatternsMax = 1'000;
inline constexpr uint32_t kCheckDepthMax = 400;  // of schemas within schemas, references followed
inline constexpr uint64_t kCheckStepsMax = 2'000'000;
inline constexpr uint32_t kDefaultsDepthMax = 64;  // deeper values could not be read back as JSON
inline constexpr uint64_t kDefaultsStepsMax = 100'000;

struct Node;

struct Pattern {
  std::string text;
  Regex regex;
};

// A schema with an identity of its own: the document, or a part that says $id.
struct Resource {
  std::string uri;
  const Value* root = nullptr;
  std::map<std::string, Node*, std::less<>> anchors;
  std::map<std::string, Node*, std::less<>> dynamic_anchors;
};

using Types = uint8_t;
inline constexpr Types kNull = 1, kBoolean = 2, kInteger = 4, kNumber = 8, kString = 16,
                       kArray = 32, kObject = 64;

using Count = std::optional<uint64_t>;

struct Node {
  const Value* source = nullptr;
  const Resource* resource = nullptr;
  std::optional<bool> verdict;  // a boolean schema

  Types types = 0;  // 0: any
  const Value* constant = nullptr;
  const Value* enumeration = nullptr;
  uint64_t compare_cost = 0;  // of constant and enumeration

  const Value* multiple_of = nullptr;
  const Value* minimum = nullptr;
  const Value* maximum = nullptr;
  const Value* exclusive_minimum = nullptr;
  const Value* exclusive_maximum = nullptr;

  Count min_length, max_length;
  Pattern pattern;
  Format format = Format::None;

  std::vector<Node*> prefix_items;
  Node* items = nullptr;
  Node* additional_items = nullptr;  // draft-07, next to an array of items
  Node* contains = nullptr;
  Count min_contains, max_contains, min_items, max_items;
  bool unique_items = false;

  std::map<std::string, Node*, std::less<>> properties;
  std::vector<std::pair<Pattern, Node*>> pattern_properties;
  Node* additional_properties = nullptr;
  Node* property_names = nullptr;
  std::vector<std::string> required;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, Node*>> dependent_schemas;
  Count min_properties, max_properties;

  std::vector<Node*> all_of, any_of, one_of;
  Node* negation = nullptr;
  Node* condition = nullptr;
  Node* consequence = nullptr;
  Node* alternative = nullptr;

  Node* ref = nullptr;
  Node* dynamic_ref = nullptr;
  std::string dynamic_anchor;  // what dynamic_ref looks for in the dynamic scope; may be empty

  Node* unevaluated_properties = nullptr;
  Node* unevaluated_items = nullptr;
  const Value* fallback = nullptr;  // "default"
};

struct Document {
  Value source;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Resource>> resources;
  std::unordered_map<const Value*, Node*> by_value;
  Node* root = nullptr;
  bool tracks_evaluated = false;  // some node uses unevaluated*
};

Result<std::unique_ptr<Document>> compile_document(const Value& schema, Budget& budget);

// A URI reference against a base, both without fragment (RFC 3986, section 5.2).
std::string resolve_uri(std::string_view base, std::string_view reference);
// The value a JSON pointer names, null if there is none.
const Value* follow_pointer(const Value& root, std::string_view pointer);
std::string percent_decoded(std::string_view text);

}  // namespace pawl::expr::schema
