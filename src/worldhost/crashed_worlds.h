// CrashedWorlds: the worlds at whose work earlier processes died, twice or more in a row
// (engine/crash_book.h). Such a world is quarantined when it is opened, so that it cannot keep the
// server down; a start without blame, after a clean shutdown, gives it another chance. A world
// whose reads killed the server too is not touched at all.
//
// Thread: any; it does not change.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/crash_book.h"
#include "worldhost/session.h"

namespace pawl {

constexpr std::string_view kWorldCrashed = "world.crashed";

class CrashedWorlds {
 public:
  explicit CrashedWorlds(std::vector<Suspect> suspects) : suspects_(std::move(suspects)) {}

  // Quarantines the world of this session, or ends the quarantine of an earlier start.
  void judge(WorldSession& session) const;
  // Conflict if nothing of the session's world may be read.
  Status check_touchable(const WorldSession& session) const;

 private:
  const Suspect* find(const Uuid& world) const;

  const std::vector<Suspect> suspects_;
};

}  // namespace pawl
