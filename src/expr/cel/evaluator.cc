#include "expr/cel/evaluator.h"

#include <cmath>
#include <iterator>

#include "expr/cel/arithmetic.h"
#include "expr/cel/compare.h"
#include "expr/cel/convert.h"

namespace pawl::expr {
namespace {

constexpr size_t kKeysShown = 12;

Val no_such_key(const Val& map, std::string_view key) {
  std::string message = "no such key: '" + std::string(key.substr(0, 80)) + "'";
  std::string keys;
  for (size_t i = 0; i < map.map_size() && i < kKeysShown; ++i) {
    const Val name = map.map_at(i).first;
    if (!name.is(Kind::String)) continue;
    keys += (keys.empty() ? "" : ", ") + std::string(name.as_string().substr(0, 40));
  }
  if (!keys.empty()) message += "; there are: " + keys + (map.map_size() > kKeysShown ? ", …" : "");
  return Val::error(std::move(message));
}

Val not_selectable(const Val& operand) {
  return Val::error("no such key: type '" + std::string(type_name(operand.kind())) +
                    "' does not support field selection");
}

// The list position a key means, or an error value in `error`.
size_t list_position(const Val& list, const Val& key, Val& error) {
  const size_t size = list.list_size();
  double real = -1;
  if (key.is(Kind::Int)) {
    if (key.as_int() >= 0 && static_cast<uint64_t>(key.as_int()) < size)
      return static_cast<size_t>(key.as_int());
  } else if (key.is(Kind::Uint)) {
    if (key.as_uint() < size) return static_cast<size_t>(key.as_uint());
  } else if (key.is(Kind::Double) && std::floor(key.as_double()) == key.as_double()) {
    real = key.as_double();
    if (real >= 0 && real < static_cast<double>(size)) return static_cast<size_t>(real);
  } else {
    error = Val::error("invalid_argument: a list index must be an integer, not " +
                       std::string(type_name(key.kind())));
    return 0;
  }
  error = Val::error("invalid_argument: index out of bounds: " +
                     (key.is(Kind::Double) ? std::to_string(real) : key_text(key)) +
                     " of a list of " + std::to_string(size));
  return 0;
}

// Absent if there is no such element; errors only for kinds that cannot be indexed.
Val find_element(const Val& operand, const Val& key) {
  if (operand.is(Kind::Map)) return operand.map_find(key);
  if (operand.is(Kind::List)) {
    Val error;
    const size_t at = list_position(operand, key, error);
    if (error.is_absent()) return operand.list_at(at);
    return key.is_number() ? Val() : error;
  }
  const Val both[] = {operand, key};
  return no_overload("_[_]", both);
}

Val wrapped(Val value) {
  if (value.is_error()) return value;
  return value.is_absent() ? Val::none() : Val::some(std::move(value));
}

// a.b where a may be absent from a map: Absent then.
Val find_field(const Val& operand, std::string_view field) {
  return operand.is(Kind::Map) ? operand.map_find(field) : not_selectable(operand);
}

}  // namespace

Val select_field(const Val& operand, std::string_view field) {
  if (operand.is(Kind::Map)) {
    Val found = operand.map_find(field);
    return found.is_absent() ? no_such_key(operand, field) : found;
  }
  if (operand.is(Kind::Optional)) {
    if (!operand.has_value()) return operand;
    return wrapped(find_field(operand.optional_value(), field));
  }
  return operand.is_error() ? operand : not_selectable(operand);
}

Val select_output(const Val& operand) {
  if (!operand.is(Kind::Map)) return operand;
  Val found = operand.map_find("output");
  return found.is_absent() ? operand : found;
}

Val index_into(const Val& operand, const Val& key) {
  if (operand.is_error()) return operand;
  if (key.is_error()) return key;
  if (operand.is(Kind::Optional)) {
    return operand.has_value() ? wrapped(find_element(operand.optional_value(), key)) : operand;
  }
  if (operand.is(Kind::List)) {
    Val error;
    const size_t at = list_position(operand, key, error);
    return error.is_absent() ? operand.list_at(at) : error;
  }
  Val found = find_element(operand, key);
  return found.is_absent() ? no_such_key(operand, key_text(key)) : found;
}

Evaluator::Evaluator(const Code& code, const Activation& activation, Budget& budget)
    : code_(code), activation_(activation), context_{budget, code.mixed_arithmetic} {
  if (code.slots > inline_.size()) overflow_.resize(code.slots - inline_.size());
}

// Reading a text costs by its length, whatever the function does with it.
bool Evaluator::pay_text(const Val& value) {
  if (!value.is(Kind::String) && !value.is(Kind::Bytes)) return true;
  return context_.budget.spend_steps(price::reading(value.as_string().size()));
}

Val Evaluator::placed(Val value, uint32_t offset) {
  if (!value.is_error() || value.as_error().placed) return value;
  if (!context_.budget.spend_steps(price::kFailure)) return exhausted();
  return Val::error_at(value.as_error().message, offset);
}

Val Evaluator::run(uint32_t at) {
  const Step& step = code_.steps[at];
  if (step.op == Op::Const) return Val::borrow(code_.constants[step.a]);
  if (step.op == Op::Local) return slot(step.slot);
  if (!context_.budget.spend_steps(1) || !context_.budget.allow_depth(++depth_)) return exhausted();
  Val value = dispatch(step);
  --depth_;
  return value.is_error() ? placed(std::move(value), step.offset) : value;
}

// One function per operation, in the order of Op. Const and Local never get here: run() answers
// them.
Val Evaluator::dispatch(const Step& step) {
  using Handler = Val (Evaluator::*)(const Step&);
  static constexpr Handler kHandlers[] = {
      &Evaluator::fail,        &Evaluator::name,       &Evaluator::fail,
      &Evaluator::select,      &Evaluator::presence,   &Evaluator::presence,
      &Evaluator::index,       &Evaluator::presence,   &Evaluator::call,
      &Evaluator::fail,        &Evaluator::invert,     &Evaluator::minus,
      &Evaluator::logical,     &Evaluator::logical,    &Evaluator::conditional,
      &Evaluator::relation,    &Evaluator::relation,   &Evaluator::relation,
      &Evaluator::relation,    &Evaluator::relation,   &Evaluator::relation,
      &Evaluator::arithmetic,  &Evaluator::arithmetic, &Evaluator::arithmetic,
      &Evaluator::arithmetic,  &Evaluator::arithmetic, &Evaluator::contains,
      &Evaluator::list,        &Evaluator::map,        &Evaluator::fold,
      &Evaluator::bind,        &Evaluator::block,      &Evaluator::alternative,
      &Evaluator::alternative, &Evaluator::match,
  };
  static_assert(std::size(kHandlers) == static_cast<size_t>(Op::Match) + 1);
  return (this->*kHandlers[static_cast<size_t>(step.op)])(step);
}

Val Evaluator::fail(const Step& step) {
  return Val::error(std::string(code_.constants[step.a].as_string()));
}

Val Evaluator::select(const Step& step) {
  const Val operand = run(step.a);
  if (!pay_text(code_.constants[step.b])) return exhausted();
  return step.slot == 0 ? select_field(operand, code_.constants[step.b].as_string())
                        : select_output(operand);
}

Val Evaluator::invert(const Step& step) {
  Val operand = run(step.a);
  if (operand.is_error()) return operand;
  return operand.is(Kind::Bool) ? Val::boolean(!operand.as_bool())
                                : no_overload("!_", {&operand, 1});
}

Val Evaluator::minus(const Step& step) {
  Val operand = run(step.a);
  return operand.is_error() ? operand : negate(operand);
}

Val Evaluator::bind(const Step& step) {
  slot(step.slot) = run(step.a);  // an error waits in the slot until it is used
  return run(step.b);
}

Val Evaluator::match(const Step& step) {
  Val text = run(step.a);
  if (text.is_error()) return text;
  if (!text.is(Kind::String)) return no_overload("matches", {&text, 1});
  const auto found = match_regex(*code_.regexes[step.b], text.as_string(), context_.budget);
  return found ? Val::boolean(*found) : exhausted();
}

Val Evaluator::name(const Step& step) {
  const NameLookup& lookup = code_.names[step.a];
  const bool dotted = activation_.dotted();
  for (const NameLookup::Candidate& candidate : lookup.candidates) {
    Val value;
    if (dotted || !candidate.dotted) value = activation_.find(candidate.name);
    if (value.is_absent()) {
      if (candidate.type.is_absent()) continue;
      value = candidate.type;
    }
    // A plain name counts as one operator, and each of its parts as another.
    if (!context_.budget.spend_steps((lookup.fields.size() - candidate.parts) / 2 +
                                     price::reading(lookup.bytes)))
      return exhausted();
    for (size_t i = candidate.parts; i < lookup.fields.size(); ++i) {
      value = lookup.alias == i ? select_output(value)
                                : select_field(value, lookup.fields[i].as_string());
      if (value.is_error()) return value;
    }
    return value;
  }
  return unknown_name(lookup, step.offset);
}

Val Evaluator::unknown_name(const NameLookup& lookup, uint32_t offset) {
  if (!context_.budget.spend_steps(price::kFailure)) return exhausted();
  std::string message = "unknown variable '" + lookup.root + "'";
  const std::vector<std::string> names = activation_.names();
  for (size_t i = 0; i < names.size() && i < kKeysShown; ++i) {
    message += (i == 0 ? "; there are: " : ", ") + names[i];
  }
  return Val::error_at(std::move(message), offset);
}

Val Evaluator::call(const Step& step) {
  constexpr size_t kFew = 4;
  const auto invoke = [&](std::span<Val> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i] = run(code_.operands[step.b + i]);
      if (arguments[i].is_error()) return arguments[i];
      if (!pay_text(arguments[i])) return exhausted();
    }
    return code_.functions[step.a]->body(context_, arguments);
  };
  if (step.c <= kFew) {
    std::array<Val, kFew> few;
    return invoke(std::span(few).first(step.c));
  }
  std::vector<Val> many(step.c);
  return invoke(many);
}

// && and ||: an operand that settles the outcome wins over errors on either side.
Val Evaluator::logical(const Step& step) {
  const bool absorbing = step.op == Op::Or;
  Val error;
  for (uint32_t i = 0; i < step.c; ++i) {
    Val operand = run(code_.operands[step.b + i]);
    if (operand.is(Kind::Bool)) {
      if (operand.as_bool() == absorbing) return operand;
    } else if (error.is_absent()) {
      error = operand.is_error()
                  ? operand
                  : placed(no_overload(absorbing ? "_||_" : "_&&_", {&operand, 1}), step.offset);
    }
    if (context_.budget.exceeded() != Budget::Exceeded::None) return exhausted();
  }
  return error.is_absent() ? Val::boolean(!absorbing) : error;
}

Val Evaluator::conditional(const Step& step) {
  Val condition = run(code_.operands[step.b]);
  if (condition.is_error()) return condition;
  if (!condition.is(Kind::Bool)) return no_overload("_?_:_", {&condition, 1});
  return run(code_.operands[step.b + (condition.as_bool() ? 1 : 2)]);
}

Val Evaluator::relation(const Step& step) {
  Val both[] = {run(step.a), Val()};
  if (both[0].is_error()) return both[0];
  both[1] = run(step.b);
  if (both[1].is_error()) return both[1];
  if (step.op == Op::Equal || step.op == Op::NotEqual) {
    const bool same = equal(both[0], both[1], context_.budget);
    return Val::boolean(same == (step.op == Op::Equal));
  }
  if (!pay_text(both[0])) return exhausted();
  const Order order = compare(both[0], both[1]);
  if (order == Order::Incomparable) {
    return no_overload(step.op == Op::Less        ? "_<_"
                       : step.op == Op::LessEqual ? "_<=_"
                       : step.op == Op::Greater   ? "_>_"
                                                  : "_>=_",
                       both);
  }
  if (step.op == Op::Less) return Val::boolean(order == Order::Less);
  if (step.op == Op::LessEqual) return Val::boolean(order == Order::Less || order == Order::Equal);
  if (step.op == Op::Greater) return Val::boolean(order == Order::Greater);
  return Val::boolean(order == Order::Greater || order == Order::Equal);
}

Val Evaluator::arithmetic(const Step& step) {
  Val left = run(step.a);
  if (left.is_error()) return left;
  Val right = run(step.b);
  if (right.is_error()) return right;
  if (step.op == Op::Add) return add(context_, left, right);
  if (step.op == Op::Subtract) return subtract(context_, left, right);
  if (step.op == Op::Multiply) return multiply(context_, left, right);
  if (step.op == Op::Divide) return divide(context_, left, right);
  return modulo(context_, left, right);
}

Val Evaluator::contains(const Step& step) {
  Val both[] = {run(step.a), Val()};
  if (both[0].is_error()) return both[0];
  both[1] = run(step.b);
  if (both[1].is_error()) return both[1];
  if (!pay_text(both[0])) return exhausted();
  if (both[1].is(Kind::Map)) return Val::boolean(!both[1].map_find(both[0]).is_absent());
  if (!both[1].is(Kind::List)) return no_overload("@in", both);
  const size_t size = both[1].list_size();
  for (size_t i = 0; i < size; ++i) {
    if (!context_.budget.spend_steps(1)) return exhausted();
    if (equal(both[0], both[1].list_at(i), context_.budget)) return Val::boolean(true);
  }
  return Val::boolean(false);
}

Val Evaluator::index(const Step& step) {
  Val operand = run(step.a);
  if (operand.is_error()) return operand;
  const Val key = run(step.b);
  return pay_text(key) ? index_into(operand, key) : exhausted();
}

// a.?b, a[?b], has(a.b).
Val Evaluator::presence(const Step& step) {
  Val operand = run(step.a);
  if (operand.is_error()) return operand;
  Val key = step.op == Op::IndexOpt ? run(step.b) : Val();
  if (key.is_error()) return key;
  if (!pay_text(step.op == Op::IndexOpt ? key : code_.constants[step.b])) return exhausted();
  if (operand.is(Kind::Optional)) {
    if (!operand.has_value()) return step.op == Op::Has ? Val::boolean(false) : operand;
    operand = Val(operand.optional_value());
  }
  Val found = step.op == Op::IndexOpt ? find_element(operand, key)
                                      : find_field(operand, code_.constants[step.b].as_string());
  if (step.op != Op::Has) return wrapped(std::move(found));
  return found.is_error() ? found : Val::boolean(!found.is_absent());
}

// a.or(b), a.orValue(b): b is evaluated only if a is none.
Val Evaluator::alternative(const Step& step) {
  const bool value = step.op == Op::OptOrValue;
  Val operand = run(step.a);
  if (operand.is_error()) return operand;
  if (!operand.is(Kind::Optional)) return no_overload(value ? "orValue" : "or", {&operand, 1});
  if (operand.has_value()) return value ? operand.optional_value() : operand;
  Val other = run(step.b);
  if (value || other.is(Kind::Optional) || other.is_error()) return other;
  return no_overload("or", {&other, 1});
}

Val Evaluator::list(const Step& step) {
  std::vector<Val> elements;
  if (!context_.budget.spend_bytes(step.c * sizeof(Val) + 48)) return exhausted();
  elements.reserve(step.c);
  for (uint32_t i = 0; i < step.c; ++i) {
    Val element = run(code_.operands[step.b + i]);
    if (element.is_error()) return element;
    if (step.a != 0 && code_.marks[step.a - 1][i]) {
      if (!element.is(Kind::Optional)) {
        return Val::error("no such overload: an optional list element expects an optional, not " +
                          std::string(type_name(element.kind())));
      }
      if (!element.has_value()) continue;
      element = Val(element.optional_value());
    }
    elements.push_back(std::move(element));
  }
  return Val::list(std::move(elements));
}

Val Evaluator::map(const Step& step) {
  if (!context_.budget.spend_bytes(step.c * (sizeof(Val) + 16) + 64) ||
      !context_.budget.spend_steps(step.c))
    return exhausted();
  auto node = std::make_unique<MapNode>();
  for (uint32_t i = 0; i < step.c; i += 2) {
    Val key = run(code_.operands[step.b + i]);
    if (key.is_error()) return key;
    Val value = run(code_.operands[step.b + i + 1]);
    if (value.is_error()) return value;
    if (step.a != 0 && code_.marks[step.a - 1][i / 2]) {
      if (!value.is(Kind::Optional)) {
        return Val::error("no such overload: an optional map entry expects an optional, not " +
                          std::string(type_name(value.kind())));
      }
      if (!value.has_value()) continue;
      value = Val(value.optional_value());
    }
    if (!is_key_kind(key.kind())) {
      return Val::error("unsupported key type: " + std::string(type_name(key.kind())));
    }
    if (!pay_text(key)) return exhausted();
    if (!node->insert(key, std::move(value)))
      return Val::error("Failed with repeated key: " + key_text(key));
  }
  return Val::map(node.release());
}

Val Evaluator::block(const Step& step) {
  for (uint32_t i = 0; i < step.c; ++i) slot(step.slot + i) = run(code_.operands[step.b + i]);
  return run(step.a);
}

}  // namespace pawl::expr
