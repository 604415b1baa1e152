// Names, folds, errors and assignment.
#include <algorithm>

#include "expr/jq/machine.h"

namespace pawl::expr::jq {

Env Machine::push(Env up, Frame frame) {
  frame.chain = 1 + std::max(up == nullptr ? 0 : up->chain,
                             frame.closure_env == nullptr ? 0 : frame.closure_env->chain);
  if (frame.chain > kFrameChainMax) {
    (void)budget.allow_depth(UINT32_MAX);
    frame.chain = kFrameChainMax;
  }
  (void)budget.spend_bytes(sizeof(Frame));
  frame.up = std::move(up);
  return std::make_shared<const Frame>(std::move(frame));
}

const Frame& Machine::frame_at(const Env& env, uint32_t hops) {
  const Frame* frame = env.get();
  for (uint32_t i = 0; i < hops; ++i) frame = frame->up.get();
  return *frame;
}

Env Machine::env_at(const Env& env, uint32_t hops) {
  const Env* at = &env;
  for (uint32_t i = 0; i < hops; ++i) at = &(*at)->up;
  return *at;
}

bool Machine::prepare_call(const Node& node, Env& env, Item& in, const Node*& next, bool& ok) {
  ok = step(node.hops / 16);
  if (node.target == Target::Value) {
    in = fresh(in, frame_at(env, node.hops).value);
    static const Node* const kIdentity = new Node();
    next = kIdentity;
    return true;
  }
  if (node.target == Target::Closure) {
    const Env holder = env_at(env, node.hops);
    next = holder->closure;
    env = holder->closure_env;
    return true;
  }
  const Function& function = *node.global;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (function.params[i].value && !node.args[i]->single) return false;
  }
  Env callee = node.target == Target::Global ? Env() : env_at(env, node.hops);
  for (size_t i = 0; ok && i < node.args.size(); ++i) {
    if (!function.params[i].value) {
      callee = push(callee, Frame{.closure = node.args[i].get(), .closure_env = env});
      continue;
    }
    Item value;
    bool got = false;
    ok = one(*node.args[i], env, Item{in.value, nullptr}, value, got);
    if (!ok || !got) return true;  // no value, no call
    callee = push(callee, Frame{.value = std::move(value.value)});
  }
  env = std::move(callee);
  next = function.body.get();
  return true;
}

bool Machine::call_with_values(const Function& function, const Node& node, const Env& env,
                               Env callee, size_t param, Item& in, Emit out) {
  for (; param < function.params.size(); ++param) {
    if (function.params[param].value) {
      return values(*node.args[param], env, in.value, [&](Datum value) {
        return call_with_values(function, node, env, push(callee, Frame{.value = std::move(value)}),
                                param + 1, in, out);
      });
    }
    callee = push(callee, Frame{.closure = node.args[param].get(), .closure_env = env});
  }
  return eval(function.body.get(), callee, in, out);
}

bool Machine::variable(const Node& node, const Env& env, Item& in, Emit out) {
  if (node.target == Target::Value) return out(fresh(in, frame_at(env, node.hops).value));
  const Value* const known = variables_.find(node.text);
  if (known == nullptr) return raise("$" + node.text + " is not defined");
  return out(fresh(in, Datum::from(*known, budget)));
}

bool Machine::native(const Node& node, const Env& env, const Item& in, Emit out,
                     std::vector<Datum>& args) {
  if (args.size() == node.args.size()) {
    Datum result;
    if (node.offset != kNowhere) place_ = node.offset;
    // Pays for reading every text given; the function pays for further work itself.
    uint64_t bytes = in.value.is_string() ? in.value.as_string().size() : 0;
    for (const Datum& arg : args)
      if (arg.is_string()) bytes += arg.as_string().size();
    if (!step(price::reading(bytes))) return false;
    if (!node.native->body(*this, in.value, args, result) || spent()) return false;
    return out(fresh(in, std::move(result)));
  }
  return values(*node.args[args.size()], env, in.value, [&](Datum value) {
    std::vector<Datum> more = args;
    more.push_back(std::move(value));
    return native(node, env, in, out, more);
  });
}

bool Machine::destructure(const Node& node, const Env& env, const Datum& in, std::vector<Work> work,
                          std::vector<Datum>& bound, EachEnv body) {
  const auto set = [&](const std::string& name, Datum value) {
    const auto at = std::find(node.variables.begin(), node.variables.end(), name);
    bound[static_cast<size_t>(at - node.variables.begin())] = std::move(value);
  };
  std::string error;
  while (!work.empty()) {
    const Work next = std::move(work.back());
    work.pop_back();
    const Pattern& pattern = *next.pattern;
    if (!step(1 + work.size() / 8)) return false;
    if (pattern.kind == Pattern::Kind::Variable) {
      if (!pattern.name.empty()) set(pattern.name, next.value);
    } else if (pattern.kind == Pattern::Kind::Array) {
      for (size_t i = pattern.elements.size(); i > 0; --i) {
        Datum element;
        if (!index_value(next.value, Datum::integer(static_cast<int64_t>(i - 1)), element, budget,
                         error))
          return raise(std::move(error));
        work.push_back({&pattern.elements[i - 1], std::move(element), 0});
      }
    } else if (next.entry < pattern.keys.size()) {
      return values(*pattern.keys[next.entry], env, in, [&](Datum key) {
        Datum member;
        if (!key.is_string() || !index_value(next.value, key, member, budget, error))
          return raise(key.is_string() ? error : "Cannot index with " + described(key, budget));
        if (!pattern.bound[next.entry].empty()) set(pattern.bound[next.entry], member);
        std::vector<Work> rest = work;
        rest.push_back({&pattern, next.value, next.entry + 1});
        rest.push_back({&pattern.elements[next.entry], std::move(member), 0});
        return destructure(node, env, in, std::move(rest), bound, body);
      });
    }
  }
  Env all = env;
  for (const Datum& value : bound) all = push(std::move(all), Frame{.value = value});
  return !spent() && body(std::move(all));
}

bool Machine::bind(const Node& node, const Env& env, const Datum& in, Datum value,
                   const bool& downstream, EachEnv body) {
  for (size_t i = 0; i < node.patterns.size(); ++i) {
    std::vector<Datum> bound(node.variables.size());
    if (destructure(node, env, in, {{&node.patterns[i], value, 0}}, bound, body)) return true;
    // With ?// an error tries the next pattern; the last one's counts.
    const bool again =
        !downstream && i + 1 < node.patterns.size() && !spent() && signal_ == Signal::Error;
    if (!again) return false;
    signal_ = Signal::None;
  }
  return true;
}

bool Machine::logic(const Node& node, const Env& env, Item& in, Emit out) {
  const bool decisive = node.op == Op::Or;
  return values(*node.args[0], env, in.value, [&](Datum left) {
    if (left.truthy() == decisive) return out(fresh(in, Datum::boolean(decisive)));
    return values(*node.args[1], env, in.value,
                  [&](Datum right) { return out(fresh(in, Datum::boolean(right.truthy()))); });
  });
}

bool Machine::alternative(const Node& node, const Env& env, Item& in, Emit out) {
  bool any = false;
  bool downstream = false;
  const bool ended = eval(node.args[0].get(), env, in, [&](Item item) {
    if (!item.value.truthy()) return true;
    any = true;
    downstream = !out(std::move(item));
    return !downstream;
  });
  if (!ended) {
    if (downstream || spent() || signal_ != Signal::Error) return false;
    signal_ = Signal::None;  // an error on the left counts as no output
  }
  return any || eval(node.args[1].get(), env, std::move(in), out);
}

bool Machine::attempt(const Node& node, const Env& env, Item& in, Emit out) {
  // An error in the consumer of the outputs is not caught here.
  bool downstream = false;
  const bool ended = eval(node.args[0].get(), env, in, [&](Item item) {
    downstream = !out(std::move(item));
    return !downstream;
  });
  if (ended) return true;
  if (downstream || spent() || signal_ != Signal::Error) return false;
  signal_ = Signal::None;
  if (node.args[1] == nullptr) return true;
  return eval(node.args[1].get(), env, fresh(in, std::move(error_)), out);
}

bool Machine::label(const Node& node, const Env& env, Item& in, Emit out) {
  const uint64_t mine = ++labels_;
  const Env inner = push(env, Frame{.label = mine});
  if (eval(node.args[0].get(), inner, std::move(in), out)) return true;
  if (spent() || signal_ != Signal::Break || break_label_ != mine) return false;
  signal_ = Signal::None;
  return true;
}

bool Machine::reduce(const Node& node, const Env& env, Item& in, Emit out) {
  return eval(node.args[1].get(), env, in, [&](Item state) {
    const bool ended = values(*node.args[0], env, in.value, [&](Datum value) {
      return bind(node, env, in.value, std::move(value), false, [&](Env bound) {
        Item last = fresh(in, Datum());
        if (!eval(node.args[2].get(), bound, std::move(state), [&](Item item) {
              last = std::move(item);
              return true;
            }))
          return false;
        state = std::move(last);
        return true;
      });
    });
    return ended && out(std::move(state));
  });
}

bool Machine::foreach (const Node& node, const Env& env, Item & in, Emit out) {
  return eval(node.args[1].get(), env, in, [&](Item state) {
    return values(*node.args[0], env, in.value, [&](Datum value) {
      bool downstream = false;
      const auto pass = [&](Item item) {
        downstream = !out(std::move(item));
        return !downstream;
      };
      return bind(node, env, in.value, std::move(value), downstream, [&](Env bound) {
        const Item before = state;
        return eval(node.args[2].get(), bound, before, [&](Item item) {
          state = item;
          if (node.args[3] == nullptr) return pass(std::move(item));
          return eval(node.args[3].get(), bound, std::move(item), pass);
        });
      });
    });
  });
}

bool Machine::assign(const Node& node, const Env& env, Item& in, Emit out) {
  const auto apply = [&](const Datum& value, Datum root) {
    Datum::Array paths;
    if (!collect_paths(*node.args[0], env, root, paths)) return false;
    std::string error;
    for (const Datum& path : paths) {
      Datum next = value;
      if (node.op == Op::Arithmetic) {
        Datum old;
        if (!jq::get_path(root, path, old, budget, error)) return raise(std::move(error));
        if (node.inner == Op::Alternative) {
          if (old.truthy()) next = old;
        } else if (!arithmetic(node.inner, std::move(old), value, next, budget, error)) {
          return raise(std::move(error));
        }
      }
      if (!step() || !set_path(root, path, std::move(next), budget, error))
        return raise(std::move(error));
    }
    return out(fresh(in, std::move(root)));
  };
  if (node.args[1]->single) {
    Item value;
    bool got = false;
    if (!one(*node.args[1], env, Item{in.value, nullptr}, value, got)) return false;
    return !got || apply(value.value, std::move(in.value));
  }
  return values(*node.args[1], env, in.value, [&](Datum value) { return apply(value, in.value); });
}

bool Machine::update(const Node& node, const Env& env, Item& in, Emit out) {
  Datum::Array paths;
  Datum::Array gone;
  if (!collect_paths(*node.args[0], env, in.value, paths)) return false;
  Datum root = std::move(in.value);
  std::string error;
  for (const Datum& path : paths) {
    Datum old;
    Datum next;
    bool got = false;
    if (!jq::get_path(root, path, old, budget, error)) return raise(std::move(error));
    if (!first_value(*node.args[1], env, std::move(old), next, got)) return false;
    if (!got) {
      gone.push_back(path);
    } else if (!step() || !set_path(root, path, std::move(next), budget, error)) {
      return raise(std::move(error));
    }
  }
  if (!gone.empty() && !delete_paths(root, gone, budget, error)) return raise(std::move(error));
  return out(fresh(in, std::move(root)));
}

}  // namespace pawl::expr::jq
