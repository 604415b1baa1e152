// Audit: the engine's state, compared entity by entity with the model of the journal, and its
// digest with that of a fold from genesis. Only meaningful when all decisions are durable.
#pragma once

#include <memory>
#include <string>

#include "kernel/mutable_state.h"
#include "sim/model.h"
#include "sim/module_code.h"
#include "sim/verdict.h"

namespace pawl::sim {

// Jobs, runs, counts, limits, crons, dead letters, unique keys, the next timer. Changes nothing.
void audit_entities(const State& state, const JournalModel& model, Verdict& verdict);
// Runs of definitions, step by step.
void audit_scripts(const State& state, const JournalModel& model, Verdict& verdict);
// Walks every waiting job: this loads all index windows into memory, so the core must be discarded
// afterwards.
void audit_order(const State& state, const JournalModel& model, Verdict& verdict);

// Module worlds: items, list of runs; `thorough` also replays them.
void audit_modules(const State& state, const ModuleModel& model, NativeModules& code, bool thorough,
                   Verdict& verdict);

// A state folded from the first record over an empty store (I2).
class GenesisFold {
 public:
  GenesisFold();
  ~GenesisFold();
  void fold(uint64_t number, std::string_view record, Verdict& verdict);
  std::string digest() const { return state_->digest(); }

 private:
  std::unique_ptr<Cold> nothing_;
  std::unique_ptr<MutableState> state_;
};

}  // namespace pawl::sim
