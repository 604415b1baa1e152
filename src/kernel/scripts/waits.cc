// Steps that wait: for a time, a signal, a decision. And what their timers mean.
#include "base/time.h"
#include "kernel/scripts/flow.h"
#include "kernel/settings.h"

namespace pawl {
namespace {

int64_t earlier(int64_t a, int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

bool fits(const KeptSignal& signal, const std::string& name, const std::string& path,
          const std::string& id) {
  if (!signal.step.empty()) return signal.step == path || signal.step == id;
  return signal.type == name;
}

}  // namespace

// --- timers

void ScriptFlow::due() {
  bool yielded = script().yielded_ms != 0;
  if (yielded) frame_.emit(ScriptYielded{id_});
  if (full()) return frame_.emit(ScriptYielded{id_});  // what is due waits for the run's turn
  if (yielded) look_at_everything();
  while (!is_terminal(run().state) && !script().paused && !script().dues.empty()) {
    auto [due_ms, name] = *script().dues.begin();
    if (due_ms > frame_.now_ms()) break;
    if (full()) {
      cut_short_ = true;
      break;
    }
    if (name == kTimeoutDue) {
      Value::Object data;
      data.set("timeout_ms", run().timeout_ms);
      note_run("workflow_timed_out", data);
      StepError error = step_error("TIMEOUT_ERROR", "the run took longer than its timeout");
      switch (plan().on_timeout) {
        case plan::OnTimeout::Cancel:
          abort(ScriptStatus::Cancelled, error, "timeout", false);
          break;
        case plan::OnTimeout::Suspend:
          pause_for_timeout();
          break;
        case plan::OnTimeout::Fail:
        case plan::OnTimeout::Continue:
          abort(ScriptStatus::Failed, error, "timeout",
                plan().on_failure == plan::OnError::Rollback);
          break;
      }
    } else {
      At at;
      PAWL_CHECK(find(name, at));
      step_due(at);
    }
  }
  drain();
}

// As pausing at once does, so that nothing of the run is at work past its deadline.
void ScriptFlow::pause_for_timeout() {
  ScriptPaused event;
  event.run = id_;
  event.paused = true;
  event.reason = kTimeoutReason;
  frame_.emit(event);
  paused_by_ = kTimeoutReason;
  stop_what_is_at_work();
}

void ScriptFlow::step_due(const At& at) {
  const StepRecord& now = record(at);
  switch (now.due) {
    case DueKind::Timeout: {
      uint32_t effect = now.effect;
      fail(at,
           step_error("TIMEOUT_ERROR",
                      "the step took longer than " + std::to_string(at.step->timeout_ms) + " ms"),
           true);
      return stop_effect(effect);
    }
    case DueKind::Retry: {
      Value::Object data;
      data.set("step_id", at.path);
      data.set("attempt", static_cast<int64_t>(now.attempt + 1));
      data.set("max_attempts", static_cast<int64_t>(at.step->retry.max + 1));
      data.set("error", now.error.message);
      data.set("retryable", true);
      uint32_t attempt = now.attempt + 1;
      note(at, "step_retry_attempt", data);
      return begin_attempt(at, attempt);
    }
    case DueKind::Wait: {
      Value::Object output;
      output.set("waited", frame_.now_ms() - now.started_ms);
      return wait_over(at, std::move(output));
    }
    case DueKind::Deadline:
      return deadline_passed(at);
    case DueKind::None:
      return;
  }
}

void ScriptFlow::deadline_passed(const At& at) {
  const plan::Step& step = *at.step;
  if (step.type == plan::StepType::Decision) {
    if (step.has_fallback_choice) {
      DecisionAnswer answer;
      answer.choice = step.fallback_choice;
      answer.reasoning = "timeout_auto_resolved";
      answer.resolved_by = "system";
      return decided(at, answer, "timed_out");
    }
    close_decision(record(at), "timed_out", "");
    released("timer");
    return fail(at, step_error("TIMEOUT_ERROR", "nobody decided in time"), false);
  }
  if (step.on_timeout == plan::OnTimeout::Continue) {
    released("timer");
    Value::Object output;
    output.set("timed_out", true);
    output.set("signal", step.signal);
    return wait_over(at, std::move(output));
  }
  StepError error =
      step_error("TIMEOUT_ERROR", "the signal '" + step.signal + "' did not come in time");
  if (step.on_timeout == plan::OnTimeout::Cancel)
    return abort(ScriptStatus::Cancelled, error, "timeout", false);
  if (step.on_timeout == plan::OnTimeout::Suspend) {
    auto event = event_for<StepSuspended>(at);
    event.signal = record(at).signal;
    return frame_.emit(event);  // it waits on, without a clock
  }
  released("timer");
  fail(at, std::move(error), true);
}

// --- waits

// A number of seconds that an expression gave; it may be any number at all.
static Result<int64_t> ms_of_seconds(const Value& seconds) {
  auto ms = seconds.as_double() * 1000;
  if (!(ms >= 0 && ms <= static_cast<decltype(ms)>(kDurationMsMax)))
    return Error{ErrorCode::InvalidContent, seconds.json() + " is no duration in seconds"};
  return static_cast<int64_t>(ms);
}

void ScriptFlow::begin_wait(const At& at) {
  const plan::Step& step = *at.step;
  uint32_t attempt = record(at).attempt + 1;
  StepStarted event = started(at, attempt, false);
  int64_t until_ms = 0;
  std::string problem;
  if (!step.until.empty() || !step.duration.empty()) {
    const std::string& text = step.until.empty() ? step.duration : step.until;
    auto filled = fill_template(scope_for(at, text), Value(text), false);
    std::string plain = !filled.ok()                ? text
                        : filled->value.is_string() ? filled->value.as_string()
                                                    : filled->value.json();
    Result<int64_t> when = !step.until.empty() ? parse_rfc3339(plain) : parse_duration_ms(plain);
    if (filled.ok() && filled->value.is_number() && step.until.empty())
      when = ms_of_seconds(filled->value);
    if (!filled.ok() || !when.ok())
      problem = filled.ok() ? when.error().message : filled.error().message;
    else
      until_ms = step.until.empty() ? frame_.now_ms() + *when : *when;
  } else if (step.signal.empty()) {
    until_ms = frame_.now_ms() + step.duration_ms;
  }
  if (!problem.empty() || !step.signal.empty()) {
    frame_.emit(event);
  } else {
    event.due_ms = std::max(until_ms, frame_.now_ms());
    event.due = DueKind::Wait;
    frame_.emit(event);
  }
  if (!problem.empty())
    return fail(at, step_error("EXPRESSION_ERROR", "it cannot tell how long to wait: " + problem),
                true);
  Value::Object data;
  if (!step.signal.empty()) data.set("signal", step.signal);
  if (until_ms != 0) {
    data.set("duration", until_ms - frame_.now_ms());
    data.set("until", format_rfc3339_ms(until_ms));
  }
  note(at, "wait_started", data);
  if (step.signal.empty() || take_kept_signal(at, step.signal)) return;
  auto suspended = event_for<StepSuspended>(at);
  suspended.signal = step.signal;
  int64_t wait_ms = earlier(step.wait_timeout_ms, step.timeout_ms);
  suspended.due_ms = wait_ms == 0 ? 0 : frame_.now_ms() + wait_ms;
  frame_.emit(suspended);
}

void ScriptFlow::wait_over(const At& at, Value output) {
  note(at, "wait_completed", output);
  complete(at, output.json());
}

bool ScriptFlow::take_kept_signal(const At& at, const std::string& name) {
  const auto& kept = script().signals;
  for (uint32_t i = 0; i < kept.size(); ++i) {
    if (!fits(kept[i], name, at.path, at.step->id)) continue;
    KeptSignal signal = kept[i];
    frame_.emit(SignalTaken{id_, i});
    signal_arrived(at, signal.type, signal.payload);
    return true;
  }
  return false;
}

void ScriptFlow::signal_arrived(const At& at, const std::string& type, const std::string& payload) {
  Value::Object output;
  output.set("signal", type);
  output.set("payload", stored_value(payload));
  released("signal");
  wait_over(at, std::move(output));
}

// --- decisions

// The prompt, then each value that is told, as JSON. False if it is not all there: the step has
// failed, or a later frame goes on.
bool ScriptFlow::decision_texts(const At& at, std::vector<std::string>& texts) {
  const plan::Step& step = *at.step;
  texts = made_of(at.path);
  size_t before = texts.size();
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  for (size_t i = before; i <= step.inject.size(); ++i) {
    if (full()) {
      keep_made(at.path, {texts.begin() + static_cast<ptrdiff_t>(before), texts.end()});
      return false;
    }
    const std::string& given = i == 0 ? step.prompt : step.inject[i - 1].second;
    bool plain = !expr::has_template(given);
    std::string text = i > 0 && plain ? "${{" + given + "}}" : given;
    Value made = i == 0 ? Value(given) : Value();
    if (i > 0 || !plain)
      if (auto filled = fill_template(scope_for(at, text), Value(text), i == 0); filled.ok())
        made = std::move(filled->value);
    if (i == 0 && !made.is_string()) made = made.json();
    if (!json_fits(made, output_max() - std::min(bytes, output_max()))) {
      fail_too_large(at, "what the decision is told");
      return false;
    }
    texts.push_back(made.json());
    bytes += texts.back().size();
  }
  return true;
}

void ScriptFlow::begin_decision(const At& at) {
  const plan::Step& step = *at.step;
  std::vector<std::string> texts;
  if (!decision_texts(at, texts)) return;
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
  for (const Variable& variable : script().variables)
    if (variable.key == "intent") context.set("workflow_intent", stored_value(variable.value));

  StoredDecision decision;
  decision.run = id_;
  decision.step = at.path;
  decision.status = "pending";
  decision.target_agent = step.target_agent;
  decision.created_ms = frame_.now_ms();
  decision.tenant = run().tenant;
  int64_t wait_ms = earlier(step.wait_timeout_ms, step.timeout_ms);
  decision.expires_ms = wait_ms == 0 ? 0 : frame_.now_ms() + wait_ms;
  decision.context = Value(context).json();
  std::string id = frame_.fresh_id(id_.partition()).text();
  put_doc(frame_, DocKind::Decision, id, codec::encoded(decision));

  auto event = event_for<StepSuspended>(at);
  event.decision = id;
  event.due_ms = decision.expires_ms;
  frame_.emit(event);
  context.set("decision_id", id);
  note(at, "decision_requested", context);
}

void ScriptFlow::close_decision(const StepRecord& record, const std::string& status,
                                const std::string& answer) {
  const Doc* doc = state_.find_doc(DocKind::Decision, record.decision);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision)) return;
  decision.status = status;
  decision.answer = answer;
  constexpr int64_t kAnsweredKeptMs = int64_t{30} * 24 * 3600 * 1000;
  put_doc(frame_, DocKind::Decision, doc->key, codec::encoded(decision),
          frame_.now_ms() + kAnsweredKeptMs);
}

void ScriptFlow::decided(const At& at, const DecisionAnswer& answer, const std::string& status) {
  Value::Object output;
  output.set("choice", answer.choice);
  output.set("reasoning", answer.reasoning);
  output.set("data", stored_value(answer.data));
  output.set("resolved_by", answer.resolved_by);
  output.set("resolved_at", format_rfc3339_ms(frame_.now_ms()));
  std::string text = Value(output).json();
  std::string id = record(at).decision;
  close_decision(record(at), status, text);
  output.set("decision_id", id);
  note(at, "decision_resolved", output);
  released(status == "resolved" ? "decision" : "timer");
  complete(at, std::move(text));
}

Status ScriptFlow::may_resolve(const std::string& step, const DecisionAnswer& answer) const {
  At at;
  if (!find(step, at) || record(at).decision.empty())
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

Status ScriptFlow::resolve(const std::string& step, const DecisionAnswer& answer) {
  PAWL_TRY_DO(may_resolve(step, answer));
  At at;
  PAWL_CHECK(find(step, at));
  decided(at, answer, "resolved");
  drain();
  return ok_status();
}

}  // namespace pawl
