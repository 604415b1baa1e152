#include "worldhost/crashed_worlds.h"

#include <algorithm>

#include "base/log.h"
#include "worlds/fault.h"
#include "worlds/replay.h"

namespace pawl {
namespace {

std::string told_of(const Suspect& suspect) {
  std::string text = "the server died " + std::to_string(suspect.deaths) +
                     " times in a row at the work of this world";
  if (suspect.signal != 0) text += " (signal " + std::to_string(suspect.signal) + ")";
  return text + "; stop the server and start it again to try once more";
}

}  // namespace

const Suspect* CrashedWorlds::find(const Uuid& world) const {
  const auto at = std::find_if(suspects_.begin(), suspects_.end(),
                               [&](const Suspect& suspect) { return suspect.id == world; });
  return at == suspects_.end() ? nullptr : &*at;
}

void CrashedWorlds::judge(WorldSession& session) const {
  if (!session.exists()) return;
  const worlds::Head head = session.world().head();
  if (const Suspect* suspect = find(session.id())) {
    if (!head.quarantine_code.empty()) return;
    log::error("a world is quarantined", {{"world", head.name}, {"error", told_of(*suspect)}});
    worlds::quarantine(session.world(), session.items(), kWorldCrashed, told_of(*suspect),
                       head.height);
  } else if (head.quarantine_code == kWorldCrashed) {
    log::info("a world that crashed the server is tried again", {{"world", head.name}});
    worlds::end_quarantine(session.world(), session.items());
  }
}

Status CrashedWorlds::check_touchable(const WorldSession& session) const {
  const Suspect* suspect = session.exists() ? find(session.id()) : nullptr;
  if (suspect == nullptr || suspect->deaths <= CrashBook::kDeathsMax) return ok_status();
  return worlds::refusal(ErrorCode::Conflict, "world.quarantined", told_of(*suspect));
}

}  // namespace pawl
