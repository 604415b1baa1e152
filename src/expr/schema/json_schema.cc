#include "expr/schema/json_schema.h"

#include "expr/schema/check.h"
#include "expr/schema/node.h"

namespace pawl::expr {
namespace {

// Only where it is certain which schema applies: references, allOf, members and elements. Which
// branch of anyOf, oneOf or if applies depends on the values being filled in.
class Filler {
 public:
  void fill(const schema::Node& node, Value& value, uint32_t depth) {
    if (depth > schema::kDefaultsDepthMax || steps_left_ == 0) return;
    --steps_left_;
    if (node.ref != nullptr) fill(*node.ref, value, depth + 1);
    for (const schema::Node* part : node.all_of) fill(*part, value, depth + 1);
    if (value.is_object()) fill_members(node, value.as_object(), depth);
    if (value.is_array()) fill_elements(node, value.as_array(), depth);
  }

 private:
  void fill_members(const schema::Node& node, Value::Object& members, uint32_t depth) {
    const Value* const order = node.properties.empty() ? nullptr : node.source->find("properties");
    for (size_t i = 0; order != nullptr && i < order->as_object().size(); ++i) {
      if (steps_left_ == 0) return;
      const std::string& key = order->as_object().at(i).key;
      const schema::Node& rule = *node.properties.find(key)->second;
      Value* member = members.find(key);
      if (member == nullptr) {
        const Value* const fallback = default_of(rule);
        uint64_t parts = 0;
        if (fallback == nullptr) continue;
        (void)schema::hash_value(*fallback, parts);
        if (parts > steps_left_) {
          steps_left_ = 0;
          return;
        }
        steps_left_ -= parts;
        member = &members.set(key, *fallback);
      }
      fill(rule, *member, depth + 1);
    }
    if (node.additional_properties == nullptr) return;
    for (size_t i = 0; i < members.size(); ++i) {
      const bool covered =
          node.properties.contains(members.at(i).key) || !node.pattern_properties.empty();
      if (!covered) fill(*node.additional_properties, members.value_at(i), depth + 1);
    }
  }

  void fill_elements(const schema::Node& node, Value::Array& elements, uint32_t depth) {
    for (size_t i = 0; i < elements.size(); ++i) {
      const schema::Node* const rule =
          i < node.prefix_items.size() ? node.prefix_items[i] : node.items;
      if (rule == nullptr) return;
      fill(*rule, elements[i], depth + 1);
    }
  }

  // A default may stand behind a reference.
  static const Value* default_of(const schema::Node& start) {
    const schema::Node* node = &start;
    for (uint32_t hops = 0; node != nullptr && hops < schema::kDefaultsDepthMax; ++hops) {
      if (node->fallback != nullptr) return node->fallback;
      node = node->ref;
    }
    return nullptr;
  }

  uint64_t steps_left_ = schema::kDefaultsStepsMax;
};

}  // namespace

struct JsonSchema::Impl {
  std::unique_ptr<schema::Document> document;
};

JsonSchema::JsonSchema(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonSchema::~JsonSchema() = default;

Result<std::shared_ptr<const JsonSchema>> JsonSchema::compile(const Value& source) {
  Budget budget(BudgetLimits{.steps_max = kCompileStepsMax});
  return compile(source, budget);
}

Result<std::shared_ptr<const JsonSchema>> JsonSchema::compile(const Value& source, Budget& budget) {
  PAWL_TRY(auto document, schema::compile_document(source, budget));
  auto impl = std::make_unique<Impl>();
  impl->document = std::move(document);
  return std::shared_ptr<const JsonSchema>(new JsonSchema(std::move(impl)));
}

std::vector<SchemaFault> JsonSchema::check(const Value& instance, size_t faults_max) const {
  Budget budget(BudgetLimits{.steps_max = schema::kCheckStepsMax});
  return check(instance, budget, faults_max);
}

std::vector<SchemaFault> JsonSchema::check(const Value& instance, Budget& budget,
                                           size_t faults_max) const {
  return schema::Checker(*impl_->document, faults_max, budget).run(instance);
}

void JsonSchema::fill_defaults(Value& instance) const {
  Filler().fill(*impl_->document->root, instance, 0);
}

}  // namespace pawl::expr
