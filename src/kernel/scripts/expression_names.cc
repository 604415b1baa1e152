#include "kernel/scripts/expression_names.h"

#include <algorithm>

#include "base/plant.h"
#include "base/time.h"
#include "expr/cel/convert.h"
#include "kernel/meter.h"
#include "kernel/run.h"
#include "kernel/scripts/json_fits.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/text.h"
#include "kernel/state.h"
#include "plan/definition.h"

namespace pawl {
namespace {

constexpr size_t kKeptParsedMax = 1u << 20;  // a larger output is parsed at each use

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Value error_value(const StepError& error) {
  Value::Object object;
  object.set("code", error.code);
  object.set("message", error.message);
  if (!error.step.empty()) object.set("step_id", error.step);
  if (!error.details.empty()) object.set("details", stored_value(error.details));
  return object;
}

// A step that resumes because an inner step is retried has no output until it completes again.
bool has_output(const StepRecord& record) { return record.state == StepState::Completed; }

// The longest prefix of a dotted text that can be a step id: lists do not nest deeper.
std::string_view longest_dotted_id(std::string_view text) {
  constexpr size_t kPartsMax = 8 * plan::DefinitionLimits().depth_max;  // two a list, and some room
  size_t end = 0;
  for (size_t parts = 0; parts < kPartsMax && end != text.npos; ++parts)
    end = text.find('.', parts == 0 ? 0 : end + 1);
  return text.substr(0, end);
}

// Whether `steps` is used in a way that leaves open which step is meant.
bool means_any_step(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t next = at + name.size();
    if (next < text.size() && (text[next] == '.' || text[next] == '?')) continue;
    if (next + 1 < text.size() && text[next] == '[' &&
        (text[next + 1] == '\'' || text[next + 1] == '"' || text[next + 1] == '\\'))
      continue;
    return true;
  }
  return false;
}

}  // namespace

Value stored_value(std::string_view json) {
  if (json.empty()) return Value();
  auto parsed = Value::parse(json);
  return parsed.ok() ? std::move(parsed).value() : Value();
}

expr::ProgramCache& script_programs() {
  static expr::ProgramCache cache;  // of compiled texts: its contents change no result
  return cache;
}

const StepRecord& effective_record(const Scope& scope, const plan::Script& plan,
                                   const StepRecord& record, uint32_t position) {
  const StepRecord* now = &record;
  for (size_t i = 0; i < scope.records.size(); ++i) {  // a fallback may have one of its own
    position = plan.at(scope.list, position).fallback;
    if (now->state != StepState::Failed || !now->handled || position >= scope.records.size()) break;
    now = &scope.records[position];
  }
  return *now;
}

ExpressionNames::ExpressionNames(const State& state, const Run& run, std::string_view scope,
                                 std::string_view text, int64_t now_ms)
    : state_(state), run_(run), scope_(scope), text_(text), now_ms_(now_ms) {
  everything_ = means_any_step(text, "steps") || means_any_step(text, "results");
}

ExpressionNames& ExpressionNames::inside(std::string_view iteration_scope) {
  scope_ = iteration_scope;
  return *this;
}

ExpressionNames& ExpressionNames::with_error(const StepError& error) {
  if (!error.empty()) error_ = error_value(error);
  return *this;
}

ExpressionNames& ExpressionNames::with_compensating(std::string_view step, const Text& output) {
  Value::Object object;
  object.set("step", step);
  object.set("output", read(output));
  compensating_ = std::move(object);
  return *this;
}

ExpressionNames& ExpressionNames::with_iteration(uint32_t index) {
  iteration_ = index;
  return *this;
}

ExpressionNames& ExpressionNames::metered(Meter& meter) {
  meter_ = &meter;
  return *this;
}

Status ExpressionNames::charge(const expr::Budget& budget) const {
  if (meter_ != nullptr) meter_->charge(budget);
  if (looked_up_.size() > kDottedIdsMax)
    return Error{ErrorCode::TooLarge, "the expression names more than " +
                                          std::to_string(kDottedIdsMax) +
                                          " steps by their dotted ids"};
  if (read_bytes_ <= kScopeBytesMax) return ok_status();
  return Error{ErrorCode::TooLarge, "the expression reads more than " +
                                        std::to_string(kScopeBytesMax) +
                                        " bytes of what the run holds"};
}

// Past the bound nothing more is read: the evaluation fails in any case.
bool ExpressionNames::may_read(size_t bytes) const {
  read_bytes_ += bytes;
  return read_bytes_ <= kScopeBytesMax;
}

// Texts of many small values cost more than their size. Short ones are not counted exactly.
size_t ExpressionNames::reading_cost(std::string_view json) {
  constexpr size_t kCountedFrom = 64u << 10;
  constexpr size_t kBytesPerValue = 32;
  return json.size() < kCountedFrom ? json.size()
                                    : json.size() + kBytesPerValue * json_values(json);
}

Value ExpressionNames::read(std::string_view json) const {
  const size_t cost = reading_cost(json);
  if (!may_read(cost)) return Value();
  if (meter_ != nullptr) meter_->charge_parsed(cost);
  return stored_value(json);
}

// Its size is known before it is read from disk, and its cost is at least that.
bool ExpressionNames::is_too_much(const Text& text) const {
  return read_bytes_ + text.size() > kScopeBytesMax && !may_read(text.size());
}

Value ExpressionNames::read(const Text& text) const {
  return is_too_much(text) ? Value() : read(std::string_view(text));
}

Value ExpressionNames::output_of(const StepRecord& record) const {
  if (record.output.size() > kKeptParsedMax) return read(record.output);
  if (is_too_much(record.output)) return Value();
  const size_t cost = reading_cost(record.output);
  if (!may_read(cost)) return Value();
  if (!record.parsed) {
    if (meter_ != nullptr) meter_->charge_parsed(cost);
    record.parsed = std::make_shared<const Value>(stored_value(record.output));
  }
  if (meter_ != nullptr) meter_->charge_copied(cost);
  return *record.parsed;
}

Value ExpressionNames::result_of(const StepRecord& record) const {
  Value::Object object;
  object.set("status", std::string(step_state_name(record.state)));
  object.set("output", has_output(record) ? output_of(record) : Value());
  object.set("attempts", static_cast<int64_t>(record.attempt));
  if (!record.error.empty() && may_read(held_by(record.error)))
    object.set("error", error_value(record.error));
  return object;
}

// As a whole word, so that a one-letter id does not match every text. In JSON text a line end
// before the word is written as \n.
bool ExpressionNames::mentions(std::string_view id) const {
  if (everything_) return true;
  for (size_t at = text_.find(id); at != text_.npos; at = text_.find(id, at + 1)) {
    bool escaped = at >= 2 && text_[at - 2] == '\\';
    bool begins = at == 0 || escaped || !is_word(text_[at - 1]);
    size_t end = at + id.size();
    if (begins && (end == text_.size() || !is_word(text_[end]))) return true;
  }
  return false;
}

// Cost of checking whether a step is meant, and of adding it to the names.
constexpr uint64_t kUnitsPerStepSeen = 2;
constexpr uint64_t kUnitsPerStepPut = 20;
// Bound of the search for ids of a list. A longer text counts as naming all of its steps.
constexpr size_t kSearchedBytesMax = 4u << 20;

// Every step that can be named by its short id: the innermost list first, then the enclosing ones.
void ExpressionNames::add_visible(Value::Object& into, bool as_results) const {
  const plan::Script* plan = state_.script_of(run_);
  std::string path = scope_;
  while (plan != nullptr) {
    const Scope* scope = state_.find_scope(run_, path);
    if (scope == nullptr && path.empty()) return;
    if (scope != nullptr) {
      const size_t searched = everything_ ? 0 : text_.size() * scope->records.size();
      const bool all = everything_ || searched > kSearchedBytesMax;
      uint64_t put = 0;
      for (uint32_t i = 0; i < scope->records.size(); ++i) {
        const StepRecord& record = effective_record(*scope, *plan, scope->records[i], i);
        const std::string& id = plan->at(scope->list, i).id;
        if ((!all && !mentions(id)) || into.contains(id)) continue;
        ++put;
        if (as_results) {
          into.set(id, result_of(record));
        } else if (has_output(record)) {
          into.set(id, output_of(record));
        }
      }
      if (meter_ != nullptr)
        meter_->charge(kUnitsPerStepSeen * scope->records.size() + kUnitsPerStepPut * put +
                       (all ? 0 : searched / 64));
    }
    if (path.empty()) return;
    path = scope == nullptr || scope->owner.empty() ? std::string()
                                                    : std::string(split_step(scope->owner).first);
  }
}

// Ids in inner lists begin with the id of the enclosing step, or with the name of a hook.
bool ExpressionNames::begins_dotted_id(std::string_view token) const {
  const plan::Script* plan = state_.script_of(run_);
  if (plan == nullptr) return false;
  std::string_view first = token.substr(0, token.find('.'));
  if (first == "on_complete" || first == "on_error") return true;
  uint32_t position = plan->find(plan->root, first);
  if (position == plan::kNoStep) return false;
  const plan::Step& step = plan->at(plan->root, position);
  return !step.branches.empty() || step.otherwise != plan::kNoList || step.body != plan::kNoList ||
         step.compensate != plan::kNoList;
}

// Steps that the text names by their full dotted id.
void ExpressionNames::add_dotted(Value::Object& into, bool as_results) const {
  constexpr size_t kBytesPerUnit = 32;
  constexpr uint64_t kUnitsPerLookUp = 100;
  if (meter_ != nullptr) meter_->charge(text_.size() / kBytesPerUnit);
  looked_up_.clear();
  auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  size_t at = 0;
  while (at < text_.size()) {
    if (!is_part(text_[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text_.size() && is_part(text_[end])) ++end;
    std::string_view token = text_.substr(at, end - at);
    at = end;
    for (std::string_view prefix : {"steps.", "results."})
      if (token.substr(0, prefix.size()) == prefix) token.remove_prefix(prefix.size());
    if (!begins_dotted_id(token)) continue;
    token = longest_dotted_id(token);
    while (token.find('.') != token.npos) {
      if (token.back() != '.' && looked_up_.insert(token).second && !into.contains(token)) {
        if (looked_up_.size() > kDottedIdsMax || !may_read(token.size())) return;
        if (meter_ != nullptr) meter_->charge(kUnitsPerLookUp);
        const StepRecord* record = state_.find_step(run_, token);
        if (record != nullptr && (as_results || has_output(*record))) {
          into.set(token, as_results ? result_of(*record) : output_of(*record));
          break;
        }
      }
      token = token.substr(0, token.rfind('.'));
    }
  }
}

const Value& ExpressionNames::steps() const {
  if (!steps_) {
    Value::Object object;
    add_visible(object, false);
    add_dotted(object, false);
    steps_ = std::move(object);
  }
  return *steps_;
}

const Value& ExpressionNames::results() const {
  if (!results_) {
    Value::Object object;
    add_visible(object, true);
    add_dotted(object, true);
    results_ = std::move(object);
  }
  return *results_;
}

const Value& ExpressionNames::loop() const {
  if (loop_) return *loop_;
  loop_ = Value();
  std::string path = scope_;
  while (true) {
    const Scope* scope = state_.find_scope(run_, path);
    if (scope == nullptr) break;
    if (scope->iteration) {
      Value::Object object;
      object.set("item", read(scope->item));
      object.set("index", static_cast<int64_t>(iteration_.value_or(scope->index)));
      loop_ = std::move(object);
      return *loop_;
    }
    if (scope->owner.empty()) break;
    path = std::string(split_step(scope->owner).first);
  }
  if (iteration_) {
    Value::Object object;
    object.set("index", static_cast<int64_t>(*iteration_));
    object.set("item", Value());
    loop_ = std::move(object);
  }
  return *loop_;
}

const Value& ExpressionNames::context() const {
  if (!context_) {
    Value::Object object;
    if (!run_.script->agent_id.empty()) object.set("agent_id", run_.script->agent_id);
    for (const Variable& variable : run_.script->variables)
      object.set(variable.key, read(variable.value));
    context_ = std::move(object);
  }
  return *context_;
}

const Value& ExpressionNames::workflow() const {
  if (!workflow_) {
    Value::Object object;
    object.set("run_id", shown_id(run_));
    object.set("id", shown_id(run_));
    object.set("name", run_.script->definition);
    object.set("version", run_.script->version);
    object.set("started_at", format_rfc3339_ms(run_.started_ms));
    object.set("now", format_rfc3339_ms(now_ms_));
    workflow_ = std::move(object);
  }
  return *workflow_;
}

const Value& ExpressionNames::inputs() const {
  ScriptRun& script = *run_.script;
  if (!script.parsed_inputs) {
    if (meter_ != nullptr) meter_->charge_parsed(reading_cost(script.inputs));
    Value value = stored_value(script.inputs);
    if (!value.is_object()) value = Value::Object{};
    script.parsed_inputs = std::make_shared<const Value>(std::move(value));
  }
  inputs_ = script.parsed_inputs;
  return *inputs_;
}

expr::Val ExpressionNames::find(std::string_view name) const {
  if (name == "steps") return expr::Val::json(steps());
  if (name == "inputs") return expr::Val::json(inputs());
  if (name == "iter" || name == "loop") {
    return loop().is_null() ? expr::Val() : expr::Val::json(loop());
  }
  if (name == "workflow") return expr::Val::json(workflow());
  if (name == "context") return expr::Val::json(context());
  if (name == "results") return expr::Val::json(results());
  if (name == "error" && !error_.is_null()) return expr::Val::json(error_);
  if (name == "compensating" && !compensating_.is_null()) return expr::Val::json(compensating_);
  return expr::Val();
}

std::vector<std::string> ExpressionNames::names() const {
  std::vector<std::string> names = {"steps", "inputs", "workflow", "context", "results"};
  if (!loop().is_null()) names.insert(names.end(), {"iter", "loop"});
  if (!error_.is_null()) names.push_back("error");
  if (!compensating_.is_null()) names.push_back("compensating");
  return names;
}

Value ExpressionNames::all() const {
  Value::Object object;
  if (!may_read(2 * run_.script->inputs.size())) return object;
  if (meter_ != nullptr) meter_->charge_copied(2 * run_.script->inputs.size());
  if (inputs().is_object())
    for (const Value::Member& member : inputs().as_object()) object.set(member.key, member.value);
  object.set("inputs", inputs());
  object.set("steps", steps());
  if (meter_ != nullptr) meter_->charge_copied(read_bytes_);
  object.set("workflow", workflow());
  object.set("context", context());
  object.set("workflow_id", shown_id(run_));
  if (!run_.script->agent_id.empty()) object.set("agent_id", run_.script->agent_id);
  if (!loop().is_null()) {
    object.set("loop", loop());
    object.set("iter", loop());
  }
  return object;
}

Result<bool> test_expression(const ExpressionNames& names, std::string_view text) {
  abort_if_planted(Plant::Evaluation, text);
  PAWL_TRY(auto program, script_programs().get(expr::unwrap_template(text)));
  expr::Budget budget;
  Result<bool> holds = program->test(names, budget);
  PAWL_TRY_DO(names.charge(budget));
  return holds;
}

Result<Value> evaluate_expression(const ExpressionNames& names, std::string_view text) {
  abort_if_planted(Plant::Evaluation, text);
  PAWL_TRY(auto program, script_programs().get(expr::unwrap_template(text)));
  expr::Budget budget;
  Result<Value> made = [&]() -> Result<Value> {
    PAWL_TRY(expr::Val value, program->evaluate(names, budget));
    return expr::to_json(value, budget);
  }();
  PAWL_TRY_DO(names.charge(budget));
  return made;
}

Result<expr::Interpolated> fill_template(const ExpressionNames& names, const Value& tree,
                                         bool text_mode, expr::SecretDesk* secrets) {
  if (planted == Plant::Evaluation) abort_if_planted(planted, tree.json());
  expr::Budget budget;
  expr::TemplateOptions options;
  options.always_text = text_mode;
  options.secrets = secrets;
  auto filled = expr::interpolate(tree, names, script_programs(), budget, options);
  PAWL_TRY_DO(names.charge(budget));
  return filled;
}

}  // namespace pawl
