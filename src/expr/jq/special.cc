// The builtins that take filters: loops, limits, sorting by a key, substitution.
#include <algorithm>

#include "expr/jq/machine.h"

namespace pawl::expr::jq {

bool Machine::special(const Node& node, const Env& env, Item& in, Emit out) {
  switch (node.special) {
    case Special::Empty:
      return true;
    case Special::Path: {
      // Paths are passed on one by one: path(..) | first must not walk everything.
      static const PathPtr* const kRoot = new PathPtr(std::make_shared<const Path>());
      return eval(node.args[0].get(), env, Item{in.value, *kRoot}, [&](Item item) {
        return is_path(item) && out(fresh(in, path_datum(item.path, budget)));
      });
    }
    case Special::Range:
      return range(node, env, in, out);
    case Special::Limit:
      return limit(node, env, in, out);
    case Special::First:
      return until_stopped(*node.args[0], env, std::move(in), [&](Item item, bool& stop) {
        stop = true;
        return out(std::move(item));
      });
    case Special::Last:
      return last(node, env, in, out);
    case Special::Until:
    case Special::While:
    case Special::Repeat:
    case Special::Recurse:
      return loop(node, env, in, out);
    case Special::IsEmpty: {
      Datum ignored;
      bool got = false;
      return first_value(*node.args[0], env, in.value, ignored, got) &&
             out(fresh(in, Datum::boolean(!got)));
    }
    case Special::Any:
    case Special::All:
      return any_all(node, env, in, out);
    case Special::AddOf: {
      Datum sum;
      const bool ended = values(*node.args[0], env, in.value, [&](Datum value) {
        std::string error;
        Datum next;
        if (!arithmetic(Op::Add, std::move(sum), value, next, budget, error))
          return raise(std::move(error));
        sum = std::move(next);
        return true;
      });
      return ended && out(fresh(in, std::move(sum)));
    }
    case Special::SortBy:
    case Special::GroupBy:
    case Special::UniqueBy:
    case Special::MinBy:
    case Special::MaxBy:
      return sort_by(node, env, in, out);
    case Special::Sub:
    case Special::Gsub:
      return substitute(node, env, in, out);
    case Special::GetPath:
      return get_path(node, env, in, out);
    case Special::Debug:
      return out(std::move(in));
  }
  return true;
}

bool Machine::range(const Node& node, const Env& env, Item& in, Emit out) {
  const auto run = [&](const Datum& from, const Datum& to, const Datum& by) {
    if (!from.is_number() || !to.is_number() || !by.is_number())
      return raise("Range bounds must be numeric");
    if (from.is_int() && to.is_int() && by.is_int()) {
      const int64_t stride = by.as_int();
      for (int64_t i = from.as_int();
           stride > 0 ? i < to.as_int() : stride < 0 && i > to.as_int();) {
        if (!step() || !out(fresh(in, Datum::integer(i)))) return false;
        if (__builtin_add_overflow(i, stride, &i)) break;
      }
      return true;
    }
    const double stride = by.as_double();
    const double end = to.as_double();
    for (double x = from.as_double(); stride > 0 ? x < end : stride < 0 && x > end; x += stride) {
      if (!step() || !out(fresh(in, number(x)))) return false;
    }
    return true;
  };
  const Datum unit = Datum::integer(1);
  return values(*node.args[0], env, in.value, [&](Datum a) {
    if (node.args.size() == 1) return run(Datum::integer(0), a, unit);
    return values(*node.args[1], env, in.value, [&](Datum b) {
      if (node.args.size() == 2) return run(a, b, unit);
      return values(*node.args[2], env, in.value, [&](Datum c) { return run(a, b, c); });
    });
  });
}

bool Machine::limit(const Node& node, const Env& env, Item& in, Emit out) {
  return values(*node.args[0], env, in.value, [&](Datum count) {
    if (!count.is_number()) return raise("Limit must be a number");
    const double most = count.as_double();
    if (!(most > 0)) return true;
    double seen = 0;
    return until_stopped(*node.args[1], env, in, [&](Item item, bool& stop) {
      stop = ++seen >= most;
      return out(std::move(item));
    });
  });
}

bool Machine::last(const Node& node, const Env& env, Item& in, Emit out) {
  Item result;
  bool got = false;
  const bool ended = eval(node.args[0].get(), env, std::move(in), [&](Item item) {
    result = std::move(item);
    got = true;
    return true;
  });
  return ended && (!got || out(std::move(result)));
}

// The outputs of one round of a loop, and the inputs of the next rounds.
bool Machine::loop_step(const Node& node, const Env& env, const Item& item, Emit out,
                        std::vector<Item>& next) {
  const auto keep = [&](Item child) {
    next.push_back(std::move(child));
    return budget.spend_bytes(sizeof(Item));
  };
  if (node.args.empty()) {
    if (!out(item)) return false;
    return (!item.value.is_array() && !item.value.is_object()) || iterate_item(item, keep);
  }
  if (node.special == Special::Recurse || node.special == Special::Repeat)
    return out(item) && eval(node.args[0].get(), env, item, keep);
  const bool until = node.special == Special::Until;
  return values(*node.args[0], env, item.value, [&](Datum holds) {
    if (until && holds.truthy()) return out(item);
    if (!until && (!holds.truthy() || !out(item))) return !holds.truthy();
    return eval(node.args[1].get(), env, item, keep);
  });
}

// Depth first without recursion: a loop that turns a million times needs no stack.
bool Machine::loop(const Node& node, const Env& env, Item& in, Emit out) {
  struct Pending {
    Item item;
    Signal signal = Signal::None;  // how the round that made the items above ended
    Datum error;
    uint64_t label = 0;
  };
  std::vector<Pending> stack;
  stack.push_back({std::move(in)});
  while (!stack.empty()) {
    Pending current = std::move(stack.back());
    stack.pop_back();
    if (current.signal != Signal::None) {
      signal_ = current.signal;
      error_ = std::move(current.error);
      break_label_ = current.label;
      return false;
    }
    if (!step() || spent()) return false;
    std::vector<Item> next;
    bool downstream = false;
    const bool ended = loop_step(
        node, env, current.item,
        [&](Item item) {
          downstream = !out(std::move(item));
          return !downstream;
        },
        next);
    if (!ended) {
      if (downstream || spent() || next.empty()) return false;
      stack.push_back({{}, std::exchange(signal_, Signal::None), error_, break_label_});
    }
    for (auto item = next.rbegin(); item != next.rend(); ++item)
      stack.push_back({std::move(*item)});
  }
  return true;
}

bool Machine::any_all(const Node& node, const Env& env, Item& in, Emit out) {
  const bool decisive = node.special == Special::Any;
  bool result = !decisive;
  const auto judge = [&](Item item, bool& stop) {
    if (item.value.truthy() == decisive) {
      result = decisive;
      stop = true;
    }
    return true;
  };
  static const Node* const kEach = [] {
    auto* const each = new Node();
    each->op = Op::Iterate;
    each->args.push_back(std::make_unique<Node>());
    return each;
  }();
  const Item plain{in.value, nullptr};
  bool ended = false;
  if (node.args.empty()) {
    ended = until_stopped(*kEach, env, plain, judge);
  } else {
    const bool own = node.args.size() == 2;
    ended = until_stopped(own ? *node.args[0] : *kEach, env, plain, [&](Item item, bool& stop) {
      return until_stopped(*node.args[own ? 1 : 0], env, std::move(item),
                           [&](Item verdict, bool& enough) {
                             const bool ok = judge(std::move(verdict), stop);
                             enough = stop;
                             return ok;
                           });
    });
  }
  return ended && out(fresh(in, Datum::boolean(result)));
}

bool Machine::sort_by(const Node& node, const Env& env, Item& in, Emit out) {
  if (!in.value.is_array())
    return raise("Cannot sort " + described(in.value, budget) + ", as it is not an array");
  std::vector<std::pair<Datum, Datum>> keyed;
  for (const Datum& element : in.value.as_array()) {
    Datum::Array key;
    if (!step() || !collect(*node.args[0], env, element, key)) return false;
    keyed.emplace_back(Datum::array(std::move(key), budget), element);
    if (!budget.spend_bytes(sizeof keyed[0])) return false;
  }
  const auto before = [&](const auto& a, const auto& b) {
    return compare(a.first, b.first, budget) < 0;
  };
  if (node.special == Special::MinBy || node.special == Special::MaxBy) {
    const bool least = node.special == Special::MinBy;
    Datum best;
    const std::pair<Datum, Datum>* found = nullptr;
    for (const auto& each : keyed) {
      if (found == nullptr || (least ? before(each, *found) : !before(each, *found))) found = &each;
    }
    return !spent() && out(fresh(in, found == nullptr ? Datum() : found->second));
  }
  std::stable_sort(keyed.begin(), keyed.end(), before);
  Datum::Array result;
  Datum::Array group;
  for (size_t i = 0; i < keyed.size(); ++i) {
    const bool starts = i == 0 || before(keyed[i - 1], keyed[i]);
    if (node.special == Special::GroupBy && starts && i > 0)
      result.push_back(Datum::array(std::exchange(group, {}), budget));
    if (node.special == Special::GroupBy) {
      group.push_back(keyed[i].second);
    } else if (node.special == Special::SortBy || starts) {
      result.push_back(keyed[i].second);
    }
  }
  if (!group.empty()) result.push_back(Datum::array(std::move(group), budget));
  return !spent() && out(fresh(in, Datum::array(std::move(result), budget)));
}

bool Machine::substitute(const Node& node, const Env& env, Item& in, Emit out) {
  if (!in.value.is_string())
    return raise(described(in.value, budget) + " cannot be matched, as it is not a string");
  const std::string& text = in.value.as_string();
  const auto run = [&](const Datum& pattern, const Datum& flags) {
    std::vector<Match> matches;
    const re2::RE2* expression = nullptr;
    if (!find_matches(*this, in.value, pattern, flags, node.special == Special::Gsub, matches,
                      expression))
      return false;
    // The i-th outputs of all replacements make the i-th result.
    std::vector<std::string> results;
    size_t copied = 0;
    for (const Match& match : matches) {
      Datum::Array inserts;
      if (!collect(*node.args[1], env, captured(*this, text, match, *expression), inserts))
        return false;
      if (results.size() < inserts.size()) results.resize(inserts.size());
      for (size_t i = 0; i < inserts.size(); ++i) {
        if (!inserts[i].is_string())
          return raise(described(inserts[i], budget) + " cannot be added to a string");
        const size_t gap = match.groups[0].begin - copied;
        if (!budget.spend_bytes(gap + inserts[i].as_string().size())) return false;
        results[i].append(text, copied, gap).append(inserts[i].as_string());
      }
      copied = match.groups[0].end;
    }
    if (matches.empty()) return out(fresh(in, in.value));
    for (std::string& result : results) {
      if (!out(fresh(in, Datum::string(result.append(text, copied), budget)))) return false;
    }
    return true;
  };
  return values(*node.args[0], env, in.value, [&](Datum pattern) {
    if (node.args.size() < 3) return run(pattern, Datum());
    return values(*node.args[2], env, in.value, [&](Datum flags) { return run(pattern, flags); });
  });
}

bool Machine::get_path(const Node& node, const Env& env, Item& in, Emit out) {
  return values(*node.args[0], env, in.value, [&](Datum path) {
    Item result;
    std::string error;
    const bool found = jq::get_path(in.value, path, result.value, budget, error);
    if (in.path == nullptr) return found ? out(std::move(result)) : raise(std::move(error));
    if (!path.is_array()) return raise("Path must be specified as an array");
    result.path = in.path;
    for (const Datum& key : path.as_array()) {
      const Item so_far{{}, result.path};
      if (!extend(so_far, key, result.path)) return false;
    }
    return out(std::move(result));
  });
}

}  // namespace pawl::expr::jq
