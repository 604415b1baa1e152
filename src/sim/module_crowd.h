// ModuleCrowd: the clients, adapters and operators of module worlds. As the crowd of jobs
// (sim/crowd.h) they know only what replies told them; requests are lost, doubled and late, replies
// are lost, and adapters settle late, twice, with the signatures of others, and what is not theirs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "sim/chance.h"
#include "sim/module_worlds.h"
#include "sim/world.h"

namespace pawl::sim {

class ModuleCrowd {
 public:
  ModuleCrowd(World& world, Verdict& verdict) : world_(world), verdict_(verdict) {}

  void begin_step(uint64_t step_seed) { random_.restart(step_seed); }
  void act();
  // The end: what is leased or can be is settled, clocks of test worlds move on.
  void work_off();

 private:
  struct Order {
    std::string world;
    std::function<Status(WorldSession&)> work;
    std::function<void()> done;  // of a success
    bool alone = false;
  };
  struct Lease {
    std::string world, adapter, hash, kind;
    Uuid id;
  };
  struct Sent {
    std::string world, client, text;
  };
  struct LeasedUntil {
    int64_t until_ms = 0;
    uint64_t life = 0;
  };
  ModuleModel& model() { return world_.desk().model.modules(); }
  void send(const std::string& story, const std::function<Order()>& make);
  void post(const std::string& story, Order order);
  void deliver_late();
  std::string draw_world();
  std::string draw_script(int depth);
  static Status open_world(WorldSession& session);

  void create(const std::string& world);
  void remove();
  void put_adapter(const std::string& world, const std::string& id, uint64_t kinds);
  void remove_adapter();
  void post_event();
  void lease();
  void lease_from(const std::string& world, const std::string& adapter, size_t limit,
                  int64_t lease_ms, int64_t wait_ms);
  void take_leased(const std::string& world, const std::string& adapter, uint64_t height,
                   std::vector<std::string> hashes);
  void settle();
  void settle_one(const Lease& lease, bool fine);
  worlds::GivenReceipt draw_receipt(const Lease& lease, bool fine);
  void check_settled(const Uuid& id, const std::string& hash, const worlds::ReceiptReply& reply);
  void about_an_instance(bool retry);
  void system_effect();
  Result<worlds::ProgramText> candidate(WorldSession& session, uint64_t number);
  void propose();
  void about_a_proposal();
  void apply_directly();
  void snapshot();
  void replay();
  void move_test_clock(const std::string& world, int64_t by_ms);
  void trouble();

  World& world_;
  SimRandom random_{0};
  Verdict& verdict_;
  std::vector<std::pair<std::string, Order>> on_the_way_;
  std::vector<Sent> sent_;
  std::map<std::pair<Uuid, std::string>, std::pair<uint64_t, std::string>> acked_;  // by client id
  std::vector<Lease> held_, past_;
  // By world, and by intent: worlds of equal seeds may have equal ones.
  std::map<std::pair<Uuid, std::string>, LeasedUntil> leased_;
  uint64_t serial_ = 0;
};

}  // namespace pawl::sim
