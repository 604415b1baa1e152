// The walk: keywords for every kind of value, and keywords that combine schemas.
#include "expr/schema/check.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/quote.h"

namespace pawl::expr::schema {
namespace {

bool plain_key(std::string_view key) {
  if (key.empty()) return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return c != '.' && c != '[' && c != ']' && c != '"' && static_cast<unsigned char>(c) > 0x20;
  });
}

Types types_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return kNull;
    case Value::Kind::Bool:
      return kBoolean;
    case Value::Kind::Int:
      return kInteger | kNumber;
    case Value::Kind::Double: {
      const double number = value.as_double();
      const bool whole =
          number == number && number - number == 0 && std::abs(number) >= 9007199254740992.0;
      if (whole || number == static_cast<double>(static_cast<int64_t>(
                                 std::clamp(number, -9007199254740992.0, 9007199254740992.0))))
        return kInteger | kNumber;
      return kNumber;
    }
    case Value::Kind::String:
      return kString;
    case Value::Kind::Array:
      return kArray;
    case Value::Kind::Object:
      return kObject;
  }
  return 0;
}

std::string type_names(Types types) {
  constexpr std::pair<Types, std::string_view> kNames[] = {
      {kNull, "null"},     {kBoolean, "boolean"}, {kInteger, "integer"}, {kNumber, "number"},
      {kString, "string"}, {kArray, "array"},     {kObject, "object"}};
  std::string out;
  for (const auto& [type, name] : kNames) {
    if ((types & type) == 0) continue;
    if (!out.empty()) out += " or ";
    out += name;
  }
  return out;
}

// Short enough for a message, and never the whole of a large value.
std::string brief(const Value& value) {
  if (value.is_array()) return "an array of " + std::to_string(value.as_array().size());
  if (value.is_object()) return "an object of " + std::to_string(value.as_object().size());
  return value.is_string() ? in_quotes(value.as_string()) : value.json();
}

}  // namespace

std::string spell(const Step* step) {
  std::vector<const Step*> way;
  for (; step != nullptr; step = step->up) way.push_back(step);
  std::string out;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    const std::string_view key = (*at)->key;
    if (key.data() == nullptr) {
      out += '[' + std::to_string((*at)->index) + ']';
    } else if (plain_key(key)) {
      if (!out.empty()) out += '.';
      out += key;
    } else {
      out += '[' + Value(key).json() + ']';
    }
  }
  return out;
}

void Evaluated::merge(const Evaluated& other) {
  const auto unite = [](std::vector<bool>& into, const std::vector<bool>& from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i]) into[i] = true;
    }
  };
  unite(members, other.members);
  unite(elements, other.elements);
}

bool Checker::fault(const Step* path, std::string_view keyword, Message message) {
  if (quiet_ == 0 && faults_.size() < faults_max_)
    faults_.push_back({spell(path), std::string(keyword), message()});
  return false;
}

bool Checker::spend(uint64_t steps) {
  if (budget_.exceeded() == Budget::Exceeded::None && budget_.spend_steps(steps)) return true;
  exhausted_ = true;
  return false;
}

bool Checker::matches(const Pattern& pattern, std::string_view text) {
  if (pattern.regex == nullptr) return true;
  const auto size = static_cast<uint64_t>(pattern.regex->ProgramSize());
  if (!spend(price::matching(size, text.size()))) return false;
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern.regex);
}

bool Checker::within(const Frame& frame, uint64_t size, const Count& least, const Count& most,
                     std::string_view least_keyword, std::string_view most_keyword,
                     std::string_view unit) {
  const auto say = [&](std::string_view bound, uint64_t limit) {
    return "must have " + std::string(bound) + " " + std::to_string(limit) + " " +
           std::string(unit) + ", has " + std::to_string(size);
  };
  bool ok = true;
  if (least && size < *least)
    ok = fault(frame.path, least_keyword, [&] { return say("at least", *least); });
  if (most && size > *most)
    ok = fault(frame.path, most_keyword, [&] { return say("at most", *most); });
  return ok;
}

std::vector<SchemaFault> Checker::run(const Value& instance) {
  if (faults_max_ == 0) return {};
  check(*document_.root, instance, nullptr, nullptr, nullptr);
  if (exhausted_) {
    if (faults_.size() >= faults_max_) faults_.pop_back();
    faults_.push_back(
        {"", "", "the check was given up: it nests too deep or takes too many steps"});
  }
  return std::move(faults_);
}

bool Checker::check(const Node& node, const Value& value, const Step* path, const Frame* from,
                    Evaluated* evaluated) {
  if (done() || !spend(1)) return false;
  const uint32_t depth = from == nullptr ? 0 : from->depth + 1;
  if (depth > kCheckDepthMax) {
    exhausted_ = true;
    return false;
  }
  if (node.verdict.has_value()) {
    return *node.verdict || fault(path, "false", [] { return std::string("is not allowed"); });
  }
  const Scope entered{from == nullptr ? nullptr : from->scope, node.resource};
  const bool same = from != nullptr && from->scope->resource == node.resource;
  Evaluated own;
  const Frame frame{node,  value,
                    path,  same ? from->scope : &entered,
                    depth, document_.tracks_evaluated ? &own : nullptr};
  bool ok = check_kind(frame);
  const auto also = [&](bool (Checker::*part)(const Frame&)) {
    if ((ok || quiet_ == 0) && !done()) ok = (this->*part)(frame) && ok;
  };
  if (value.is_number()) also(&Checker::check_number);
  if (value.is_string()) also(&Checker::check_string);
  if (value.is_array()) also(&Checker::check_array);
  if (value.is_object()) also(&Checker::check_object);
  also(&Checker::check_references);
  also(&Checker::check_combined);
  if (ok) also(&Checker::check_unevaluated);
  if (ok && evaluated != nullptr) {
    if (!spend((own.members.size() + own.elements.size()) / 32)) return false;
    evaluated->merge(own);
  }
  return ok && !exhausted_;
}

bool Checker::quietly(const Node& node, const Frame& frame, Evaluated* evaluated) {
  ++quiet_;
  const bool ok = check(node, frame.value, frame.path, &frame, evaluated);
  --quiet_;
  return ok;
}

bool Checker::check_kind(const Frame& frame) {
  const Node& node = frame.node;
  const Value& value = frame.value;
  bool ok = true;
  if (node.types != 0 && (node.types & types_of(value)) == 0) {
    ok = fault(frame.path, "type", [&] {
      const Types actual = types_of(value);
      return "must be " + type_names(node.types) + ", is " +
             type_names((actual & kInteger) != 0 ? kInteger : actual);
    });
  }
  if (node.compare_cost != 0 && !spend(node.compare_cost)) return false;
  if (node.constant != nullptr && !(*node.constant == value))
    ok = fault(frame.path, "const", [&] { return "must be " + brief(*node.constant); });
  if (node.enumeration == nullptr) return ok;
  const Value::Array& choices = node.enumeration->as_array();
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return ok;
  return fault(frame.path, "enum", [&] {
    std::string list;
    for (size_t i = 0; i < choices.size() && i < 10; ++i)
      list += (i > 0 ? ", " : "") + brief(choices[i]);
    return "must be one of " + list + (choices.size() > 10 ? ", …" : "");
  });
}

bool Checker::check_references(const Frame& frame) {
  const Node& node = frame.node;
  bool ok = true;
  if (node.ref != nullptr) ok = check(*node.ref, frame.value, frame.path, &frame, frame.evaluated);
  if (node.dynamic_ref == nullptr) return ok;
  const Node* target = node.dynamic_ref;
  if (!node.dynamic_anchor.empty()) {
    // The outermost resource that has the anchor decides.
    for (const Scope* scope = frame.scope; scope != nullptr && spend(1); scope = scope->up) {
      const auto anchor = scope->resource->dynamic_anchors.find(node.dynamic_anchor);
      if (anchor != scope->resource->dynamic_anchors.end()) target = anchor->second;
    }
  }
  return check(*target, frame.value, frame.path, &frame, frame.evaluated) && ok;
}

bool Checker::check_any_of(const Frame& frame) {
  bool any = false;
  for (const Node* option : frame.node.any_of) {
    // After one match, the rest matter only to unevaluated*.
    if (any && frame.evaluated == nullptr) break;
    any = quietly(*option, frame, frame.evaluated) || any;
  }
  return any || fault(frame.path, "anyOf", [&] {
           return "must match at least one of " + std::to_string(frame.node.any_of.size()) +
                  " schemas";
         });
}

bool Checker::check_one_of(const Frame& frame) {
  std::vector<size_t> matched;
  const std::vector<Node*>& options = frame.node.one_of;
  for (size_t i = 0; i < options.size() && matched.size() < 2; ++i) {
    if (quietly(*options[i], frame, frame.evaluated)) matched.push_back(i);
  }
  if (matched.size() == 1) return true;
  return fault(frame.path, "oneOf", [&] {
    const std::string count = std::to_string(options.size());
    if (matched.empty()) return "must match exactly one of " + count + " schemas, matches none";
    return "must match exactly one of " + count + " schemas, matches the " +
           std::to_string(matched[0] + 1) + ". and the " + std::to_string(matched[1] + 1) + ".";
  });
}

bool Checker::check_combined(const Frame& frame) {
  const Node& node = frame.node;
  bool ok = true;
  for (const Node* part : node.all_of) {
    if (!ok && quiet_ > 0) return false;
    ok = check(*part, frame.value, frame.path, &frame, frame.evaluated) && ok;
  }
  if (!node.any_of.empty()) ok = check_any_of(frame) && ok;
  if (!node.one_of.empty()) ok = check_one_of(frame) && ok;
  if (node.negation != nullptr && quietly(*node.negation, frame, nullptr)) {
    ok = fault(frame.path, "not", [] { return std::string("matches what it must not match"); });
  }
  if (node.condition != nullptr) {
    const bool holds = quietly(*node.condition, frame, frame.evaluated);
    const Node* const next = holds ? node.consequence : node.alternative;
    if (next != nullptr) ok = check(*next, frame.value, frame.path, &frame, frame.evaluated) && ok;
  }
  return ok;
}

}  // namespace pawl::expr::schema
