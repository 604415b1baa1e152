// RunFamily: what differs between kinds of run. A run is a composition of jobs (compositions/), a
// script, the run of a definition (scripts/), or an instance of a module in a world (worlds/). Code
// that handles runs of every kind (timers, ends of children, commands, rows, lists) calls the run's
// family without knowing which one it is.
//
// Families are stateless, one object each for the whole process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace pawl {

class Cold;
class Flow;
class Frame;
class State;
class TextsInMemory;
struct ChildEnd;
struct QuarantineReason;
struct RetryPreview;
struct RetryRequest;
struct Row;
struct Run;
struct RunPart;

// Context for reading and writing rows of runs.
struct RunRows {
  Cold& cold;
  TextsInMemory& texts;
  size_t large_bytes;  // texts from here on have rows of their own
};

class RunFamily {
 public:
  // --- what happens to a run
  // Its timer, or its turn after a yield, is due.
  virtual void due(Frame& frame, const Run& run) const = 0;
  // One of its jobs or nested runs has ended.
  virtual void child_ended(Flow& flow, const ChildEnd& end) const = 0;
  virtual Status cancel(Frame& frame, const Run& run, const std::string& reason,
                        bool rollback) const = 0;
  virtual Result<RetryPreview> retry(Frame& frame, const Run& run,
                                     const RetryRequest& request) const = 0;
  virtual void quarantine(Frame& frame, const Run& run, const QuarantineReason& reason) const = 0;
  // Resumes a quarantined run where it was stopped.
  virtual Status release(Frame& frame, const Run& run) const = 0;

  // --- what is true of a run
  virtual std::string_view status(const Run& run) const = 0;  // in the words of /v1
  // Of a failed one: why it is quarantined; empty if it is not.
  virtual std::string quarantine_message(const Run& run) const = 0;
  virtual bool is_paused(const Run& run) const = 0;
  // Since when it waits for its next turn; 0 = it has not yielded.
  virtual int64_t yielded_since(const Run& run) const = 0;
  // A restart must find the run although it has no timer: it has open effects, or has yielded.
  virtual bool is_busy(const Run& run) const = 0;
  // Its row has a state for each of its children.
  virtual bool counts_children() const = 0;
  // Position of its first event in the journal; 0 = not known.
  virtual uint64_t created_sequence(const Run&) const { return 0; }
  // Retention does not delete it: its world does, by an event.
  virtual bool leaves_by_itself() const { return false; }
  // Whether it runs this definition; version "" = any.
  virtual bool follows(const Run&, std::string_view, std::string_view) const { return false; }
  // Open effects.
  virtual void each_open_effect(const Run&, FunctionRef<void(uint32_t)>) const {}

  // --- memory and rows
  // Approximate memory beyond the fields of Run.
  virtual uint64_t held_bytes(const Run&) const { return 0; }
  // Whether it stays in memory when its row is durable.
  virtual bool stays_in_memory(const Run&) const { return true; }
  // The part of its row that only this family has.
  virtual void encode_part(const Run&, bool /*as_row*/, RunPart&) const {}
  virtual bool decode_part(const RunPart&, Run&) const { return true; }
  // A run was read from its row: its texts can be read from now on.
  virtual void connect(const RunRows&, Run&) const {}
  // It was read to stay in memory.
  virtual void load(const State&, Run&) const {}
  // The rows of its parts, then its own.
  virtual std::string collect(const RunRows&, Run& run, std::vector<Row>& out) const = 0;
  virtual void collect_removal(const RunRows&, Run&, std::vector<Row>&) const {}
  virtual void collect_nothing(Run&) const {}  // it never had rows, and is deleted
  virtual void rows_durable(Run&) const {}
  // Bytes of large texts that have no row yet, and writing some of these ahead of the run's row.
  virtual size_t bytes_without_row(Run&, size_t) const { return 0; }
  virtual void write_ahead(const RunRows&, Run&, std::vector<Row>&, size_t) const {}
  virtual void release_texts(const RunRows&, Run&) const {}
  virtual void release_plan(Run&) const {}
  // It has so many changed parts that they should be written before other rows.
  virtual bool is_crowded(const Run&, size_t) const { return false; }
  // Parts that have rows of their own, by key: all of them, and those that must be there.
  virtual void each_part(const State&, const Run&,
                         FunctionRef<void(std::string_view, std::string)>) const {}
  virtual void each_open_part(const Run&, FunctionRef<void(const std::string&)>) const {}

 protected:
  ~RunFamily() = default;
};

const RunFamily& family_of(const Run& run);

// Each is defined in its family's folder.
const RunFamily& composition_family();
const RunFamily& script_family();
const RunFamily& module_family();

}  // namespace pawl
