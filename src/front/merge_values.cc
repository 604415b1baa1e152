#include "front/merge_values.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/read_number.h"

namespace pawl::front {
namespace {

// Texts by their bytes, or numbers by their size.
struct EntryOrder {
  bool by_number = false;

  bool operator()(const std::string& a, const std::string& b) const {
    int64_t x = 0, y = 0;
    if (by_number && read_number(a, x) && read_number(b, y) && x != y) return x < y;
    return a < b;
  }
};

std::string key_text(const Value* key) {
  if (key == nullptr) return "";
  return key->is_string() ? key->as_string() : key->json();
}

double number_of(const Value* value) {
  return value != nullptr && value->is_number() ? value->as_double() : 0;
}

Value sum_of(const std::vector<const Value*>& values) {
  const bool whole =
      std::all_of(values.begin(), values.end(), [](const Value* one) { return one->is_int(); });
  int64_t sum = 0;
  double real = 0;
  for (const Value* one : values) {
    if (whole) sum += one->as_int();
    real += number_of(one);
  }
  return whole ? Value(sum) : Value(real);
}

Value counts_of(const std::vector<const Value*>& values) {
  std::map<std::string, int64_t> counts;
  for (const Value* one : values)
    for (const Value::Member& member : one->as_object())
      counts[member.key] += member.value.is_int() ? member.value.as_int() : 0;
  Value::Object all;
  for (const auto& [name, count] : counts) all.set(name, count);
  return all;
}

Value names_of(const std::vector<const Value*>& values) {
  std::map<std::string, bool> names;
  for (const Value* one : values)
    for (const Value& name : one->as_array()) names[key_text(&name)] = true;
  Value::Array all;
  for (const auto& [name, seen] : names) all.emplace_back(name);
  return all;
}

Value entries_of(const Recipe& recipe, const Recipe::Entries& rule,
                 const std::vector<const Value*>& values) {
  const auto is_number = [&](const Value* list) {
    return !list->as_array().empty() && list->as_array().front().find(rule.key) != nullptr &&
           list->as_array().front().find(rule.key)->is_int();
  };
  std::map<std::string, std::vector<const Value::Object*>, EntryOrder> by_key(
      EntryOrder{std::any_of(values.begin(), values.end(), is_number)});
  for (const Value* one : values)
    for (const Value& entry : one->as_array()) {
      if (!entry.is_object()) continue;
      std::string key = key_text(entry.find(rule.key));
      if (const Value* second = entry.find(rule.second_key); second != nullptr)
        key = key_text(second) + '\x1f' + key;
      by_key[key].push_back(&entry.as_object());
    }
  Value::Array all;
  for (const auto& [key, same] : by_key) all.emplace_back(join_objects(recipe, same));
  if (rule.descending) std::reverse(all.begin(), all.end());
  return all;
}

// One member of those objects that have it.
struct Found {
  std::vector<const Value*> values;
  std::vector<double> weights;

  bool all(Value::Kind kind) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value* one) { return one->kind() == kind; });
  }
  bool all_numbers() const {
    return std::all_of(values.begin(), values.end(),
                       [](const Value* one) { return one->is_number(); });
  }
};

Value mean_of(const Found& found) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < found.values.size(); ++i) {
    sum += number_of(found.values[i]) * found.weights[i];
    weight += found.weights[i];
  }
  return weight == 0 ? *found.values.front() : Value(sum / weight);
}

// Times are RFC 3339 in UTC with milliseconds, so their texts are in their order.
Value text_among(const Found& found, bool last) {
  const auto less = [](const Value* a, const Value* b) { return a->as_string() < b->as_string(); };
  const auto [low, high] = std::minmax_element(found.values.begin(), found.values.end(), less);
  return last ? **high : **low;
}

Value joined(Join join, const Found& found) {
  const Value& first = *found.values.front();
  const auto less = [](const Value* a, const Value* b) { return number_of(a) < number_of(b); };
  switch (join) {
    case Join::First:
      break;
    case Join::Sum:
      return found.all_numbers() ? sum_of(found.values) : first;
    case Join::Most:
      return **std::max_element(found.values.begin(), found.values.end(), less);
    case Join::Least:
      return **std::min_element(found.values.begin(), found.values.end(), less);
    case Join::Earliest:
    case Join::Latest:
      return found.all(Value::Kind::String) ? text_among(found, join == Join::Latest) : first;
    case Join::Any:
      return std::any_of(found.values.begin(), found.values.end(),
                         [](const Value* one) { return one->is_bool() && one->as_bool(); });
    case Join::Mean:
      return mean_of(found);
    case Join::Counts:
      return found.all(Value::Kind::Object) ? counts_of(found.values) : first;
    case Join::Names:
      return found.all(Value::Kind::Array) ? names_of(found.values) : first;
  }
  return first;
}

Value join_member(const Recipe& recipe, std::string_view name, const Found& found) {
  for (const Recipe::Member& rule : recipe.members)
    // A name may be a count in one answer and an object of counts in another.
    if (rule.name == name && (rule.join != Join::Sum || !found.all(Value::Kind::Object)))
      return joined(rule.join, found);
  for (const Recipe::Entries& rule : recipe.arrays)
    if (rule.name == name && found.all(Value::Kind::Array))
      return entries_of(recipe, rule, found.values);
  if (!found.all(Value::Kind::Object)) return *found.values.front();
  std::vector<const Value::Object*> objects;
  for (const Value* one : found.values) objects.push_back(&one->as_object());
  return join_objects(recipe, objects);
}

}  // namespace

Value::Object join_objects(const Recipe& recipe, std::span<const Value::Object* const> parts) {
  Value::Object made;
  for (const Value::Object* part : parts)
    for (const Value::Member& member : *part) {
      if (made.contains(member.key)) continue;
      Found found;
      for (const Value::Object* other : parts) {
        const Value* value = other->find(member.key);
        if (value == nullptr || value->is_null()) continue;
        found.values.push_back(value);
        double weight = 0;
        for (std::string_view name : recipe.weights) weight += number_of(other->find(name));
        found.weights.push_back(weight);
      }
      made.set(member.key, found.values.empty() ? Value() : join_member(recipe, member.key, found));
    }
  return made;
}

}  // namespace pawl::front
