#include "kernel/scripts/admission.h"

#include <algorithm>

#include "kernel/frame.h"
#include "kernel/keys.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "plan/script.h"

namespace pawl {
namespace {

RunGate read_gate(const State& state, const std::string& gate) {
  RunGate found;
  const Doc* doc = state.find_doc(DocKind::RunGate, gate);
  if (doc != nullptr) PAWL_CHECK(codec::decode(doc->value, found));
  return found;
}

void write_gate(Frame& frame, const std::string& gate, const RunGate& now) {
  if (now.waiting != 0 || now.claimed != 0)
    return put_doc(frame, DocKind::RunGate, gate, codec::encoded(now));
  (void)delete_doc(frame, DocKind::RunGate, gate);
}

// A child run goes before all top-level runs: they may be waiting for its parent.
std::string turn_key(const std::string& gate, const Run& run) {
  std::string key = gate;
  int64_t priority = run.parent.run.is_nil() ? run.script->priority : INT32_MAX;
  put_big_endian(key, static_cast<uint64_t>(INT32_MAX - priority), 4);
  put_big_endian(key, run.script->created_sequence, 8);
  return key;
}

bool has_ancestor_of(const State& state, const RunId& parent, const std::string& own) {
  for (const Run* around = state.find_run(parent); around != nullptr;
       around = state.find_run(around->parent.run))
    if (const Run* script = find_script(state, around->id);
        script && gate_of(*script->script) == own)
      return true;
  return false;
}

// The limit at the gate of its definition for this run; 0 = no bound.
uint64_t limit_for(const State& state, const plan::Script& plan, const std::string& own,
                   const RunId& parent) {
  if (plan.max_concurrent == 0 || has_ancestor_of(state, parent, own)) return 0;
  return plan.max_concurrent;
}

// Occupied places of a definition. Places reserved for runs that wait for the server are still free
// for a child run: its parent may hold the place that they wait for.
uint64_t taken(const State& state, const std::string& gate, bool nested) {
  return runs_at_work(state, gate) + (nested ? 0 : read_gate(state, gate).claimed);
}

Error limit_reached(uint64_t limit) {
  return {ErrorCode::RateLimited,
          "Maximum concurrent workflow limit (" + std::to_string(limit) + ") reached"};
}

// The server has no free place, or other runs wait for one.
bool server_is_full(const State& state) {
  uint64_t limit = state.script_defaults().max_concurrent;
  if (limit == 0) return false;
  return runs_at_work(state, server_gate()) >= limit || read_gate(state, server_gate()).waiting > 0;
}

void enter(Frame& frame, const Run& run, const std::string& gate, bool claims) {
  std::string key = turn_key(gate, run);
  put_doc(frame, DocKind::RunTurn, key, codec::encoded(RunTurn{run.id, claims}));
  RunGate now = read_gate(frame.state(), gate);
  now.from = now.waiting == 0 ? key : std::min(now.from, key);
  ++now.waiting;
  write_gate(frame, gate, now);
  if (!claims) return;
  std::string own = gate_of(*run.script);
  RunGate definition = read_gate(frame.state(), own);
  ++definition.claimed;
  write_gate(frame, own, definition);
}

void leave(Frame& frame, const Run& run, const std::string& gate, bool claims) {
  std::string key = turn_key(gate, run);
  (void)delete_doc(frame, DocKind::RunTurn, key);
  RunGate now = read_gate(frame.state(), gate);
  --now.waiting;
  if (key == now.from) now.from += '\0';
  write_gate(frame, gate, now);
  if (!claims) return;
  std::string own = gate_of(*run.script);
  RunGate definition = read_gate(frame.state(), own);
  --definition.claimed;
  write_gate(frame, own, definition);
}

// Where it waits, and whether it holds a place of its definition.
bool find_turn(const State& state, const Run& run, std::string& gate, RunTurn& turn) {
  for (const std::string& candidate : {gate_of(*run.script), server_gate()}) {
    const Doc* doc = state.find_doc(DocKind::RunTurn, turn_key(candidate, run));
    if (doc == nullptr || !codec::decode(doc->value, turn) || turn.run != run.id) continue;
    gate = candidate;
    return true;
  }
  return false;
}

}  // namespace

std::string server_gate() { return "s"; }

// The length comes first, so that no gate's name is a prefix of another's; digests have a fixed
// length.
std::string definition_gate(std::string_view definition, std::string_view text_digest) {
  if (!text_digest.empty()) return "t" + std::string(text_digest);
  std::string gate = "d";
  put_big_endian(gate, definition.size(), 4);
  return gate.append(definition);
}

std::string gate_of(const ScriptRun& script) {
  return definition_gate(script.definition, script.text_digest);
}

uint64_t runs_at_work(const State& state, const std::string& gate) {
  RunCount count;
  const Doc* doc = state.find_doc(DocKind::RunCount, gate);
  if (doc != nullptr) PAWL_CHECK(codec::decode(doc->value, count));
  return count.active;
}

Result<std::string> gate_before(const State& state, const plan::Script& plan,
                                const std::string& own, const RunId& parent) {
  uint64_t limit = limit_for(state, plan, own, parent);
  bool nested = !parent.is_nil();
  if (limit != 0 && taken(state, own, nested) >= limit) {
    if (plan.reject_at_limit) return limit_reached(limit);
    return own;
  }
  if (limit != 0 && !nested && read_gate(state, own).waiting > 0) return own;  // they came first
  if (nested || !server_is_full(state)) return std::string();
  const ScriptDefaults& server = state.script_defaults();
  if (plan.reject_at_limit || server.reject_at_limit) return limit_reached(server.max_concurrent);
  return server_gate();
}

void wait_at_gate(Frame& frame, const RunId& id, const std::string& gate) {
  const Run& run = *frame.state().find_run(id);
  bool claims = gate == server_gate() && frame.state().script_of(run)->max_concurrent != 0;
  enter(frame, run, gate, claims);
}

void leave_gate(Frame& frame, const RunId& id) {
  const Run& run = *frame.state().find_run(id);
  std::string gate;
  RunTurn turn;
  if (find_turn(frame.state(), run, gate, turn)) leave(frame, run, gate, turn.claims);
}

void admit_next(Frame& frame, const std::string& gate) {
  const State& state = frame.state();
  RunGate now = read_gate(state, gate);
  const Doc* first = now.waiting == 0 ? nullptr : state.first_doc(DocKind::RunTurn, now.from, gate);
  RunTurn turn;
  const Run* run = nullptr;
  if (first != nullptr && codec::decode(first->value, turn)) run = state.find_run(turn.run);
  const plan::Script* plan = run == nullptr ? nullptr : state.script_of(*run);
  if (plan == nullptr) return frame.note_gate_seen(gate);
  bool nested = !run->parent.run.is_nil();
  if (gate == server_gate()) {
    uint64_t limit = state.script_defaults().max_concurrent;
    if (limit != 0 && runs_at_work(state, gate) >= limit) return frame.note_gate_seen(gate);
    leave(frame, *run, gate, turn.claims);
    std::string own = gate_of(*run->script);
    if (turn.claims && runs_at_work(state, own) >= plan->max_concurrent)
      return enter(frame, *run, own, false);  // a child run already has its place
    return begin_script(frame, turn.run, false);
  }
  uint64_t limit = limit_for(state, *plan, gate, run->parent.run);
  if (limit != 0 && taken(state, gate, nested) >= limit) return frame.note_gate_seen(gate);
  leave(frame, *run, gate, false);
  if (!nested && server_is_full(state)) return enter(frame, *run, server_gate(), limit != 0);
  begin_script(frame, turn.run, false);
}

TurnStanding standing_of(const State& state, const Run& run, uint64_t most) {
  TurnStanding standing;
  RunTurn turn;
  if (!find_turn(state, run, standing.gate, turn)) return standing;
  std::string own = turn_key(standing.gate, run);
  std::string from = read_gate(state, standing.gate).from;
  while (const Doc* doc = state.first_doc(DocKind::RunTurn, from, standing.gate)) {
    if (doc->key >= own) break;
    if (standing.ahead == most) {
      standing.more_ahead = true;
      break;
    }
    ++standing.ahead;
    from = doc->key + '\0';
  }
  standing.of_server = standing.gate == server_gate();
  standing.active = runs_at_work(state, standing.gate);
  const plan::Script* plan = state.script_of(run);
  standing.limit = standing.of_server ? state.script_defaults().max_concurrent
                   : plan == nullptr  ? 0
                                      : plan->max_concurrent;
  return standing;
}

}  // namespace pawl
