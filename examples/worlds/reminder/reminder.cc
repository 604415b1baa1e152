// Sleeps, then sends a mail.
#include "pawl_module.h"

using namespace pawl;

namespace {

void set_stage(Step& step, const Encoded& stage, const Text& text) {
  step.set_state(record("stage", stage, "text", text));
}

}  // namespace

void reminder(Step& step) {
  if (step.tag() == "Remind") {
    if (step.state()) return;  // of this id there is one already
    const int64_t after = step.value()["after"].integer();
    step.timer(step.logical_now_ns() + static_cast<uint64_t>(after < 0 ? 0 : after));
    return set_stage(step, variant("Sleeping"), step.value()["text"].text());
  }
  const Receipt receipt(step.value());
  const Text text = step.state()["text"].text();
  if (receipt.kind() == "timer.set") {
    step.effect("mail.send", record("text", text), {.slot = "mail"});
    return set_stage(step, variant("Sending"), text);
  }
  set_stage(step,
            receipt.ok() ? variant("Sent", receipt.payload()["sent_at"])
                         : variant("Unsent", receipt.payload()["code"].text()),
            text);
  step.complete();
}
PAWL_WORKFLOW(reminder)
