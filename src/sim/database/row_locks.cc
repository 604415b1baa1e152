#include "sim/database/row_locks.h"

#include <algorithm>

namespace pawl::sim {

bool RowLocks::fits(const std::string& row, uint64_t session, RowLock mode) const {
  const auto found = held_.find(row);
  if (found == held_.end()) return true;
  return std::all_of(found->second.begin(), found->second.end(), [&](const Holder& holder) {
    return holder.session == session || (mode == RowLock::Share && holder.mode == RowLock::Share);
  });
}

bool RowLocks::lock(uint64_t session, const std::string& row, RowLock mode, int64_t us_max) {
  const int64_t end_us = timeline_.now_us() + us_max;
  while (!fits(row, session, mode)) {
    if (!timeline_.in_fiber()) return false;
    const Timeline::Ticket ticket = timeline_.ticket();
    waiting_[row].push_back(ticket);
    const bool woken = timeline_.wait(ticket, end_us - timeline_.now_us());
    if (woken) continue;
    std::erase(waiting_[row], ticket);
    return false;
  }
  held_[row].push_back({session, mode});
  return true;
}

void RowLocks::release(uint64_t session) {
  for (auto row = held_.begin(); row != held_.end();) {
    const size_t before = row->second.size();
    std::erase_if(row->second, [&](const Holder& holder) { return holder.session == session; });
    if (row->second.size() != before)
      for (const Timeline::Ticket ticket : std::exchange(waiting_[row->first], {}))
        timeline_.wake(ticket);
    row = row->second.empty() ? held_.erase(row) : std::next(row);
  }
}

}  // namespace pawl::sim
