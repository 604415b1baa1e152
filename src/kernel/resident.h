// Resident: data of every entity in memory for lazy writing of its row and eviction.
//
// An entity is dirty from the first change after its last flush; the dirty list is in the order of
// those first changes, so its head determines from where the journal must be kept. A clean entity
// stays cached until memory is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace pawl {

enum class EntityKind : uint8_t { Job, Queue, Limit, Doc, Cron, Run };

struct Resident {
  explicit Resident(EntityKind entity_kind = EntityKind::Job) : kind(entity_kind) {}

  EntityKind kind;
  uint64_t version = 0;      // sequence of the last event applied; part of the row
  uint64_t dirty_since = 0;  // 0 = clean
  uint32_t in_flight = 0;    // flushes written but not yet durable
  uint32_t weight = 0;       // as its list counts it
  Resident* before = nullptr;
  Resident* after = nullptr;
};

// Intrusive, oldest first.
class ResidentList {
 public:
  ResidentList() { ends_.before = ends_.after = &ends_; }
  ResidentList& operator=(ResidentList&&) = delete;

  bool empty() const { return ends_.after == &ends_; }
  size_t size() const { return size_; }
  size_t weight() const { return weight_; }  // of all
  Resident* oldest() const { return empty() ? nullptr : ends_.after; }
  void each(auto&& visit) const {
    for (Resident* at = ends_.after; at != &ends_; at = at->after) visit(at);
  }
  void push_newest(Resident& item, uint32_t weight = 0) {
    PAWL_CHECK(item.before == nullptr);
    item.before = ends_.before;
    item.after = &ends_;
    ends_.before->after = &item;
    ends_.before = &item;
    ++size_;
    item.weight = weight;
    weight_ += weight;
  }
  void remove(Resident& item) {
    item.before->after = item.after;
    item.after->before = item.before;
    item.before = item.after = nullptr;
    --size_;
    weight_ -= item.weight;
  }

 private:
  Resident ends_;
  size_t size_ = 0;
  size_t weight_ = 0;
};

}  // namespace pawl
