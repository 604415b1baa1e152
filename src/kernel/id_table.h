// IdTable: resident entities by id. Open addressing, so that a million entries cost two words each;
// there is no way to walk it, so its order cannot leak into a decision.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"

namespace pawl {

template <class Entity>  // Entity has a Uuid-like member `id`
class IdTable {
 public:
  IdTable() : slots_(kSmallest) {}
  ~IdTable() {
    for (Entity* entity : slots_)
      if (entity != nullptr && entity != gone()) delete entity;
  }
  IdTable& operator=(IdTable&&) = delete;

  Entity* find(const Uuid& id) const {
    for (size_t at = home(id);; at = next(at)) {
      if (slots_[at] == nullptr) return nullptr;
      if (slots_[at] != gone() && static_cast<const Uuid&>(slots_[at]->id) == id) return slots_[at];
    }
  }
  Entity& insert(std::unique_ptr<Entity> entity) {
    if ((used_ + 1) * 4 > slots_.size() * 3) rehash();
    size_t at = home(entity->id);
    while (slots_[at] != nullptr && slots_[at] != gone()) at = next(at);
    if (slots_[at] == nullptr) ++used_;
    ++size_;
    return *(slots_[at] = entity.release());
  }
  void erase(const Uuid& id) { take(id); }
  std::unique_ptr<Entity> take(const Uuid& id) {
    for (size_t at = home(id);; at = next(at)) {
      PAWL_CHECK(slots_[at] != nullptr);
      if (slots_[at] == gone() || !(static_cast<const Uuid&>(slots_[at]->id) == id)) continue;
      std::unique_ptr<Entity> entity(slots_[at]);
      slots_[at] = gone();
      --size_;
      return entity;
    }
  }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kSmallest = 64;

  static Entity* gone() { return reinterpret_cast<Entity*>(uintptr_t{1}); }
  size_t home(const Uuid& id) const { return mix64(id.hi ^ mix64(id.lo)) & (slots_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void rehash() {
    std::vector<Entity*> old(size_ * 2 > slots_.size() / 2 ? slots_.size() * 2 : slots_.size());
    old.swap(slots_);
    used_ = size_;
    for (Entity* entity : old) {
      if (entity == nullptr || entity == gone()) continue;
      size_t at = home(entity->id);
      while (slots_[at] != nullptr) at = next(at);
      slots_[at] = entity;
    }
  }

  std::vector<Entity*> slots_;
  size_t size_ = 0;
  size_t used_ = 0;  // with tombstones
};

}  // namespace pawl
