// emitter: emits what it is told to, and keeps what came back.
//
// state   {emitted: nat, receipts: nat, rejected: nat, denied: nat, last: bytes}
//         last: the value, as CBOR, of the last arm other than Emit
// event   variant; arms by name:
//         Emit      {kind: text, params: bytes, count: nat, slot: option text, key: option bytes}
//         and, if it is keyed, more Finish    completes the instance, with its state kept Receipt
//         sys/EffectReceiptEnvelope@1, or another typed receipt Rejected
//         sys/EffectReceiptRejected@1 Denied    sys/EffectDenied@1
// effects the kinds that Emit names
#include "pawl_module.h"

using namespace pawl_module;

static void emit(Step& step, Value order) {
  const View slot = order["slot"].is_null() ? View() : order["slot"].text();
  const View key = order["key"].is_null() ? View() : order["key"].bytes();
  for (uint64_t left = order["count"].nat(); left > 0; --left) {
    step.emit_effect(order["kind"].text(), order["params"].bytes(), slot, key);
  }
}

static void take(Step& step) {
  const View arm = step.event().tag();
  const Value before = step.has_state() ? step.state() : Value();
  const auto counted = [&](View member, bool one_more) {
    return (before.exists() ? before[member].nat() : 0) + (one_more ? 1 : 0);
  };
  uint64_t emitted = counted("emitted", false);
  View last = before.exists() ? before["last"].bytes() : View();
  if (arm == "Emit") {
    emit(step, step.event().arm());
    emitted += step.event().arm()["count"].nat();
  } else if (arm == "Finish") {
    step.complete();
  } else {
    last = step.event().arm().encoded();
  }
  step.set_state(Writer()
                     .map(5)
                     .text("emitted")
                     .nat(emitted)
                     .text("receipts")
                     .nat(counted("receipts", arm == "Receipt"))
                     .text("rejected")
                     .nat(counted("rejected", arm == "Rejected"))
                     .text("denied")
                     .nat(counted("denied", arm == "Denied"))
                     .text("last")
                     .bytes(last));
}

PAWL_MODULE_STEP(take)
