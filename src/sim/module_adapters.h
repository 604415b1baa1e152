// ModuleAdapters: the adapters of module worlds, and those who name them. They lease open intents
// and settle them: late, twice, with the signatures of others, and what is not theirs. No intent is
// leased before its frame is durable, after its end, or to two at once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/module_actor.h"

namespace pawl::sim {

class ModuleAdapters : public ModuleActor {
 public:
  using ModuleActor::ModuleActor;

  void put();
  void remove();
  void lease();
  void settle();
  // The end: what is open is leased by adapters that may have all of it; what is held is settled.
  void lease_all(const std::string& world);
  void settle_all();

 private:
  struct Lease {
    std::string world, adapter, hash, kind;
    Uuid id;
  };
  struct LeasedUntil {
    int64_t until_ms = 0;
    uint64_t life = 0;
  };

  void put_adapter(const std::string& world, const std::string& id, uint64_t kinds);
  void lease_from(const std::string& world, const std::string& adapter, size_t limit,
                  int64_t lease_ms, int64_t wait_ms);
  void take_leased(const std::string& world, const std::string& adapter, uint64_t height,
                   std::vector<std::string> hashes);
  worlds::GivenReceipt draw_receipt(const Lease& lease, bool fine);
  void settle_one(const Lease& lease, bool fine);
  void check_settled(const Uuid& id, const std::string& hash, const worlds::ReceiptReply& reply);

  std::vector<Lease> held_, past_;
  // By world, and by intent: worlds of equal seeds may have equal ones.
  std::map<std::pair<Uuid, std::string>, LeasedUntil> leased_;
};

}  // namespace pawl::sim
