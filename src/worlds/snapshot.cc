#include "worlds/snapshot.h"

#include <set>

#include "base/hash.h"
#include "worlds/cbor.h"
#include "worlds/digest.h"
#include "worlds/frame.h"
#include "worlds/hash.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr size_t kChunkBytes = 256u << 10;
// Every kind of item that frames bring about; not those that are contents, settings or baselines.
constexpr std::string_view kFolded[] = {"h", "c", "e", "i", "o", "z", "k", "p"};

// A list whose length is known at its end.
struct List {
  std::string body;
  size_t count = 0;
  void put_into(std::string& out) const {
    cbor::put_array(out, count);
    out.append(body);
  }
};

void list_instances(World& world, List& cells, List& instances) {
  world.each_instance("", "",
                      [&](std::string_view, const std::string& module, const std::string& key,
                          const Instance& instance) {
                        if (instance.has_state) {
                          put_cell(cells.body, module, key, instance);
                          ++cells.count;
                        }
                        put_instance(instances.body, module, key, instance);
                        ++instances.count;
                        return true;
                      });
}

List pending_of(World& world) {
  List pending;
  world.each_open("", [&](std::string_view, const std::string&, const Intent& intent) {
    pending.body.append(intent.record);
    ++pending.count;
    return true;
  });
  return pending;
}

// By client_id in bytes, as their items are.
List clients_of(World& world) {
  List clients;
  world.each_client([&](const std::string& client_id, const ClientNote& note) {
    cbor::put_array(clients.body, 3);
    cbor::put_text(clients.body, client_id);
    cbor::put_nat(clients.body, note.seq);
    cbor::put_text(clients.body, note.event_hash);
    ++clients.count;
    return true;
  });
  return clients;
}

List proposals_of(World& world) {
  List proposals;
  world.each_proposal("", [&](std::string_view, const Proposal& proposal) {
    cbor::put_array(proposals.body, 4);
    cbor::put_text(proposals.body, proposal_id(proposal.seq));
    cbor::put_text(proposals.body, proposal_state_name(proposal.state));
    cbor::put_text(proposals.body, proposal.manifest_hash);
    cbor::put_text(proposals.body, proposal.base);
    ++proposals.count;
    return true;
  });
  return proposals;
}

uint32_t checksum_of(const std::vector<BaselineItem>& items) {
  uint32_t sum = 0;
  std::string sizes;
  for (const BaselineItem& item : items) {
    sizes.clear();
    codec::put_varints(sizes, item.key.size(), item.value.size());
    sum = crc32c(item.value, crc32c(item.key, crc32c(sizes, sum)));
  }
  return sum;
}

// Cuts items into chunks as they come.
class BaselineWriter {
 public:
  BaselineWriter(Overlay& writes, uint64_t seq) : writes_(writes), seq_(seq) {}

  void add(std::string_view key, std::string_view value) {
    chunk_.items.push_back({std::string(key), std::string(value)});
    size_ += key.size() + value.size();
    if (size_ >= kChunkBytes) write_chunk();
  }
  void finish() {
    chunk_.last = true;
    write_chunk();
  }

 private:
  void write_chunk() {
    chunk_.checksum = checksum_of(chunk_.items);
    writes_.put(baseline_key(seq_, next_++), codec::encoded(chunk_));
    chunk_.items.clear();
    size_ = 0;
  }

  Overlay& writes_;
  const uint64_t seq_;
  uint32_t next_ = 0;
  BaselineChunk chunk_;
  size_t size_ = 0;
};

void drop_baselines(Overlay& writes) {
  std::vector<std::string> old;
  writes.scan("s", "", [&](std::string_view key, std::string_view) {
    old.emplace_back(key);
    return true;
  });
  for (const std::string& key : old) writes.remove(key);
}

// Below the snapshot's frame: nothing of it is written yet.
void keep_baseline(World& world, Overlay& writes, uint64_t seq) {
  drop_baselines(writes);
  BaselineWriter writer(writes, seq);
  std::set<uint64_t> retried_from;
  for (const std::string_view kind : kFolded) {
    world.table().scan(kind, "", [&](std::string_view key, std::string_view value) {
      writer.add(key, value);
      return true;
    });
  }
  world.each_instance(
      "", "",
      [&](std::string_view, const std::string&, const std::string&, const Instance& instance) {
        if (instance.status == InstanceStatus::Failed && instance.failed_cause_seq != 0)
          retried_from.insert(instance.failed_cause_seq);
        return true;
      });
  for (const uint64_t of : retried_from) {
    const std::string key = frame_key(of);
    if (const auto frame = world.table().get(key)) writer.add(key, *frame);
  }
  writer.finish();
}

Error broken_baseline(uint64_t seq) {
  return {ErrorCode::Corrupt,
          "the baseline of the snapshot in frame " + std::to_string(seq) + " cannot be read"};
}

}  // namespace

std::string baseline_key(uint64_t seq, uint32_t n) {
  std::string key = open_key(seq, n);
  key[0] = 's';
  return key;
}

std::string snapshot_bytes(World& world) {
  const Head head = world.head();
  List cells, instances;
  list_instances(world, cells, instances);
  std::string out;
  cbor::Map map(out);
  map.nat("v", 1).nat("height", head.height).text("manifest_hash", head.manifest_hash);
  map.integer("logical_now_ns", head.logical_now_ns);
  cells.put_into(map.value("cells"));
  instances.put_into(map.value("instances"));
  pending_of(world).put_into(map.value("pending"));
  put_hashes(map.value("settled"), sorted_hashes(world, IntentList::Settled));
  clients_of(world).put_into(map.value("clients"));
  proposals_of(world).put_into(map.value("proposals"));
  map.end();
  return out;
}

Snapshot write_snapshot(Deciding& deciding) {
  std::string blob = snapshot_bytes(deciding.world());
  Frame frame(deciding, Frame::Clock::Stays);
  Snapshot snapshot{.ref = hash_of_bytes(blob), .height = frame.seq() - 1};
  frame.append(RecordKind::Snapshot, snapshot_record(snapshot.ref, snapshot.height));
  frame.head().last_snapshot = frame.seq();
  deciding.writes().put(blob_key(snapshot.ref), std::move(blob));
  frame.finish();
  return snapshot;
}

Snapshot take_snapshot(Deciding& deciding) {
  keep_baseline(deciding.world(), deciding.writes(), deciding.world().head().height + 1);
  return write_snapshot(deciding);
}

Status each_baseline_item(Table& table, uint64_t seq,
                          FunctionRef<void(std::string key, std::string value)> visit) {
  for (uint32_t n = 0;; ++n) {
    const auto bytes = table.get(baseline_key(seq, n));
    BaselineChunk chunk;
    if (!bytes || !codec::decode(*bytes, chunk) || chunk.checksum != checksum_of(chunk.items))
      return broken_baseline(seq);
    for (BaselineItem& item : chunk.items) visit(std::move(item.key), std::move(item.value));
    if (chunk.last) return ok_status();
  }
}

}  // namespace pawl::worlds
