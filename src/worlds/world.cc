#include "worlds/world.h"

#include "base/unreadable.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

[[noreturn]] void broken_item(std::string_view what, std::string_view name) {
  throw Unreadable{Error{ErrorCode::Corrupt, "the world's item of " + std::string(what) + " '" +
                                                 std::string(name) + "' cannot be read"}};
}

template <class T>
T decoded(std::string_view bytes, std::string_view what, std::string_view name) {
  T item;
  if (!codec::decode(bytes, item)) broken_item(what, name);
  return item;
}

template <class T>
std::optional<T> item_at(Table& table, const std::string& key, std::string_view what,
                         std::string_view name) {
  const std::optional<std::string> bytes = table.get(key);
  if (!bytes) return std::nullopt;
  return decoded<T>(*bytes, what, name);
}

uint64_t seq_of(std::string_view item_key) {
  uint64_t seq = 0;
  for (size_t i = 1; i < item_key.size() && i < 9; ++i)
    seq = seq << 8 | static_cast<uint8_t>(item_key[i]);
  return seq;
}

std::optional<FrameRecords> read_frame(uint64_t seq, std::string_view bytes) {
  FrameRecords frame;
  if (codec::decode(bytes, frame) && frame.checksum == frame_checksum(seq, frame)) return frame;
  return std::nullopt;
}

FrameRecords checked_frame(uint64_t seq, std::string_view bytes) {
  auto frame = read_frame(seq, bytes);
  if (!frame) broken_item("frame", std::to_string(seq));
  return *std::move(frame);
}

void each_listed(
    World& world, char list, std::string_view from,
    FunctionRef<bool(std::string_view item_key, const std::string& hash, const Intent&)> visit) {
  world.table().scan({&list, 1}, from, [&](std::string_view key, std::string_view value) {
    if (value.size() != 32) broken_item("list of intents", std::to_string(seq_of(key)));
    const std::string hash = hash_text(value);
    const std::optional<Intent> intent = world.intent(hash);
    if (!intent) broken_item("intent", hash);
    return visit(key, hash, *intent);
  });
}

}  // namespace

Head World::head() {
  std::optional<Head> head = item_at<Head>(table_, head_key(), "head", "");
  return head ? *std::move(head) : Head{};
}

std::optional<Instance> World::instance(std::string_view module, std::string_view key) {
  return item_at<Instance>(table_, instance_key(module, key), "instance", module);
}

std::optional<Intent> World::intent(std::string_view hash) {
  if (!is_hash(hash)) return std::nullopt;
  return item_at<Intent>(table_, intent_key(hash), "intent", hash);
}

std::optional<ClientNote> World::client(std::string_view client_id) {
  return item_at<ClientNote>(table_, client_key(client_id), "client id", client_id);
}

std::optional<Proposal> World::proposal(uint64_t seq) {
  return item_at<Proposal>(table_, proposal_key(seq), "proposal", std::to_string(seq));
}

std::optional<Adapter> World::adapter(std::string_view id) {
  return item_at<Adapter>(table_, adapter_key(id), "adapter", id);
}

std::optional<FrameRecords> World::frame(uint64_t seq) {
  const std::optional<std::string> bytes = table_.get(frame_key(seq));
  if (!bytes) return std::nullopt;
  return checked_frame(seq, *bytes);
}

std::optional<std::string> World::blob(std::string_view hash) {
  return is_hash(hash) ? table_.get(blob_key(hash)) : std::nullopt;
}

std::optional<std::string> World::node(std::string_view hash) {
  return is_hash(hash) ? table_.get(node_key(hash)) : std::nullopt;
}

void World::each_instance(std::string_view module, std::string_view from,
                          FunctionRef<bool(std::string_view item_key, const std::string& module,
                                           const std::string& key, const Instance&)>
                              visit) {
  std::string name, key;
  table_.scan(instance_prefix(module), from,
              [&](std::string_view item_key, std::string_view value) {
                if (!split_instance_key(item_key, name, key)) broken_item("instance", "?");
                return visit(item_key, name, key, decoded<Instance>(value, "instance", name));
              });
}

void World::each_open(
    std::string_view from,
    FunctionRef<bool(std::string_view item_key, const std::string& hash, const Intent&)> visit) {
  each_listed(*this, 'o', from, visit);
}

void World::each_settled(
    std::string_view from,
    FunctionRef<bool(std::string_view item_key, const std::string& hash, const Intent&)> visit) {
  each_listed(*this, 'z', from, visit);
}

void World::each_frame(uint64_t from_seq,
                       FunctionRef<bool(uint64_t seq, FrameRecords frame)> visit) {
  table_.scan("f", frame_key(from_seq), [&](std::string_view key, std::string_view value) {
    const uint64_t seq = seq_of(key);
    return visit(seq, checked_frame(seq, value));
  });
}

std::optional<FrameRecords> World::shown_frame(uint64_t seq) {
  const std::optional<std::string> bytes = table_.get(frame_key(seq));
  if (!bytes) return std::nullopt;
  return head().quarantine_code.empty() ? checked_frame(seq, *bytes) : read_frame(seq, *bytes);
}

void World::each_shown_frame(uint64_t from_seq,
                             FunctionRef<bool(uint64_t seq, const FrameRecords&)> visit) {
  const bool quarantined = !head().quarantine_code.empty();
  table_.scan("f", frame_key(from_seq), [&](std::string_view key, std::string_view value) {
    const uint64_t seq = seq_of(key);
    auto frame = read_frame(seq, value);
    if (!frame && !quarantined) broken_item("frame", std::to_string(seq));
    return !frame || visit(seq, *frame);
  });
}

void World::each_proposal(std::string_view from,
                          FunctionRef<bool(std::string_view item_key, const Proposal&)> visit) {
  table_.scan("p", from, [&](std::string_view key, std::string_view value) {
    return visit(key, decoded<Proposal>(value, "proposal", std::to_string(seq_of(key))));
  });
}

void World::each_client(FunctionRef<bool(const std::string& client_id, const ClientNote&)> visit) {
  table_.scan("k", "", [&](std::string_view key, std::string_view value) {
    const std::string client_id(key.substr(1));
    return visit(client_id, decoded<ClientNote>(value, "client id", client_id));
  });
}

}  // namespace pawl::worlds
