// Counts of a world: the trace summary, and what keeps a manifest from being applied.
#include <algorithm>
#include <map>
#include <utility>

#include "worlds/reading.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr size_t kContinuationsMax = 1'000;  // listed; the counts are whole

bool of_workflow(const Intent& intent) {
  return intent.origin == static_cast<uint8_t>(OriginKind::Workflow);
}

// The runs of intents. One instance may have emitted all of them, and is large then: it is read
// once.
class RunsOf {
 public:
  explicit RunsOf(World& world) : world_(world) {}
  Uuid operator()(const Intent& intent) {
    auto [at, fresh] = known_.try_emplace({intent.origin_name, intent.instance_key});
    if (fresh)
      if (const auto instance = world_.instance(intent.origin_name, intent.instance_key))
        at->second = instance->run_id;
    return at->second;
  }

 private:
  World& world_;
  std::map<std::pair<std::string, std::string>, Uuid> known_;
};

void write_wait(json::Writer& w, const Uuid& run, const std::string& hash, const Intent& intent) {
  w.begin_object().key("run_id").uuid(run).field("module", intent.origin_name);
  write_key(w, "key", intent.instance_key);
  w.field("intent_hash", hash).field("effect_kind", intent.kind);
  write_nat(w, "emitted_at_seq", intent.seq);
  w.end_object();
}

uint64_t non_terminal(const Totals& totals) { return totals.running + totals.waiting; }

void write_totals(json::Writer& w, const Totals& totals) {
  w.key("totals").begin_object();
  write_nat(w, "steps", totals.steps);
  write_nat(w, "step_failures", totals.step_failures);
  w.key("effects").begin_object();
  write_nat(w, "intents", totals.intents);
  w.key("receipts").begin_object();
  write_nat(w, "ok", totals.receipts_ok);
  write_nat(w, "error", totals.receipts_error);
  write_nat(w, "timeout", totals.receipts_timeout);
  w.end_object();
  write_nat(w, "faults", totals.faults);
  w.end_object().key("policy_decisions").begin_object();
  write_nat(w, "allow", totals.policy_allow);
  write_nat(w, "deny", totals.policy_deny);
  w.end_object().key("cap_decisions").begin_object();
  write_nat(w, "allow", totals.cap_allow);
  write_nat(w, "deny", totals.cap_deny);
  w.end_object().key("workflows").begin_object();
  write_nat(w, "total", totals.instances);
  write_nat(w, "running", totals.running);
  write_nat(w, "waiting", totals.waiting);
  write_nat(w, "completed", totals.completed);
  write_nat(w, "failed", totals.failed);
  write_nat(w, "inflight_intents", totals.workflow_intents);
  w.end_object().key("governance").begin_object();
  write_nat(w, "proposed", totals.proposed);
  write_nat(w, "shadowed", totals.shadowed);
  write_nat(w, "approved", totals.approved);
  write_nat(w, "rejected", totals.rejected);
  write_nat(w, "applied", totals.applied);
  w.end_object().end_object();
}

// {"total": n, "shown": m}, of a list that was cut.
void write_cut(json::Writer& w, std::string_view name, uint64_t total, size_t shown) {
  if (total <= shown) return;
  w.key(name).begin_object();
  write_nat(w, "total", total);
  write_nat(w, "shown", shown);
  w.end_object();
}

// At most `limit`, so that nothing is looked through once all are found.
size_t write_instances_in_the_way(json::Writer& w, World& world, uint64_t limit) {
  size_t shown = 0;
  w.key("non_terminal_instances").begin_array();
  if (limit == 0) return w.end_array(), 0;
  world.each_instance(
      "", "",
      [&](std::string_view, const std::string& module, const std::string& key,
          const Instance& instance) {
        if (instance.status != InstanceStatus::Running &&
            instance.status != InstanceStatus::Waiting)
          return true;
        w.begin_object().key("run_id").uuid(instance.run_id).field("module", module);
        write_key(w, "key", key);
        w.field("status", status_name(instance.status)).end_object();
        return ++shown < limit;
      });
  w.end_array();
  return shown;
}

size_t write_intents_in_the_way(json::Writer& w, World& world, int64_t now_ns, uint64_t limit) {
  size_t shown = 0;
  RunsOf run_of(world);
  w.key("inflight_intents").begin_array();
  if (limit == 0) return w.end_array(), 0;
  world.each_open("", [&](std::string_view, const std::string& hash, const Intent& intent) {
    if (!of_workflow(intent)) return true;
    w.begin_object().key("run_id").uuid(run_of(intent)).field("intent_hash", hash);
    w.field("effect_kind", intent.kind);
    w.field_int("age_ns", now_ns > intent.emitted_ns ? now_ns - intent.emitted_ns : 0);
    w.end_object();
    return ++shown < limit;
  });
  w.end_array();
  return shown;
}

}  // namespace

void write_waits(json::Writer& w, World& world, size_t limit) {
  size_t left = limit;
  RunsOf run_of(world);
  w.begin_array();
  world.each_open("", [&](std::string_view, const std::string& hash, const Intent& intent) {
    if (!of_workflow(intent)) return true;
    if (left-- == 0) return false;
    write_wait(w, run_of(intent), hash, intent);
    return true;
  });
  w.end_array();
}

std::string summary_json(World& world, uint64_t queued) {
  const Head head = world.head();
  const Totals& totals = head.totals;
  std::string out;
  json::Writer w(out);
  w.begin_object();
  write_nat(w, "height", head.height);
  write_totals(w, totals);
  w.key("runtime_wait").begin_object();
  write_nat(w, "pending_receipts", totals.workflow_intents);
  write_nat(w, "queued_effects", queued);
  w.end_object().key("strict_quiescence").begin_object();
  write_nat(w, "non_terminal_instances", non_terminal(totals));
  write_nat(w, "inflight_intents", totals.workflow_intents);
  write_nat(w, "queued_work", queued);
  w.end_object().key("continuations");
  write_waits(w, world, kContinuationsMax);
  write_cut(w, "continuations_cut", totals.workflow_intents, kContinuationsMax);
  w.end_object();
  return out;
}

std::string blockers_json(World& world, uint64_t queued, int64_t now_ns, size_t limit) {
  const Totals totals = world.head().totals;
  std::string out;
  json::Writer w(out);
  w.begin_object();
  const uint64_t most = limit;
  const size_t instances =
      write_instances_in_the_way(w, world, std::min(most, non_terminal(totals)));
  const size_t intents =
      write_intents_in_the_way(w, world, now_ns, std::min(most, totals.workflow_intents));
  write_nat(w, "queued_work", queued);
  write_cut(w, "non_terminal_instances_cut", non_terminal(totals), instances);
  write_cut(w, "inflight_intents_cut", totals.workflow_intents, intents);
  w.end_object();
  return out;
}

}  // namespace pawl::worlds
