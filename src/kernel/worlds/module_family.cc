// Instances of modules, as a family of runs. Everything that happens to one is an input of its
// world, which the host of worlds takes (effects/worlds/world_host.h): what the kernel can do to
// any run, it cannot do to these.
#include "kernel/compositions/flow.h"
#include "kernel/quarantine.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/run_family.h"
#include "kernel/worlds/instance_run.h"

namespace pawl {
namespace {

Error not_here(const Run& run, std::string_view what) {
  Error error{ErrorCode::Conflict,
              "run " + shown_id(run) + " is an instance of a module: it cannot be " +
                  std::string(what) + "; its world decides what happens to it"};
  error.wire = "run.unsupported";
  return error;
}

class ModuleFamily final : public RunFamily {
 public:
  void due(Frame&, const Run&) const override {
  }  // it has no timers: those of its world are effects
  void child_ended(Flow&, const ChildEnd&) const override {}  // its jobs end as receipts
  Status cancel(Frame&, const Run& run, const std::string&, bool) const override {
    return not_here(run, "cancelled in this way");
  }
  Result<RetryPreview> retry(Frame&, const Run& run, const RetryRequest&) const override {
    return not_here(run, "retried in this way");
  }
  void quarantine(Frame&, const Run&, const QuarantineReason&) const override {}
  Status release(Frame&, const Run& run) const override { return not_here(run, "released"); }

  std::string_view status(const Run& run) const override {
    return run.state == RunState::Running ? "active" : state_name(run.state);
  }
  std::string quarantine_message(const Run&) const override { return ""; }
  bool is_paused(const Run&) const override { return false; }
  int64_t yielded_since(const Run&) const override { return 0; }
  bool is_busy(const Run&) const override { return false; }
  bool counts_children() const override { return false; }
  bool leaves_by_itself() const override { return true; }
  bool follows(const Run& run, std::string_view name, std::string_view version) const override {
    return run.name == name && (version.empty() || run.instance->version == version);
  }

  uint64_t held_bytes(const Run& run) const override {
    return run.instance->key.size() + run.instance->key_json.size() + sizeof(InstanceRun);
  }
  bool stays_in_memory(const Run&) const override { return false; }
  void encode_part(const Run& run, bool, RunPart& part) const override {
    part.instance = codec::encoded(*run.instance);
  }
  bool decode_part(const RunPart& part, Run& run) const override {
    run.instance = std::make_unique<InstanceRun>();
    return codec::decode(part.instance, *run.instance);
  }
  std::string collect(const RunRows&, Run& run, std::vector<Row>&) const override {
    return encode_run_row(run);
  }
};

constexpr ModuleFamily kModuleFamily;

}  // namespace

const RunFamily& module_family() { return kModuleFamily; }

}  // namespace pawl
