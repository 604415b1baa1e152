// Compares the items of module worlds, and the list of runs, with the model of their journals; and
// their digests with those of replays.
#include "kernel/cold.h"
#include "kernel/worlds/instance_run.h"
#include "sim/audit.h"
#include "sim/module_code.h"
#include "worldhost/state_table.h"
#include "worlds/commands.h"
#include "worlds/world.h"

namespace pawl::sim {
namespace {

class ModuleAudit {
 public:
  ModuleAudit(const State& state, const Uuid& id, const ModelWorld& known, Verdict& verdict)
      : table_(state, id), world_(table_), known_(known), verdict_(verdict) {}

  void run() {
    audit_head();
    if (!verdict_.failed()) audit_instances();
    if (!verdict_.failed()) audit_intents();
    for (const auto& [client, seq] : known_.clients) {
      const auto note = world_.client(client);
      expect(note && note->seq == seq, "module client ids",
             "client id " + client + " is forgotten");
    }
  }

  void replay(NativeModules& code) {
    const worlds::Digest live = worlds::digest_of(world_);
    code.is_replay = true;
    for (worlds::ReplayFrom from : {worlds::ReplayFrom::Genesis, worlds::ReplayFrom::Baseline}) {
      const bool genesis = from == worlds::ReplayFrom::Genesis;
      auto replayed = worlds::replay(world_, code, from, [] { return true; });
      if (genesis && known_.trimmed_before > 1) {
        expect(!replayed.ok() && replayed.error().wire == "replay.genesis_gone", "module replay",
               "a world without its first frames was replayed from them");
        continue;
      }
      const std::string name = genesis ? "genesis" : "the baseline";
      if (!replayed.ok())
        expect(false, "module replay", "from " + name + ": " + replayed.error().message);
      else
        expect(replayed->digest == live, "module replay", "from " + name + ": another digest");
    }
    code.is_replay = false;
  }

 private:
  void expect(bool holds, std::string_view checker, const std::string& what) {
    if (!holds) verdict_.fail(checker, "world " + known_.name + ": " + what);
  }

  void audit_head() {
    const worlds::Head head = world_.head();
    expect(head.height == known_.height, "module state", "its height is not that of its journal");
    expect(head.manifest_hash == known_.manifest_hash, "module state", "it has another manifest");
    expect(head.quarantine_code.empty(), "module state", "it is quarantined");
    const worlds::Totals& totals = head.totals;
    expect(
        totals.steps == known_.steps && totals.step_failures == known_.step_failures &&
            totals.intents == known_.emitted && totals.faults == known_.faults &&
            totals.receipts_ok + totals.receipts_error + totals.receipts_timeout == known_.receipts,
        "module count", "its totals are not a recount of its journal");
    expect(totals.open_intents == known_.open() && totals.workflow_intents == known_.open(true) &&
               totals.instances == known_.instances.size(),
           "module count", "its open intents or instances are counted wrong");
    uint64_t statuses[4] = {};
    for (const auto& [place, instance] : known_.instances)
      ++statuses[instance.status == "running"     ? 0
                 : instance.status == "waiting"   ? 1
                 : instance.status == "completed" ? 2
                                                  : 3];
    expect(totals.running == statuses[0] && totals.waiting == statuses[1] &&
               totals.completed == statuses[2] && totals.failed == statuses[3],
           "module count", "its instances are counted wrong by status");
  }

  void audit_instances() {
    size_t seen = 0;
    world_.each_instance(
        "", "",
        [&](std::string_view, const std::string& module, const std::string& key,
            const worlds::Instance& instance) {
          ++seen;
          auto at = known_.instances.find({module, key});
          if (at == known_.instances.end())
            return expect(false, "module state",
                          "an instance of " + module + " should not be there"),
                   false;
          const ModelInstance& known = at->second;
          std::vector<std::string> inflight;
          for (const worlds::Inflight& open : instance.inflight) inflight.push_back(open.hash);
          expect(inflight == known.inflight, "module inflight",
                 "an instance of " + module + " has " + std::to_string(inflight.size()) +
                     " intents in flight, of its journal " + std::to_string(known.inflight.size()));
          expect(worlds::status_name(instance.status) == known.status &&
                     instance.last_seq == known.last_seq && instance.error_code == known.error,
                 "module status",
                 "an instance of " + module + " is " +
                     std::string(worlds::status_name(instance.status)) + " " + instance.error_code +
                     ", of its journal " + known.status + " " + known.error);
          expect(
              instance.state_hash == known.state_hash && instance.module_version == known.version &&
                  (!instance.has_state || plain_hash_of_bytes(instance.state) == known.state_hash),
              "module state", "an instance of " + module + " has another state");
          return !verdict_.failed();
        });
    expect(seen == known_.instances.size(), "module state", "an instance is gone");
  }

  void audit_intents() {
    std::map<std::pair<uint64_t, uint32_t>, std::string> wanted;
    for (const auto& [hash, intent] : known_.intents) {
      if (intent.state == IntentState::Open) wanted[{intent.seq, intent.n}] = hash;
      const auto kept = world_.intent(hash);
      const auto settlement = intent.state == IntentState::Open      ? worlds::Settlement::Open
                              : intent.state == IntentState::Settled ? worlds::Settlement::Receipt
                                                                     : worlds::Settlement::Dropped;
      expect(kept && kept->settlement == settlement, "module settle",
             "an intent is not kept as the journal has it");
      if (verdict_.failed()) return;
    }
    auto next = wanted.begin();
    world_.each_open("", [&](std::string_view, const std::string& hash, const worlds::Intent&) {
      expect(next != wanted.end() && next->second == hash, "module settle",
             "the list of open intents is another");
      if (next != wanted.end()) ++next;
      return !verdict_.failed();
    });
    expect(next == wanted.end(), "module settle", "the list of open intents misses one");
  }

  StateTable table_;
  worlds::World world_;
  const ModelWorld& known_;
  Verdict& verdict_;
};

InstanceState state_named(const std::string& status) {
  return status == "running"     ? InstanceState::Running
         : status == "waiting"   ? InstanceState::Waiting
         : status == "completed" ? InstanceState::Completed
                                 : InstanceState::Failed;
}

// The list of runs has each instance once, and as it is.
void audit_module_runs(const State& state, const ModuleModel& model, Verdict& verdict) {
  std::map<std::pair<Uuid, ModulePlace>, size_t> listed;
  state.each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    if (run.kind != RunKind::Module) return true;
    const InstanceRun& shown = *run.instance;
    const ModelWorld* world = model.find(shown.world);
    if (world == nullptr || !world->exists()) return true;  // its world is being removed
    auto at = world->instances.find({shown.module, shown.key});
    if (at == world->instances.end())
      return verdict.fail("module runs", "a run of " + shown.module + " has no instance"), false;
    const ModelInstance& known = at->second;
    verdict.expect(++listed[{shown.world, at->first}] == 1, "module runs",
                   "an instance is in the list of runs twice");
    verdict.expect(shown.status == state_named(known.status) && shown.version == known.version &&
                       shown.error_code == known.error,
                   "module runs", "the list of runs shows another status than the instance has");
    return !verdict.failed();
  });
  size_t instances = 0;
  for (const auto& [id, world] : model.worlds())
    if (world.exists()) instances += world.instances.size();
  verdict.expect(listed.size() == instances, "module runs",
                 "an instance is not in the list of runs");
}

}  // namespace

void audit_modules(const State& state, const ModuleModel& model, NativeModules& code, bool thorough,
                   Verdict& verdict) {
  for (const auto& [id, known] : model.worlds()) {
    if (!known.exists() || verdict.failed()) continue;
    ModuleAudit audit(state, id, known, verdict);
    audit.run();
    if (thorough && !verdict.failed()) audit.replay(code);
  }
  if (!verdict.failed()) audit_module_runs(state, model, verdict);
}

}  // namespace pawl::sim
