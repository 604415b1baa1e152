#include "rehearse/people.h"

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "rehearse/span.h"

namespace pawl::rehearse {

People::People(const Case& given) : case_(given), plans_(given.events.size()) {
  for (size_t i = 0; i < plans_.size(); ++i)
    if (given.events[i].after.empty()) {
      plans_[i].armed = true;
      plans_[i].due_ms = given.starts_at_ms + given.events[i].at_ms;
    }
}

void People::notice(const Beginning& beginning) {
  if (beginning.suspended) held_.push_back(beginning);
  bool answered = false;
  for (size_t i = 0; i < plans_.size(); ++i) {
    const Event& event = case_.events[i];
    if (plans_[i].armed || !names_step(event.after, beginning.path)) continue;
    bool answers = event.kind == Event::Kind::Decide && names_step(event.step, beginning.path);
    if (answers && (answered || beginning.decision.empty())) continue;
    answered = answered || answers;
    plans_[i].armed = true;
    plans_[i].due_ms = case_.starts_at_ms + beginning.at_ms + event.at_ms;
    if (answers) plans_[i].decision = beginning.decision;
  }
}

int64_t People::next_ms() const {
  int64_t next = 0;
  for (const Plan& plan : plans_)
    if (plan.armed && !plan.done && (next == 0 || plan.due_ms < next)) next = plan.due_ms;
  return next;
}

std::vector<size_t> People::take_due(int64_t now_ms) {
  std::vector<size_t> due;
  for (size_t i = 0; i < plans_.size(); ++i) {
    if (!plans_[i].armed || plans_[i].done || plans_[i].due_ms > now_ms) continue;
    plans_[i].done = true;
    due.push_back(i);
  }
  return due;
}

Status People::act(Frame& frame, const RunId& run, size_t number) const {
  const Event& event = case_.events[number];
  switch (event.kind) {
    case Event::Kind::Decide:
      return decide(frame, event, plans_[number]);
    case Event::Kind::Signal:
      return signal(frame, run, event);
    case Event::Kind::Cancel:
      return cancel_script(frame, run, event.reason.empty() ? "asked" : event.reason,
                           event.rollback);
    case Event::Kind::Pause:
      return pause_script(frame, run, event.now);
    case Event::Kind::Resume:
      return resume_script(frame, run);
  }
  return ok_status();
}

Status People::decide(Frame& frame, const Event& event, const Plan& plan) const {
  DecisionAnswer answer{event.choice, event.data, event.reason, event.by};
  if (!plan.decision.empty()) return resolve_decision(frame, plan.decision, answer);
  for (const Beginning& held : held_) {
    if (held.decision.empty() || !names_step(event.step, held.path)) continue;
    const Doc* doc = frame.state().find_doc(DocKind::Decision, held.decision);
    StoredDecision stored;
    if (doc == nullptr || !codec::decode(doc->value, stored) || stored.status != "pending")
      continue;
    return resolve_decision(frame, held.decision, answer);
  }
  return Error{ErrorCode::Conflict, "step '" + event.step + "' does not wait for a decision then"};
}

Status People::signal(Frame& frame, const RunId& run, const Event& event) const {
  ScriptSignal sent{event.name, event.step, event.payload, event.by, ""};
  for (const Beginning& held : held_) {
    if (event.step.empty() || !names_step(event.step, held.path)) continue;
    const Run* at = frame.state().find_run(held.run);
    if (at == nullptr || is_terminal(at->state)) continue;
    sent.step = held.step;
    return signal_script(frame, held.run, sent);
  }
  return signal_script(frame, run, sent);
}

std::string People::describe(size_t number) const {
  const Event& event = case_.events[number];
  std::string text = event.place + ": ";
  switch (event.kind) {
    case Event::Kind::Decide:
      text += "decide " + event.step + "=" + event.choice;
      break;
    case Event::Kind::Signal:
      text += "signal " + event.name;
      break;
    case Event::Kind::Cancel:
      text += "cancel";
      break;
    case Event::Kind::Pause:
      text += "pause";
      break;
    case Event::Kind::Resume:
      text += "resume";
      break;
  }
  if (plans_[number].armed)
    return text + " at +" + span_text(plans_[number].due_ms - case_.starts_at_ms);
  return text + " after step '" + event.after + "'";
}

std::vector<std::string> People::undone() const {
  std::vector<std::string> left;
  for (size_t i = 0; i < plans_.size(); ++i)
    if (!plans_[i].done)
      left.push_back(describe(i) + (plans_[i].armed ? " was never done: the run was over before"
                                                    : " was never done: the step did not wait"));
  return left;
}

}  // namespace pawl::rehearse
