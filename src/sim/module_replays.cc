#include "sim/module_replays.h"

#include "sim/plain_cbor.h"
#include "worlds/frame.h"
#include "worlds/replay.h"

namespace pawl::sim {

void ModuleReplays::snapshot() {
  const std::string name = draw_world();
  send("snapshot of " + name, [&] {
    struct Seen {
      worlds::Snapshot snapshot;
    };
    auto seen = std::make_shared<Seen>();
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, seen](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      PAWL_TRY(seen->snapshot,
               session.frame([](worlds::Deciding& deciding) -> Result<worlds::Snapshot> {
                 return worlds::take_snapshot(deciding);
               }));
      PlainItem item;
      const auto blob = session.world().blob(seen->snapshot.ref);
      verdict_.expect(
          blob && read_plain(*blob, item) && plain_hash_of_bytes(*blob) == seen->snapshot.ref,
          "module canonical", "a snapshot is not in canonical form");
      verdict_.reach(Probe::ModuleSnapshot);
      return ok_status();
    };
    return order;
  });
}

void ModuleReplays::replay() {
  const std::string name = draw_world();
  const bool genesis = random_.percent(60);
  send("replay " + name, [&] {
    Order order{.world = name, .work = {}, .done = {}, .alone = true};
    order.work = [this, genesis](WorldSession& session) -> Status {
      PAWL_TRY_DO(open_world(session));
      NativeModules& code = world_.modules()->code();
      code.is_replay = true;
      auto replayed =
          worlds::replay(session.world(), session.modules(),
                         genesis ? worlds::ReplayFrom::Genesis : worlds::ReplayFrom::Baseline,
                         [] { return true; });
      code.is_replay = false;
      if (!replayed.ok()) {
        const std::string wire(replayed.error().wire);
        const Error damage{ErrorCode::Corrupt, replayed.error().message};
        if (wire == "replay.divergence" ||
            (wire == "journal.corrupt" && !world_.damage_found(damage)))
          verdict_.fail("module replay", wire + ": " + replayed.error().message);
        return replayed.error();
      }
      verdict_.reach(Probe::ModuleReplayed);
      verdict_.expect(replayed->digest == worlds::digest_of(session.world()), "module replay",
                      "the replay comes to another digest");
      return ok_status();
    };
    return order;
  });
}

}  // namespace pawl::sim
