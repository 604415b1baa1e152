// Counts active runs of definitions: follows every ScriptMoved.
#include "base/codec.h"
#include "journal/events.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/admission.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/state_memory.h"

namespace pawl {

void MutableState::count_run(const ScriptMoved& event, Stamp stamp) {
  bool was = event.from == ScriptStatus::Active;
  bool is = event.to == ScriptStatus::Active;
  if (was == is) return;
  count_at_gate(definition_gate(event.definition, event.text_digest), is, stamp);
  if (!event.nested) count_at_gate(server_gate(), is, stamp);
}

// A count of zero has no row. Its events may then be folded again from any place before it became
// zero: subtracting from zero gives zero, and every such fold ends at zero at the same event.
void MutableState::count_at_gate(const std::string& gate, bool one_more, Stamp stamp) {
  Doc* doc = resident_doc(DocKind::RunCount, gate);
  if (doc == nullptr) {
    if (!one_more) return;
    auto fresh = std::make_unique<Doc>();
    fresh->doc_kind = DocKind::RunCount;
    fresh->key = gate;
    doc = memory_->docs.emplace(doc_key(DocKind::RunCount, gate), std::move(fresh))
              .first->second.get();
  }
  if (doc->version >= stamp.sequence) return;
  RunCount count;
  if (!doc->deleted) (void)codec::decode(doc->value, count);
  if (!one_more && count.active == 0) return;
  count.active += one_more ? 1 : UINT64_MAX;
  changed(*doc, stamp);
  doc->deleted = count.active == 0;
  doc->value = doc->deleted ? "" : codec::encoded(count);
  doc->put_ms = stamp.time_ms;
  if (!one_more && find_doc(DocKind::RunGate, gate) != nullptr) memory_->gate_looks.insert(gate);
}

// A gate with waiting runs is checked after every change of its document.
void MutableState::gate_changed(const Doc& gate) {
  if (gate.deleted) {
    memory_->gate_looks.erase(gate.key);
  } else {
    memory_->gate_looks.insert(gate.key);
  }
}

}  // namespace pawl
