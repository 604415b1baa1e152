// RunView: how the runs of one family are shown by /v1. Calls that show runs of every kind use the
// run's view, as code that advances them uses its RunFamily. Engine thread.
#pragma once

#include <optional>
#include <string>

#include "api/explain.h"
#include "api/runs.h"
#include "base/json_writer.h"

namespace pawl::api {

class RunView {
 public:
  // The members of a run in a list, without the closing brace.
  virtual void begin(json::Writer& w, const State& state, const Run& run) const = 0;
  virtual std::string body(const State& state, const Run& run, const StepWindow& window) const = 0;
  // The run in the form of PACE, which only definitions have (wire/pace_state.h).
  virtual std::optional<std::string> pace(const State&, const Run&) const { return std::nullopt; }
  // Explains what the parts of an unfinished run wait for; `prefix` comes before their step ids.
  virtual void explain(Explainer& explainer, const Run& run, const std::string& prefix,
                       size_t depth) const = 0;
  // Whether the Open Job Spec API shows it as a workflow.
  virtual bool is_workflow() const = 0;

 protected:
  ~RunView() = default;
};

const RunView& view_of(const Run& run);

// Each is defined in its family's file.
const RunView& composition_view();
const RunView& script_view();
const RunView& instance_view();

}  // namespace pawl::api
