#include "expr/exprlang/exprlang.h"

#include <algorithm>
#include <cmath>

#include "base/quote.h"
#include "expr/exprlang/ast.h"
#include "expr/text_search.h"

namespace pawl::expr {
namespace lang {
namespace {

class Evaluator {
 public:
  Evaluator(const Value& variables, Budget& budget, uint32_t slots)
      : variables_(variables), budget_(budget), state_{budget, {}}, slots_(slots) {}

  Datum eval(const Node& node, uint32_t depth);
  bool failed() const { return !problem_.empty() || spent(); }
  bool spent() const { return budget_.exceeded() != Budget::Exceeded::None; }
  const std::string& problem() const { return problem_; }
  uint32_t problem_offset() const { return problem_offset_; }

 private:
  struct Closure {
    Datum element;
    int64_t index = 0;
    Datum accumulator;
  };

  Datum fail(const Node& node, std::string message) {
    if (problem_.empty()) {
      problem_ = std::move(message);
      problem_offset_ = node.offset;
    }
    return {};
  }
  // The result of a helper; an error gets the node's position.
  Datum placed(const Node& node, Datum value) {
    if (!state_.error.empty()) return fail(node, std::exchange(state_.error, {}));
    return value;
  }
  bool condition(const Node& node, uint32_t depth) {
    const Datum value = eval(node, depth);
    if (!failed() && !value.is_bool())
      fail(node, "a condition must be a boolean, not " + std::string(type_name(value)));
    return !failed() && value.as_bool();
  }

  Datum leaf(const Node& node);
  Datum binary(const Node& node, uint32_t depth);
  Datum build(const Node& node, uint32_t depth);
  Datum member(const Node& node, uint32_t depth);
  Datum sliced(const Node& node, uint32_t depth);
  Datum matches(const Node& node, const Datum& text, const Datum& pattern);
  Datum call(const Node& node, uint32_t depth);
  Datum fold(const Node& node, uint32_t depth);
  Datum fold_step(const Node& node, const Datum::Array& list, uint32_t depth);
  Datum group(const Node& node, const Datum::Array& list, uint32_t depth);
  Datum sort_by(const Node& node, const Datum::Array& list, uint32_t depth);
  Datum reduce(const Node& node, const Datum::Array& list, uint32_t depth);
  Datum apply(const Node& node, uint32_t depth) { return eval(*node.args[1], depth + 1); }

  const Value& variables_;
  Budget& budget_;
  CallState state_;
  std::vector<Datum> slots_;
  std::vector<Closure> closures_;
  std::string last_pattern_;  // compiled during evaluation
  Regex last_regex_;
  bool chain_broken_ = false;
  std::string problem_;
  uint32_t problem_offset_ = 0;
};

Datum Evaluator::eval(const Node& node, uint32_t depth) {
  if (failed() || !budget_.spend_steps(1) || !budget_.allow_depth(depth)) return {};
  switch (node.op) {
    case Op::Literal:
    case Op::Variable:
    case Op::Environment:
    case Op::Local:
    case Op::Element:
    case Op::Index:
    case Op::Accumulator:
      return leaf(node);
    case Op::Array:
    case Op::Map:
      return build(node, depth + 1);
    case Op::Member:
      return member(node, depth + 1);
    case Op::Slice:
      return sliced(node, depth + 1);
    case Op::Chain: {
      Datum value = eval(*node.args[0], depth + 1);
      chain_broken_ = false;
      return value;
    }
    case Op::Not:
      return Datum::boolean(!condition(*node.args[0], depth + 1));
    case Op::Negate:
      return placed(node, arithmetic(Op::Subtract, Datum::integer(0),
                                     eval(*node.args[0], depth + 1), state_));
    case Op::And:
      return Datum::boolean(condition(*node.args[0], depth + 1) &&
                            condition(*node.args[1], depth + 1));
    case Op::Or:
      return Datum::boolean(condition(*node.args[0], depth + 1) ||
                            (!failed() && condition(*node.args[1], depth + 1)));
    case Op::Coalesce: {
      Datum value = eval(*node.args[0], depth + 1);
      return value.is_null() ? eval(*node.args[1], depth + 1) : value;
    }
    case Op::Conditional:
      return eval(*node.args[condition(*node.args[0], depth + 1) ? 1 : 2], depth + 1);
    case Op::Let:
      slots_[node.slot] = eval(*node.args[0], depth + 1);
      return eval(*node.args[1], depth + 1);
    case Op::Call:
      return call(node, depth + 1);
    case Op::Fold:
      return fold(node, depth + 1);
    case Op::Equal:
    case Op::NotEqual:
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual:
    case Op::In:
    case Op::Matches:
    case Op::Contains:
    case Op::StartsWith:
    case Op::EndsWith:
    case Op::Range:
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Divide:
    case Op::Modulo:
    case Op::Power:
      return binary(node, depth + 1);
  }
  return {};
}

Datum Evaluator::leaf(const Node& node) {
  if (node.op == Op::Literal) return Datum::from(node.constant, budget_);
  if (node.op == Op::Local) return slots_[node.slot];
  if (node.op == Op::Environment) return Datum::from(variables_, budget_);
  if (node.op == Op::Variable) {
    const Value* const value = variables_.find(node.text);
    return value == nullptr ? Datum() : Datum::from(*value, budget_);
  }
  if (closures_.empty()) return fail(node, "'#' has a meaning only in a closure");
  const Closure& closure = closures_.back();
  if (node.op == Op::Index) return Datum::integer(closure.index);
  return node.op == Op::Accumulator ? closure.accumulator : closure.element;
}

Datum Evaluator::binary(const Node& node, uint32_t depth) {
  const Datum a = eval(*node.args[0], depth);
  const Datum b = eval(*node.args[1], depth);
  if (failed()) return {};
  const Op op = node.op;
  if (op == Op::Equal || op == Op::NotEqual)
    return Datum::boolean(equal(a, b, budget_) == (op == Op::Equal));
  if (op == Op::In) return placed(node, Datum::boolean(contains(b, a, state_)));
  if (op == Op::Matches) return matches(node, a, b);
  if (op == Op::Contains || op == Op::StartsWith || op == Op::EndsWith) {
    if (!a.is_string() || !b.is_string()) return fail(node, "works on strings only");
    const std::string& text = a.as_string();
    if (!budget_.spend_steps(op == Op::Contains
                                 ? price::scanning(text.size() + b.as_string().size())
                                 : price::reading(b.as_string().size())))
      return {};
    if (op == Op::Contains) return Datum::boolean(has_part(text, b.as_string()));
    return Datum::boolean(op == Op::StartsWith ? text.starts_with(b.as_string())
                                               : text.ends_with(b.as_string()));
  }
  if (op == Op::Less || op == Op::LessEqual || op == Op::Greater || op == Op::GreaterEqual) {
    if (!(a.is_number() && b.is_number()) && !(a.is_string() && b.is_string()))
      return fail(
          node, "cannot order " + std::string(type_name(a)) + " and " + std::string(type_name(b)));
    const int order = compare(a, b, budget_);
    return Datum::boolean(op == Op::Less        ? order < 0
                          : op == Op::LessEqual ? order <= 0
                          : op == Op::Greater   ? order > 0
                                                : order >= 0);
  }
  return placed(node, arithmetic(op, a, b, state_));
}

Datum Evaluator::matches(const Node& node, const Datum& text, const Datum& pattern) {
  if (!text.is_string() || !pattern.is_string()) return fail(node, "works on strings only");
  Regex regex = node.regex;
  if (regex == nullptr) {
    std::string error;
    if (last_regex_ == nullptr || last_pattern_ != pattern.as_string()) {
      last_regex_ = compile_regex(pattern.as_string(), budget_, error);
      last_pattern_ = pattern.as_string();
    }
    regex = last_regex_;
    if (regex == nullptr) return fail(node, error);
  }
  return Datum::boolean(match_regex(*regex, text.as_string(), budget_).value_or(false));
}

Datum Evaluator::build(const Node& node, uint32_t depth) {
  if (node.op == Op::Array) {
    Datum::Array elements;
    for (const NodePtr& arg : node.args) {
      elements.push_back(eval(*arg, depth));
      if (failed()) return {};
    }
    return Datum::array(std::move(elements), budget_);
  }
  Datum::Object members;
  for (size_t i = 0; i + 1 < node.args.size(); i += 2) {
    const Datum key = eval(*node.args[i], depth);
    if (!failed() && !key.is_string()) return fail(*node.args[i], "a map key must be a string");
    Datum value = eval(*node.args[i + 1], depth);
    if (failed()) return {};
    members.set(key.as_text(), std::move(value));
  }
  return Datum::object(std::move(members), budget_);
}

Datum Evaluator::member(const Node& node, uint32_t depth) {
  // A variable's member is looked up before it is copied: only what is used is paid for.
  const Node& of = *node.args[0];
  if (of.op == Op::Variable && node.args[1]->op == Op::Literal) {
    const Value* const variable = variables_.find(of.text);
    if (variable != nullptr && variable->is_object() && node.args[1]->constant.is_string()) {
      const Value* const found = variable->find(node.args[1]->constant.as_string());
      return found == nullptr ? Datum() : Datum::from(*found, budget_);
    }
  }
  const Datum value = eval(of, depth);
  if (failed() || chain_broken_) return {};
  if (value.is_null() && node.optional) {
    chain_broken_ = true;
    return {};
  }
  const bool outer = std::exchange(chain_broken_, false);
  const Datum key = eval(*node.args[1], depth);
  chain_broken_ = outer;
  if (failed()) return {};
  if (value.is_object() && key.is_string()) {
    if (!budget_.spend_steps(price::reading(key.as_string().size()))) return {};
    const Datum* const found = value.as_object().find(key.as_string());
    return found == nullptr ? Datum() : *found;
  }
  if (value.is_array() && key.is_number() && key.as_double() == std::floor(key.as_double())) {
    const int64_t size = static_cast<int64_t>(value.as_array().size());
    const double at =
        key.as_double() < 0 ? key.as_double() + static_cast<double>(size) : key.as_double();
    if (at < 0 || at >= static_cast<double>(size)) {
      return fail(node, "index out of range: " + number_text(key) + " (the array has " +
                            std::to_string(size) + " elements)");
    }
    return value.as_array()[static_cast<size_t>(at)];
  }
  return fail(node,
              "cannot fetch " +
                  (key.is_string() ? in_quotes(key.as_string()) : std::string(type_name(key))) +
                  " from " + (value.is_null() ? "nil" : std::string(type_name(value))));
}

Datum Evaluator::sliced(const Node& node, uint32_t depth) {
  const Datum value = eval(*node.args[0], depth);
  if (failed() || chain_broken_) return {};
  Datum bounds[2];
  for (size_t i = 0; i < 2; ++i) {
    if (node.args[i + 1] != nullptr) bounds[i] = eval(*node.args[i + 1], depth);
  }
  if (failed()) return {};
  return placed(node, slice(value, node.args[1] == nullptr ? nullptr : &bounds[0],
                            node.args[2] == nullptr ? nullptr : &bounds[1], state_));
}

Datum Evaluator::call(const Node& node, uint32_t depth) {
  std::vector<Datum> args;
  for (const NodePtr& arg : node.args) {
    args.push_back(eval(*arg, depth));
    if (failed()) return {};
  }
  // Pays for reading every text among the arguments; the function pays for further work itself.
  uint64_t bytes = 0;
  for (const Datum& arg : args)
    if (arg.is_string()) bytes += arg.as_string().size();
  if (!budget_.spend_steps(price::reading(bytes))) return {};
  Datum value = node.function->body(state_, args);
  if (!state_.error.empty()) state_.error = std::string(node.function->name) + ": " + state_.error;
  return placed(node, std::move(value));
}

Datum Evaluator::fold(const Node& node, uint32_t depth) {
  const Datum list = eval(*node.args[0], depth);
  if (failed()) return {};
  if (!list.is_array())
    return fail(node, "works on arrays only, not " + std::string(type_name(list)));
  closures_.emplace_back();
  Datum result;
  if (node.fold == FoldKind::GroupBy || node.fold == FoldKind::CountBy) {
    result = group(node, list.as_array(), depth);
  } else if (node.fold == FoldKind::SortBy) {
    result = sort_by(node, list.as_array(), depth);
  } else if (node.fold == FoldKind::Reduce) {
    result = reduce(node, list.as_array(), depth);
  } else {
    result = fold_step(node, list.as_array(), depth);
  }
  closures_.pop_back();
  return result;
}

Datum Evaluator::fold_step(const Node& node, const Datum::Array& list, uint32_t depth) {
  const bool backwards = node.fold == FoldKind::FindLast || node.fold == FoldKind::FindLastIndex;
  const bool has_closure = node.args.size() > 1;
  Datum::Array kept;
  Datum sum = Datum::integer(0);
  int64_t count = 0;
  for (size_t step = 0; step < list.size() && !failed(); ++step) {
    if (!budget_.spend_steps(1)) return {};
    const size_t i = backwards ? list.size() - 1 - step : step;
    closures_.back() = {list[i], static_cast<int64_t>(i), {}};
    if (node.fold == FoldKind::Map || node.fold == FoldKind::Sum) {
      Datum value = has_closure ? apply(node, depth) : list[i];
      if (failed()) return {};
      if (node.fold == FoldKind::Map) {
        kept.push_back(std::move(value));
      } else {
        if (!value.is_number()) return fail(node, "sum: works on numbers only");
        sum = placed(node, arithmetic(Op::Add, sum, value, state_));
      }
      continue;
    }
    const bool holds = has_closure ? condition(*node.args[1], depth + 1) : list[i].truthy();
    if (failed()) return {};
    if (node.fold == FoldKind::All && !holds) return Datum::boolean(false);
    if (!holds) continue;
    ++count;
    if (node.fold == FoldKind::Any) return Datum::boolean(true);
    if (node.fold == FoldKind::None) return Datum::boolean(false);
    if (node.fold == FoldKind::Filter) kept.push_back(list[i]);
    if (node.fold == FoldKind::Find || node.fold == FoldKind::FindLast) return list[i];
    if (node.fold == FoldKind::FindIndex || node.fold == FoldKind::FindLastIndex)
      return Datum::integer(static_cast<int64_t>(i));
  }
  if (failed()) return {};
  if (node.fold == FoldKind::Map || node.fold == FoldKind::Filter)
    return Datum::array(std::move(kept), budget_);
  if (node.fold == FoldKind::Sum) return sum;
  if (node.fold == FoldKind::Count) return Datum::integer(count);
  if (node.fold == FoldKind::One) return Datum::boolean(count == 1);
  if (node.fold == FoldKind::All || node.fold == FoldKind::None) return Datum::boolean(true);
  if (node.fold == FoldKind::Any) return Datum::boolean(false);
  return {};  // find: nothing found is nil, and so is its index
}

Datum Evaluator::group(const Node& node, const Datum::Array& list, uint32_t depth) {
  std::vector<std::pair<Datum::Text, Datum::Array>> groups;
  Datum::Object where;
  for (size_t i = 0; i < list.size(); ++i) {
    closures_.back() = {list[i], static_cast<int64_t>(i), {}};
    Datum key = apply(node, depth);
    if (failed()) return {};
    if (!key.is_string()) key = Datum::string(json_text(key, budget_), budget_);
    if (failed() || !budget_.spend_steps(2 + price::reading(key.as_string().size())) ||
        !budget_.spend_bytes(sizeof(Datum::Member)))
      return {};
    const Datum* at = where.find(key.as_string());
    if (at == nullptr) {
      where.set(key.as_text(), Datum::integer(static_cast<int64_t>(groups.size())));
      groups.push_back({key.as_text(), {}});
      at = where.find(key.as_string());
    }
    groups[static_cast<size_t>(at->as_int())].second.push_back(list[i]);
  }
  Datum::Object result;
  for (auto& [key, members] : groups) {
    result.set(key, node.fold == FoldKind::CountBy
                        ? Datum::integer(static_cast<int64_t>(members.size()))
                        : Datum::array(std::move(members), budget_));
  }
  return Datum::object(std::move(result), budget_);
}

Datum Evaluator::sort_by(const Node& node, const Datum::Array& list, uint32_t depth) {
  std::vector<std::pair<Datum, Datum>> keyed;
  for (size_t i = 0; i < list.size(); ++i) {
    closures_.back() = {list[i], static_cast<int64_t>(i), {}};
    keyed.emplace_back(apply(node, depth), list[i]);
    if (failed() || !budget_.spend_bytes(sizeof keyed[0])) return {};
  }
  bool descending = false;
  if (node.args.size() > 2) {
    const Datum order = eval(*node.args[2], depth);
    descending = order.is_string() && order.as_string() == "desc";
    if (!failed() && !descending && !(order.is_string() && order.as_string() == "asc"))
      fail(node, "sortBy: the order is \"asc\" or \"desc\"");
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return compare(a.first, b.first, budget_) * (descending ? -1 : 1) < 0;
  });
  Datum::Array sorted;
  for (auto& [key, element] : keyed) sorted.push_back(std::move(element));
  return failed() ? Datum() : Datum::array(std::move(sorted), budget_);
}

Datum Evaluator::reduce(const Node& node, const Datum::Array& list, uint32_t depth) {
  Datum accumulator;
  size_t first = 0;
  if (node.args.size() > 2) {
    accumulator = eval(*node.args[2], depth);
  } else {
    if (list.empty()) return fail(node, "reduce: the array is empty and there is no start value");
    accumulator = list[first++];
  }
  for (size_t i = first; i < list.size() && !failed(); ++i) {
    closures_.back() = {list[i], static_cast<int64_t>(i), accumulator};
    accumulator = apply(node, depth);
  }
  return accumulator;
}

}  // namespace
}  // namespace lang

struct ExprLang::Impl {
  std::string source;
  lang::Parsed parsed;
};

ExprLang::ExprLang(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExprLang::~ExprLang() = default;

Result<std::shared_ptr<const ExprLang>> ExprLang::compile(std::string_view source) {
  Budget budget(BudgetLimits{.steps_max = kCompileStepsMax});
  return compile(source, budget);
}

Result<std::shared_ptr<const ExprLang>> ExprLang::compile(std::string_view source, Budget& budget) {
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  PAWL_TRY(impl->parsed, lang::parse(impl->source, budget));
  return std::shared_ptr<const ExprLang>(new ExprLang(std::move(impl)));
}

Result<Value> ExprLang::evaluate(const Value& variables, Budget& budget) const {
  lang::Evaluator evaluator(variables, budget, impl_->parsed.slots);
  const Datum result = evaluator.eval(*impl_->parsed.root, 1);
  Value value = evaluator.failed() ? Value() : result.to_value(budget);
  if (evaluator.spent()) {
    return Error{ErrorCode::TooLarge, budget.exceeded() == Budget::Exceeded::Steps
                                          ? "the expression takes too many steps"
                                      : budget.exceeded() == Budget::Exceeded::Bytes
                                          ? "the expression builds too much data"
                                          : "the expression or its data nests too deep"};
  }
  if (evaluator.failed())
    return lang::error_at(impl_->source, evaluator.problem_offset(), evaluator.problem());
  return value;
}

}  // namespace pawl::expr
