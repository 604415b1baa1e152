// Lists and sets: slice flatten distinct sort reverse first last range, sets.contains equivalent
// intersects.
#include <algorithm>

#include "expr/cel/compare.h"
#include "expr/cel/functions.h"

namespace pawl::expr {

Val reverse_text(CallContext& context, Arguments args);  // fn_strings.cc

namespace {

bool pay_visit(CallContext& context, const Val& list) {
  return context.budget.spend_steps(list.list_size());
}

Val slice(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List) || !args[1].is(Kind::Int) || !args[2].is(Kind::Int))
    return no_overload("slice", args);
  const int64_t from = args[1].as_int();
  const int64_t to = args[2].as_int();
  if (from < 0 || to < from || to > static_cast<int64_t>(args[0].list_size())) {
    return Val::error("cannot slice(" + std::to_string(from) + ", " + std::to_string(to) +
                      ") a list of " + std::to_string(args[0].list_size()));
  }
  const uint64_t size = static_cast<uint64_t>(to - from);
  if (!context.budget.spend_steps(size) || !context.budget.spend_bytes(size * sizeof(Val) + 48))
    return exhausted();
  std::vector<Val> elements;
  for (int64_t i = from; i < to; ++i) elements.push_back(args[0].list_at(static_cast<size_t>(i)));
  return Val::list(std::move(elements));
}

bool flatten_into(CallContext& context, const Val& list, int64_t depth, std::vector<Val>& out) {
  for (size_t i = 0; i < list.list_size(); ++i) {
    if (!context.budget.spend_steps(1) || !context.budget.spend_bytes(sizeof(Val))) return false;
    Val element = list.list_at(i);
    if (element.is(Kind::List) && depth > 0) {
      if (!flatten_into(context, element, depth - 1, out)) return false;
    } else {
      out.push_back(std::move(element));
    }
  }
  return true;
}

Val flatten(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List) || (args.size() == 2 && !args[1].is(Kind::Int)))
    return no_overload("flatten", args);
  const int64_t depth = args.size() == 2 ? args[1].as_int() : 1;
  if (depth < 0) return Val::error("flatten() expects a depth that is not negative");
  std::vector<Val> elements;
  if (!flatten_into(context, args[0], depth, elements)) return exhausted();
  return Val::list(std::move(elements));
}

bool holds(CallContext& context, const std::vector<Val>& elements, const Val& wanted) {
  for (const Val& element : elements) {
    if (!context.budget.spend_steps(1)) return false;
    if (equal(element, wanted, context.budget)) return true;
  }
  return false;
}

Val distinct(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List)) return no_overload("distinct", args);
  std::vector<Val> elements;
  for (size_t i = 0; i < args[0].list_size(); ++i) {
    Val element = args[0].list_at(i);
    if (!holds(context, elements, element)) elements.push_back(std::move(element));
    if (context.budget.exceeded() != Budget::Exceeded::None) return exhausted();
  }
  return paid_list(context, std::move(elements));
}

Val sort(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List)) return no_overload("sort", args);
  const uint64_t rounds = price::rounds(args[0].list_size());
  if (!context.budget.spend_steps(args[0].list_size() * (1 + rounds / 2)) ||
      !context.budget.spend_bytes(args[0].list_size() * sizeof(Val)))
    return exhausted();
  std::vector<Val> elements;
  for (size_t i = 0; i < args[0].list_size(); ++i) {
    elements.push_back(args[0].list_at(i));
    const Val& element = elements.back();
    if (element.is(Kind::String) || element.is(Kind::Bytes)) {
      // Sorting reads each text in every round.
      if (!context.budget.spend_steps(rounds * (1 + price::reading(element.as_string().size()))))
        return exhausted();
    }
    if (compare(elements[0], elements[i]) == Order::Incomparable) {
      return Val::error("no such overload: sort() expects comparable elements of one type");
    }
  }
  std::stable_sort(elements.begin(), elements.end(),
                   [](const Val& a, const Val& b) { return compare(a, b) == Order::Less; });
  return paid_list(context, std::move(elements));
}

Val reverse(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List)) return reverse_text(context, args);
  if (!pay_visit(context, args[0]) ||
      !context.budget.spend_bytes(args[0].list_size() * sizeof(Val) + 48))
    return exhausted();
  std::vector<Val> elements;
  for (size_t i = args[0].list_size(); i > 0; --i) elements.push_back(args[0].list_at(i - 1));
  return Val::list(std::move(elements));
}

Val first(CallContext&, Arguments args) {
  if (!args[0].is(Kind::List)) return no_overload("first", args);
  return args[0].list_size() == 0 ? Val::none() : Val::some(args[0].list_at(0));
}

Val last(CallContext&, Arguments args) {
  if (!args[0].is(Kind::List)) return no_overload("last", args);
  return args[0].list_size() == 0 ? Val::none()
                                  : Val::some(args[0].list_at(args[0].list_size() - 1));
}

Val range(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::Int)) return no_overload("lists.range", args);
  const int64_t size = std::max<int64_t>(0, args[0].as_int());
  if (!context.budget.spend_steps(static_cast<uint64_t>(size)) ||
      !context.budget.spend_bytes(static_cast<uint64_t>(size) * sizeof(Val) + 48)) {
    return exhausted();
  }
  std::vector<Val> elements;
  elements.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) elements.push_back(Val::integer(i));
  return Val::list(std::move(elements));
}

bool list_holds(CallContext& context, const Val& list, const Val& wanted) {
  for (size_t i = 0; i < list.list_size(); ++i) {
    if (!context.budget.spend_steps(1)) return false;
    if (equal(list.list_at(i), wanted, context.budget)) return true;
  }
  return false;
}

// How many elements of `b` are in `a`: all of them, or (any) at least one.
bool has_elements(CallContext& context, const Val& a, const Val& b, bool any) {
  for (size_t i = 0; i < b.list_size(); ++i) {
    if (list_holds(context, a, b.list_at(i)) == any) return any;
  }
  return !any;
}

template <bool kAny, bool kBoth>
Val sets(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List) || !args[1].is(Kind::List)) return no_overload("sets", args);
  const bool one_way = has_elements(context, args[0], args[1], kAny);
  return Val::boolean(one_way && (!kBoth || has_elements(context, args[1], args[0], kAny)));
}

constexpr Function kListFunctions[] = {
    {"slice", slice, 2, 2, true},
    {"flatten", flatten, 0, 1, true},
    {"distinct", distinct, 0, 0, true},
    {"sort", sort, 0, 0, true},
    {"reverse", reverse, 0, 0, true},
    {"first", first, 0, 0, true},
    {"last", last, 0, 0, true},
    {"lists.range", range, 1, 1, false},
    {"sets.contains", sets<false, false>, 2, 2, false},
    {"sets.equivalent", sets<false, true>, 2, 2, false},
    {"sets.intersects", sets<true, false>, 2, 2, false},
};

}  // namespace

std::span<const Function> list_functions() { return kListFunctions; }

}  // namespace pawl::expr
