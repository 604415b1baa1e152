// Instances of modules as runs of /v1: how they are shown and explained.
#include "api/run_view.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/worlds/instance_run.h"
#include "worldhost/state_table.h"
#include "worlds/program.h"
#include "worlds/world.h"
#include "worlds/written.h"

namespace pawl::api {
namespace {

void begin_instance(json::Writer& w, const Run& run) {
  const InstanceRun& instance = *run.instance;
  w.begin_object().field("id", run.id.text()).field("kind", kind_name(run.kind));
  w.field("definition", instance.module).field("version", instance.version);
  w.field("status", family_of(run).status(run)).field("world", instance.world_name);
  w.key("key");
  if (instance.key_json.empty()) {
    w.null();
  } else {
    w.raw(instance.key_json);
  }
  w.key("progress").real(run.state == RunState::Completed ? 1 : 0);
  w.field_time("created_at", run.created_ms).field_time("started_at", run.started_ms);
  w.field_time_if_set("completed_at", run.finished_ms);
  if (!instance.error_code.empty())
    w.key("error")
        .begin_object()
        .field("code", instance.error_code)
        .field("message", instance.error_detail)
        .end_object();
}

// The state as its module's type has it; null without one.
void write_output(json::Writer& w, worlds::World& world, const InstanceRun& run,
                  const std::optional<worlds::Instance>& instance) {
  w.key("output");
  if (!instance || !instance->has_state) {
    w.null();
    return;
  }
  auto program = worlds::load_program(world.head().manifest_hash,
                                      [&](std::string_view hash) { return world.node(hash); });
  const worlds::Module* module = program.ok() ? (*program)->module(run.module) : nullptr;
  worlds::write_value(w, module != nullptr ? module->state_type.get() : nullptr, instance->state);
}

class InstanceView final : public RunView {
 public:
  void begin(json::Writer& w, const State&, const Run& run) const override {
    begin_instance(w, run);
  }
  std::string body(const State& state, const Run& run, const StepWindow&) const override {
    StateTable table(state, run.instance->world);
    worlds::World world(table);
    const auto instance = world.instance(run.instance->module, run.instance->key);
    std::string body;
    json::Writer w(body);
    w.begin_object().key("run");
    begin_instance(w, run);
    write_output(w, world, *run.instance, instance);
    w.key("steps").begin_object().end_object();
    w.key("current_steps").begin_array();
    if (instance)
      for (const worlds::Inflight& open : instance->inflight) w.string(open.hash);
    w.end_array().key("pending_decisions").begin_array().end_array();
    w.end_object().end_object();
    return body;
  }
  void explain(Explainer& explainer, const Run& run, const std::string&, size_t) const override {
    explainer.add_instance(run);
  }
  bool is_workflow() const override { return false; }
};

constexpr InstanceView kInstanceView;

}  // namespace

const RunView& instance_view() { return kInstanceView; }

// Each open effect is a wait; without any it is the next event that it waits for.
void Explainer::add_instance(const Run& run) {
  StateTable table(state_, run.instance->world);
  worlds::World world(table);
  const auto instance = world.instance(run.instance->module, run.instance->key);
  if (!instance) return;
  for (const worlds::Inflight& open : instance->inflight) {
    ++out_.waits_total;
    if (full()) continue;
    Wait wait;
    wait.step_id = open.hash;
    wait.reason = "effect";
    if (auto intent = world.intent(open.hash)) wait.since_ms = intent->emitted_ns / 1'000'000;
    const bool inflight = is_inflight_ && is_inflight_(run, open.hash);
    json::Writer w(wait.detail_json);
    w.begin_object().field("kind", open.kind);
    w.field("state", inflight ? "inflight" : "queued").end_object();
    out_.waits.push_back(std::move(wait));
  }
  if (!instance->inflight.empty()) return;
  ++out_.waits_total;
  Wait wait;
  wait.reason = "event";
  wait.since_ms = run.created_ms;
  wait.detail = "it waits for the next event that its world routes to it";
  out_.waits.push_back(std::move(wait));
}

}  // namespace pawl::api
