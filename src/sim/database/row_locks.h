// RowLocks: who holds which row of the simulated database, and who waits for it. As in PostgreSQL:
// a share is granted beside other shares, also past somebody who waits for an update; whoever waits
// looks at the row again once it is granted.
//
// Thread: one; lock() within a fiber.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/database/timeline.h"

namespace pawl::sim {

enum class RowLock : uint8_t { Share, Update };

class RowLocks {
 public:
  explicit RowLocks(Timeline& timeline) : timeline_(timeline) {}

  // False: not within that time. Outside of fibers nobody waits.
  bool lock(uint64_t session, const std::string& row, RowLock mode, int64_t us_max);
  void release(uint64_t session);
  // Sessions that hold the row.
  bool is_held(const std::string& row) const { return held_.count(row) != 0; }

 private:
  struct Holder {
    uint64_t session;
    RowLock mode;
  };
  bool fits(const std::string& row, uint64_t session, RowLock mode) const;

  Timeline& timeline_;
  std::map<std::string, std::vector<Holder>> held_;
  std::map<std::string, std::vector<Timeline::Ticket>> waiting_;
};

}  // namespace pawl::sim
