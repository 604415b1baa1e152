// From a schema's JSON to nodes: one handler per keyword, references last, when all names are
// known.
#include <cmath>

#include "base/quote.h"
#include "expr/schema/node.h"

namespace pawl::expr::schema {
namespace {

struct Context {
  Resource* resource;
  std::string place;  // "#/properties/a"
  uint32_t depth;
};

std::string pointer_part(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

uint64_t count_parts(const Value& value) {
  uint64_t count = 1;
  if (value.is_array()) {
    for (const Value& element : value.as_array()) count += count_parts(element);
  } else if (value.is_object()) {
    for (const Value::Member& member : value.as_object()) count += count_parts(member.value);
  } else if (value.is_string()) {
    count += value.as_string().size() / 64;
  }
  return count;
}

Types type_named(std::string_view name) {
  if (name == "null") return kNull;
  if (name == "boolean") return kBoolean;
  if (name == "integer") return kInteger;
  if (name == "number") return kNumber;
  if (name == "string") return kString;
  if (name == "array") return kArray;
  if (name == "object") return kObject;
  return 0;
}

class Compiler {
 public:
  Compiler(Document& document, Budget& budget) : document_(document), budget_(budget) {}

  Status run() {
    Context top{new_resource("", document_.source), "#", 0};
    document_.root = schema(document_.source, top);
    while (error_.message.empty() && !pending_.empty()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      resolve(next);
    }
    if (!error_.message.empty()) return error_;
    return ok_status();
  }

 private:
  using Handler = void (*)(Compiler&, Node&, const Value&, const Context&);

  struct Pending {
    Node* node;
    std::string reference;
    Context context;
    bool dynamic;
  };

  // False, with a fault, once the compile budget is spent.
  bool pay(const Context& context, std::string_view keyword, uint64_t steps) {
    if (budget_.exceeded() == Budget::Exceeded::None && budget_.spend_steps(steps)) return true;
    if (error_.message.empty()) error_.code = ErrorCode::TooLarge;
    fail(context, keyword,
         "compiling the schema, and what is compiled with it, needs more than " +
             std::to_string(budget_.limits().steps_max) + " steps");
    return false;
  }

  Node* schema(const Value& value, const Context& outer);
  void resolve(const Pending& pending);
  Node* find_target(const Pending& pending, std::string_view& fragment);
  static const std::unordered_map<std::string_view, Handler>& handlers();

  void fail(const Context& context, std::string_view keyword, std::string_view message) {
    if (!error_.message.empty()) return;
    std::string place = context.place;
    if (!keyword.empty()) place += pointer_part(keyword);
    error_ = Error{error_.code, "schema at " + place + ": " + std::string(message)};
    error_.complaints.push_back({std::move(place), std::string(message)});
  }

  Resource* new_resource(std::string uri, const Value& root) {
    for (const auto& known : document_.resources) {
      if (known->uri == uri) return nullptr;
    }
    document_.resources.push_back(std::make_unique<Resource>());
    document_.resources.back()->uri = std::move(uri);
    document_.resources.back()->root = &root;
    return document_.resources.back().get();
  }

  Node* child(const Value& value, const Context& context, std::string_view keyword,
              std::string_view key = {}) {
    // The place is printed for each part, so it is charged by its length.
    if (!pay(context, keyword, price::reading(context.place.size() + keyword.size() + key.size())))
      return nullptr;
    Context inner{context.resource, context.place + pointer_part(keyword), context.depth + 1};
    if (key.data() != nullptr) inner.place += pointer_part(key);
    return schema(value, inner);
  }

  Pattern pattern(const Context& context, std::string_view keyword, std::string_view text) {
    if (++patterns_ > kPatternsMax) {
      fail(context, keyword, "more than 1000 patterns in one schema");
      return {};
    }
    Result<Regex> compiled = compile_ecma_regex(text, budget_);
    if (!pay(context, keyword, 0)) return {};
    if (compiled.ok()) return {std::string(text), std::move(*compiled)};
    fail(context, keyword, compiled.error().message);
    return {};
  }

  std::vector<std::string> names(const Value& value, const Context& context,
                                 std::string_view keyword) {
    std::vector<std::string> out;
    const bool array = value.is_array();
    if (!array) fail(context, keyword, "must be an array of strings");
    for (size_t i = 0; array && i < value.as_array().size(); ++i) {
      if (!value.as_array()[i].is_string()) {
        fail(context, keyword, "must be an array of strings");
        break;
      }
      out.push_back(value.as_array()[i].as_string());
    }
    return out;
  }

  bool demand_object(const Value& value, const Context& context, std::string_view keyword) {
    if (value.is_object()) return true;
    fail(context, keyword, "must be an object");
    return false;
  }

  template <Count Node::*Member>
  static void on_count(Compiler& self, Node& node, const Value& value, const Context& context,
                       std::string_view keyword) {
    const double number = value.is_number() ? value.as_double() : -1;
    if (number < 0 || number != std::floor(number) || number > 9e15)
      return self.fail(context, keyword, "must be a non-negative integer");
    node.*Member = static_cast<uint64_t>(number);
  }
  template <const Value* Node::*Member>
  static void on_number(Compiler& self, Node& node, const Value& value, const Context& context,
                        std::string_view keyword) {
    if (!value.is_number()) return self.fail(context, keyword, "must be a number");
    node.*Member = &value;
  }
  template <Node* Node::*Member>
  static void on_schema(Compiler& self, Node& node, const Value& value, const Context& context,
                        std::string_view keyword) {
    node.*Member = self.child(value, context, keyword);
  }
  template <std::vector<Node*> Node::*Member>
  static void on_schemas(Compiler& self, Node& node, const Value& value, const Context& context,
                         std::string_view keyword) {
    if (!value.is_array() || value.as_array().empty())
      return self.fail(context, keyword, "must be an array of schemas, not empty");
    for (size_t i = 0; i < value.as_array().size(); ++i) {
      (node.*Member)
          .push_back(self.child(value.as_array()[i], context, keyword, std::to_string(i)));
    }
  }

  static void on_type(Compiler& self, Node& node, const Value& value, const Context& context) {
    const auto add = [&](const Value& name) {
      const Types type = name.is_string() ? type_named(name.as_string()) : Types{0};
      if (type == 0)
        self.fail(context, "type",
                  "must be null, boolean, integer, number, string, array or object, or an array of "
                  "these");
      node.types = static_cast<Types>(node.types | type);
    };
    if (!value.is_array()) return add(value);
    if (value.as_array().empty()) self.fail(context, "type", "must not be an empty array");
    for (const Value& name : value.as_array()) add(name);
  }
  static void on_enum(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_array()) return self.fail(context, "enum", "must be an array");
    node.enumeration = &value;
    node.compare_cost += count_parts(value);
  }
  static void on_const(Compiler&, Node& node, const Value& value, const Context&) {
    node.constant = &value;
    node.compare_cost += count_parts(value);
  }
  static void on_multiple(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_number() || !(value.as_double() > 0))
      return self.fail(context, "multipleOf", "must be a number greater than 0");
    node.multiple_of = &value;
  }
  static void on_pattern(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_string()) return self.fail(context, "pattern", "must be a string");
    node.pattern = self.pattern(context, "pattern", value.as_string());
  }
  static void on_format(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_string()) return self.fail(context, "format", "must be a string");
    node.format = format_named(value.as_string());
  }
  static void on_items(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_array()) return on_schema<&Node::items>(self, node, value, context, "items");
    if (value.as_array().empty()) return;
    on_schemas<&Node::prefix_items>(self, node, value, context, "items");
  }
  static void on_unique(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_bool()) return self.fail(context, "uniqueItems", "must be true or false");
    node.unique_items = value.as_bool();
  }
  static void on_properties(Compiler& self, Node& node, const Value& value,
                            const Context& context) {
    if (!self.demand_object(value, context, "properties")) return;
    for (const Value::Member& member : value.as_object())
      node.properties[member.key] = self.child(member.value, context, "properties", member.key);
  }
  static void on_pattern_properties(Compiler& self, Node& node, const Value& value,
                                    const Context& context) {
    if (!self.demand_object(value, context, "patternProperties")) return;
    for (const Value::Member& member : value.as_object()) {
      Pattern pattern = self.pattern(context, "patternProperties", member.key);
      node.pattern_properties.emplace_back(
          std::move(pattern), self.child(member.value, context, "patternProperties", member.key));
    }
  }
  static void on_required(Compiler& self, Node& node, const Value& value, const Context& context) {
    node.required = self.names(value, context, "required");
  }
  static void on_dependent_required(Compiler& self, Node& node, const Value& value,
                                    const Context& context) {
    if (!self.demand_object(value, context, "dependentRequired")) return;
    for (const Value::Member& member : value.as_object()) {
      node.dependent_required.emplace_back(member.key,
                                           self.names(member.value, context, "dependentRequired"));
    }
  }
  static void on_dependent_schemas(Compiler& self, Node& node, const Value& value,
                                   const Context& context) {
    if (!self.demand_object(value, context, "dependentSchemas")) return;
    for (const Value::Member& member : value.as_object()) {
      node.dependent_schemas.emplace_back(
          member.key, self.child(member.value, context, "dependentSchemas", member.key));
    }
  }
  // Draft-07: either spelling of a dependency.
  static void on_dependencies(Compiler& self, Node& node, const Value& value,
                              const Context& context) {
    if (!self.demand_object(value, context, "dependencies")) return;
    for (const Value::Member& member : value.as_object()) {
      if (member.value.is_array()) {
        node.dependent_required.emplace_back(member.key,
                                             self.names(member.value, context, "dependencies"));
      } else {
        node.dependent_schemas.emplace_back(
            member.key, self.child(member.value, context, "dependencies", member.key));
      }
    }
  }
  template <bool Dynamic>
  static void on_ref(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_string())
      return self.fail(context, Dynamic ? "$dynamicRef" : "$ref", "must be a string");
    self.pending_.push_back({&node, value.as_string(), context, Dynamic});
  }
  template <bool Dynamic>
  static void on_anchor(Compiler& self, Node& node, const Value& value, const Context& context) {
    if (!value.is_string())
      return self.fail(context, Dynamic ? "$dynamicAnchor" : "$anchor", "must be a string");
    context.resource->anchors[value.as_string()] = &node;
    if (Dynamic) context.resource->dynamic_anchors[value.as_string()] = &node;
  }
  // Definitions are compiled even if nothing refers to them: a broken one is a broken schema.
  template <bool Draft07>
  static void on_definitions(Compiler& self, Node&, const Value& value, const Context& context) {
    const char* const keyword = Draft07 ? "definitions" : "$defs";
    if (!self.demand_object(value, context, keyword)) return;
    for (const Value::Member& member : value.as_object())
      self.child(member.value, context, keyword, member.key);
  }
  static void on_default(Compiler&, Node& node, const Value& value, const Context&) {
    node.fallback = &value;
  }

  Document& document_;
  Budget& budget_;
  Error error_{ErrorCode::InvalidContent, ""};
  std::vector<Pending> pending_;
  size_t patterns_ = 0;
};

#define PAWL_KEYWORD(name, kind, member)                                               \
  {                                                                                    \
    name, [](Compiler& self, Node& node, const Value& value, const Context& context) { \
      on_##kind<&Node::member>(self, node, value, context, name);                      \
    }                                                                                  \
  }

const std::unordered_map<std::string_view, Compiler::Handler>& Compiler::handlers() {
  static const auto* const kHandlers = new std::unordered_map<std::string_view, Handler>{
      {"type", on_type},
      {"enum", on_enum},
      {"const", on_const},
      {"multipleOf", on_multiple},
      PAWL_KEYWORD("minimum", number, minimum),
      PAWL_KEYWORD("maximum", number, maximum),
      PAWL_KEYWORD("exclusiveMinimum", number, exclusive_minimum),
      PAWL_KEYWORD("exclusiveMaximum", number, exclusive_maximum),
      PAWL_KEYWORD("minLength", count, min_length),
      PAWL_KEYWORD("maxLength", count, max_length),
      {"pattern", on_pattern},
      {"format", on_format},
      {"items", on_items},
      PAWL_KEYWORD("prefixItems", schemas, prefix_items),
      PAWL_KEYWORD("additionalItems", schema, additional_items),
      PAWL_KEYWORD("contains", schema, contains),
      PAWL_KEYWORD("minContains", count, min_contains),
      PAWL_KEYWORD("maxContains", count, max_contains),
      PAWL_KEYWORD("minItems", count, min_items),
      PAWL_KEYWORD("maxItems", count, max_items),
      {"uniqueItems", on_unique},
      {"properties", on_properties},
      {"patternProperties", on_pattern_properties},
      PAWL_KEYWORD("additionalProperties", schema, additional_properties),
      PAWL_KEYWORD("propertyNames", schema, property_names),
      {"required", on_required},
      {"dependentRequired", on_dependent_required},
      {"dependentSchemas", on_dependent_schemas},
      {"dependencies", on_dependencies},
      PAWL_KEYWORD("minProperties", count, min_properties),
      PAWL_KEYWORD("maxProperties", count, max_properties),
      PAWL_KEYWORD("allOf", schemas, all_of),
      PAWL_KEYWORD("anyOf", schemas, any_of),
      PAWL_KEYWORD("oneOf", schemas, one_of),
      PAWL_KEYWORD("not", schema, negation),
      PAWL_KEYWORD("if", schema, condition),
      PAWL_KEYWORD("then", schema, consequence),
      PAWL_KEYWORD("else", schema, alternative),
      PAWL_KEYWORD("unevaluatedProperties", schema, unevaluated_properties),
      PAWL_KEYWORD("unevaluatedItems", schema, unevaluated_items),
      {"$ref", on_ref<false>},
      {"$dynamicRef", on_ref<true>},
      {"$anchor", on_anchor<false>},
      {"$dynamicAnchor", on_anchor<true>},
      {"$defs", on_definitions<false>},
      {"definitions", on_definitions<true>},
      {"default", on_default},
  };
  return *kHandlers;
}

Node* Compiler::schema(const Value& value, const Context& outer) {
  if (!error_.message.empty()) return nullptr;
  if (const auto known = document_.by_value.find(&value); known != document_.by_value.end())
    return known->second;
  if (outer.depth > kSchemaDepthMax || document_.nodes.size() >= kNodesMax) {
    fail(outer, "", "the schema is too deep or has too many parts");
    return nullptr;
  }
  // Charges for a part, its keywords, and comparing a new resource with all others.
  const uint64_t keywords = value.is_object() ? value.as_object().size() : 0;
  if (!pay(outer, "", 20 + 4 * keywords + document_.resources.size() / 8)) return nullptr;
  document_.nodes.push_back(std::make_unique<Node>());
  Node* const node = document_.nodes.back().get();
  document_.by_value.emplace(&value, node);
  node->source = &value;
  Context context = outer;
  if (value.is_bool()) {
    node->verdict = value.as_bool();
  } else if (!value.is_object()) {
    fail(context, "", "a schema must be an object, true or false");
    return nullptr;
  }
  if (const Value* id = value.find("$id"); id != nullptr) {
    if (!id->is_string()) {
      fail(context, "$id", "must be a string");
    } else if (const std::string& name = id->as_string(); name.starts_with("#")) {
      context.resource->anchors[name.substr(1)] = node;  // draft-07's spelling of an anchor
    } else if (outer.depth == 0) {
      context.resource->uri = name.substr(0, name.find('#'));
    } else {
      context.resource =
          new_resource(resolve_uri(outer.resource->uri, name.substr(0, name.find('#'))), value);
      if (context.resource == nullptr) fail(outer, "$id", "is the $id of two schemas");
    }
  }
  node->resource = context.resource;
  if (!value.is_object()) return node;
  for (const Value::Member& member : value.as_object()) {
    if (!error_.message.empty()) return nullptr;
    const auto handler = handlers().find(member.key);
    if (handler != handlers().end()) handler->second(*this, *node, member.value, context);
  }
  const Value* items = value.find("items");
  if (items != nullptr && items->is_array()) node->items = node->additional_items;
  if (node->unevaluated_items != nullptr || node->unevaluated_properties != nullptr)
    document_.tracks_evaluated = true;
  return node;
}

Node* Compiler::find_target(const Pending& pending, std::string_view& fragment) {
  const std::string_view text = pending.reference;
  if (!pay(pending.context, "$ref",
           20 + document_.resources.size() / 2 + price::scanning(4 * text.size())))
    return nullptr;
  const size_t hash = std::min(text.find('#'), text.size());
  fragment = text.substr(std::min(hash + 1, text.size()));
  const std::string uri = resolve_uri(pending.context.resource->uri, text.substr(0, hash));
  Resource* resource = hash == 0 ? pending.context.resource : nullptr;
  for (const auto& known : document_.resources) {
    if (resource == nullptr && known->uri == uri) resource = known.get();
  }
  const std::string keyword = pending.dynamic ? "$dynamicRef" : "$ref";
  if (resource == nullptr) {
    fail(pending.context, keyword,
         in_quotes(text) + " is outside this document, and nothing is fetched");
    return nullptr;
  }
  const std::string decoded = percent_decoded(fragment);
  if (!decoded.empty() && decoded.front() != '/') {
    const auto anchor = resource->anchors.find(decoded);
    if (anchor != resource->anchors.end()) return anchor->second;
    fail(pending.context, keyword, "there is no anchor " + in_quotes(text));
    return nullptr;
  }
  const Value* target = follow_pointer(*resource->root, decoded);
  if (target == nullptr) {
    fail(pending.context, keyword, "there is nothing at " + in_quotes(text));
    return nullptr;
  }
  return schema(*target, Context{resource, "#" + decoded, decoded.empty() ? 0u : 1u});
}

void Compiler::resolve(const Pending& pending) {
  std::string_view fragment;
  Node* const target = find_target(pending, fragment);
  if (target == nullptr) return;
  if (!pending.dynamic) {
    pending.node->ref = target;
    return;
  }
  pending.node->dynamic_ref = target;
  const auto& anchors = target->resource->dynamic_anchors;
  const auto anchor = anchors.find(fragment);
  if (anchor != anchors.end() && anchor->second == target)
    pending.node->dynamic_anchor = std::string(fragment);
}

#undef PAWL_KEYWORD

}  // namespace

Result<std::unique_ptr<Document>> compile_document(const Value& schema, Budget& budget) {
  auto document = std::make_unique<Document>();
  document->source = schema;
  PAWL_TRY_DO(Compiler(*document, budget).run());
  return document;
}

}  // namespace pawl::expr::schema
