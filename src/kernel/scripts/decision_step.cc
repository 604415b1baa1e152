// A step that asks a person or an agent.
#include "kernel/scripts/decision_step.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "kernel/run.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/scripts/suspension.h"
#include "kernel/scripts/wait_step.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

// The prompt, then each injected value, as JSON. False if incomplete: the step has failed, or a
// later frame continues.
bool question_texts(RunContext& run, const At& at, std::vector<std::string>& texts) {
  const plan::Step& step = *at.step;
  texts = run.made_of(at.path);
  size_t before = texts.size();
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  for (size_t i = before; i <= step.inject.size(); ++i) {
    if (run.full()) {
      run.keep_made(at.path, {texts.begin() + static_cast<ptrdiff_t>(before), texts.end()});
      return false;
    }
    const std::string& given = i == 0 ? step.prompt : step.inject[i - 1].second;
    bool plain = !expr::has_template(given);
    std::string text = i > 0 && plain ? "${{" + given + "}}" : given;
    Value made = i == 0 ? Value(given) : Value();
    if (i > 0 || !plain)
      if (auto filled = fill_template(run.names_for(at, text), Value(text), i == 0); filled.ok())
        made = std::move(filled->value);
    if (i == 0 && !made.is_string()) made = made.json();
    if (!json_fits(made, run.output_max() - std::min(bytes, run.output_max()))) {
      fail_too_large(run, at, "what the decision is told");
      return false;
    }
    texts.push_back(made.json());
    bytes += texts.back().size();
  }
  return true;
}

void ask(RunContext& run, const At& at) {
  const plan::Step& step = *at.step;
  std::vector<std::string> texts;
  if (!question_texts(run, at, texts)) return;
  Value::Object context;
  context.set("prompt_context", stored_value(texts[0]));
  Value::Object injected;
  for (size_t i = 0; i < step.inject.size(); ++i)
    injected.set(step.inject[i].first, stored_value(texts[i + 1]));
  context.set("data", std::move(injected));
  Value::Array options;
  for (const plan::Option& option : step.options) {
    Value::Object entry;
    entry.set("id", option.id);
    entry.set("description", option.description);
    options.push_back(std::move(entry));
  }
  context.set("options", std::move(options));
  if (step.has_fallback_choice) context.set("fallback", step.fallback_choice);
  if (!step.target_agent.empty()) context.set("target_agent", step.target_agent);
  for (const Variable& variable : run.script().variables)
    if (variable.key == "intent") context.set("workflow_intent", stored_value(variable.value));

  StoredDecision decision;
  decision.run = run.id;
  decision.step = at.path;
  decision.status = "pending";
  decision.target_agent = step.target_agent;
  decision.created_ms = run.frame.now_ms();
  decision.tenant = run.entity().tenant;
  int64_t wait_ms = wait_bound_ms(step);
  decision.expires_ms = wait_ms == 0 ? 0 : run.frame.now_ms() + wait_ms;
  decision.context = Value(context).json();
  std::string id = run.frame.fresh_id().text();
  put_doc(run.frame, DocKind::Decision, id, codec::encoded(decision));

  auto event = run.event_for<StepSuspended>(at);
  event.decision = id;
  event.due_ms = decision.expires_ms;
  run.frame.emit(event);
  context.set("decision_id", id);
  run.note(at, "decision_requested", context);
}

void close_question(RunContext& run, const StepRecord& record, const std::string& status,
                    const std::string& answer) {
  const Doc* doc = run.state.find_doc(DocKind::Decision, record.decision);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision)) return;
  decision.status = status;
  decision.answer = answer;
  constexpr int64_t kAnsweredKeptMs = int64_t{30} * 24 * 3600 * 1000;
  put_doc(run.frame, DocKind::Decision, doc->key, codec::encoded(decision),
          run.frame.now_ms() + kAnsweredKeptMs);
}

void accept_answer(RunContext& run, const At& at, const DecisionAnswer& answer,
                   const std::string& status) {
  Value::Object output;
  output.set("choice", answer.choice);
  output.set("reasoning", answer.reasoning);
  output.set("data", stored_value(answer.data));
  output.set("resolved_by", answer.resolved_by);
  output.set("resolved_at", format_rfc3339_ms(run.frame.now_ms()));
  std::string text = Value(output).json();
  std::string id = run.record(at).decision;
  close_question(run, run.record(at), status, text);
  output.set("decision_id", id);
  run.note(at, "decision_resolved", output);
  note_release(run, status == "resolved" ? "decision" : "timer");
  complete_step(run, at, std::move(text));
}

class DecisionKind final : public StepKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    run.frame.emit(started(run, at, attempt));
    ask(run, at);
  }
  // The question was not yet complete.
  void resume(RunContext& run, const At& at) const override { ask(run, at); }
  bool may_resume() const override { return true; }
  void time_over(RunContext& run, const At& at) const override {
    const plan::Step& step = *at.step;
    if (step.has_fallback_choice) {
      DecisionAnswer answer;
      answer.choice = step.fallback_choice;
      answer.reasoning = "timeout_auto_resolved";
      answer.resolved_by = "system";
      return accept_answer(run, at, answer, "timed_out");
    }
    close_question(run, run.record(at), "timed_out", "");
    note_release(run, "timer");
    fail_step(run, at, step_error("TIMEOUT_ERROR", "nobody decided in time"), false);
  }
  void cancel(RunContext& run, const At& at, const std::string& reason) const override {
    if (!run.record(at).decision.empty()) close_question(run, run.record(at), "cancelled", "");
    StepKind::cancel(run, at, reason);
  }
};

constexpr DecisionKind kDecisionKind;

}  // namespace

Status check_answer(const RunContext& run, const std::string& step, const DecisionAnswer& answer) {
  At at;
  if (!run.find(step, at) || run.record(at).decision.empty())
    return Error{ErrorCode::Conflict, "step '" + step + "' does not wait for a decision"};
  if (answer.choice.empty())
    return Error{ErrorCode::InvalidContent,
                 "a decision needs a choice",
                 {{"choice", "is required", "required"}}};
  if (!at.step->target_agent.empty() && !answer.resolved_by.empty() &&
      answer.resolved_by != at.step->target_agent)
    return Error{ErrorCode::Forbidden,
                 "this decision is for agent '" + at.step->target_agent + "'"};
  bool known = at.step->options.empty();
  std::string options;
  for (const plan::Option& option : at.step->options) {
    known = known || option.id == answer.choice;
    options += (options.empty() ? "" : ", ") + option.id;
  }
  if (known) return ok_status();
  return Error{ErrorCode::InvalidContent,
               "'" + answer.choice + "' is none of the options: " + options,
               {{"choice", "must be one of " + options, "value"}}};
}

Status resolve(RunContext& run, const std::string& step, const DecisionAnswer& answer) {
  PAWL_TRY_DO(check_answer(run, step, answer));
  At at;
  PAWL_CHECK(run.find(step, at));
  accept_answer(run, at, answer, "resolved");
  drain(run);
  return ok_status();
}

const StepKind& decision_kind() { return kDecisionKind; }

}  // namespace pawl::scripts
