#include "sim/sim_disk_file.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace pawl::sim {
namespace {

constexpr uint64_t kSectorBytes = 512;

// The part of a write that starts at `at` and ends with its sector.
std::string_view first_sector(uint64_t at, std::string_view bytes) {
  return bytes.substr(0, kSectorBytes - at % kSectorBytes);
}

}  // namespace

void SimDiskFile::apply(std::string& content, uint64_t at, std::string_view bytes) {
  if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
  std::memcpy(content.data() + at, bytes.data(), bytes.size());
}

void SimDiskFile::apply(std::string& content, const Change& change) {
  if (!change.bytes.empty()) return apply(content, change.at, change.bytes);
  content.resize(std::min<size_t>(content.size(), change.at));
}

void SimDiskFile::write(uint64_t at, std::string_view bytes) {
  if (bytes.empty()) return;
  pending_.push_back({at, std::string(bytes)});
  apply(live_, at, bytes);
}

void SimDiskFile::truncate(uint64_t bytes) {
  pending_.push_back({bytes});
  apply(live_, pending_.back());
}

void SimDiskFile::sync() {
  for (const Change& change : pending_) apply(durable_, change);
  pending_.clear();
}

void SimDiskFile::lie() {
  for (Change& change : pending_) change.lied = true;
}

// Only a power cut can lose writes that an earlier sync falsely reported.
void SimDiskFile::fail_sync(SimRandom& random) {
  const uint64_t how = random.below(3);
  for (const Change& change : pending_)
    if (change.lied || (how == 0 && random.percent(50))) apply(durable_, change);
  pending_.clear();
  if (how == 1) live_ = durable_;
}

// After a failed sync the two may differ, in length too: only the flipped bits change in both.
void SimDiskFile::rot(std::string_view rotten) {
  PAWL_CHECK(pending_.empty() && rotten.size() <= live_.size());
  for (size_t i = 0; i < rotten.size(); ++i) {
    const char bits = static_cast<char>(rotten[i] ^ live_[i]);
    live_[i] = rotten[i];
    if (i < durable_.size()) durable_[i] = static_cast<char>(durable_[i] ^ bits);
  }
}

CrashLosses SimDiskFile::crash(Survival survival, SimRandom& random) {
  CrashLosses losses;
  if (survival == Survival::Killed) return losses;
  if (survival == Survival::None) {
    losses.lost = !pending_.empty();
    for (const Change& change : pending_) losses.lied |= change.lied;
  }
  if (survival == Survival::All) sync();
  if (survival == Survival::Prefix) crash_prefix(random, losses);
  if (survival == Survival::Subset) crash_subset(random, losses);
  pending_.clear();
  live_ = durable_;
  return losses;
}

void SimDiskFile::crash_prefix(SimRandom& random, CrashLosses& losses) {
  const size_t kept = random.below(pending_.size() + 1);
  for (size_t i = 0; i < kept; ++i) apply(durable_, pending_[i]);
  for (size_t i = kept; i < pending_.size(); ++i) losses.lied |= pending_[i].lied;
  losses.lost = kept < pending_.size();
  if (!losses.lost || pending_[kept].bytes.empty()) return;
  uint64_t at = pending_[kept].at;
  std::string_view left = pending_[kept].bytes;
  while (!left.empty() && random.percent(60)) {
    const std::string_view sector = first_sector(at, left);
    if (sector.size() == left.size()) break;  // it would be complete
    apply(durable_, at, sector);
    at += sector.size();
    left.remove_prefix(sector.size());
    losses.torn = true;
  }
}

void SimDiskFile::crash_subset(SimRandom& random, CrashLosses& losses) {
  constexpr uint64_t kChances[] = {10, 50, 90};
  const uint64_t chance = kChances[random.below(3)];
  for (const Change& change : pending_) {
    bool some_kept = false, some_lost = false;
    uint64_t at = change.at;
    std::string_view left = change.bytes;
    do {
      const std::string_view sector = first_sector(at, left);
      const bool keep = random.percent(chance);
      (keep ? some_kept : some_lost) = true;
      if (keep && sector.empty()) apply(durable_, change);
      if (keep && !sector.empty()) apply(durable_, at, sector);
      at += sector.size();
      left.remove_prefix(sector.size());
    } while (!left.empty());
    losses.reordered |= some_kept && losses.lost;
    losses.torn |= some_kept && some_lost;
    losses.lost |= some_lost;
    losses.lied |= some_lost && change.lied;
  }
}

size_t SimDiskFile::read(uint64_t at, char* into, size_t bytes) const {
  if (at >= live_.size()) return 0;
  const size_t there = std::min<size_t>(bytes, live_.size() - at);
  std::memcpy(into, live_.data() + at, there);
  return there;
}

}  // namespace pawl::sim
