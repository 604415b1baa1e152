// Random modules under random inputs: late, doubled and faulty receipts, cancelled, retried and
// forgotten instances. What must hold is counted out from the items and the journal alone, after
// every command.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "worlds/cbor.h"
#include "worlds/testing/test_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

using InstanceName = std::pair<std::string, std::string>;  // module, key

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  size_t roll(size_t sides) {
    state_ = hash64("dice", state_);
    return static_cast<size_t>(state_ % sides);
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[roll(from.size())];
  }

 private:
  uint64_t state_;
};

const std::vector<std::string> kIds = {"a", "b", "c", "d", "e"};

void ask_for_something(Dice& dice, std::string_view module, StepSaid& said) {
  const std::string params = work_params(dice.roll(3));
  const std::string timer = cbor_text(R"({"deliver_at_ns":9,"key":null})");
  const size_t which = dice.roll(30);
  if (which == 0) return void(said.effect("other.do", params));
  if (which == 1) return void(said.effect("work.do", "broken"));
  if (module == "timer") return void(said.effect("timer.set", timer));
  if (module != "flow") return void(said.effect("work.do", params));
  if (which < 6) return void(said.effect("work.do", params, "safe"));  // denied
  if (which < 10) return void(said.effect("safe.do", params, "safe"));
  if (which < 13) return void(said.effect("timer.set", timer));
  said.effect("work.do", params, "work");
}

void say_something(Dice& dice, std::string_view module, StepSaid& said) {
  for (size_t effects = dice.roll(4); effects > 0; --effects) ask_for_something(dice, module, said);
  if (dice.roll(3) == 0) said.event("t/Poke@1", cbor_text(R"({"id":")" + dice.pick(kIds) + "\"}"));
  if (dice.roll(6) == 0) said.event("t/Note@1", cbor_text(R"({"text":"n"})"));
  if (dice.roll(40) == 0) said.event("t/Gone@1", cbor_text("7"));
}

// What a module does follows from its input alone, as of any module.
ModuleCall random_step(std::string_view module, std::string_view input, uint64_t seed) {
  Dice dice(hash64(input, hash64(module, seed)));
  const size_t end = dice.roll(60);
  if (end == 0) return {.end = CallEnd::Trap};
  if (end == 1) return {.end = CallEnd::FuelExceeded, .fuel = 50'000'000};
  if (end == 2) return {.end = CallEnd::Returned, .output = "broken"};
  StepSaid said;
  if (dice.roll(5) != 0) said.state(log_state({std::to_string(dice.roll(1000))}));
  if (end == 3) said.state("broken");
  say_something(dice, module, said);
  if (dice.roll(6) == 0) said.status("completed");
  if (dice.roll(25) == 0) said.status("failed", "of its own accord");
  return said.call();
}

class RandomScript {
 public:
  RandomScript(TestWorld& world, uint64_t seed) : world_(world), dice_(seed) {
    for (const std::string_view name : {"flow", "plain", "deaf", "timer"})
      world.host.set(
          name, [seed, name](std::string_view input) { return random_step(name, input, seed); });
  }

  void command() {
    switch (dice_.roll(12)) {
      case 0:
      case 1:
      case 2:
        world_.post("t/Start@1", R"({"id":")" + dice_.pick(kIds) + R"(","n":)" +
                                     std::to_string(dice_.roll(5)) + "}");
        break;
      case 3:
        world_.post("t/Note@1", R"({"text":")" + std::to_string(dice_.roll(3)) + "\"}", "",
                    "client-" + std::to_string(dice_.roll(6)));
        break;
      case 4:
        world_.post("t/Tick@1", R"({"id":")" + dice_.pick(kIds) + "\"}");
        break;
      case 5:
        world_.system_effect("work.do", R"({"n":1})", dice_.roll(3) == 0 ? "cap_safe" : "cap_work");
        break;
      case 6:
        maintain();
        break;
      default:
        receive();
    }
    for (const std::string& hash : world_.opened) known_.push_back(hash);
  }

 private:
  void maintain() {
    const std::string key = "\"" + dice_.pick(kIds) + "\"";
    const std::string_view module = dice_.roll(4) == 0 ? "t/timer@1" : kFlow;
    switch (dice_.roll(4)) {
      case 0:
        world_.terminate(module, key);
        break;
      case 1:
        world_.forget(world_.now_ns / 1'000'000 - 20'000, 1 + dice_.roll(5));
        break;
      default:
        if (dice_.roll(4) == 0) world_.retry("t/plain@1");
        if (dice_.roll(4) == 0) world_.retry("t/deaf@1");
        world_.retry(module, key);
    }
  }

  // Of any intent that there ever was, in any order.
  void receive() {
    if (known_.empty()) return;
    const std::vector<std::string> open = world_.open();
    const std::string hash =
        open.empty() || dice_.roll(5) == 0 ? dice_.pick(known_) : dice_.pick(open);
    const std::vector<std::string> statuses = {"ok", "ok", "ok", "error", "timeout"};
    const std::vector<std::string> payloads = {R"({"text":"x"})", R"({"text":"x"})",
                                               R"({"delivered_at_ns":9})",
                                               R"({"code":"c","message":"m"})", "7"};
    world_.receipt(hash, dice_.pick(statuses), dice_.pick(payloads));
  }

  TestWorld& world_;
  Dice dice_;
  std::vector<std::string> known_;
};

// Counts out a world, frame after frame, from its items and its journal.
class Auditor {
 public:
  explicit Auditor(TestWorld& world) : world_(world) {}

  void audit() {
    for (; seen_ < world_.world().head().height; ++seen_) read_frame(seen_ + 1);
    check_intents();
    check_instances();
    check_totals();
  }

 private:
  void read_frame(uint64_t seq) {
    const auto frame = world_.world().frame(seq);
    ASSERT_TRUE(frame);
    uint64_t ordinal = 0;
    std::map<uint32_t, size_t> continuations;
    for (uint32_t n = 0; n < frame->records.size(); ++n) {
      const JournalRecord& record = frame->records[n];
      const auto kind = static_cast<RecordKind>(record.kind);
      EXPECT_EQ(*cbor::canonical(record.bytes), record.bytes);
      count(kind, record.bytes);
      if (kind == RecordKind::Step || kind == RecordKind::StepFailed) {
        EXPECT_EQ(in_record(record.bytes, "ordinal"), std::to_string(ordinal++));
      }
      if (kind == RecordKind::EffectIntent) {
        EXPECT_TRUE(emitted_.insert(in_record(record.bytes, "intent_hash")).second);
      }
      if (kind == RecordKind::Step || kind == RecordKind::StepFailed ||
          kind == RecordKind::DeliverySkipped)
        check_delivery(seq, *frame, record, continuations);
    }
    for (const auto& [cause, times] : continuations) EXPECT_EQ(times, 1u) << seq << "." << cause;
  }

  void count(RecordKind kind, std::string_view record) {
    ++counts_[std::string(record_kind_name(kind))];
    if (kind == RecordKind::CapDecision || kind == RecordKind::PolicyDecision)
      ++counts_[std::string(record_kind_name(kind)) + " " + in_record(record, "decision")];
    if (kind == RecordKind::EffectReceipt) ++counts_["receipt " + in_record(record, "status")];
  }

  // Each delivery goes to who asked, or to whom the event names; a continuation is delivered once.
  void check_delivery(uint64_t seq, const FrameRecords& frame, const JournalRecord& record,
                      std::map<uint32_t, size_t>& continuations) {
    const Cause cause = cause_of(record.bytes);
    ASSERT_EQ(cause.seq, seq);
    ASSERT_LT(cause.n, frame.records.size());
    const JournalRecord& handled = frame.records[cause.n];
    const auto kind = static_cast<RecordKind>(handled.kind);
    const InstanceName target(in_record(record.bytes, "module"),
                              string_of(member_of(record.bytes, "key")));
    if (kind == RecordKind::DomainEvent) {
      const std::string_view value = string_of(member_of(handled.bytes, "value"));
      EXPECT_TRUE(target.second.empty() || target.second == member_of(value, "id"));
      return;
    }
    ++continuations[cause.n];
    if (kind == RecordKind::Instance) {
      EXPECT_EQ(target.first, in_record(handled.bytes, "module"));
      EXPECT_EQ(target.second, string_of(member_of(handled.bytes, "key")));
    } else if (kind == RecordKind::EffectReceipt || kind == RecordKind::ReceiptFault) {
      const auto intent = world_.world().intent(in_record(handled.bytes, "intent_hash"));
      ASSERT_TRUE(intent);
      EXPECT_EQ(target, InstanceName(intent->origin_name, intent->instance_key));
    } else {
      EXPECT_EQ(in_record(handled.bytes, "decision"), "deny");
    }
  }

  // open = emitted - settled - forgotten; each is in one list, at its place.
  void check_intents() {
    std::set<std::string> open, settled, stored;
    open_by_instance_.clear();
    open_workflow_ = 0;
    world_.world().each_open(
        {}, [&](std::string_view key, const std::string& hash, const Intent& intent) {
          EXPECT_EQ(key, open_key(intent.seq, intent.n));
          EXPECT_EQ(intent.settlement, Settlement::Open);
          open.insert(hash);
          if (static_cast<OriginKind>(intent.origin) == OriginKind::Workflow) {
            open_by_instance_[{intent.origin_name, intent.instance_key}].push_back(hash);
            ++open_workflow_;
          }
          return true;
        });
    world_.world().each_settled(
        {}, [&](std::string_view key, const std::string& hash, const Intent& intent) {
          EXPECT_EQ(key, settled_key(intent.seq, intent.n));
          EXPECT_NE(intent.settlement, Settlement::Open);
          settled.insert(hash);
          return true;
        });
    world_.world().table().scan("i", {}, [&](std::string_view, std::string_view value) {
      Intent intent;
      EXPECT_TRUE(codec::decode(value, intent));
      stored.insert(in_record(intent.record, "intent_hash"));
      return true;
    });
    open_ = open.size();
    for (const std::string& hash : stored) EXPECT_NE(open.count(hash), settled.count(hash)) << hash;
    EXPECT_EQ(stored.size(), open.size() + settled.size());
    for (const std::string& hash : stored) EXPECT_EQ(emitted_.count(hash), 1u);
    for (const std::string& hash : settled) ever_settled_.insert(hash);
    EXPECT_EQ(open.size(), emitted_.size() - ever_settled_.size());
  }

  void check_instances() {
    statuses_.clear();
    std::set<std::string> forgettable, listed;
    world_.world().each_instance(
        {}, {},
        [&](std::string_view, const std::string& module, const std::string& key,
            const Instance& instance) {
          ++statuses_[instance.status];
          std::vector<std::string> inflight;
          for (const Inflight& open : instance.inflight) inflight.push_back(open.hash);
          const auto open = open_by_instance_.find({module, key});
          EXPECT_EQ(inflight,
                    open == open_by_instance_.end() ? std::vector<std::string>{} : open->second);
          if (open != open_by_instance_.end()) open_by_instance_.erase(open);
          if (instance.status != InstanceStatus::Failed) {
            EXPECT_EQ(instance.status == InstanceStatus::Waiting, !inflight.empty());
          }
          const bool ended = instance.status == InstanceStatus::Completed ||
                             instance.status == InstanceStatus::Failed;
          EXPECT_EQ(instance.ended_ms != 0, ended);
          EXPECT_EQ(instance.error_code.empty(), instance.status != InstanceStatus::Failed);
          EXPECT_EQ(instance.has_state, !instance.state_hash.empty());
          if (ended && !key.empty() && !instance.has_state && inflight.empty())
            forgettable.insert(ended_key(instance.ended_ms, module, key));
          return true;
        });
    EXPECT_TRUE(open_by_instance_.empty());
    world_.world().table().scan("e", {}, [&](std::string_view key, std::string_view) {
      listed.emplace(key);
      return true;
    });
    EXPECT_EQ(listed, forgettable);
  }

  void check_totals() {
    const Totals& totals = world_.world().head().totals;
    EXPECT_EQ(totals.running, statuses_[InstanceStatus::Running]);
    EXPECT_EQ(totals.waiting, statuses_[InstanceStatus::Waiting]);
    EXPECT_EQ(totals.completed, statuses_[InstanceStatus::Completed]);
    EXPECT_EQ(totals.failed, statuses_[InstanceStatus::Failed]);
    EXPECT_EQ(totals.instances, totals.running + totals.waiting + totals.completed + totals.failed);
    EXPECT_EQ(totals.open_intents, open_);
    EXPECT_EQ(totals.workflow_intents, open_workflow_);
    EXPECT_EQ(totals.steps, counts_["step"]);
    EXPECT_EQ(totals.step_failures, counts_["step_failed"]);
    EXPECT_EQ(totals.intents, counts_["effect_intent"]);
    EXPECT_EQ(totals.faults, counts_["receipt_fault"]);
    EXPECT_EQ(totals.receipts_ok, counts_["receipt ok"]);
    EXPECT_EQ(totals.receipts_error, counts_["receipt error"]);
    EXPECT_EQ(totals.receipts_timeout, counts_["receipt timeout"]);
    EXPECT_EQ(totals.cap_allow, counts_["cap_decision allow"]);
    EXPECT_EQ(totals.cap_deny, counts_["cap_decision deny"]);
    EXPECT_EQ(totals.policy_allow, counts_["policy_decision allow"]);
    EXPECT_EQ(totals.policy_deny, counts_["policy_decision deny"]);
  }

  TestWorld& world_;
  uint64_t seen_ = 0;
  std::set<std::string> emitted_, ever_settled_;
  std::map<std::string, uint64_t> counts_;
  std::map<InstanceName, std::vector<std::string>> open_by_instance_;
  std::map<InstanceStatus, uint64_t> statuses_;
  uint64_t open_ = 0, open_workflow_ = 0;
};

const WorldText& text_of(uint64_t seed) {
  static const WorldText whole;
  static const WorldText unheard =
      WorldText()
          .with(R"("Rejected":{"ref":"sys/EffectReceiptRejected@1"},)", "")
          .with(R"("Receipt":{"ref":"sys/EffectReceiptEnvelope@1"},
  "Denied":{"ref":"sys/EffectDenied@1"})",
                R"("Receipt":{"ref":"sys/EffectReceiptEnvelope@1"})");
  return seed % 2 == 0 ? whole : unheard;
}

constexpr uint64_t kSeeds = 12;
constexpr int kCommands = 150;

TEST(RandomWorld, CountsOutAfterEveryCommand) {
  std::map<std::string, uint64_t> reached;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TestWorld world(text_of(seed));
    RandomScript script(world, seed);
    Auditor auditor(world);
    for (int i = 0; i < kCommands && !HasFailure(); ++i) {
      const uint64_t before = world.world().head().height;
      script.command();
      auditor.audit();
      for (uint64_t seq = before + 1; seq <= world.world().head().height; ++seq) {
        const auto frame = world.world().frame(seq);
        for (const JournalRecord& record : frame->records) {
          const auto kind = static_cast<RecordKind>(record.kind);
          std::string name(record_kind_name(kind));
          if (kind == RecordKind::Instance) name += " " + in_record(record.bytes, "action");
          if (kind == RecordKind::ReceiptFault)
            name += " " + in_record(record.bytes, "code") + " " +
                    in_record(record.bytes, "workflow_failed");
          ++reached[name];
        }
      }
    }
  }
  // The script reaches what it is there for.
  for (const char* kind :
       {"step", "step_failed", "delivery_skipped", "cap_decision", "policy_decision",
        "effect_receipt", "receipt_fault receipt.invalid_payload true",
        "receipt_fault receipt.invalid_payload false", "receipt_fault receipt.delivery_failed true",
        "instance terminated", "instance retried", "instance forgotten"})
    EXPECT_GT(reached[kind], 5u) << kind;
}

TEST(RandomWorld, TheSameScriptGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < kSeeds; seed += 3) {
    auto play = [&] {
      TestWorld world(text_of(seed));
      RandomScript script(world, seed);
      for (int i = 0; i < kCommands; ++i) script.command();
      return world.items();
    };
    EXPECT_EQ(play(), play()) << seed;
  }
}

}  // namespace
}  // namespace pawl::worlds
