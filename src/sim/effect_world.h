// EffectWorld: receives the effects of the simulated engine. Each effect arrives here once its
// batch is durable (I3), and is kept for performers who answer late, twice, or not at all before
// the next restart, when exactly the open effects must be requested again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/effects.h"
#include "kernel/scripts/effect_request.h"
#include "sim/plants.h"
#include "sim/tasks.h"

namespace pawl::sim {

struct Work {
  EffectKind kind = EffectKind::Action;
  RunId run;
  uint32_t effect = 0;
  std::string step;
  bool cancel = false;    // not to be done any more
  std::string refusal;    // its parameters cannot be had
  bool answered = false;  // what follows is a duplicate
};

class EffectWorld : public EffectSink {
 public:
  EffectWorld(Desk& desk, const Plants& plants) : desk_(desk), plants_(plants) {}

  std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                           int64_t now_ms, Meter& meter) override;
  // Called when a batch is closed: its effects may leave once this record is durable.
  static void may_leave_after(PreparedEffects* effects, uint64_t record);

  // The engine was restarted. Performers keep working, and may answer the new engine.
  void restarted();
  // Every open effect was requested since the restart. Call when everything is durable and
  // released.
  void check_all_asked() const;

  std::vector<Work>& open() { return open_; }
  std::vector<Work>& stale() { return stale_; }

 private:
  class Prepared;
  using Key = std::pair<RunId, uint32_t>;
  void take(std::vector<Work> work, uint64_t needs_record);
  void take_one(Work work);

  Desk& desk_;
  const Plants& plants_;
  std::vector<Work> open_;
  std::vector<Work> stale_;  // requested before a restart, or cancelled
  std::set<Key> asked_;      // since the restart
  bool first_ = true;
};

}  // namespace pawl::sim
