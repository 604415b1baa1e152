// Lives of worlds for tests of what is built on the journal: modules that do what their events ask
// for, scripts of commands, and lives led at random from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/testing/test_world.h"

namespace pawl::worlds {

// `flow` does what Start's n says: 1 asks for one effect, 2 for two, 3 emits a Note, 4 completes, 5
// fails, 6 traps, 7 starts another instance and sets a timer, 8 asks for an effect that it has not
// declared; others only log. On a receipt, and on Poke, it logs. `plain` asks for an effect on
// every third Note.
void make_busy(NativeHost& host);

// A world that is busy.
struct BusyWorld : TestWorld {
  explicit BusyWorld(const WorldText& body = {}) : TestWorld(body) { make_busy(host); }

  std::string start(std::string_view id, int n, std::string_view client_id = {});
  std::string note(std::string_view text);
  std::string poke(std::string_view id);

  // A candidate, read as a request's body.
  ProgramText read(const WorldText& body);
  std::string propose(const WorldText& body);  // the frame; its id is last_proposal()
  std::string last_proposal();
  // `order` without its proposal_id; `candidate`: the program of that proposal. The report stays in
  // `report`.
  std::string shadow(std::string_view proposal_id, const WorldText& candidate,
                     ShadowOrder order = {});
  std::string approve(std::string_view proposal_id);
  std::string reject(std::string_view proposal_id);
  // proposal_id "": direct.
  std::string apply(std::string_view proposal_id, const WorldText& body, uint64_t queued = 0);
  std::string snapshot();

  // What is on the disk, changed from outside.
  std::string item(const std::string& key);
  void put_item(const std::string& key, std::string value);
  void remove_item(const std::string& key);
  // One byte of an item, flipped.
  void flip(const std::string& key, size_t at);

  std::string report;
};

// The candidate that everybody proposes: the same, but `deaf` may no longer ask for effects.
WorldText other_body();

// Leads a world through `inputs` commands of every kind.
void lead_life(BusyWorld& world, uint64_t seed, size_t inputs);

// "ok <frames>", or "<wire> <seq>" of what the replay found.
std::string replayed(BusyWorld& world, ReplayFrom from);
// The world's digest as one line; and that of a replay.
std::string digest_line(const Digest& digest);

}  // namespace pawl::worlds
