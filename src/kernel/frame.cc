#include "kernel/frame.h"

#include <type_traits>

#include "journal/events.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/copied_settings.h"
#include "kernel/mutable_state.h"
#include "kernel/run.h"

namespace pawl {

Frame::Frame(MutableState& state, journal::RecordWriter& record, int64_t now_ms, uint64_t entropy)
    : Frame(state, record, now_ms, entropy, state.script_defaults().frame_allowance) {}

Frame::Frame(MutableState& state, journal::RecordWriter& record, int64_t now_ms, uint64_t entropy,
             uint64_t allowance)
    : state_(state),
      readable_(state),
      record_(record),
      now_ms_(now_ms),
      entropy_(entropy),
      first_(record.event_count()),
      meter_(allowance) {
  record_.begin_frame(now_ms);
}

Uuid Frame::fresh_id() {
  const uint64_t a = draw();
  return Uuid::v7(now_ms_, a, draw(), readable_.partition());
}

void Frame::note_cancelled_effect(const Run& run, uint32_t effect) {
  state_.note_cancelled_effect(run, effect);
}

void Frame::note_held_back(const Queue& queue, const Limit& limit) {
  state_.note_held_back(queue, limit);
}

void Frame::note_cron_waits(const Cron& cron) { state_.note_cron_waits(cron); }

void Frame::note_gate_seen(const std::string& gate) { state_.note_gate_seen(gate); }

void Frame::note_answered(const Uuid& token) { state_.note_answered(token); }

template <class Given>
void Frame::add(Given&& event) {
  const size_t before = record_.size();
  const uint64_t sequence = record_.add(event);
  meter_.charge_written(record_.size() - before);
  state_.apply(std::forward<Given>(event), Stamp{sequence, now_ms_});
  if constexpr (requires { copy_setting(*this, event); }) {
    if (readable_.partitions() > 1) copy_setting(*this, event);
  }
  if constexpr (requires { release_forgotten(*this, event); }) {
    if (readable_.partitions() > 1) release_forgotten(*this, event);
  }
}

// Events shown to users carry the id that the client of their run chose.
template <class Given>
void Frame::emit_named(Given&& event) {
  if constexpr (requires { event.run_client_id; }) {
    const Run* run = state_.find_run(event.run);
    if (run != nullptr && !run->client_id.empty()) {
      std::decay_t<Given> named = std::forward<Given>(event);
      named.run_client_id = run->client_id;
      return add(std::move(named));
    }
  }
  add(std::forward<Given>(event));
}

#define PAWL_EVENT(number, name) \
  void Frame::emit(const name& event) { emit_named(event); }
#include "journal/event_types.def"
#undef PAWL_EVENT

void Frame::emit(ScriptMoved&& event) { emit_named(std::move(event)); }
void Frame::emit(StepEnded&& event) { emit_named(std::move(event)); }

}  // namespace pawl
