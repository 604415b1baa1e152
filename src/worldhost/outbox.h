// Outbox: the open intents of one world, and who works on each. None of this is journaled: after a
// restart every open intent is queued again. What is here is durable, so nothing leaves before its
// frame is (I3).
//
// Thread: the caller's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worlds/items.h"
#include "worlds/reading.h"

namespace pawl {

struct OpenIntent {
  std::string hash;
  std::string kind;
  uint64_t seq = 0;
  uint32_t n = 0;
  int64_t deliver_at_ns = 0;  // of timer.set
};

class Outbox {
 public:
  // Kinds that the server's own adapter performs, as long as no other adapter names them.
  static bool is_built_in(std::string_view kind);

  void add(OpenIntent intent);
  // True if it was there.
  bool remove(const std::string& hash);
  void put_adapter(const std::string& id, const worlds::Adapter& adapter);
  void remove_adapter(const std::string& id);
  void forget_adapters() { adapters_.clear(); }
  bool knows_adapter(const std::string& id) const { return adapters_.count(id) != 0; }
  // Whether this adapter may work on intents of this kind.
  bool may_take(const std::string& adapter, const std::string& kind) const;
  // The server's own adapter has to perform it.
  bool is_own(const std::string& kind) const;

  // Leases up to `limit` intents of these kinds that nobody works on, in emission order.
  std::vector<std::string> lease(const std::string& adapter, const std::vector<std::string>& kinds,
                                 size_t limit, int64_t until_ms, int64_t now_ms);
  // Shortens a lease.
  void end_lease_at(const std::string& hash, int64_t until_ms);
  // Gives back leases that have run out; how many.
  size_t release_expired(int64_t now_ms);
  int64_t next_expiry_ms() const { return expiries_.empty() ? 0 : expiries_.begin()->first; }

  // The first of the server's own effects that nobody has begun; it counts as begun now. Timers are
  // not among them. False if there is none.
  bool begin_own(OpenIntent& intent);
  void take_back_own(const std::string& hash);  // it could not be begun
  // Timers due by then, by deadline and hash.
  bool first_timer(int64_t& deadline_ns, std::string& hash) const;
  std::vector<std::string> due_timers(int64_t now_ns, size_t at_most) const;

  worlds::IntentWork work_of(const std::string& hash) const;
  // Neither leased nor at work.
  uint64_t queued() const { return static_cast<uint64_t>(entries_.size()) - at_work_; }
  size_t size() const { return entries_.size(); }
  // Drops all that is not in this list.
  void retain(const std::vector<OpenIntent>& open);

 private:
  using Position = std::pair<uint64_t, uint32_t>;
  struct Entry {
    OpenIntent intent;
    bool own = false;     // begun by the server
    std::string adapter;  // holds the lease
    int64_t until_ms = 0;
  };
  void queue(const Entry& entry);
  void unqueue(const Entry& entry);
  void end_lease(Entry& entry);

  std::map<std::string, Entry> entries_;  // by hash
  std::map<std::string, std::map<Position, std::string>, std::less<>>
      queued_;                                          // kind → position → hash
  std::set<std::pair<int64_t, std::string>> timers_;    // deadline, hash
  std::set<std::pair<int64_t, std::string>> expiries_;  // of leases
  std::map<std::string, worlds::Adapter, std::less<>> adapters_;
  size_t at_work_ = 0;
};

}  // namespace pawl
