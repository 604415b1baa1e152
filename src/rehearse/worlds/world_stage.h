// WorldStage: a world in memory, for tests: what the server does around a world, without server,
// disk, adapters and wall clock. Frames, hashes and refusals are those of a live test world with
// the same id, seed and script.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "worlds/commands.h"

namespace pawl::rehearse {

class WorldStage {
 public:
  explicit WorldStage(worlds::ModuleHost& host) : host_(host), world_(items_) {}

  // `program`: {"manifest":…, "nodes":[…]}. Errors: what is wrong with it, with its complaints.
  Status create(std::string_view program, const std::string& seed, int64_t now_ns);

  Result<worlds::EventReply> post(const Value& event);
  // {of, module?, key?, params?, status, payload?, …}: answers the first open intent that fits.
  Result<worlds::ReceiptReply> settle(const Value& receipt);
  // Moves the clock there; timers that fall due on the way fire at their time. Returns how many.
  Result<uint64_t> move_clock(int64_t to_ns);
  Status apply(std::string_view program);
  Status terminate(const Value& which);
  Status retry(const Value& which);
  void snapshot();
  // Decides the journal once more, and compares.
  Status replay(worlds::ReplayFrom from);
  // The reply of POST B/step-test.
  Result<std::string> step(std::string_view request);

  int64_t now_ns() const { return now_ns_; }
  uint64_t height() { return world_.head().height; }
  // What tests look at, as the values that they are compared with.
  Value::Array instances();
  Value::Array open_effects();
  Value::Array events_since(uint64_t seq);   // what modules published
  Value::Array journal_since(uint64_t seq);  // kinds of records

 private:
  Result<std::shared_ptr<const worlds::Program>> read_program(std::string_view text,
                                                              worlds::ProgramText& into);
  worlds::Deciding begin(int64_t now_ns);
  void keep(worlds::Deciding& deciding);
  Status fire(const std::string& intent_hash, const worlds::Intent& intent);
  Result<std::string> find_intent(const Value& receipt);
  Result<std::pair<std::string, std::string>> instance_of(const Value& which);
  Value key_value(std::string_view module, const std::string& key) const;

  worlds::ModuleHost& host_;
  worlds::EmptyTable nothing_;
  worlds::Overlay items_{nothing_};
  worlds::World world_;
  std::shared_ptr<const worlds::Program> program_;
  int64_t now_ns_ = 0;
};

}  // namespace pawl::rehearse
