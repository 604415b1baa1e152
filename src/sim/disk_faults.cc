#include "sim/disk_faults.h"

#include <utility>

#include "base/check.h"

namespace pawl::sim {

void DiskFaults::arm(DiskTrouble trouble, uint64_t at) {
  PAWL_CHECK(at > 0);
  armed_ = trouble;
  left_ = at;
}

void DiskFaults::new_life() {
  disarm();
  stopped_ = false;
  fired_ = false;
}

bool DiskFaults::happens_to(DiskAction action) const {
  switch (armed_) {
    case DiskTrouble::None:
      return false;
    case DiskTrouble::WriteFails:
    case DiskTrouble::ShortWrite:
    case DiskTrouble::Full:
      return action == DiskAction::Write;
    case DiskTrouble::SyncFails:
    case DiskTrouble::SyncSlow:
      return action == DiskAction::Sync || action == DiskAction::WalSync;
    case DiskTrouble::SyncLies:
      return action == DiskAction::WalSync;
    case DiskTrouble::ReadFails:
      return action == DiskAction::Read;
    case DiskTrouble::Stop:
      return action != DiskAction::Read;
  }
  return false;
}

DiskTrouble DiskFaults::next(DiskAction action) {
  if (stopped_) return DiskTrouble::Stop;
  if (action != DiskAction::Read) ++operations_;
  if (full_ && action == DiskAction::Write) return DiskTrouble::Full;
  if (!happens_to(action) || --left_ > 0) return DiskTrouble::None;
  const DiskTrouble trouble = std::exchange(armed_, DiskTrouble::None);
  if (trouble != DiskTrouble::SyncSlow) fired_ = true;
  if (trouble == DiskTrouble::Full) full_ = true;
  if (trouble == DiskTrouble::Stop) stopped_ = true;
  return trouble;
}

}  // namespace pawl::sim
