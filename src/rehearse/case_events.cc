// Events: actions of people and other systems on the run, and their times.
#include "rehearse/case_reader.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;

constexpr std::string_view kEvent[] = {"at",     "after",  "in",    "decide",
                                       "signal", "cancel", "pause", "resume"};
constexpr std::string_view kDecide[] = {"step", "choice", "by", "data", "reasoning"};
constexpr std::string_view kSignal[] = {"name", "step", "payload", "by"};
constexpr std::string_view kCancel[] = {"reason", "rollback"};
constexpr std::string_view kPause[] = {"now"};

}  // namespace

Event CaseReader::read_event(const Cursor& at) {
  Event event;
  event.place = at.path();
  if (!findings_.expect_object(at)) return event;
  findings_.only(at, kEvent, "an event");
  read_deed(at, event);
  if (auto after = at.field("after")) {
    event.after = findings_.text(*after);
    check_step(*after, event.after);
    if (auto in = at.field("in")) event.at_ms = findings_.duration_ms(*in);
    if (auto fixed = at.field("at"))
      findings_.error(*fixed, "value", "'at' counts from the start, 'after' from a step",
                      "after: STEP, in: 2h");
    return event;
  }
  if (auto in = at.field("in"))
    findings_.error(*in, "value", "'in' needs 'after': the step it is counted from");
  if (auto fixed = at.field("at")) {
    event.at_ms = findings_.duration_ms(*fixed);
  } else if (event.kind == Event::Kind::Decide) {
    event.after = event.step;  // answered as soon as the question is asked
  } else if (event.kind != Event::Kind::Signal) {
    findings_.error(at, "required", "an event needs 'at' or 'after'");
  }
  return event;
}

void CaseReader::read_deed(const Cursor& at, Event& event) {
  int deeds = 0;
  // As a field, but a null (`resume:` without a value) counts as given.
  auto deed = [&](std::string_view name) -> std::optional<Cursor> {
    for (size_t i = 0; i < at.value().as_object().size(); ++i)
      if (at.value().as_object().at(i).key == name) return ++deeds, at.member(i);
    return std::nullopt;
  };
  if (auto decide = deed("decide")) read_decide(*decide, event);
  if (auto signal = deed("signal")) read_signal(*signal, event);
  if (auto cancel = deed("cancel")) {
    event.kind = Event::Kind::Cancel;
    if (cancel->is_object()) findings_.only(*cancel, kCancel, "a cancel");
    if (auto reason = cancel->field("reason")) event.reason = findings_.text(*reason);
    if (auto rollback = cancel->field("rollback"))
      event.rollback = rollback->value() == Value(true);
  }
  if (auto pause = deed("pause")) {
    event.kind = Event::Kind::Pause;
    if (pause->is_object()) findings_.only(*pause, kPause, "a pause");
    if (auto now = pause->field("now")) event.now = now->value() == Value(true);
  }
  if (deed("resume")) event.kind = Event::Kind::Resume;
  if (deeds != 1)
    findings_.error(at, "required", "an event is one of decide, signal, cancel, pause and resume");
}

void CaseReader::read_decide(const Cursor& at, Event& event) {
  event.kind = Event::Kind::Decide;
  if (!findings_.expect_object(at)) return;
  findings_.only(at, kDecide, "a decision");
  if (auto step = at.field("step")) {
    event.step = findings_.text(*step);
    check_step(*step, event.step);
  } else {
    findings_.error(at, "required", "a decision needs its step");
  }
  if (auto choice = at.field("choice")) event.choice = findings_.text(*choice);
  if (event.choice.empty()) findings_.error(at, "required", "a decision needs a choice, as text");
  if (auto by = at.field("by")) event.by = findings_.text(*by);
  if (auto data = at.field("data")) event.data = data->value().json();
  if (auto reasoning = at.field("reasoning")) event.reason = findings_.text(*reasoning);
}

void CaseReader::read_signal(const Cursor& at, Event& event) {
  event.kind = Event::Kind::Signal;
  if (at.is_string()) {
    event.name = findings_.text(at);
    return;
  }
  if (!findings_.expect_object(at)) return;
  findings_.only(at, kSignal, "a signal");
  if (auto name = at.field("name")) event.name = findings_.text(*name);
  if (event.name.empty()) findings_.error(at, "required", "a signal needs a name");
  if (auto step = at.field("step")) {
    event.step = findings_.text(*step);
    check_step(*step, event.step);
  }
  if (auto payload = at.field("payload")) event.payload = payload->value().json();
  if (auto by = at.field("by")) event.by = findings_.text(*by);
}

}  // namespace pawl::rehearse
