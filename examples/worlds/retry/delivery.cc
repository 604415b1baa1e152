// Calls a hook until it answers, at most four times, with pauses of 1, 2 and 4 seconds.
#include "pawl_module.h"

using namespace pawl;

namespace {

constexpr uint64_t kAttemptsMax = 4;
constexpr int64_t kFirstPause = static_cast<int64_t>(kSecond);

struct Delivery {
  Text pc, url;
  uint64_t attempt = 0;
  int64_t pause = 0;
};

void call(Step& step, Delivery& delivery) {
  delivery.pc = "Calling";
  ++delivery.attempt;
  step.effect("hook.call", record("url", delivery.url, "attempt", delivery.attempt));
}

void end(Step& step, Delivery& delivery, const Text& pc) {
  delivery.pc = pc;
  step.complete();
}

void pause_or_give_up(Step& step, Delivery& delivery) {
  if (delivery.attempt == kAttemptsMax) return end(step, delivery, "GivenUp");
  delivery.pc = "Pausing";
  delivery.pause = delivery.pause == 0 ? kFirstPause : 2 * delivery.pause;
  step.timer(step.logical_now_ns() + static_cast<uint64_t>(delivery.pause));
}

}  // namespace

void run_delivery(Step& step) {
  Delivery delivery;
  if (const Value state = step.state())
    delivery = {state["pc"].tag(), state["url"].text(), state["attempt"].nat(),
                state["pause"].integer()};
  if (step.tag() == "Deliver") {
    if (!delivery.pc.empty()) return;
    delivery.url = step.value()["url"].text();
    call(step, delivery);
  } else if (step.tag() == "Rejected") {
    pause_or_give_up(step, delivery);  // an answer that nobody understands is none
  } else if (const Receipt receipt(step.value()); receipt.kind() == "timer.set") {
    call(step, delivery);
  } else if (receipt.ok() && receipt.payload()["status"].nat() < 300) {
    end(step, delivery, "Delivered");
  } else {
    pause_or_give_up(step, delivery);
  }
  step.set_state(record("pc", variant(delivery.pc), "url", delivery.url, "attempt",
                        delivery.attempt, "pause", delivery.pause));
}
PAWL_WORKFLOW(run_delivery)
