// The keywords of one kind of value each: numbers, strings, arrays, objects.
#include <algorithm>
#include <unordered_map>

#include "base/quote.h"
#include "expr/cel/compare.h"
#include "expr/schema/check.h"
#include "expr/text.h"

namespace pawl::expr::schema {
namespace {

bool less(const Value& a, const Value& b) {
  return compare(Val::json(a), Val::json(b)) == Order::Less;
}

void mark(std::vector<bool>& marks, size_t size, size_t index) {
  if (marks.size() < size) marks.resize(size);
  marks[index] = true;
}

}  // namespace

bool Checker::check_number(const Frame& frame) {
  const Node& node = frame.node;
  const Value& value = frame.value;
  bool ok = true;
  const auto demand = [&](bool holds, std::string_view keyword, std::string_view words,
                          const Value* limit) {
    if (!holds)
      ok = fault(frame.path, keyword, [&] { return std::string(words) + " " + limit->json(); });
  };
  if (node.minimum != nullptr)
    demand(!less(value, *node.minimum), "minimum", "must be at least", node.minimum);
  if (node.maximum != nullptr)
    demand(!less(*node.maximum, value), "maximum", "must be at most", node.maximum);
  if (node.exclusive_minimum != nullptr)
    demand(less(*node.exclusive_minimum, value), "exclusiveMinimum", "must be greater than",
           node.exclusive_minimum);
  if (node.exclusive_maximum != nullptr)
    demand(less(value, *node.exclusive_maximum), "exclusiveMaximum", "must be less than",
           node.exclusive_maximum);
  if (node.multiple_of != nullptr)
    demand(is_multiple(value, *node.multiple_of), "multipleOf", "must be a multiple of",
           node.multiple_of);
  return ok;
}

bool Checker::check_string(const Frame& frame) {
  const Node& node = frame.node;
  const std::string& text = frame.value.as_string();
  bool ok = true;
  if (node.min_length || node.max_length) {
    if (!spend(price::reading(text.size()))) return false;
    ok = within(frame, count_code_points(text), node.min_length, node.max_length, "minLength",
                "maxLength", "characters");
  }
  if (!matches(node.pattern, text))
    ok = fault(frame.path, "pattern",
               [&] { return "must match the pattern " + in_quotes(node.pattern.text); });
  if (node.format == Format::None) return ok;
  if (!spend(price::scanning(text.size()))) return false;
  const bool fits = matches_format(node.format, text, budget_);
  if (!spend(0)) return false;
  if (!fits) {
    ok = fault(frame.path, "format",
               [&] { return "must be a valid " + std::string(format_name(node.format)); });
  }
  return ok;
}

bool Checker::check_array(const Frame& frame) {
  const Node& node = frame.node;
  bool ok = within(frame, frame.value.as_array().size(), node.min_items, node.max_items, "minItems",
                   "maxItems", "items");
  ok = check_elements(frame) && ok;
  if (node.contains != nullptr) ok = check_contains(frame) && ok;
  if (node.unique_items) ok = check_unique(frame) && ok;
  return ok;
}

bool Checker::check_elements(const Frame& frame) {
  const Node& node = frame.node;
  const Value::Array& elements = frame.value.as_array();
  const size_t count =
      node.items != nullptr ? elements.size() : std::min(elements.size(), node.prefix_items.size());
  bool ok = true;
  for (size_t i = 0; i < count && !done(); ++i) {
    if (!ok && quiet_ > 0) return false;
    const Node* const rule = i < node.prefix_items.size() ? node.prefix_items[i] : node.items;
    const Step step = Step::element(frame.path, i);
    ok = check(*rule, elements[i], &step, &frame, nullptr) && ok;
    if (frame.evaluated != nullptr) mark(frame.evaluated->elements, elements.size(), i);
  }
  return ok;
}

bool Checker::check_contains(const Frame& frame) {
  const Node& node = frame.node;
  const Value::Array& elements = frame.value.as_array();
  uint64_t found = 0;
  for (size_t i = 0; i < elements.size() && !done(); ++i) {
    const Step step = Step::element(frame.path, i);
    ++quiet_;
    const bool matched = check(*node.contains, elements[i], &step, &frame, nullptr);
    --quiet_;
    if (!matched) continue;
    ++found;
    if (frame.evaluated != nullptr) mark(frame.evaluated->elements, elements.size(), i);
  }
  const uint64_t least = node.min_contains.value_or(1);
  if (found < least) {
    return fault(frame.path, node.min_contains ? "minContains" : "contains", [&] {
      return "must contain at least " + std::to_string(least) + " matching items, has " +
             std::to_string(found);
    });
  }
  if (node.max_contains && found > *node.max_contains) {
    return fault(frame.path, "maxContains", [&] {
      return "must contain at most " + std::to_string(*node.max_contains) +
             " matching items, has " + std::to_string(found);
    });
  }
  return true;
}

bool Checker::check_unique(const Frame& frame) {
  const Value::Array& elements = frame.value.as_array();
  std::unordered_multimap<size_t, size_t> seen;
  for (size_t i = 0; i < elements.size(); ++i) {
    uint64_t parts = 0;
    const size_t hash = hash_value(elements[i], parts);
    const auto [from, to] = seen.equal_range(hash);
    if (!spend(parts)) return false;
    for (auto twin = from; twin != to; ++twin) {
      if (!spend(parts)) return false;
      if (!(elements[twin->second] == elements[i])) continue;
      return fault(frame.path, "uniqueItems", [&] {
        return "items " + std::to_string(twin->second) + " and " + std::to_string(i) +
               " are the same";
      });
    }
    seen.emplace(hash, i);
  }
  return true;
}

bool Checker::check_object(const Frame& frame) {
  const Node& node = frame.node;
  const Value::Object& members = frame.value.as_object();
  bool ok = within(frame, members.size(), node.min_properties, node.max_properties, "minProperties",
                   "maxProperties", "properties");
  if (!spend(node.required.size())) return false;
  for (const std::string& name : node.required) {
    if (members.contains(name)) continue;
    const Step step = Step::member(frame.path, name);
    ok = fault(&step, "required", [] { return std::string("is required"); });
  }
  ok = check_members(frame) && ok;
  return check_dependencies(frame) && ok;
}

bool Checker::check_members(const Frame& frame) {
  const Node& node = frame.node;
  const Value::Object& members = frame.value.as_object();
  if (node.properties.empty() && node.pattern_properties.empty() &&
      node.additional_properties == nullptr && node.property_names == nullptr)
    return true;
  bool ok = true;
  for (size_t i = 0; i < members.size() && !done(); ++i) {
    const Value::Member& member = members.at(i);
    if (!spend(1 + price::reading(member.key.size())) || (!ok && quiet_ > 0)) return false;
    const Step step = Step::member(frame.path, member.key);
    bool covered = false;
    const auto apply = [&](const Node& rule) {
      covered = true;
      ok = check(rule, member.value, &step, &frame, nullptr) && ok;
    };
    if (node.property_names != nullptr) {
      const Value name(member.key);
      ok = check(*node.property_names, name, &step, &frame, nullptr) && ok;
    }
    if (const auto rule = node.properties.find(member.key); rule != node.properties.end())
      apply(*rule->second);
    for (const auto& [pattern, rule] : node.pattern_properties) {
      if (matches(pattern, member.key)) apply(*rule);
    }
    if (!covered && node.additional_properties != nullptr) apply(*node.additional_properties);
    if (covered && frame.evaluated != nullptr) mark(frame.evaluated->members, members.size(), i);
  }
  return ok;
}

bool Checker::check_dependencies(const Frame& frame) {
  const Value::Object& members = frame.value.as_object();
  bool ok = true;
  for (const auto& [name, needed] : frame.node.dependent_required) {
    if (!spend(1 + needed.size())) return false;
    if (!members.contains(name)) continue;
    for (const std::string& other : needed) {
      if (members.contains(other)) continue;
      const Step step = Step::member(frame.path, other);
      const std::string_view because = name;
      ok = fault(&step, "dependentRequired",
                 [&] { return "is required with " + in_quotes(because); });
    }
  }
  for (const auto& [name, rule] : frame.node.dependent_schemas) {
    if (!spend(1)) return false;
    if (members.contains(name))
      ok = check(*rule, frame.value, frame.path, &frame, frame.evaluated) && ok;
  }
  return ok;
}

bool Checker::check_unevaluated(const Frame& frame) {
  const Node& node = frame.node;
  bool ok = true;
  if (node.unevaluated_items != nullptr && frame.value.is_array()) {
    const Value::Array& elements = frame.value.as_array();
    for (size_t i = 0; i < elements.size() && !done(); ++i) {
      std::vector<bool>& marks = frame.evaluated->elements;
      if (i < marks.size() && marks[i]) continue;
      const Step step = Step::element(frame.path, i);
      ok = check(*node.unevaluated_items, elements[i], &step, &frame, nullptr) && ok;
      mark(marks, elements.size(), i);
    }
  }
  if (node.unevaluated_properties != nullptr && frame.value.is_object()) {
    const Value::Object& members = frame.value.as_object();
    for (size_t i = 0; i < members.size() && !done(); ++i) {
      std::vector<bool>& marks = frame.evaluated->members;
      if (i < marks.size() && marks[i]) continue;
      const Step step = Step::member(frame.path, members.at(i).key);
      ok = check(*node.unevaluated_properties, members.at(i).value, &step, &frame, nullptr) && ok;
      mark(marks, members.size(), i);
    }
  }
  return ok;
}

}  // namespace pawl::expr::schema
