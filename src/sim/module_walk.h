// ModuleWalk: reads the records of one frame in order, changes the model by them, and says which of
// them should not be there (module_model.h).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/module_code.h"
#include "sim/module_input.h"
#include "sim/module_model.h"
#include "worlds/items.h"

namespace pawl::sim {

class ModuleWalk {
 public:
  using Secrets = std::map<std::pair<Uuid, std::string>, std::set<std::string>>;
  ModuleWalk(Verdict& verdict, const Uuid& id, ModelWorld& world,
             const std::map<std::string, uint64_t>& programs, const Secrets& secrets, uint64_t seq)
      : verdict_(verdict),
        id_(id),
        world_(world),
        programs_(programs),
        secrets_(secrets),
        seq_(seq) {}

  void read(const worlds::FrameRecords& frame);

 private:
  struct Record {
    std::string kind;
    PlainItem body;
  };
  // A delivery that the journal must come to, first in, first out.
  struct Expected {
    ModulePlace place;
    uint32_t cause = 0;
    std::string route;
    std::optional<ModelDelivery> denial = {};
  };
  struct Decided {
    std::string intent, kind;
    bool cap_allows = false;
    std::optional<bool> policy_allows;
    uint32_t n = 0;
  };

  void broken(std::string_view checker, std::string_view what);
  bool decode(const worlds::FrameRecords& frame);
  void handle(const Record& record);
  const Record* next() const { return n_ + 1 < records_.size() ? &records_[n_ + 1] : nullptr; }

  void manifest(const PlainItem& body);
  void snapshot(const PlainItem& body);
  void domain_event(const PlainItem& body);
  void step(const PlainItem& body);
  void step_failed(const PlainItem& body);
  void skipped(const PlainItem& body);
  void cap_decision(const PlainItem& body);
  void policy_decision(const PlainItem& body);
  void decision_over();
  void intent(const PlainItem& body);
  void governance_intent(const PlainItem& body);
  void receipt(const PlainItem& body);
  void fault(const PlainItem& body);
  void governance(const PlainItem& body);
  void instance(const PlainItem& body);
  void forgotten(const ModulePlace& place, const PlainItem& body);

  void stamp(const PlainItem& stamp);
  void expect_targets(const std::string& schema, const PlainItem& value);
  bool take_expected(const PlainItem& body, Expected& expected);
  std::optional<ModelDelivery> delivery_of(const Expected& expected);
  void check_input(const Expected& expected, const std::string& code, const PlainItem& body);
  void close_group();
  void settle(const std::string& hash, IntentState state, const std::string& adapter = "");
  uint64_t drop_all(ModelInstance& instance);
  void failed_on(ModelInstance& instance, const Expected& delivery);
  void check_identity(const PlainItem& body);
  void check_signature(const PlainItem& body, const std::string& kind);
  void check_quiet();
  static bool is_denial_code(const std::string& code) {
    return code == "cap.denied" || code == "policy.denied";
  }
  ModulePlace place_of(const PlainItem& body) const {
    return {body.text("module"), body.text("key")};
  }

  Verdict& verdict_;
  const Uuid id_;
  ModelWorld& world_;
  const std::map<std::string, uint64_t>& programs_;
  const Secrets& secrets_;
  const uint64_t seq_;
  std::vector<Record> records_;
  uint32_t n_ = 0;
  std::deque<Expected> queue_;
  uint64_t ordinal_ = 0;
  std::optional<ModulePlace> stepped_;  // whose effects and events follow
  uint64_t next_effect_ = 0;
  ModelAnswer answer_;  // of the step whose effects follow
  bool knows_answer_ = false;
  ModelStamp stamp_;
  bool events_began_ = false;
  std::optional<Decided> decided_;
  bool system_intent_ = false;
};

}  // namespace pawl::sim
