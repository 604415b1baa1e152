// InBudget: request bytes in memory over all connections of a server: heads and bodies as they
// arrive and after inflating, until the request is answered.
//
// Small holders (up to kSmallBytesMax) and large ones have separate shares: however many large
// bodies arrive, there is room for small requests. A single large body is always admitted; only the
// limit of a body applies to it.
//
// Thread: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace pawl::http {

class InBudget {
 public:
  static constexpr size_t kSmallBytesMax = 64 * 1024;

  void limit(size_t bytes_max) {  // before the threads run
    small_max_ = bytes_max / 4;
    large_max_ = bytes_max - small_max_;
  }

  // One holder changes from `before` to `after` bytes. False: there is no room, and it keeps
  // `before`. Returning bytes never fails.
  bool change(size_t before, size_t after) {
    const bool was_large = before > kSmallBytesMax;
    const bool is_large = after > kSmallBytesMax;
    if (after > before && !(is_large ? grow_large(before, after, was_large)
                                     : grow(small_, after - before, small_max_))) {
      return false;
    }
    if (after > before) {
      if (is_large && !was_large) small_.fetch_sub(before, std::memory_order_relaxed);
      return true;
    }
    (was_large ? large_ : small_)
        .fetch_sub(is_large || !was_large ? before - after : before, std::memory_order_relaxed);
    if (was_large && !is_large) {
      large_holders_.fetch_sub(1, std::memory_order_relaxed);
      small_.fetch_add(after, std::memory_order_relaxed);
    }
    return true;
  }

  size_t held() const {
    return small_.load(std::memory_order_relaxed) + large_.load(std::memory_order_relaxed);
  }

 private:
  static bool grow(std::atomic<size_t>& held, size_t more, size_t most) {
    size_t now = held.load(std::memory_order_relaxed);
    do {
      if (more > most || now > most - more) return false;
    } while (!held.compare_exchange_weak(now, now + more, std::memory_order_relaxed));
    return true;
  }

  bool grow_large(size_t before, size_t after, bool was_large) {
    const size_t holders = was_large ? large_holders_.load(std::memory_order_relaxed)
                                     : large_holders_.fetch_add(1, std::memory_order_relaxed) + 1;
    const size_t more = was_large ? after - before : after;
    if (holders == 1) {
      large_.fetch_add(more, std::memory_order_relaxed);
      return true;
    }
    if (grow(large_, more, large_max_)) return true;
    if (!was_large) large_holders_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }

  size_t small_max_ = 0;
  size_t large_max_ = 0;
  std::atomic<size_t> small_{0};
  std::atomic<size_t> large_{0};
  std::atomic<size_t> large_holders_{0};
};

// The share of one holder; returned by the destructor.
class InCharge {
 public:
  InCharge() = default;
  explicit InCharge(std::shared_ptr<InBudget> budget) : budget_(std::move(budget)) {}
  InCharge(InCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  InCharge& operator=(InCharge&& other) noexcept {
    if (this == &other) return *this;
    set(0);
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~InCharge() { set(0); }

  bool set(size_t bytes) {
    if (bytes == bytes_) return true;
    if (!budget_->change(bytes_, bytes)) return false;
    bytes_ = bytes;
    return true;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<InBudget> budget_;
  size_t bytes_ = 0;
};

}  // namespace pawl::http
