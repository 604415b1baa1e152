#include "front/partition_map.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <utility>

namespace pawl::front {
namespace {

// Says when the last one who holds it has let go.
struct Door {
  std::promise<void> closed;
};

std::shared_ptr<void> make_door() {
  return std::shared_ptr<Door>(new Door, [](Door* door) {
    std::promise<void> closed = std::move(door->closed);
    delete door;
    closed.set_value();
  });
}

}  // namespace

void PartitionMap::serve_here(uint16_t partition, uint64_t epoch, api::App& app) {
  std::vector<std::function<void()>> waiting;
  {
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[partition];
    entry.app = &app;
    entry.door = make_door();
    entry.epoch = epoch;
    entry.elsewhere.reset();
    waiting = std::exchange(entry.waiting, {});
  }
  for (const auto& call : waiting) call();
}

void PartitionMap::end_here(uint16_t partition) {
  std::shared_ptr<void> door;
  {
    std::unique_lock lock(mutex_);
    entries_[partition].app = nullptr;
    door = std::exchange(entries_[partition].door, nullptr);
  }
  if (door == nullptr) return;
  auto closed = std::static_pointer_cast<Door>(door)->closed.get_future();
  door.reset();
  closed.wait();
}

void PartitionMap::note_others(const std::vector<std::optional<Elsewhere>>& others) {
  std::vector<std::function<void()>> waiting;
  {
    std::unique_lock lock(mutex_);
    for (size_t k = 0; k < entries_.size() && k < others.size(); ++k) {
      Entry& entry = entries_[k];
      entry.elsewhere = others[k];
      if (!is_served(entry)) continue;
      for (auto& call : std::exchange(entry.waiting, {})) waiting.push_back(std::move(call));
    }
  }
  for (const auto& call : waiting) call();
}

Server PartitionMap::find(uint16_t partition) const {
  std::shared_lock lock(mutex_);
  const Entry& entry = entries_[partition];
  if (entry.app != nullptr) return {{entry.app, entry.door}, std::nullopt, entry.epoch};
  if (entry.elsewhere) return {{}, entry.elsewhere->peer, entry.elsewhere->epoch};
  return {};
}

std::vector<std::pair<uint16_t, Here>> PartitionMap::all_here() const {
  std::shared_lock lock(mutex_);
  std::vector<std::pair<uint16_t, Here>> all;
  for (size_t k = 0; k < entries_.size(); ++k)
    if (api::App* app = entries_[k].app)
      all.emplace_back(static_cast<uint16_t>(k), Here{app, entries_[k].door});
  return all;
}

bool PartitionMap::serves(uint16_t partition) const {
  std::shared_lock lock(mutex_);
  return entries_[partition].app != nullptr;
}

std::optional<std::pair<uint16_t, Here>> PartitionMap::any_here(uint64_t choice) const {
  std::shared_lock lock(mutex_);
  const size_t count = entries_.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t k = (choice + i) % count;
    if (api::App* app = entries_[k].app)
      return std::pair(static_cast<uint16_t>(k), Here{app, entries_[k].door});
  }
  return std::nullopt;
}

std::vector<link::Peer> PartitionMap::peers() const {
  std::shared_lock lock(mutex_);
  std::vector<link::Peer> peers;
  for (const Entry& entry : entries_) {
    if (entry.app != nullptr || !entry.elsewhere) continue;
    const link::Peer& peer = entry.elsewhere->peer;
    const auto same = [&](const link::Peer& other) {
      return other.incarnation == peer.incarnation;
    };
    if (std::none_of(peers.begin(), peers.end(), same)) peers.push_back(peer);
  }
  return peers;
}

std::vector<uint16_t> PartitionMap::without_owner() const {
  std::shared_lock lock(mutex_);
  std::vector<uint16_t> without;
  for (size_t k = 0; k < entries_.size(); ++k)
    if (!is_served(entries_[k])) without.push_back(static_cast<uint16_t>(k));
  return without;
}

void PartitionMap::when_served(uint16_t partition, std::function<void()> call) {
  {
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[partition];
    if (!is_served(entry)) return entry.waiting.push_back(std::move(call));
  }
  call();
}

}  // namespace pawl::front
