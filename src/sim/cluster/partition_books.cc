#include "sim/cluster/partition_books.h"

namespace pawl::sim {
PartitionBooks::PartitionBooks(uint16_t id, const CoreConfig& config, SimRandom& random,
                               Verdict& verdict, const Plants& plants, const FaultMix& mix,
                               Ways ways)
    : id_(id),
      verdict_(verdict),
      plants_(plants),
      mix_(mix),
      ways_(std::move(ways)),
      config_(config),
      model_(verdict),
      acknowledged_(verdict),
      desk_{verdict, model_, acknowledged_},
      effects_(desk_, plants_),
      crowd_(*this, random, verdict) {
  if (!config_.state.scripts.parallel_steps) model_.scripts().one_step_at_a_time();
}

bool PartitionBooks::yields_early() const {
  return config_.state.scripts.frame_allowance < ScriptDefaults().frame_allowance;
}

void PartitionBooks::sent(uint64_t epoch, uint64_t number, Tasks tasks) {
  sent_[{epoch, number}] = std::move(tasks);
}

void PartitionBooks::read_record(uint64_t epoch, uint64_t number, std::string_view record) {
  desk_.durable_head = number;
  if (closed_ || verdict_.failed()) return;
  const auto found = sent_.find({epoch, number});
  const Tasks tasks = found == sent_.end() ? Tasks() : found->second;
  model_.read_record(number, record, [&](uint64_t sequence) {
    for (const auto& task : tasks)
      if (task->mark() == sequence && !verdict_.failed()) task->judge_at_mark();
  });
  if (!verdict_.failed()) genesis_.fold(number, record, verdict_);
  sent_.erase(sent_.begin(), sent_.upper_bound({epoch, number}));
}

void PartitionBooks::recovered(const Core& core) {
  ++life_;
  if (closed_) return;
  model_.restarted();
  effects_.restarted();
  if (verdict_.failed()) return;
  acknowledged_.check(core.state(), model_);
  audit(core, false);
}

void PartitionBooks::audit(const Core& core, bool in_order) {
  if (closed_ || verdict_.failed()) return;
  audit_entities(core.state(), model_, verdict_);
  if (!verdict_.failed())
    verdict_.expect(core.state().digest() == genesis_.digest(), "I2 replay",
                    "the state is another than the fold from genesis");
  if (in_order && !verdict_.failed()) audit_order(core.state(), model_, verdict_);
}

void PartitionBooks::check_work_done(int64_t clock_ms) {
  if (closed_ || verdict_.failed()) return;
  const int64_t due_ms = model_.first_due_ms();
  verdict_.expect(due_ms == 0 || due_ms > clock_ms, "I7 timers", "what is due was not done");
  effects_.check_all_asked();
  model_.scripts().check_gates(config_.state.scripts.max_concurrent);
}

}  // namespace pawl::sim
