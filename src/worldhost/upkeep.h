// Work of the host that no client orders: reading the open intents of a world when the host starts,
// checking its journal, retention, and removing the items of deleted worlds.
//
// Thread: of those with a WorldSession, the worker that has the world; others: any.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "worldhost/session.h"

namespace pawl {

struct OpenedWorld {
  std::vector<OpenIntent> open;
  std::vector<std::pair<std::string, std::optional<worlds::Adapter>>> adapters;
};
OpenedWorld read_open_intents(WorldSession& session);

// Quarantines the world if the error says that its journal does not hold.
void quarantine_broken(WorldSession& session, const Error& error);
// A world whose journal cannot be read is quarantined before anything is decided from it. Once per
// start of the server.
Status check_opened_world(WorldSession& session);

struct WorldRetention {
  int64_t finished_ms = 0;
  int64_t journal_ms = 0;
};
// A bounded part of it.
Status sweep_world(WorldSession& session, const WorldRetention& retention);

// A sample of the world's history, decided again as by a replay: the frames from its last snapshot
// on, a bounded number of them, and while `go_on`. If they differ, the world is quarantined.
Status verify_sample(WorldSession& session, FunctionRef<bool()> go_on);

// Of a key of DocKind::World.
bool is_deleted_world(std::string_view key);
// Removes the items of a deleted world, a part at a time, until none is left; then its key. Returns
// at once.
void purge_world(EngineLine& line, const std::string& key);

}  // namespace pawl
