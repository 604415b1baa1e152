#include "kernel/script_scope.h"

#include <algorithm>

#include "base/time.h"
#include "expr/convert.h"

namespace pawl {
namespace {

std::shared_ptr<const Value> parsed_output(const StepRecord& record) {
  if (!record.parsed) record.parsed = std::make_shared<const Value>(stored_value(record.output));
  return record.parsed;
}

Value error_value(const StepError& error) {
  Value::Object object;
  object.set("code", error.code);
  object.set("message", error.message);
  if (!error.step.empty()) object.set("step_id", error.step);
  if (!error.details.empty()) object.set("details", stored_value(error.details));
  return object;
}

Value result_of(const StepRecord& record) {
  Value::Object object;
  object.set("status", std::string(step_state_name(record.state)));
  object.set("output", *parsed_output(record));
  object.set("attempts", static_cast<int64_t>(record.attempt));
  if (!record.error.empty()) object.set("error", error_value(record.error));
  return object;
}

bool has_output(const StepRecord& record) {
  return record.state == StepState::Completed || !record.output.empty();
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
  static expr::ProgramCache cache;  // of compiled texts: what it holds changes no result
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

ScriptScope::ScriptScope(const State& state, const Run& run, std::string_view scope,
                         std::string_view text, int64_t now_ms)
    : state_(state), run_(run), scope_(scope), text_(text), now_ms_(now_ms) {
  everything_ = means_any_step(text, "steps") || means_any_step(text, "results");
}

ScriptScope& ScriptScope::inside(std::string_view iteration_scope) {
  scope_ = iteration_scope;
  return *this;
}

ScriptScope& ScriptScope::with_secrets(const SecretSource& secrets) {
  secret_source_ = &secrets;
  return *this;
}

ScriptScope& ScriptScope::with_error(const StepError& error) {
  if (!error.empty()) error_ = error_value(error);
  return *this;
}

ScriptScope& ScriptScope::with_compensating(std::string_view step, std::string_view output) {
  Value::Object object;
  object.set("step", step);
  object.set("output", stored_value(output));
  compensating_ = std::move(object);
  return *this;
}

ScriptScope& ScriptScope::with_iteration(uint32_t index) {
  iteration_ = index;
  return *this;
}

bool ScriptScope::mentions(std::string_view id) const {
  return everything_ || text_.find(id) != text_.npos;
}

// Every step that can be meant by its own id: the innermost list first, then those around it.
void ScriptScope::add_visible(Value::Object& into, bool as_results) const {
  const plan::Script* plan = state_.plan_of(run_);
  std::string path = scope_;
  while (plan != nullptr) {
    const Scope* scope = state_.find_scope(run_, path);
    if (scope == nullptr && path.empty()) return;
    if (scope != nullptr) {
      for (uint32_t i = 0; i < scope->records.size(); ++i) {
        const StepRecord& record = effective_record(*scope, *plan, scope->records[i], i);
        const std::string& id = plan->at(scope->list, i).id;
        if (!mentions(id) || into.contains(id)) continue;
        if (as_results) {
          into.set(id, result_of(record));
        } else if (has_output(record)) {
          into.set(id, *parsed_output(record));
        }
      }
    }
    if (path.empty()) return;
    path = scope == nullptr || scope->owner.empty() ? std::string()
                                                    : std::string(split_step(scope->owner).first);
  }
}

// Steps that the text names by their full dotted id.
void ScriptScope::add_dotted(Value::Object& into, bool as_results) const {
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
    while (token.find('.') != token.npos) {
      if (token.back() != '.' && !into.contains(token)) {
        const StepRecord* record = state_.find_step(run_, token);
        if (record != nullptr && (as_results || has_output(*record))) {
          into.set(token, as_results ? result_of(*record) : *parsed_output(*record));
          break;
        }
      }
      token = token.substr(0, token.rfind('.'));
    }
  }
}

const Value& ScriptScope::steps() const {
  if (!steps_) {
    Value::Object object;
    add_visible(object, false);
    add_dotted(object, false);
    steps_ = std::move(object);
  }
  return *steps_;
}

const Value& ScriptScope::results() const {
  if (!results_) {
    Value::Object object;
    add_visible(object, true);
    add_dotted(object, true);
    results_ = std::move(object);
  }
  return *results_;
}

const Value& ScriptScope::loop() const {
  if (loop_) return *loop_;
  loop_ = Value();
  std::string path = scope_;
  while (true) {
    const Scope* scope = state_.find_scope(run_, path);
    if (scope == nullptr) break;
    if (scope->iteration) {
      Value::Object object;
      object.set("item", stored_value(scope->item));
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

const Value& ScriptScope::context() const {
  if (!context_) {
    Value::Object object;
    if (!run_.script->agent_id.empty()) object.set("agent_id", run_.script->agent_id);
    for (const Variable& variable : run_.script->variables)
      object.set(variable.key, stored_value(variable.value));
    context_ = std::move(object);
  }
  return *context_;
}

const Value& ScriptScope::workflow() const {
  if (!workflow_) {
    Value::Object object;
    object.set("run_id", run_.id.text());
    object.set("id", run_.id.text());
    object.set("name", run_.script->definition);
    object.set("version", run_.script->version);
    object.set("started_at", format_rfc3339_ms(run_.started_ms));
    object.set("now", format_rfc3339_ms(now_ms_));
    workflow_ = std::move(object);
  }
  return *workflow_;
}

const Value& ScriptScope::inputs() const {
  ScriptRun& script = *run_.script;
  if (!script.parsed_inputs) {
    Value value = stored_value(script.inputs);
    if (!value.is_object()) value = Value::Object{};
    script.parsed_inputs = std::make_shared<const Value>(std::move(value));
  }
  inputs_ = script.parsed_inputs;
  return *inputs_;
}

const Value& ScriptScope::secrets() const {
  if (!secrets_) {
    Value::Object object;
    for (const std::string& name : secret_source_->names())
      if (text_.find(name) != text_.npos)
        if (auto value = secret_source_->find(name)) object.set(name, *value);
    secrets_ = std::move(object);
  }
  return *secrets_;
}

expr::Val ScriptScope::find(std::string_view name) const {
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
  if (name == "secrets" && secret_source_ != nullptr) return expr::Val::json(secrets());
  return expr::Val();
}

std::vector<std::string> ScriptScope::names() const {
  std::vector<std::string> names = {"steps", "inputs", "workflow", "context", "results"};
  if (!loop().is_null()) names.insert(names.end(), {"iter", "loop"});
  if (!error_.is_null()) names.push_back("error");
  if (!compensating_.is_null()) names.push_back("compensating");
  if (secret_source_ != nullptr) names.push_back("secrets");
  return names;
}

Value ScriptScope::all() const {
  Value::Object object;
  if (inputs().is_object())
    for (const Value::Member& member : inputs().as_object()) object.set(member.key, member.value);
  object.set("inputs", inputs());
  object.set("steps", steps());
  object.set("workflow", workflow());
  object.set("context", context());
  object.set("workflow_id", run_.id.text());
  if (!run_.script->agent_id.empty()) object.set("agent_id", run_.script->agent_id);
  if (!loop().is_null()) {
    object.set("loop", loop());
    object.set("iter", loop());
  }
  return object;
}

Result<bool> test_expression(const ScriptScope& scope, std::string_view text) {
  PAWL_TRY(auto program, script_programs().get(expr::unwrap_template(text)));
  expr::Budget budget;
  return program->test(scope, budget);
}

Result<Value> evaluate_expression(const ScriptScope& scope, std::string_view text) {
  PAWL_TRY(auto program, script_programs().get(expr::unwrap_template(text)));
  expr::Budget budget;
  PAWL_TRY(expr::Val value, program->evaluate(scope, budget));
  return expr::to_json(value, budget);
}

Result<expr::Interpolated> fill_template(const ScriptScope& scope, const Value& tree,
                                         bool text_mode) {
  expr::Budget budget;
  expr::TemplateOptions options;
  options.always_text = text_mode;
  return expr::interpolate(tree, scope, script_programs(), budget, options);
}

}  // namespace pawl
