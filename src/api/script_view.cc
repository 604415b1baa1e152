// Runs of definitions as /v1 shows them.
#include "api/run_view.h"
#include "wire/pace_state.h"
#include "wire/render_script.h"

namespace pawl::api {
namespace {

class ScriptView final : public RunView {
 public:
  void begin(json::Writer& w, const State& state, const Run& run) const override {
    begin_script_run(w, state, run);
  }
  std::string body(const State& state, const Run& run, const StepWindow& window) const override {
    return script_run_body(state, run, {window.from, window.count, window.fields});
  }
  std::optional<std::string> pace(const State& state, const Run& run) const override {
    return pace_state(state, run, kPaceBytesMax).json();
  }
  void explain(Explainer& explainer, const Run& run, const std::string& prefix,
               size_t depth) const override {
    explainer.add_script(run, prefix, depth);
  }
  bool is_workflow() const override { return false; }
};

constexpr ScriptView kScriptView;

}  // namespace

const RunView& script_view() { return kScriptView; }

}  // namespace pawl::api
