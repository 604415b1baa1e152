// The shadow of a proposal: its program on a fork of the world, fed with what the world was fed
// with, or with given events. The fork lives in memory; of the run only the report stays.
#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "worlds/governance.h"
#include "worlds/hash.h"
#include "worlds/reading.h"
#include "worlds/recorded.h"
#include "worlds/replay.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr size_t kListMax = 10'000;        // of every list of the report
constexpr size_t kForkBytes = 256u << 20;  // written; a run that writes more is at its end

struct Failure {
  std::optional<std::string> module;  // none: the input itself is refused by the candidate
  std::string key, code;
};

class ShadowRun {
 public:
  ShadowRun(World& live, ModuleHost& host, std::shared_ptr<const Program> candidate,
            uint64_t steps_max)
      : live_(live),
        live_head_(live.head()),
        host_(host),
        candidate_(std::move(candidate)),
        steps_max_(std::min<uint64_t>(steps_max, kShadowStepsMax)) {}

  Status fork_at_head();
  Status fork_before(uint64_t seq);
  // The recorded events and receipts of frames from `seq` on.
  Status feed_again(uint64_t seq);
  Status feed(const std::vector<Event>& events, const Stamp& stamp);

  World& fork() { return *fork_world_; }
  uint64_t at_height() const { return at_height_; }
  uint64_t inputs() const { return inputs_; }
  uint64_t steps() const { return steps_; }
  uint64_t fuel() const { return fuel_; }
  uint64_t unmatched() const { return unmatched_; }
  bool stopped() const { return stopped_; }
  const ObservedEffects& observed() const { return observed_; }
  const std::vector<Failure>& failures() const { return failures_; }

 private:
  void begin(Table& base, uint64_t at_height);
  void set_height(uint64_t height);
  bool may_go_on();
  template <class Command>
  Status decide(const Stamp& stamp, Command&& command);
  void note_frame(const FrameRecords& frame, uint64_t steps_left, uint64_t steps);
  Status feed_recorded_event(const FrameRecords& frame);
  Status feed_recorded_receipt(const FrameRecords& frame);

  World& live_;
  const Head live_head_;
  ModuleHost& host_;
  const std::shared_ptr<const Program> candidate_;
  const uint64_t steps_max_;
  std::optional<Replay> past_;
  std::optional<Overlay> fork_table_;
  std::optional<World> fork_world_;
  uint64_t at_height_ = 0, inputs_ = 0, steps_ = 0, fuel_ = 0, unmatched_ = 0;
  bool stopped_ = false;  // by steps_max_
  size_t fork_bytes_ = 0;
  ObservedEffects observed_;
  std::vector<Failure> failures_;
};

void ShadowRun::begin(Table& base, uint64_t at_height) {
  at_height_ = at_height;
  fork_table_.emplace(base);
  fork_world_.emplace(*fork_table_);
  Head head = fork_world_->head();
  head.manifest_hash = candidate_->manifest_hash;
  fork_table_->put(head_key(), codec::encoded(head));
}

Status ShadowRun::fork_at_head() {
  begin(live_.table(), live_head_.height);
  return ok_status();
}

Status ShadowRun::fork_before(uint64_t seq) {
  // Genesis is no input: a world that begins with the candidate is the earliest fork.
  const uint64_t until = std::max<uint64_t>(1, seq - 1);
  past_.emplace(live_, host_);
  PAWL_TRY_DO(past_->begin(ReplayFrom::Baseline, until));
  PAWL_TRY_DO(past_->run(until, [] { return true; }));
  begin(past_->table(), seq - 1);
  return ok_status();
}

void ShadowRun::set_height(uint64_t height) {
  Head head = fork_world_->head();
  head.height = height;
  fork_table_->put(head_key(), codec::encoded(head));
}

bool ShadowRun::may_go_on() {
  stopped_ = stopped_ || steps_ >= steps_max_ || fork_bytes_ > kForkBytes;
  return !stopped_;
}

template <class Command>
Status ShadowRun::decide(const Stamp& stamp, Command&& command) {
  const uint64_t seq = fork_world_->head().height + 1;
  Deciding deciding(*fork_table_, candidate_, host_, stamp);
  deciding.observed = &observed_;
  deciding.steps_max = steps_max_ - steps_;
  PAWL_TRY_DO(command(deciding));
  ++inputs_;
  steps_ += deciding.steps;
  fuel_ += deciding.fuel;
  if (const auto frame = deciding.world().frame(seq))
    note_frame(*frame, deciding.steps_max, deciding.steps);
  for (auto& [key, value] : deciding.writes().take()) {
    if (key == frame_key(seq)) continue;  // it was read, and nobody reads it again
    if (value) {
      fork_bytes_ += key.size() + value->size();
      fork_table_->put(key, *std::move(value));
    } else {
      fork_table_->remove(key);
    }
  }
  return ok_status();
}

void ShadowRun::note_frame(const FrameRecords& frame, uint64_t steps_left, uint64_t steps) {
  for (const JournalRecord& entry : frame.records) {
    const RecordView record(entry.bytes);
    const RecordKind kind = record_kind(entry);
    if (kind == RecordKind::DeliverySkipped && steps == steps_left &&
        record.text("code") == "step.cascade_limit")
      stopped_ = true;
    if (failures_.size() > kListMax) continue;
    if (kind == RecordKind::StepFailed) {
      failures_.push_back({std::string(record.text("module")), std::string(record.bytes("key")),
                           std::string(record.text("code"))});
    } else if (kind == RecordKind::ReceiptFault && record.boolean("workflow_failed")) {
      const auto intent = fork_world_->intent(record.text("intent_hash"));
      if (intent)
        failures_.push_back(
            {intent->origin_name, intent->instance_key, std::string(record.text("code"))});
    }
  }
}

Status ShadowRun::feed_recorded_event(const FrameRecords& frame) {
  auto event = recorded_event(*candidate_, RecordView(frame.records[0].bytes));
  if (!event.ok()) {
    // The world took it; under the candidate a client would have been refused.
    ++inputs_;
    if (failures_.size() <= kListMax)
      failures_.push_back({std::nullopt, "", std::string(event.error().wire)});
    return ok_status();
  }
  return decide(recorded_stamp(frame, 0),
                [&](Deciding& deciding) { return post_event(deciding, *event); });
}

Status ShadowRun::feed_recorded_receipt(const FrameRecords& frame) {
  const GivenReceipt receipt = recorded_receipt(RecordView(frame.records[0].bytes));
  if (!fork_world_->intent(receipt.intent_hash)) {
    ++unmatched_;
    return ok_status();
  }
  return decide(recorded_stamp(frame, 0),
                [&](Deciding& deciding) { return take_receipt(deciding, receipt); });
}

Status ShadowRun::feed_again(uint64_t seq) {
  for (; seq <= live_head_.height; ++seq) {
    const auto frame = live_.frame(seq);
    if (!frame) continue;
    set_height(seq - 1);
    if (is_outside_event(*frame) && may_go_on()) PAWL_TRY_DO(feed_recorded_event(*frame));
    if (is_receipt(*frame) && may_go_on()) PAWL_TRY_DO(feed_recorded_receipt(*frame));
    if (stopped_) return ok_status();
  }
  set_height(live_head_.height);
  return ok_status();
}

Status ShadowRun::feed(const std::vector<Event>& events, const Stamp& stamp) {
  for (const Event& event : events) {
    if (!may_go_on()) return ok_status();
    Stamp own = stamp;
    own.logical_now_ns = std::max(own.now_ns, fork_world_->head().logical_now_ns);
    own.entropy.assign(64, '\0');
    PAWL_TRY_DO(decide(own, [&](Deciding& deciding) { return post_event(deciding, event); }));
  }
  return ok_status();
}

// --- the report

class Report {
 public:
  Report(World& live, const Program& before, const Program& after, ShadowRun& run)
      : live_(live), before_(before), after_(after), run_(run), w_(out_) {}

  std::string text(const Proposal& proposal) {
    w_.begin_object().field("manifest_hash", proposal.manifest_hash).field("base", proposal.base);
    write_nat(w_, "at_height", run_.at_height());
    write_observed();
    w_.key("pending_receipts");
    write_waits(w_, run_.fork(), kListMax);
    if (run_.fork().head().totals.workflow_intents > kListMax) cut_.push_back("pending_receipts");
    write_instances();
    write_failures();
    write_allowlists();
    w_.key("deltas").begin_object();
    write_deltas();
    write_states();
    w_.end_object();
    write_horizon();
    if (!cut_.empty()) {
      w_.key("cut").begin_array();
      for (const std::string_view name : cut_) w_.string(name);
      w_.end_array();
    }
    w_.end_object();
    return std::move(out_);
  }

 private:
  void write_text_or_null(std::string_view name, std::string_view text) {
    w_.key(name);
    if (text.empty()) return void(w_.null());
    w_.string(text);
  }

  void write_observed() {
    if (run_.observed().cut) cut_.push_back("observed_effects");
    w_.key("observed_effects").begin_array();
    for (const ObservedEffect& seen : run_.observed().list) {
      const Effect* effect = after_.effect(seen.kind);
      w_.begin_object().field("kind", seen.kind).field("cap_name", seen.cap_name).key("params");
      write_value(w_, effect != nullptr ? effect->params_type.get() : nullptr, seen.params);
      w_.field("params_hash", seen.params_hash).field("intent_hash", seen.intent_hash);
      w_.field("module", seen.module);
      write_key(w_, "key", seen.key);
      w_.field("decision", seen.allow ? "allow" : "deny");
      write_text_or_null("code", seen.allow ? std::string_view() : seen.code);
      w_.end_object();
    }
    w_.end_array();
  }

  void write_instances() {
    size_t shown = 0;
    w_.key("instances").begin_array();
    run_.fork().each_instance("", "",
                              [&](std::string_view, const std::string& module,
                                  const std::string& key, const Instance& instance) {
                                if (++shown > kListMax) return cut_.push_back("instances"), false;
                                w_.begin_object().field("module", module);
                                write_key(w_, "key", key);
                                w_.field("status", status_name(instance.status));
                                write_nat(w_, "last_seq", instance.last_seq);
                                w_.field("module_version", instance.module_version);
                                write_inflight(w_, instance);
                                w_.end_object();
                                return true;
                              });
    w_.end_array();
  }

  void write_failures() {
    size_t shown = 0;
    w_.key("failures").begin_array();
    for (const Failure& failure : run_.failures()) {
      if (++shown > kListMax) {
        cut_.push_back("failures");
        break;
      }
      w_.begin_object();
      write_text_or_null("module", failure.module.value_or(""));
      write_key(w_, "key", failure.key);
      w_.field("code", failure.code).end_object();
    }
    w_.end_array();
  }

  void write_allowlists() {
    w_.key("effect_allowlists").begin_array();
    for (const auto& [name, module] : after_.modules) {
      if (module.kind != ModuleKind::Workflow) continue;
      w_.begin_object().field("module", name).key("effects_emitted").begin_array();
      for (const std::string& kind : module.effects_emitted) w_.string(kind);
      w_.end_array().end_object();
    }
    w_.end_array();
  }

  using Named = std::map<std::string, std::string>;  // name -> what it is

  void write_named(std::string_view list, const Named& before, const Named& after) {
    std::map<std::string, std::string_view> changes;
    for (const auto& [name, was] : before) {
      const auto is = after.find(name);
      if (is == after.end()) {
        changes[name] = "removed";
      } else if (is->second != was) {
        changes[name] = "changed";
      }
    }
    for (const auto& [name, is] : after)
      if (!before.contains(name)) changes[name] = "added";
    w_.key(list).begin_array();
    for (const auto& [name, change] : changes)
      w_.begin_object().field("name", name).field("change", change).end_object();
    w_.end_array();
  }

  static Named defs_of(const Program& program, bool policies_only) {
    Named defs;
    for (const Def& def : program.defs)
      if (!policies_only || def.kind == "defpolicy") defs[def.name] = def.hash;
    return defs;
  }

  static Named grants_of(const Program& program) {
    Named grants;
    for (const auto& [name, grant] : program.grants) grants[name] = grant.hash;
    return grants;
  }

  void write_deltas() {
    write_named("defs", defs_of(before_, false), defs_of(after_, false));
    write_named("caps", grants_of(before_), grants_of(after_));
    write_named("policies", defs_of(before_, true), defs_of(after_, true));
  }

  void write_state(const std::string& module, const std::string& key, std::string_view was,
                   std::string_view is) {
    if (was == is) return;
    if (++states_ > kListMax) {
      if (states_ == kListMax + 1) cut_.push_back("deltas.states");
      return;
    }
    w_.begin_object().field("module", module);
    write_key(w_, "key", key);
    write_text_or_null("before", was);
    write_text_or_null("after", is);
    w_.end_object();
  }

  static std::string hash_in(World& world, const std::string& module, const std::string& key) {
    const auto instance = world.instance(module, key);
    return instance && instance->has_state ? instance->state_hash : std::string();
  }

  void write_states() {
    w_.key("states").begin_array();
    run_.fork().each_instance(
        "", "",
        [&](std::string_view, const std::string& module, const std::string& key,
            const Instance& instance) {
          write_state(module, key, hash_in(live_, module, key),
                      instance.has_state ? std::string_view(instance.state_hash) : "");
          return states_ <= kListMax;
        });
    // Those that only the live world has.
    live_.each_instance("", "",
                        [&](std::string_view, const std::string& module, const std::string& key,
                            const Instance& instance) {
                          if (instance.has_state && !run_.fork().instance(module, key))
                            write_state(module, key, instance.state_hash, "");
                          return states_ <= kListMax;
                        });
    w_.end_array();
  }

  void write_horizon() {
    w_.key("horizon").begin_object();
    write_nat(w_, "inputs", run_.inputs());
    write_nat(w_, "steps", run_.steps());
    write_nat(w_, "fuel", run_.fuel());
    write_nat(w_, "unmatched_receipts", run_.unmatched());
    w_.field("stopped_by", run_.stopped() ? "max_steps" : "idle").end_object();
  }

  World& live_;
  const Program& before_;
  const Program& after_;
  ShadowRun& run_;
  std::string out_;
  json::Writer w_;
  std::vector<std::string_view> cut_;  // lists that are not whole
  size_t states_ = 0;
};

Result<std::vector<Event>> judged_events(const Program& candidate,
                                         const std::vector<GivenEvent>& given) {
  std::vector<Event> events;
  events.reserve(given.size());
  for (const GivenEvent& one : given) {
    PAWL_TRY(Event event, judge_event(candidate, one));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace

Result<Shadowed> shadow(Deciding& deciding, const ShadowOrder& order,
                        std::shared_ptr<const Program> candidate) {
  PAWL_TRY(Proposal proposal,
           shadowable_proposal(deciding.world(), deciding.program(), order.proposal_id));
  const Program& program = *candidate;
  PAWL_CHECK(proposal.manifest_hash == program.manifest_hash);
  PAWL_TRY(const std::vector<Event> events, judged_events(program, order.events));
  const Head head = deciding.world().head();
  if (order.from_seq && (*order.from_seq == 0 || *order.from_seq > head.height + 1))
    return Error{ErrorCode::InvalidContent, "from_seq is a frame of the world, or the next one"};

  ShadowRun run(deciding.world(), deciding.host(), std::move(candidate), order.max_steps);
  if (order.from_seq) {
    PAWL_TRY_DO(run.fork_before(*order.from_seq));
    PAWL_TRY_DO(run.feed_again(*order.from_seq));
  } else {
    PAWL_TRY_DO(run.fork_at_head());
  }
  if (!run.stopped()) PAWL_TRY_DO(run.feed(events, deciding.stamp()));

  Shadowed shadowed{Report(deciding.world(), deciding.program(), program, run).text(proposal)};
  const std::string hash = hash_of_bytes(shadowed.report_json);
  deciding.writes().put(blob_key(hash), shadowed.report_json);
  write_shadowed(deciding, std::move(proposal), hash);
  return shadowed;
}

}  // namespace pawl::worlds
