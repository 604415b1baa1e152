#include "courier/testing/faulty_transport.h"

#include "base/hash.h"

namespace pawl {
namespace {

constexpr size_t kLateMost = 16;

Error lost() { return {ErrorCode::Unavailable, "the link is cut"}; }

}  // namespace

Transport FaultyTransport::transport() {
  return [this](uint16_t to, std::string batch, Done done) {
    carry(to, std::move(batch), std::move(done));
  };
}

void FaultyTransport::open(uint16_t to, Door door) {
  std::lock_guard lock(mutex_);
  doors_[to] = std::move(door);
}

uint64_t FaultyTransport::carried() const {
  std::lock_guard lock(mutex_);
  return carried_;
}

void FaultyTransport::carry(uint16_t to, std::string batch, Done done) {
  Done nobody = [](Result<std::string>) {};
  std::lock_guard lock(mutex_);
  ++carried_;
  const Door& door = doors_[to];
  if (!door) return done(lost());
  const bool faulty = draw() % 100 < faults_percent_;
  const uint64_t fault = faulty ? draw() % 4 : 4;
  if (fault == 0) return done(lost());
  if (fault == 1) {  // it arrives, its answer does not
    door(std::move(batch), nobody);
    return done(lost());
  }
  if (fault == 2) door(batch, nobody);
  if (fault == 3 && late_.size() < kLateMost) late_.emplace_back(to, batch);
  if (faulty && !late_.empty()) {
    auto [where, old] = late_[draw() % late_.size()];
    if (doors_[where]) doors_[where](std::move(old), nobody);
  }
  door(std::move(batch), std::move(done));
}

}  // namespace pawl
