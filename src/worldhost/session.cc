#include "worldhost/session.h"

#include <openssl/rand.h>

#include "base/check.h"
#include "base/plant.h"
#include "kernel/cold.h"
#include "kernel/run.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/worlds/instance_run.h"
#include "worldhost/own_work.h"
#include "worldhost/state_table.h"

namespace pawl {
namespace {

InstanceState state_of(const worlds::Instance& instance) {
  switch (instance.status) {
    case worlds::InstanceStatus::Running:
      return InstanceState::Running;
    case worlds::InstanceStatus::Waiting:
      return InstanceState::Waiting;
    case worlds::InstanceStatus::Completed:
      return InstanceState::Completed;
    case worlds::InstanceStatus::Failed:
      return InstanceState::Failed;
  }
  return InstanceState::Failed;
}

// Whether the list of runs shows a difference.
bool looks_alike(const worlds::Instance& a, const worlds::Instance& b) {
  return a.status == b.status && a.module_version == b.module_version &&
         a.error_code == b.error_code && a.error_detail == b.error_detail;
}

}  // namespace

void fill_from_system(char* out, size_t size) {
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(out), static_cast<int>(size)) == 1);
}

void WorldCounts::add(const WorldCounts& more) {
  for (uint64_t WorldCounts::*count :
       {&WorldCounts::frames, &WorldCounts::steps, &WorldCounts::step_failures, &WorldCounts::fuel,
        &WorldCounts::intents, &WorldCounts::receipts_ok, &WorldCounts::receipts_error,
        &WorldCounts::receipts_timeout, &WorldCounts::faults, &WorldCounts::cap_denials,
        &WorldCounts::policy_denials})
    this->*count += more.*count;
}

WorldSession::WorldSession(EngineLine& line, WorldMemory& memory, std::string name,
                           worlds::ModuleHost& modules, int64_t now_ms,
                           const FillRandom& fill_random)
    : line_(line),
      memory_(memory),
      name_(std::move(name)),
      modules_(modules),
      now_ms_(now_ms),
      fill_random_(fill_random),
      base_((look_up(),
             std::make_unique<EngineItems>(line, memory.id.value_or(Uuid()), memory.cache))),
      items_(*base_),
      world_(items_) {
  writes_.name = name_;
  writes_.refusals = memory.refusals;
  writes_.refusals_seen = memory.refusals_seen;
  if (memory_.id) {
    writes_.world = *memory_.id;
    before_ = world_.head();
    writes_.height_before = before_.height;
  }
}

void WorldSession::look_up() {
  if (memory_.id) return;
  std::optional<Uuid> found;
  Status read = line_.read([&](const State& state) { found = find_world(state, name_); });
  if (!read.ok()) throw Unreadable{read.error()};
  memory_.id = found;
}

bool WorldSession::is_taken(const Uuid& id) {
  bool taken = false;
  Status read = line_.read([&](const State& state) {
    taken =
        has_world(state, id) && state.find_doc(DocKind::World, deleted_world_key(id)) == nullptr;
  });
  if (!read.ok()) throw Unreadable{read.error()};
  return taken;
}

// The table that the session reads is that of the new world: nothing is there, and nothing is asked
// for.
void WorldSession::begin_world(const Uuid& id) {
  PAWL_CHECK(!memory_.id);
  memory_.id = id;
  memory_.program.reset();
  writes_.world = id;
  writes_.creates = true;
}

Result<std::shared_ptr<const worlds::Program>> WorldSession::program() {
  const std::string hash = world_.head().manifest_hash;
  if (memory_.program && memory_.program->manifest_hash == hash) return memory_.program;
  PAWL_TRY(memory_.program,
           worlds::load_program(hash, [&](std::string_view node) { return world_.node(node); }));
  return memory_.program;
}

worlds::Deciding WorldSession::begin_frame(int64_t clock_ns) {
  if (!writes_.creates) {
    auto live = program();
    if (!live.ok()) throw Unreadable{live.error()};
  }
  char entropy[64];
  fill_random_(entropy, sizeof entropy);
  worlds::Head head = writes_.creates && items_.writes().empty() ? worlds::Head{} : world_.head();
  if (clock_ns != 0) head.test_now_ns = clock_ns;
  worlds::Stamp stamp =
      worlds::next_stamp(head, now_ms_ * 1'000'000, std::string_view(entropy, sizeof entropy));
  return worlds::Deciding(items_, memory_.program, modules_, std::move(stamp));
}

void WorldSession::keep(worlds::Deciding& deciding) {
  note_moves(deciding);
  for (const std::string& hash : deciding.opened) {
    auto intent = deciding.world().intent(hash);
    if (!intent || intent->settlement != worlds::Settlement::Open) continue;
    outbox_.opened.push_back({.hash = hash,
                              .kind = intent->kind,
                              .seq = intent->seq,
                              .n = intent->n,
                              .deliver_at_ns = intent->deliver_at_ns});
  }
  fuel_ += deciding.fuel;
  for (std::string& hash : deciding.settled) {
    const auto intent = deciding.world().intent(hash);
    if (intent && makes_work(intent->kind)) items_.remove(worlds::work_key(hash));
    outbox_.settled.push_back(std::move(hash));
  }
  for (auto& [key, value] : deciding.writes().take()) {
    written_bytes_ += key.size() + (value ? value->size() : 0);
    if (value) {
      items_.put(key, std::move(*value));
    } else {
      items_.remove(key);
    }
  }
}

void WorldSession::note_moves(worlds::Deciding& deciding) {
  for (const auto& [item, change] : deciding.changed) {
    if (has_bug(Bug::ForgottenStaysListed) && !change.after) continue;
    if (change.before && change.after && looks_alike(*change.before, *change.after)) continue;
    InstanceMoved moved;
    moved.run = RunId(change.after ? change.after->run_id : change.before->run_id);
    moved.world = *memory_.id;
    moved.world_name = world_.head().name;
    moved.tenant = tenant_of_world(name_);
    moved.module = change.module;
    moved.key = change.key;
    const worlds::Module* module = deciding.program().module(change.module);
    if (module != nullptr && module->keyed())
      worlds::append_json(moved.key_json, *module->key_type, change.key);
    if (change.after) {
      moved.to = state_of(*change.after);
      moved.version = change.after->module_version;
      moved.error_code = change.after->error_code;
      moved.error_detail = change.after->error_detail;
    } else {
      moved.to = InstanceState::Forgotten;
    }
    writes_.moved.push_back(std::move(moved));
  }
}

void WorldSession::change_adapter(const std::string& id, std::optional<worlds::Adapter> adapter) {
  if (adapter) {
    put(worlds::adapter_key(id), codec::encoded(*adapter));
  } else {
    remove(worlds::adapter_key(id));
  }
  outbox_.adapters.emplace_back(id, std::move(adapter));
}

std::optional<std::pair<std::string, std::string>> WorldSession::place_of(const Uuid& run) {
  std::optional<std::pair<std::string, std::string>> place;
  Status read = line_.read([&](const State& state) {
    const Run* found = state.find_run(RunId(run));
    if (found != nullptr && found->instance && found->instance->world == *memory_.id)
      place.emplace(found->instance->module, found->instance->key);
  });
  if (!read.ok()) throw Unreadable{read.error()};
  return place;
}

std::optional<std::string> WorldSession::noted_answer(const std::string& key) {
  for (const DocPut& doc : writes_.docs)
    if (doc.key == key) return doc.value;
  std::optional<std::string> value;
  Status read = line_.read([&](const State& state) {
    if (const Doc* doc = state.find_doc(DocKind::Idempotency, key)) value = doc->value;
  });
  if (!read.ok()) throw Unreadable{read.error()};
  return value;
}

void WorldSession::note_answer(const std::string& key, std::string value, int64_t expires_ms) {
  writes_.docs.push_back({DocKind::Idempotency, key, std::move(value), expires_ms});
}

WorldCounts WorldSession::counts() {
  WorldCounts counts;
  if (items_.writes().empty()) return counts;
  const worlds::Head after = world_.head();
  const worlds::Totals &to = after.totals, &from = before_.totals;
  counts.frames = after.height - before_.height;
  counts.steps = to.steps - from.steps;
  counts.step_failures = to.step_failures - from.step_failures;
  counts.fuel = fuel_;
  counts.intents = to.intents - from.intents;
  counts.receipts_ok = to.receipts_ok - from.receipts_ok;
  counts.receipts_error = to.receipts_error - from.receipts_error;
  counts.receipts_timeout = to.receipts_timeout - from.receipts_timeout;
  counts.faults = to.faults - from.faults;
  counts.cap_denials = to.cap_deny - from.cap_deny;
  counts.policy_denials = to.policy_deny - from.policy_deny;
  return counts;
}

WorldWrites WorldSession::take_writes() {
  writes_.items = items_.take();
  for (const auto& [key, value] : writes_.items)
    writes_.bytes += key.size() + (value ? value->size() : 0);
  return std::move(writes_);
}

}  // namespace pawl
