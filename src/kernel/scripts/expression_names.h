// ExpressionNames: the variables of an expression in a definition: steps, inputs, workflow,
// context, the enclosing loop, the error or the compensated step.
//
// Names of steps resolve from the innermost list outwards; every step can also be named by its full
// dotted id. Only steps that the expression's text can mean are looked up (a run may have a hundred
// thousand), so the message about an unknown name lists only those.
//
// Reading costs: parsed and copied bytes are charged to the meter, and an expression that would
// read more than kScopeBytesMax fails.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/cel/activation.h"
#include "expr/template/template.h"
#include "journal/events.h"

namespace pawl {

class Meter;
class State;
class Text;
struct Run;
struct Scope;
struct StepRecord;
namespace plan {
struct Script;
}

constexpr uint64_t kScopeBytesMax = 32u << 20;
constexpr size_t kDottedIdsMax = 2'000;  // bound for one expression, or the texts of a step

class ExpressionNames : public expr::Activation {
 public:
  // `scope`: the list of the expression. `text`: the expression, or all of them.
  ExpressionNames(const State& state, const Run& run, std::string_view scope, std::string_view text,
                  int64_t now_ms);
  // The body of a loop that just ended its iteration, for its condition.
  ExpressionNames& inside(std::string_view iteration_scope);
  ExpressionNames& with_error(const StepError& error);
  ExpressionNames& with_compensating(std::string_view step, const Text& output);
  ExpressionNames& with_iteration(uint32_t index);
  ExpressionNames& metered(Meter& meter);
  // Call after an evaluation. Returns the error if it read too much.
  Status charge(const expr::Budget& budget) const;

  expr::Val find(std::string_view name) const override;
  std::vector<std::string> names() const override;

  // The whole of it as one object, for expr.eval.
  Value all() const;

 private:
  const Value& steps() const;
  const Value& results() const;
  void add_visible(Value::Object& into, bool as_results) const;
  void add_dotted(Value::Object& into, bool as_results) const;
  bool begins_dotted_id(std::string_view token) const;
  bool mentions(std::string_view id) const;
  bool may_read(size_t bytes) const;
  static size_t reading_cost(std::string_view json);
  bool is_too_much(const Text& text) const;
  Value read(std::string_view json) const;
  Value read(const Text& text) const;
  Value output_of(const StepRecord& record) const;
  Value result_of(const StepRecord& record) const;
  const Value& loop() const;
  const Value& context() const;
  const Value& workflow() const;
  const Value& inputs() const;

  const State& state_;
  const Run& run_;
  std::string scope_;
  std::string_view text_;
  bool everything_ = false;
  int64_t now_ms_;
  Meter* meter_ = nullptr;
  mutable uint64_t read_bytes_ = 0;
  mutable std::set<std::string_view> looked_up_;  // dotted ids in text_
  std::optional<uint32_t> iteration_;
  mutable std::optional<Value> steps_, results_, loop_, context_, workflow_;
  Value error_, compensating_;
  mutable std::shared_ptr<const Value> inputs_;
};

// The output of a step for expressions: that of its fallback, if that ran.
const StepRecord& effective_record(const Scope& scope, const plan::Script& plan,
                                   const StepRecord& record, uint32_t position);

// JSON of our own making; "" is null.
Value stored_value(std::string_view json);

expr::ProgramCache& script_programs();

// A guard, a condition, the test of a loop.
Result<bool> test_expression(const ExpressionNames& names, std::string_view text);
Result<Value> evaluate_expression(const ExpressionNames& names, std::string_view text);
// `secrets`: none for what is stored.
Result<expr::Interpolated> fill_template(const ExpressionNames& names, const Value& tree,
                                         bool text_mode, expr::SecretDesk* secrets = nullptr);

}  // namespace pawl
