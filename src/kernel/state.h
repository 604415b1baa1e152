// State: the read-only state of one partition, for decisions and replies. Only a MutableState can
// be changed, and only by apply().
//
// Hot entities are in memory, the rest is read from Cold on demand. Memory holds at most
// StateConfig's bounds plus what is not flushed yet; the engine flushes oldest changes first
// (collect_rows → commit → rows_durable). Which entities are in memory changes no answer.
//
// Thread: the engine thread of the partition, only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"
#include "kernel/state_config.h"

namespace pawl {

// A file that looks into an entity includes its header: jobs/job.h, jobs/queue.h, run.h,
// scripts/run.h, settings/doc.h.
class Cold;
struct Cron;
struct DefinitionHead;
struct Doc;
struct Job;
struct Limit;
struct PlanNode;
struct Queue;
struct ReadyKey;
struct Run;
struct RunRows;
struct Scope;
struct StateMemory;
struct StepRecord;
struct TimerKey;
namespace expr {
class JsonSchema;
}
namespace plan {
struct Script;
}

struct StateCounts {
  size_t jobs_resident = 0;
  size_t runs_resident = 0;
  size_t dirty = 0;
  size_t queues = 0;
};

class State {
 public:
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // --- reading
  const Job* find_job(const JobId& id) const;
  const Job* find_job_here(const JobId& id) const;  // null also if it is at another partition
  const Run* find_run(const RunId& id) const;
  // The plan of a child that has not started, or of a callback (held_callback()); false if there is
  // none.
  bool held_plan(const Run& run, uint32_t index, PlanNode& out) const;
  // Of a definition's run. Null if that list was never entered, or there is no such step.
  const Scope* find_scope(const Run& run, std::string_view path) const;
  const StepRecord* find_step(const Run& run, std::string_view step) const;
  // Scopes whose path begins with prefix, in the order of their paths, closed ones too.
  void each_scope(const Run& run, std::string_view prefix,
                  FunctionRef<bool(const Scope&)> visit) const;
  // Its compiled definition; null if the text is gone.
  const plan::Script* script_of(const Run& run) const;
  // Canonical text, compiled and kept for a while; null if it cannot be.
  const plan::Script* compiled_script(const std::string& canonical) const;
  // A schema of inputs, likewise.
  Result<std::shared_ptr<const expr::JsonSchema>> compiled_schema(const std::string& text) const;
  const Queue* find_queue(std::string_view scoped) const;
  const Limit* find_limit(std::string_view key) const;
  const Cron* find_cron(std::string_view name) const;
  const Doc* find_doc(DocKind kind, std::string_view key) const;
  // A version of a definition (definition_key()) without its text; nothing if there is none. It is
  // extracted from the text once and cached; bytes_read grows by the bytes read.
  std::optional<DefinitionHead> definition_head(std::string_view key, size_t& bytes_read) const;
  // The first one whose key is not before `from` and begins with `prefix`; null if there is none.
  const Doc* first_doc(DocKind kind, std::string_view from, std::string_view prefix) const;
  const ScriptDefaults& script_defaults() const { return config_.scripts; }
  uint16_t partition() const { return config_.partition; }
  uint16_t partitions() const { return config_.partitions; }
  bool has_room_for_queue() const;
  bool has_room_for_limit() const;

  const ReadyKey* first_ready(const Queue& queue) const;
  const ReadyKey* next_ready(const Queue& queue, const ReadyKey& after) const;
  const TimerKey* first_timer() const;
  const Cron* first_cron() const;  // the one that fires first
  // A cron with a waiting firing whose run or job has changed; null if there is none.
  // Frame::note_cron_waits() marks it as checked.
  const Cron* cron_to_look_at() const;
  // A gate with changes (scripts/admission.h); Frame::note_gate_seen() marks it as checked.
  const std::string* gate_to_look_at() const;
  int64_t next_due_ms() const;  // 0 = nothing will ever be due
  // The same without runs that have yielded.
  int64_t next_timer_ms() const;
  // The run that has waited longest for its next turn since it yielded; null if none has by then.
  const RunId* next_yielded(int64_t now_ms) const;
  // Jobs with this unique key, in id order.
  void each_unique(std::string_view unique_key, FunctionRef<bool(const Job&)> visit) const;

  // Each walks in key order, merging memory and disk; stops when visit returns false.
  void each_queue(FunctionRef<bool(const Queue&)> visit) const;
  void each_limit(FunctionRef<bool(const Limit&)> visit) const;
  void each_cron(FunctionRef<bool(const Cron&)> visit) const;
  void each_doc(DocKind kind, std::string_view from, size_t scan_max,
                FunctionRef<bool(const Doc&)> visit) const;
  // Keys and values of those whose keys begin with `prefix`, from `from` on, in key order, at most
  // `limit`; nothing that is read stays in memory.
  void each_doc_under(DocKind kind, std::string_view prefix, std::string_view from, size_t limit,
                      FunctionRef<bool(std::string_view key, std::string_view value)> visit) const;
  // The same without reading the documents.
  void each_doc_key(DocKind kind, std::string_view from, size_t scan_max,
                    FunctionRef<bool(std::string_view key)> visit) const;
  // Every job (finished ones too) with id >= from, or <= from if newest_first; reads scan_max rows
  // at most and returns where to continue (nil: at the end). Unless scan_max is SIZE_MAX, a scan
  // also ends after kScanBytesMax of jobs.
  static constexpr size_t kScanBytesMax = 32u << 20;
  JobId each_job(const JobId& from, bool newest_first, size_t scan_max,
                 FunctionRef<bool(const Job&)> visit) const;
  // The same without what is known of jobs of other partitions (Job::is_elsewhere).
  JobId each_job_here(const JobId& from, bool newest_first, size_t scan_max,
                      FunctionRef<bool(const Job&)> visit) const;
  RunId each_run(const RunId& from, bool newest_first, size_t scan_max,
                 FunctionRef<bool(const Run&)> visit) const;
  JobId each_dead(const JobId& from, size_t scan_max, FunctionRef<bool(const Job&)> visit) const;

  // --- sizes, for planning batches
  size_t dirty_count() const;
  bool has_crowded_runs() const;
  // The first event that the rows (with all sets collected so far) do not hold; the journal is
  // needed from there on.
  uint64_t tail_start(uint64_t next_sequence) const;
  StateCounts counts() const;
  bool has_effects() const;
  bool has_to_recall() const;

  // A digest of the whole logical state, equal for equal histories whatever is in memory. Walks
  // everything.
  std::string digest() const;

 protected:
  State(Cold& cold, const StateConfig& config);
  ~State();

  Job* resident_job(const JobId& id) const;  // loads; includes deleted ones
  Run* resident_run(const RunId& id) const;
  Scope* resident_scope(const Run& run, std::string_view path) const;
  Scope read_scope(const Run& run, std::string_view path, std::string_view row) const;
  void line_up(Run& run) const;
  RunRows run_rows() const;
  void recall_effects(const Run& run) const;
  Queue& need_queue(std::string_view scoped) const;
  void load_places(Job& job) const;
  Doc* resident_doc(DocKind kind, std::string_view key) const;
  void note_large(const Doc& doc) const;
  template <class Emit>
  bool read_ready(const Queue& queue, const std::optional<ReadyKey>& after, size_t limit,
                  Emit&& emit) const;
  template <class Emit>
  bool read_due(const std::optional<TimerKey>& after, size_t limit, Emit&& emit) const;
  bool due_entry_is_live(const TimerKey& key) const;
  std::vector<Job*> jobs_without_row() const;

  Cold& cold_;
  const StateConfig config_;
  const std::unique_ptr<StateMemory> memory_;
};

}  // namespace pawl
