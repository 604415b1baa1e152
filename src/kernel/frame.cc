#include "kernel/frame.h"

#include <type_traits>

#include "journal/events.h"

namespace pawl {

template <class Given>
void Frame::add(Given&& event) {
  const size_t before = record_.size();
  const uint64_t sequence = record_.add(event);
  meter_.charge_written(record_.size() - before);
  state_.apply(std::forward<Given>(event), Stamp{sequence, now_ms_});
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
