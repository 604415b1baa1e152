// ActionKind: who does an action.
#pragma once

#include <cstdint>

namespace pawl::plan {

enum class ActionKind : uint8_t {
  Outside,     // done after the commit; an embedding program's own actions too
  Pure,        // needs nothing but its parameters
  Evaluation,  // likewise, but its expression may name any step of the run
  // Done by the run itself, since they change it, tell something about it or start a run inside it.
  StartRun,
  Emit,
  Context,
  Fail,
  Log,
  Notify,
};
constexpr bool is_done_by_run(ActionKind kind) { return kind >= ActionKind::StartRun; }

}  // namespace pawl::plan
