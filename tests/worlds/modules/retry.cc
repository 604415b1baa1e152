// retry: tries work until it succeeds or was tried often enough, waiting twice as long each time.
//
// state   {id: text, attempt: nat, max: nat, wait_ns: duration, due_ns: option time, pc: variant
// {Working, Waiting, Done,
//         GaveUp: unit}}
// event   variant; arms by name:
//         Start    {id: text, max: nat, wait_ns: duration}
//         Receipt  sys/EffectReceiptEnvelope@1
// context sys/WorkflowContext@1
// effects test.work {id: text, attempt: nat}, with receipts that say by their status how it went;
// timer.set
#include "pawl_module.h"

using namespace pawl_module;

namespace {

struct Work {
  View id;
  uint64_t attempt = 0;
  uint64_t max = 0;
  int64_t wait_ns = 0;
  bool has_due = false;
  int64_t due_ns = 0;
  View pc;
};

Work read(Value state) {
  Work work;
  work.id = state["id"].text();
  work.attempt = state["attempt"].nat();
  work.max = state["max"].nat();
  work.wait_ns = state["wait_ns"].integer();
  work.pc = state["pc"].tag();
  return work;
}

void write(Step& step, const Work& work) {
  Writer out;
  out.map(6).text("id").text(work.id).text("attempt").nat(work.attempt).text("max").nat(work.max);
  out.text("wait_ns").integer(work.wait_ns).text("pc").unit_arm(work.pc).text("due_ns");
  step.set_state(work.has_due ? out.integer(work.due_ns) : out.null());
}

void try_once(Step& step, Work& work) {
  work.pc = "Working";
  ++work.attempt;
  step.emit_effect("test.work",
                   Writer().map(2).text("id").text(work.id).text("attempt").nat(work.attempt));
}

void wait(Step& step, Work& work) {
  work.pc = "Waiting";
  work.has_due = true;
  work.due_ns = step.context().logical_now_ns() + (work.wait_ns << (work.attempt - 1));
  step.emit_effect("timer.set",
                   Writer().map(2).text("deliver_at_ns").integer(work.due_ns).text("key").null());
}

void take_receipt(Step& step, Work& work, Value receipt) {
  if (receipt["effect_kind"].text() == "timer.set") return try_once(step, work);
  if (receipt["status"].text() == "ok") {
    work.pc = "Done";
    return step.complete();
  }
  if (work.attempt < work.max) return wait(step, work);
  work.pc = "GaveUp";
  step.fail("it was tried as often as it may be");
}

void take(Step& step) {
  const Value value = step.event().arm();
  Work work;
  if (step.event().tag() != "Start") {
    work = read(step.state());
    take_receipt(step, work, value);
  } else if (step.has_state()) {
    return;  // it was started before
  } else {
    work.id = value["id"].text();
    work.max = value["max"].nat();
    work.wait_ns = value["wait_ns"].integer();
    try_once(step, work);
  }
  write(step, work);
}

}  // namespace

PAWL_MODULE_STEP(take)
