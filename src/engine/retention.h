// Retention: deletes finished jobs, expired documents and old journal records, by age and by count,
// a little at a time between other work, so that nothing waits for it.
//
// Thread: the engine's.
#pragma once

#include <cstdint>

#include "base/uuid.h"
#include "engine/config.h"
#include "store/store.h"

namespace pawl {

class Frame;
class State;

class Retention {
 public:
  Retention(const RetentionConfig& config, Store& store) : config_(config), store_(store) {}

  int64_t next_ms() const { return next_ms_; }
  // One step of a sweep; true if there is more to do at once.
  bool step(Frame& frame);
  // Journal records below this may be deleted (0 = none); recovery needs those from tail_record on.
  uint64_t trim_before(uint64_t tail_record) const;

 private:
  uint64_t finished_kept(const State& state) const;
  void find_trim_point(int64_t now_ms);
  int64_t record_time(uint64_t number) const;

  RetentionConfig config_;
  Store& store_;
  int64_t next_ms_ = 0;
  JobId go_on_;
  RunId next_run_;
  bool sweeping_ = false;
  uint64_t trim_before_ = 0;
};

}  // namespace pawl
