#include "sim/module_model.h"

#include <algorithm>

#include "base/hash.h"
#include "sim/module_walk.h"
#include "worlds/items.h"

namespace pawl::sim {
namespace {

constexpr size_t kWorldIdBytes = 16;
constexpr uint8_t kEffectIntent = 9;  // a kind of record, as the contract numbers them

uint64_t frame_number(std::string_view bytes) {
  uint64_t seq = 0;
  for (char each : bytes) seq = seq << 8 | static_cast<uint8_t>(each);
  return seq;
}

// What the modules of module_code.cc put into the jobs and runs that they ask for; "" = it is not
// theirs.
std::string token_in(std::string_view text) {
  const size_t begin = text.find("native ");
  if (begin == std::string::npos || text.find("\"mw\"") == std::string::npos) return "";
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

// The item of a frame: 'f' and its number. False: it is another item.
bool is_frame(std::string_view item, uint64_t& seq) {
  if (item.size() != 9 || item[0] != 'f') return false;
  seq = frame_number(item.substr(1));
  return true;
}

}  // namespace

uint64_t ModelWorld::open(bool of_workflows) const {
  uint64_t count = 0;
  for (const auto& [hash, intent] : intents)
    if (intent.state == IntentState::Open && (!of_workflows || intent.origin_kind == "workflow"))
      ++count;
  return count;
}

bool ModelWorld::is_open(const std::string& intent) const {
  auto at = intents.find(intent);
  return at != intents.end() && at->second.state == IntentState::Open;
}

const ModelWorld* ModuleModel::find(const Uuid& id) const {
  auto at = worlds_.find(id);
  return at == worlds_.end() ? nullptr : &at->second;
}

const ModelWorld* ModuleModel::named(const std::string& name) const { return find(id_of(name)); }

Uuid ModuleModel::id_of(const std::string& name) const {
  for (const auto& [id, world] : worlds_)
    if (world.name == name && world.exists()) return id;
  return Uuid();
}

bool ModuleModel::knows_intent(const std::string& hash) const {
  return std::any_of(worlds_.begin(), worlds_.end(), [&](const auto& each) {
    return each.second.intents.count(hash) + each.second.forgotten.count(hash) != 0;
  });
}

uint64_t ModuleModel::open_intents() const {
  uint64_t count = 0;
  for (const auto& [id, world] : worlds_)
    if (world.exists()) count += world.open();
  return count;
}

void ModuleModel::broken(std::string_view checker, const Uuid& world, std::string_view what) {
  verdict_.fail(checker, "world " + world.text().substr(0, 8) + ": " + std::string(what));
}

void ModuleModel::document(const DocPut& event) {
  if (event.kind == DocKind::World) {
    if (event.key[0] == '\x01') return;
    auto id = Uuid::from_bytes(event.value);
    if (!id) return broken("module journal", Uuid(), "a name stands for no world");
    if (named(event.key) != nullptr)
      return broken("module journal", *id, "a second world of the name " + event.key);
    worlds_[*id].name = event.key;
    return;
  }
  if (event.kind != DocKind::WorldItem) return;
  auto id = Uuid::from_bytes(event.key.substr(0, kWorldIdBytes));
  uint64_t seq = 0;
  if (!id || !is_frame(std::string_view(event.key).substr(kWorldIdBytes), seq)) return;
  worlds::FrameRecords frame;
  if (!codec::decode(event.value, frame))
    return broken("module journal", *id, "a frame cannot be read");
  ModelWorld& world = worlds_[*id];
  if (seq != world.height + 1)
    return broken(
        "module journal", *id,
        "frame " + std::to_string(seq) + " follows frame " + std::to_string(world.height));
  ++frames_;
  ModuleWalk walk(verdict_, *id, world, programs_, secrets_, seq);
  walk.read(frame);
  for (const worlds::JournalRecord& record : frame.records)
    if (record.kind == kEffectIntent) work_asked(record.bytes);
  world.height = seq;
}

void ModuleModel::document(const DocDeleted& event) {
  if (event.kind == DocKind::World && event.key[0] != '\x01') {
    for (auto& [id, world] : worlds_)
      if (world.name == event.key) world.name.clear();
    return;
  }
  if (event.kind != DocKind::WorldItem) return;
  auto id = Uuid::from_bytes(event.key.substr(0, kWorldIdBytes));
  uint64_t seq = 0;
  if (!id || !is_frame(std::string_view(event.key).substr(kWorldIdBytes), seq)) return;
  ModelWorld& world = worlds_[*id];
  if (world.name.empty()) return;  // with its world
  if (seq != world.trimmed_before || seq >= world.last_snapshot)
    return broken("module journal", *id, "frame " + std::to_string(seq) + " was removed too early");
  world.trimmed_before = seq + 1;
  verdict_.reach(Probe::ModuleFramesTrimmed);
}

void ModuleModel::happened(const InstanceMoved& event) {
  if (event.to == InstanceState::Forgotten) {
    runs_.erase(event.run);
    return;
  }
  runs_[event.run] = event;
}

void ModuleModel::work_asked(std::string_view record) {
  if (std::string token = token_in(record); !token.empty()) ++work_[token];
}

void ModuleModel::work_made(const std::string& given) {
  const std::string token = token_in(given);
  if (!token.empty() && --work_[token] < 0)
    verdict_.fail("module work", "one intent made two jobs or runs: " + given);
}

}  // namespace pawl::sim
