// The macros that visit every element of a list or map.
#include <algorithm>

#include "expr/cel/compare.h"
#include "expr/cel/evaluator.h"

namespace pawl::expr {
namespace {

size_t size_of(const Val& range) {
  return range.is(Kind::List) ? range.list_size() : range.map_size();
}

}  // namespace

void Evaluator::set_element(const FoldLoop& loop, const Val& range, size_t at) {
  if (range.is(Kind::List)) {
    if (loop.pair) {
      slot(loop.slot) = Val::integer(static_cast<int64_t>(at));
      slot(loop.slot + 1) = range.list_at(at);
    } else {
      slot(loop.slot) = range.list_at(at);
    }
    return;
  }
  auto [key, value] = range.map_at(at);
  slot(loop.slot) = std::move(key);
  if (loop.pair) slot(loop.slot + 1) = std::move(value);
}

Val Evaluator::fold(const Step& step) {
  const FoldLoop& loop = code_.folds[step.a];
  Val range = run(loop.range);
  if (range.is_error()) return range;
  if (loop.fold == Fold::OptMap || loop.fold == Fold::OptFlatMap)
    return fold_option(loop, range, step.offset);
  if (!range.is(Kind::List) && !range.is(Kind::Map)) {
    return Val::error("no such overload: a comprehension expects a list or a map, not " +
                      std::string(type_name(range.kind())));
  }
  switch (loop.fold) {
    case Fold::All:
    case Fold::Exists:
    case Fold::ExistsOne:
      return quantify(loop, range, step.offset);
    case Fold::Map:
    case Fold::Filter:
    case Fold::TransformList:
      return collect(loop, range, step.offset);
    case Fold::TransformMap:
    case Fold::TransformMapEntry:
      return collect_map(loop, range, step.offset);
    case Fold::SortBy:
      return sort_by(loop, range, step.offset);
    case Fold::OptMap:
    case Fold::OptFlatMap:
      break;
  }
  return Val::error("unknown macro");
}

Val Evaluator::fold_option(const FoldLoop& loop, const Val& range, uint32_t) {
  const bool flat = loop.fold == Fold::OptFlatMap;
  if (!range.is(Kind::Optional)) return no_overload(flat ? "optFlatMap" : "optMap", {&range, 1});
  if (!range.has_value()) return range;
  slot(loop.slot) = range.optional_value();
  Val result = run(loop.result);
  if (result.is_error()) return result;
  if (!flat) return Val::some(std::move(result));
  return result.is(Kind::Optional) ? result : no_overload("optFlatMap", {&result, 1});
}

// all and exists continue after an error, since a later element may settle the answer; exists_one
// does not.
Val Evaluator::quantify(const FoldLoop& loop, const Val& range, uint32_t offset) {
  Val error;
  size_t hits = 0;
  const bool one = loop.fold == Fold::ExistsOne;
  const bool settles = loop.fold == Fold::Exists;
  for (size_t i = 0; i < size_of(range); ++i) {
    if (!context_.budget.spend_steps(1)) return exhausted();
    set_element(loop, range, i);
    Val answer = run(loop.result);
    if (context_.budget.exceeded() != Budget::Exceeded::None) return exhausted();
    if (!answer.is(Kind::Bool)) {
      if (!answer.is_error())
        answer = placed(no_overload("comprehension predicate", {&answer, 1}), offset);
      if (one) return answer;
      if (error.is_absent()) error = std::move(answer);
      continue;
    }
    if (!one && answer.as_bool() == settles) return answer;
    hits += answer.as_bool() ? 1 : 0;
  }
  if (one) return Val::boolean(hits == 1);
  return error.is_absent() ? Val::boolean(!settles) : error;
}

// Whether the filter lets the current element pass; if it cannot say, `problem` is an error.
bool Evaluator::keeps(const FoldLoop& loop, uint32_t offset, Val& problem) {
  if (!loop.filtered) return true;
  Val keep = run(loop.filter);
  if (keep.is(Kind::Bool)) return keep.as_bool();
  problem =
      keep.is_error() ? keep : placed(no_overload("comprehension filter", {&keep, 1}), offset);
  return false;
}

Val Evaluator::collect(const FoldLoop& loop, const Val& range, uint32_t offset) {
  std::vector<Val> results;
  Val problem;
  for (size_t i = 0; i < size_of(range); ++i) {
    if (!context_.budget.spend_steps(1) || !context_.budget.spend_bytes(sizeof(Val)))
      return exhausted();
    set_element(loop, range, i);
    if (!keeps(loop, offset, problem)) {
      if (problem.is_error()) return problem;
      continue;
    }
    Val result = run(loop.result);
    if (result.is_error()) return result;
    if (loop.fold == Fold::Filter) {
      if (!result.is(Kind::Bool))
        return placed(no_overload("filter predicate", {&result, 1}), offset);
      if (!result.as_bool()) continue;
      result = slot(loop.slot);
    }
    results.push_back(std::move(result));
  }
  return Val::list(std::move(results));
}

Val Evaluator::merge_entries(MapNode& into, const Val& entries, uint32_t offset) {
  if (!entries.is(Kind::Map))
    return placed(no_overload("transformMapEntry", {&entries, 1}), offset);
  for (size_t i = 0; i < entries.map_size(); ++i) {
    if (!context_.budget.spend_bytes(3 * sizeof(Val)) || !context_.budget.spend_steps(2))
      return exhausted();
    auto [key, value] = entries.map_at(i);
    if (!pay_text(key)) return exhausted();
    if (!into.insert(std::move(key), std::move(value))) {
      return Val::error_at("insert failed: transformMapEntry() produced a repeated key", offset);
    }
  }
  return Val();
}

Val Evaluator::collect_map(const FoldLoop& loop, const Val& range, uint32_t offset) {
  auto node = std::make_unique<MapNode>();
  Val problem;
  for (size_t i = 0; i < size_of(range) && !problem.is_error(); ++i) {
    if (!context_.budget.spend_steps(2) || !context_.budget.spend_bytes(3 * sizeof(Val)))
      return exhausted();
    set_element(loop, range, i);
    const Val key = slot(loop.slot);
    if (!keeps(loop, offset, problem)) continue;
    Val result = run(loop.result);
    if (result.is_error()) return result;
    if (loop.fold == Fold::TransformMap) {
      if (!pay_text(key)) return exhausted();
      node->insert(key, std::move(result));
    } else {
      problem = merge_entries(*node, result, offset);
    }
  }
  return problem.is_error() ? problem : Val::map(node.release());
}

Val Evaluator::sort_by(const FoldLoop& loop, const Val& range, uint32_t offset) {
  if (!range.is(Kind::List)) return no_overload("sortBy", {&range, 1});
  std::vector<std::pair<Val, size_t>> keys;
  const uint64_t rounds = price::rounds(range.list_size());
  for (size_t i = 0; i < range.list_size(); ++i) {
    if (!context_.budget.spend_steps(1 + rounds / 2) ||
        !context_.budget.spend_bytes(3 * sizeof(Val)))
      return exhausted();
    set_element(loop, range, i);
    Val key = run(loop.result);
    if (key.is_error()) return key;
    if (key.is(Kind::String) || key.is(Kind::Bytes)) {
      // Sorting reads each key in every round.
      if (!context_.budget.spend_steps(rounds * (1 + price::reading(key.as_string().size()))))
        return exhausted();
    }
    if (compare(keys.empty() ? key : keys[0].first, key) == Order::Incomparable) {
      return Val::error_at("no such overload: sortBy() keys must be comparable and of one type",
                           offset);
    }
    keys.emplace_back(std::move(key), i);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return compare(a.first, b.first) == Order::Less;
  });
  std::vector<Val> sorted;
  sorted.reserve(keys.size());
  for (const auto& entry : keys) sorted.push_back(range.list_at(entry.second));
  return Val::list(std::move(sorted));
}

}  // namespace pawl::expr
