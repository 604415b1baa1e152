// Asks all sources at once, and adds up their answers when the last one is there.
#include "pawl_module.h"

using namespace pawl;

namespace {

void publish_total(Step& step, const Text& id, const Value& rows) {
  uint64_t total = 0, missing = 0;
  for (const auto [intent, count] : rows.entries()) {
    total += count.nat_or(0);
    missing += count.is_null() ? 1 : 0;
  }
  step.publish("report/Gathered@1", record("id", id, "total", total, "missing", missing));
  step.complete();
}

void begin(Step& step) {
  if (step.state()) return;
  const Value event = step.value();
  for (const Value source : event["sources"].elements())
    step.effect("report.fetch", record("source", source));
  const Encoded none = Map().done();
  step.set_state(record("id", event["id"], "wanted", event["sources"].size(), "rows", none));
  if (event["sources"].size() == 0) publish_total(step, event["id"].text(), Value(none.bytes));
}

void take(Step& step, const Receipt& receipt, bool understood) {
  const Value state = step.state();
  Map rows;
  for (const auto [intent, count] : state["rows"].entries()) rows.add(intent, count);
  if (understood && receipt.ok()) {
    rows.add(receipt.intent(), receipt.payload()["rows"]);
  } else {
    rows.add(receipt.intent(), nullptr);
  }
  const Encoded all = rows.done();
  step.set_state(record("id", state["id"], "wanted", state["wanted"], "rows", all));
  if (Value(all.bytes).size() == state["wanted"].nat())
    publish_total(step, state["id"].text(), Value(all.bytes));
}

}  // namespace

void gatherer(Step& step) {
  if (step.tag() == "Gather") {
    begin(step);
  } else {
    take(step, Receipt(step.value()), step.tag() == "Receipt");
  }
}
PAWL_WORKFLOW(gatherer)
