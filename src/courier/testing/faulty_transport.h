// FaultyTransport: carries batches between partitions of one process, and by chance loses them or
// their answers, repeats them, or brings an old one again much later.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "courier/courier.h"
#include "courier/take_messages.h"

namespace pawl {

class FaultyTransport {
 public:
  using Door =
      std::function<void(std::string batch, std::function<void(Result<std::string>)> done)>;

  // Of 100 batches, so many meet a fault.
  FaultyTransport(uint64_t seed, uint32_t faults_percent)
      : faults_percent_(faults_percent), draws_(seed) {}

  Transport transport();
  // Where batches for this partition go; without one they are lost.
  void open(uint16_t to, Door door);
  void close(uint16_t to) { open(to, {}); }
  uint64_t carried() const;

 private:
  using Done = std::function<void(Result<std::string>)>;
  void carry(uint16_t to, std::string batch, Done done);
  uint64_t draw() { return mix64(++draws_); }

  mutable std::mutex mutex_;
  uint32_t faults_percent_;
  uint64_t draws_;
  uint64_t carried_ = 0;
  std::map<uint16_t, Door> doors_;
  std::vector<std::pair<uint16_t, std::string>> late_;
};

}  // namespace pawl
