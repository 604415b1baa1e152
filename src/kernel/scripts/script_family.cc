// Scripts, the runs of definitions, as a family of runs.
#include <algorithm>
#include <utility>

#include "kernel/compositions/flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/keys.h"
#include "kernel/quarantine.h"
#include "kernel/run_commands.h"
#include "kernel/run_family.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/retry.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/run_parts.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/suspension.h"

namespace pawl {
namespace {

void quarantine_script(Frame& frame, const RunId& id, const QuarantineReason& reason) {
  StepNoted noted;
  noted.run = id;
  noted.type = "run_quarantined";
  Value::Object data;
  data.set("reason", reason.message);
  data.set("deaths", static_cast<int64_t>(reason.deaths));
  data.set("signal", static_cast<int64_t>(reason.signal));
  noted.data = Value(std::move(data)).json();
  frame.emit(noted);
  scripts::RunContext run(frame, id);
  if (!reason.bare)
    for (const std::string& path : run.script().live.copy())
      scripts::stop_list(run, path, "run_failed");
  if (run.script().status == ScriptStatus::Pending) leave_gate(frame, id);
  ScriptMoved event = scripts::moved_event(run, ScriptStatus::Failed);
  event.error = scripts::step_error(std::string(kQuarantined), reason.message);
  event.reason = reason.message;
  frame.emit(event);
  scripts::report_end(run);
}

Status release_script(Frame& frame, const RunId& id) {
  scripts::RunContext run(frame, id);
  if (run.state.script_of(run.entity()) == nullptr)
    return Error{ErrorCode::Conflict,
                 "Run " + id.text() + " cannot go on: its text is gone; start it anew"};
  if (run.scope("") == nullptr) {
    begin_script(frame, id, false);
    return ok_status();
  }
  // A run that was quarantined without stopping its steps has open lists.
  std::vector<std::string> open;
  run.state.each_scope(run.entity(), "", [&](const Scope& each) {
    if (!each.closed) open.push_back(each.path);
    return true;
  });
  for (const std::string& path : open) scripts::stop_list(run, path, "run_failed");
  PAWL_TRY_DO(scripts::retry(run, "", "", false));
  return ok_status();
}

// --- memory and rows

// Loads the open scopes of a run, and their timers.
void load_script(const State& state, Run& run) {
  ScriptRun& script = *run.script;
  if (script.held_bytes == 0) {  // from an older version: inputs alone are at least two bytes
    script.held_bytes = held_by(script);
    state.each_scope(run, "",
                     [&](const Scope& scope) { return script.held_bytes += held_by(scope), true; });
  }
  if (run.state != RunState::Running) return;
  if (script.timeout_at_ms != 0) script.dues.emplace(script.timeout_at_ms, kTimeoutDue);
  for (const std::string& path : script.live) {
    const Scope* scope = state.find_scope(run, path);
    if (scope == nullptr) continue;
    for (const StepRecord& record : scope->records)
      if (record.due_ms != 0) script.dues.emplace(record.due_ms, join_path(path, record.id));
  }
}

void collect_scopes(const RunRows& rows, Run& run, std::vector<Row>& out) {
  ScriptRun& script = *run.script;
  std::vector<std::string> flushed;
  script.new_scopes = 0;
  for (auto& [path, scope] : script.scopes) {
    if (!scope.dirty) continue;
    Row row{Space::Scope, scope_row_key(run.id, path), std::nullopt};
    {
      TextsAside aside(run, rows.large_bytes, scope.parts, out);
      if (!scope.gone) {
        aside.take(scope);
        row.value = codec::encoded(scope);
      }
    }
    out.push_back(std::move(row));
    scope.dirty = false;
    ++scope.in_flight;
    flushed.push_back(path);
  }
  script.flushing.push_back(std::move(flushed));
}

void remove_scopes(const RunRows& rows, Run& run, std::vector<Row>& out) {
  std::string prefix = run.id.bytes();
  for (const auto& [path, scope] : run.script->scopes)
    out.push_back({Space::Scope, scope_row_key(run.id, path), std::nullopt});
  rows.cold.scan(Space::Scope, prefix, prefix_end(prefix), false, SIZE_MAX,
                 [&](std::string_view key, std::string_view) {
                   out.push_back({Space::Scope, std::string(key), std::nullopt});
                   return true;
                 });
  for (const auto& [path, scope] : run.script->scopes)
    for (uint64_t part : scope.parts)
      out.push_back({Space::Part, part_row_key(run.id, part), std::nullopt});
  for (uint64_t part : run.script->parts)
    out.push_back({Space::Part, part_row_key(run.id, part), std::nullopt});
  rows.cold.scan(Space::Part, prefix, prefix_end(prefix), false, SIZE_MAX,
                 [&](std::string_view key, std::string_view) {
                   out.push_back({Space::Part, std::string(key), std::nullopt});
                   return true;
                 });
}

void scopes_durable(Run& run) {
  ScriptRun& script = *run.script;
  PAWL_CHECK(!script.flushing.empty());
  for (const std::string& path : script.flushing.front()) {
    auto at = script.scopes.find(path);
    if (at == script.scopes.end()) continue;
    Scope& scope = at->second;
    if (--scope.in_flight == 0 && !scope.dirty && (scope.closed || scope.gone))
      script.scopes.erase(at);
  }
  script.flushing.pop_front();
}

class ScriptFamily final : public RunFamily {
 public:
  void due(Frame& frame, const Run& run) const override { script_due(frame, RunId(run.id)); }
  void child_ended(Flow& flow, const ChildEnd& end) const override {
    Frame& frame = flow.frame();
    effect_done(frame, end.run, end.index, outcome_of(frame.state(), end.child));
  }
  Status cancel(Frame& frame, const Run& run, const std::string& reason,
                bool rollback) const override {
    return cancel_script(frame, RunId(run.id), reason, rollback);
  }
  Result<RetryPreview> retry(Frame& frame, const Run& run,
                             const RetryRequest& request) const override {
    return retry_script(frame, RunId(run.id), request);
  }
  void quarantine(Frame& frame, const Run& run, const QuarantineReason& reason) const override {
    quarantine_script(frame, RunId(run.id), reason);
  }
  Status release(Frame& frame, const Run& run) const override {
    return release_script(frame, RunId(run.id));
  }

  std::string_view status(const Run& run) const override {
    return script_status_name(run.script->status);
  }
  std::string quarantine_message(const Run& run) const override {
    return run.script->error.code == kQuarantined ? run.script->error.message : "";
  }
  bool is_paused(const Run& run) const override { return run.script->paused; }
  int64_t yielded_since(const Run& run) const override { return run.script->yielded_ms; }
  bool is_busy(const Run& run) const override {
    // In older versions such a run has a timer instead.
    bool in_line = run.script->yielded_ms != 0 && run.deadline_ms == 0 && !is_terminal(run.state);
    return in_line || !run.script->effects.empty();
  }
  bool counts_children() const override { return false; }
  uint64_t created_sequence(const Run& run) const override { return run.script->created_sequence; }
  bool follows(const Run& run, std::string_view name, std::string_view version) const override {
    return run.script->definition == name && (version.empty() || run.script->version == version);
  }
  void each_open_effect(const Run& run, FunctionRef<void(uint32_t)> visit) const override {
    for (const OpenEffect& open : run.script->effects) visit(open.effect);
  }

  uint64_t held_bytes(const Run& run) const override {
    return run.script->held_bytes + run.script->source.size();
  }
  // A hundred thousand idle runs should need disk, not memory.
  bool stays_in_memory(const Run& run) const override { return is_busy(run); }
  void encode_part(const Run& run, bool as_row, RunPart& part) const override {
    if (as_row) {
      part.held_bytes = run.script->held_bytes;
      part.next_part = run.script->next_part;
    }
    part.script = codec::encoded(*run.script);
  }
  bool decode_part(const RunPart& part, Run& run) const override {
    run.script = std::make_unique<ScriptRun>();
    if (!codec::decode(part.script, *run.script)) return false;
    run.script->held_bytes = part.held_bytes;
    run.script->next_part = std::max<uint64_t>(part.next_part, 1);
    return true;
  }
  void connect(const RunRows& rows, Run& run) const override {
    connect_texts(rows.cold, rows.texts, run.id, *run.script);
  }
  void load(const State& state, Run& run) const override { load_script(state, run); }
  std::string collect(const RunRows& rows, Run& run, std::vector<Row>& out) const override {
    collect_scopes(rows, run, out);
    TextsAside aside(run, rows.large_bytes, run.script->parts, out);
    aside.take(*run.script);
    return encode_run_row(run);
  }
  void collect_removal(const RunRows& rows, Run& run, std::vector<Row>& out) const override {
    remove_scopes(rows, run, out);
    run.script->flushing.emplace_back();
  }
  void collect_nothing(Run& run) const override { run.script->flushing.emplace_back(); }
  void rows_durable(Run& run) const override { scopes_durable(run); }
  size_t bytes_without_row(Run& run, size_t large_bytes) const override {
    return pawl::bytes_without_row(run, large_bytes);
  }
  void write_ahead(const RunRows& rows, Run& run, std::vector<Row>& out,
                   size_t bytes_max) const override {
    write_texts_ahead(run, rows.large_bytes, out, bytes_max);
  }
  void release_texts(const RunRows& rows, Run& run) const override {
    pawl::release_texts(rows.cold, rows.texts, run, rows.large_bytes);
  }
  void release_plan(Run& run) const override { run.script->plan.reset(); }
  bool is_crowded(const Run& run, size_t new_parts_max) const override {
    return run.script->new_scopes >= new_parts_max;
  }
  void each_part(const State& state, const Run& run,
                 FunctionRef<void(std::string_view, std::string)> visit) const override {
    state.each_scope(run, "", [&](const Scope& scope) {
      visit(scope.path, codec::encoded(scope));
      return true;
    });
  }
  void each_open_part(const Run& run, FunctionRef<void(const std::string&)> visit) const override {
    for (const std::string& path : run.script->live) visit(path);
  }
};

constexpr ScriptFamily kScriptFamily;

}  // namespace

const RunFamily& script_family() { return kScriptFamily; }

}  // namespace pawl
