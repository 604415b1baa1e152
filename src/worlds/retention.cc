#include "worlds/retention.h"

#include "worlds/frame.h"

namespace pawl::worlds {
namespace {

// In the order in which they were emitted, up to the first that is too young: then a count says
// which they are.
uint64_t count_old_settled(World& world, int64_t ended_before_ms, size_t at_most) {
  uint64_t count = 0;
  if (at_most == 0) return 0;
  world.each_settled({}, [&](std::string_view, const std::string&, const Intent& intent) {
    if (intent.settled_ms >= ended_before_ms) return false;
    return ++count < at_most;
  });
  return count;
}

Forgotten find_old(World& world, int64_t ended_before_ms, size_t at_most) {
  Forgotten out;
  if (at_most > 0) {
    world.table().scan("e", {}, [&](std::string_view item_key, std::string_view) {
      int64_t ended_ms = 0;
      std::string module, key;
      if (!split_ended_key(item_key, ended_ms, module, key) || ended_ms >= ended_before_ms)
        return false;
      out.instances.emplace_back(std::move(module), std::move(key));
      return out.instances.size() < at_most;
    });
  }
  out.settled = count_old_settled(world, ended_before_ms, at_most - out.instances.size());
  return out;
}

}  // namespace

void forget(Deciding& deciding, const Forgotten& forgotten) {
  Frame frame(deciding, Frame::Clock::Moves);
  for (const auto& [module, key] : forgotten.instances) {
    frame.append(RecordKind::Instance, instance_record({.module = module,
                                                        .key = record_key(key),
                                                        .action = "forgotten",
                                                        .stamp = frame.stamp_record()}));
    frame.remove_instance(module, key);
  }
  if (forgotten.settled > 0) {
    frame.append(RecordKind::Instance, instance_record({.module = {},
                                                        .action = "forgotten",
                                                        .dropped = forgotten.settled,
                                                        .stamp = frame.stamp_record()}));
    uint64_t left = forgotten.settled;
    deciding.world().each_settled(
        {}, [&](std::string_view, const std::string& hash, const Intent& intent) {
          frame.forget_intent(hash, intent.seq, intent.n);
          return --left > 0;
        });
  }
  frame.finish();
}

size_t forget_old(Deciding& deciding, int64_t ended_before_ms, size_t at_most) {
  const Forgotten old = find_old(deciding.world(), ended_before_ms, at_most);
  const size_t count = old.instances.size() + static_cast<size_t>(old.settled);
  if (count > 0) forget(deciding, old);
  return count;
}

}  // namespace pawl::worlds
