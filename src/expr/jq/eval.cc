// The core of the machine: tail positions, and the operators that build or index one value.
#include "expr/jq/machine.h"

namespace pawl::expr::jq {
namespace {

const PathPtr& root_path() {
  static const PathPtr* const kRoot = new PathPtr(std::make_shared<const Path>());
  return *kRoot;
}
const PathPtr& no_path() {
  static const PathPtr* const kNone = new PathPtr(std::make_shared<const Path>());
  return *kNone;
}

}  // namespace

bool Machine::raise(Datum error) {
  if (spent()) return false;
  signal_ = Signal::Error;
  error_ = std::move(error);
  error_offset_ = place_;
  return false;
}

bool Machine::raise(std::string message) {
  return raise(Datum::string(std::move(message), budget));
}

bool Machine::enter(const Node* node) {
  if (node->offset != kNowhere) place_ = node->offset;
  return step() && !spent();
}

Item Machine::fresh(const Item& in, Datum value) {
  return {std::move(value), in.path == nullptr ? nullptr : no_path()};
}

bool Machine::is_path(const Item& item) {
  if (item.path != no_path()) return true;
  return raise("Invalid path expression with result " + described(item.value, budget));
}

bool Machine::extend(const Item& of, Datum key, PathPtr& path) {
  if (of.path == nullptr) return true;
  if (!is_path(of)) return false;
  if (of.path->length >= kPathLengthMax) return budget.allow_depth(UINT32_MAX);
  if (!budget.spend_bytes(sizeof(Path) + 32)) return false;
  path = std::make_shared<const Path>(Path{of.path, std::move(key), of.path->length + 1});
  return true;
}

bool Machine::one(const Node& node, const Env& env, Item in, Item& result, bool& got) {
  got = false;
  return eval(&node, env, std::move(in), [&](Item item) {
    result = std::move(item);
    got = true;
    return true;
  });
}

bool Machine::values(const Node& node, const Env& env, const Datum& in, Each each) {
  return eval(&node, env, Item{in, nullptr},
              [&](Item item) { return each(std::move(item.value)); });
}

bool Machine::first_value(const Node& node, const Env& env, Datum in, Datum& result, bool& got) {
  got = false;
  return until_stopped(node, env, Item{std::move(in), nullptr}, [&](Item item, bool& stop) {
    result = std::move(item.value);
    got = stop = true;
    return true;
  });
}

bool Machine::until_stopped(const Node& node, const Env& env, Item in,
                            FunctionRef<bool(Item, bool&)> each) {
  const uint64_t mine = ++labels_;
  const bool ended = eval(&node, env, std::move(in), [&](Item item) {
    bool stop = false;
    if (!each(std::move(item), stop)) return false;
    if (!stop) return true;
    signal_ = Signal::Break;
    break_label_ = mine;
    return false;
  });
  if (ended) return true;
  if (spent() || signal_ != Signal::Break || break_label_ != mine) return false;
  signal_ = Signal::None;
  return true;
}

bool Machine::collect(const Node& node, const Env& env, const Datum& in, Datum::Array& into) {
  return values(node, env, in, [&](Datum value) {
    into.push_back(std::move(value));
    return budget.spend_bytes(sizeof(Datum));
  });
}

bool Machine::collect_paths(const Node& node, const Env& env, const Datum& in, Datum::Array& into) {
  return eval(&node, env, Item{in, root_path()}, [&](Item item) {
    if (!is_path(item)) return false;
    into.push_back(path_datum(item.path, budget));
    return !spent();
  });
}

bool Machine::eval(const Node* node, Env env, Item in, Emit out) {
  struct Nesting {
    uint32_t& depth;
    explicit Nesting(uint32_t& counter) : depth(counter) { ++depth; }
    ~Nesting() { --depth; }
  } nesting(depth_);
  if (!budget.allow_depth(depth_)) return false;
  for (;;) {
    if (!enter(node)) return false;
    Item mid;
    bool got = false;
    if (node->op == Op::Identity) return out(std::move(in));
    if (node->op == Op::Literal) return out(fresh(in, node->literal));
    if (node->op == Op::Pipe && node->args[0]->single) {
      if (!one(*node->args[0], env, std::move(in), mid, got)) return false;
      if (!got) return true;
      in = std::move(mid);
      node = node->args[1].get();
    } else if (node->op == Op::Comma) {
      if (!eval(node->args[0].get(), env, in, out)) return false;
      node = node->args[1].get();
    } else if (node->op == Op::If && node->args[0]->single) {
      if (!one(*node->args[0], env, Item{in.value, nullptr}, mid, got)) return false;
      if (!got) return true;
      node = node->args[mid.value.truthy() ? 1 : 2].get();
    } else if (node->op == Op::Define) {
      env = push(env, Frame{.function = node->function.get()});
      node = node->args[0].get();
    } else if (node->op == Op::Bind && node->args[0]->single && node->patterns.size() == 1 &&
               node->patterns[0].kind == Pattern::Kind::Variable) {
      if (!one(*node->args[0], env, Item{in.value, nullptr}, mid, got)) return false;
      if (!got) return true;
      env = push(env, Frame{.value = std::move(mid.value)});
      node = node->args[1].get();
    } else if (node->op == Op::Call && node->target != Target::Native &&
               node->target != Target::Special) {
      bool ok = true;
      const Node* next = nullptr;
      if (!prepare_call(*node, env, in, next, ok)) {
        const Env callee = node->target == Target::Global ? Env() : env_at(env, node->hops);
        return call_with_values(*node->global, *node, env, callee, 0, in, out);
      }
      if (!ok) return false;
      if (next == nullptr) return true;
      node = next;
    } else {
      return dispatch(*node, env, in, out);
    }
  }
}

bool Machine::dispatch(const Node& node, const Env& env, Item& in, Emit out) {
  switch (node.op) {
    case Op::Pipe:
      return eval(node.args[0].get(), env, std::move(in),
                  [&](Item item) { return eval(node.args[1].get(), env, std::move(item), out); });
    case Op::If:
      return values(*node.args[0], env, in.value, [&](Datum holds) {
        return eval(node.args[holds.truthy() ? 1 : 2].get(), env, in, out);
      });
    case Op::Bind:
      return bound(node, env, in, out);
    case Op::RecurseDefault:
      return loop(node, env, in, out);
    case Op::Index:
      return index(node, env, in, out);
    case Op::Slice:
      return slice(node, env, in, out);
    case Op::Iterate:
      return iterate(node, env, in, out);
    case Op::String:
      return string(node, env, in, out, node.args.size() - 1, "");
    case Op::Format:
      return format(node, in, out);
    case Op::Array:
      return array(node, env, in, out);
    case Op::Object:
      return object(node, env, in, out, 0, {});
    case Op::Negate:
      return negate(node, env, in, out);
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Divide:
    case Op::Modulo:
    case Op::Equal:
    case Op::NotEqual:
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual:
      return binary(node, env, in, out);
    case Op::And:
    case Op::Or:
      return logic(node, env, in, out);
    case Op::Alternative:
      return alternative(node, env, in, out);
    case Op::Assign:
    case Op::Arithmetic:
      return assign(node, env, in, out);
    case Op::Update:
      return update(node, env, in, out);
    case Op::Try:
      return attempt(node, env, in, out);
    case Op::Reduce:
      return reduce(node, env, in, out);
    case Op::Foreach:
      return foreach (node, env, in, out);
    case Op::Variable:
      return variable(node, env, in, out);
    case Op::Label:
      return label(node, env, in, out);
    case Op::Break:
      signal_ = Signal::Break;
      break_label_ = frame_at(env, node.hops).label;
      return false;
    case Op::Call: {
      if (node.target == Target::Special) return special(node, env, in, out);
      std::vector<Datum> args;
      return native(node, env, in, out, args);
    }
    case Op::Identity:
    case Op::Literal:
    case Op::Comma:
    case Op::Define:
      break;
  }
  PAWL_CHECK(false);  // eval() has handled these
  return false;
}

bool Machine::bound(const Node& node, const Env& env, Item& in, Emit out) {
  return values(*node.args[0], env, in.value, [&](Datum value) {
    bool downstream = false;
    return bind(node, env, in.value, std::move(value), downstream, [&](Env names) {
      return eval(node.args[1].get(), names, in, [&](Item item) {
        downstream = !out(std::move(item));
        return !downstream;
      });
    });
  });
}

bool Machine::negate(const Node& node, const Env& env, Item& in, Emit out) {
  return values(*node.args[0], env, in.value, [&](Datum value) {
    if (!value.is_number()) return raise(described(value, budget) + " cannot be negated");
    Datum result;
    std::string error;
    if (!arithmetic(Op::Subtract, Datum::integer(0), value, result, budget, error))
      return raise(std::move(error));
    return out(fresh(in, std::move(result)));
  });
}

bool Machine::format(const Node& node, const Item& in, Emit out) {
  std::string text;
  if (!format_value(*this, node.text, in.value, text)) return false;
  return out(fresh(in, Datum::string(std::move(text), budget)));
}

bool Machine::array(const Node& node, const Env& env, const Item& in, Emit out) {
  Datum::Array elements;
  if (!node.args.empty() && !collect(*node.args[0], env, in.value, elements)) return false;
  return out(fresh(in, Datum::array(std::move(elements), budget)));
}

bool Machine::index(const Node& node, const Env& env, Item& in, Emit out) {
  const auto fetch = [&](const Item& of, const Datum& key) {
    Item result;
    std::string error;
    if (node.offset != kNowhere) place_ = node.offset;
    if (!index_value(of.value, key, result.value, budget, error)) return raise(std::move(error));
    return extend(of, key, result.path) && out(std::move(result));
  };
  if (node.args[0]->op == Op::Identity && node.args[1]->op == Op::Literal)
    return fetch(in, node.args[1]->literal);
  return values(*node.args[1], env, in.value, [&](Datum key) {
    return eval(node.args[0].get(), env, in, [&](Item of) { return fetch(of, key); });
  });
}

bool Machine::slice(const Node& node, const Env& env, Item& in, Emit out) {
  static const Node* const kNull = [] {
    auto* const literal = new Node();
    literal->op = Op::Literal;
    return literal;
  }();
  const Node& from = node.args[1] == nullptr ? *kNull : *node.args[1];
  const Node& to = node.args[2] == nullptr ? *kNull : *node.args[2];
  return values(to, env, in.value, [&](Datum last) {
    return values(from, env, in.value, [&](Datum first) {
      return eval(node.args[0].get(), env, in, [&](Item of) {
        Item result;
        std::string error;
        if (!slice_value(of.value, first, last, result.value, budget, error))
          return raise(std::move(error));
        if (of.path != nullptr && !extend(of, slice_key(first, last, budget), result.path))
          return false;
        return out(std::move(result));
      });
    });
  });
}

bool Machine::iterate(const Node& node, const Env& env, Item& in, Emit out) {
  if (node.args[0]->op == Op::Identity) return iterate_item(in, out);
  return eval(node.args[0].get(), env, std::move(in),
              [&](Item of) { return iterate_item(of, out); });
}

bool Machine::iterate_item(const Item& of, Emit out) {
  if (of.value.is_array()) {
    const Datum::Array& elements = of.value.as_array();
    for (size_t i = 0; i < elements.size(); ++i) {
      Item item{elements[i], nullptr};
      if (!step() || !extend(of, Datum::integer(static_cast<int64_t>(i)), item.path) ||
          !out(std::move(item)))
        return false;
    }
    return true;
  }
  if (of.value.is_object()) {
    for (const Datum::Member& member : of.value.as_object().members()) {
      Item item{member.value, nullptr};
      if (!step() || !extend(of, Datum::text(member.key), item.path) || !out(std::move(item)))
        return false;
    }
    return true;
  }
  return raise("Cannot iterate over " + described(of.value, budget));
}

// From the last part to the first: of several outputs, those of the last part vary slowest.
bool Machine::string(const Node& node, const Env& env, Item& in, Emit out, size_t part,
                     const std::string& text) {
  const std::string longer = node.args[part]->literal.as_string() + text;
  if (part == 0) return out(fresh(in, Datum::string(longer, budget)));
  return values(*node.args[part - 1], env, in.value, [&](Datum value) {
    std::string shown;
    const std::string_view format = node.text.empty() ? std::string_view("text") : node.text;
    if (!format_value(*this, format, value, shown) ||
        !budget.spend_bytes(shown.size() + longer.size()))
      return false;
    return string(node, env, in, out, part - 2, shown + longer);
  });
}

bool Machine::object(const Node& node, const Env& env, Item& in, Emit out, size_t entry,
                     const Datum::Object& members) {
  if (entry >= node.args.size()) return out(fresh(in, Datum::object(members, budget)));
  return values(*node.args[entry], env, in.value, [&](Datum key) {
    if (!key.is_string())
      return raise("Object keys must be strings, not " + described(key, budget));
    return values(*node.args[entry + 1], env, in.value, [&](Datum value) {
      if (!budget.spend_bytes((members.size() + 1) * sizeof(Datum::Member))) return false;
      Datum::Object longer = members;
      longer.set(key.as_text(), std::move(value));
      return object(node, env, in, out, entry + 2, longer);
    });
  });
}

bool Machine::binary(const Node& node, const Env& env, Item& in, Emit out) {
  const auto apply = [&](Datum a, const Datum& b) {
    if (node.offset != kNowhere) place_ = node.offset;
    if (node.op >= Op::Equal && node.op <= Op::GreaterEqual)
      return out(fresh(in, Datum::boolean(compares(node.op, a, b, budget))));
    Datum result;
    std::string error;
    if (!arithmetic(node.op, std::move(a), b, result, budget, error))
      return raise(std::move(error));
    return out(fresh(in, std::move(result)));
  };
  // `. + x` may change an unshared value in place: a fold that appends stays linear.
  if (node.args[0]->op == Op::Identity && node.args[1]->single) {
    Item right;
    bool got = false;
    if (!one(*node.args[1], env, Item{in.value, nullptr}, right, got)) return false;
    return !got || apply(std::move(in.value), right.value);
  }
  return values(*node.args[1], env, in.value, [&](Datum b) {
    return values(*node.args[0], env, in.value, [&](Datum a) { return apply(std::move(a), b); });
  });
}

}  // namespace pawl::expr::jq
