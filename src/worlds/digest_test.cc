#include "worlds/digest.h"

#include <gtest/gtest.h>

#include "worlds/cbor.h"
#include "worlds/hash.h"
#include "worlds/snapshot.h"
#include "worlds/testing/busy_world.h"

namespace pawl::worlds {
namespace {

std::string structure_of(std::string_view json) { return hash_of_structure(cbor_text(json)); }

std::string quoted_list(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ",\"" : "\"") + text + "\"";
  return out + "]";
}

TEST(Digest, OfAnEmptyWorldIsThatOfEmptyLists) {
  BusyWorld world;
  const Digest digest = digest_of(world.world());
  EXPECT_EQ(digest.height, 1u);
  EXPECT_EQ(digest.manifest_hash, world.program().manifest_hash);
  for (const std::string& root : {digest.state_root, digest.instances_root, digest.queue_root})
    EXPECT_EQ(root, structure_of("[]"));
}

// The preimages of the contract, spelled out.
TEST(Digest, HashesTheListsOfTheContract) {
  BusyWorld world;
  world.note("x");
  world.start("b", 2);
  world.start("a", 6);
  world.start("c", 9);
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  const Digest digest = digest_of(world.world());
  const std::string log = hash_of_bytes(log_state({"event"}));
  const Instance plain = *world.world().instance("t/plain@1", "");
  const Instance b = *world.world().instance("t/flow@1", cbor_text("\"b\""));

  std::string states;
  cbor::put_array(states, 3);
  const auto put = [&](std::string_view module, std::string_view key, std::string_view hash) {
    cbor::put_array(states, 3);
    cbor::put_text(states, module);
    cbor::put_bytes(states, key);
    cbor::put_text(states, hash);
  };
  put("t/deaf@1", "", log);
  put("t/flow@1", cbor_text("\"b\""), b.state_hash);
  put("t/plain@1", "", plain.state_hash);
  EXPECT_EQ(digest.state_root, hash_of_structure(states));

  std::string instances;
  cbor::put_array(instances, 5);
  const auto add = [&](std::string_view module, std::string_view key, std::string_view status,
                       uint64_t seq, std::string_view code, std::string_view hash,
                       std::string_view error, std::vector<std::string> inflight) {
    std::sort(inflight.begin(), inflight.end());
    cbor::Map map(instances);
    map.text("module", module).bytes("key", key).text("status", status).nat("last_seq", seq);
    map.text("module_version", hash_of_bytes(code));
    if (hash.empty())
      map.null("state_hash");
    else
      map.text("state_hash", hash);
    if (error.empty())
      map.null("error");
    else
      map.text("error", error);
    put_hashes(map.value("inflight"), inflight);
    map.end();
  };
  add("t/deaf@1", "", "running", 2, "deaf", log, "", {});
  add("t/flow@1", cbor_text("\"a\""), "failed", 4, "flow", "", "step.trap", {});
  add("t/flow@1", cbor_text("\"b\""), "waiting", 3, "flow", b.state_hash, "",
      {b.inflight[0].hash, b.inflight[1].hash});
  add("t/flow@1", cbor_text("\"c\""), "completed", 5, "flow", "", "", {});
  add("t/plain@1", "", "running", 2, "plain", plain.state_hash, "", {});
  EXPECT_EQ(digest.instances_root, hash_of_structure(instances));

  EXPECT_EQ(world.open().size(), 3u);
  EXPECT_EQ(digest.queue_root, structure_of(quoted_list(world.open())));
}

// --- snapshots

cbor::Item snapshot_item(BusyWorld& world, std::string& blob) {
  blob = *world.world().blob(in_record(world.record(0), "snapshot_ref"));
  return *cbor::read(blob);
}

TEST(Snapshot, NamesABlobOfTheStateBeforeIt) {
  BusyWorld world;
  world.start("a", 2, "client");
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  world.propose(other_body());
  const Digest before = digest_of(world.world());
  EXPECT_EQ(world.snapshot(), "snapshot");
  EXPECT_EQ(in_record(world.record(0), "height"), "4");
  EXPECT_EQ(world.world().head().last_snapshot, 5u);
  std::string blob;
  const cbor::Item item = snapshot_item(world, blob);
  EXPECT_EQ(hash_of_bytes(blob), in_record(world.record(0), "snapshot_ref"));
  EXPECT_EQ(*cbor::canonical(blob), blob);

  EXPECT_EQ(item.find("v")->number, 1u);
  EXPECT_EQ(item.find("height")->number, 4u);
  EXPECT_EQ(item.find("manifest_hash")->string, before.manifest_hash);
  const auto hash_of = [&](std::string_view name) {
    std::string bytes;
    cbor::append(bytes, *item.find(name));
    return hash_of_structure(bytes);
  };
  EXPECT_EQ(hash_of("cells"), before.state_root);
  EXPECT_EQ(hash_of("instances"), before.instances_root);
  EXPECT_EQ(item.find("pending")->items.size(), 1u);
  EXPECT_EQ(item.find("pending")->items[0].find("intent_hash")->string, world.open()[0]);
  EXPECT_EQ(item.find("settled")->items.size(), 2u);  // the receipt's, and the one of governance
  const cbor::Item& client = item.find("clients")->items.at(0);
  EXPECT_EQ(client.items[0].string, "client");
  EXPECT_EQ(client.items[1].number, 2u);
  const cbor::Item& proposal = item.find("proposals")->items.at(0);
  EXPECT_EQ(proposal.items[0].string, "p4");
  EXPECT_EQ(proposal.items[1].string, "submitted");
  EXPECT_EQ(item.items.size(), 2u * 10);
}

// One that changes nothing but the height; and the clock of a frame without a stamp stands.
TEST(Snapshot, TwoInARowDifferByTheirHeightAlone) {
  BusyWorld world;
  world.start("a", 1);
  std::string first, second;
  world.snapshot();
  const cbor::Item one = snapshot_item(world, first);
  world.snapshot();
  const cbor::Item two = snapshot_item(world, second);
  for (size_t i = 0; i + 1 < one.items.size(); i += 2) {
    std::string was, is;
    cbor::append(was, one.items[i + 1]);
    cbor::append(is, two.items[i + 1]);
    EXPECT_EQ(was == is, one.items[i].string != "height") << one.items[i].string;
  }
}

TEST(Snapshot, EveryRecordAndBlobIsCanonical) {
  BusyWorld world;
  lead_life(world, 3, 150);
  world.snapshot();
  size_t records = 0;
  world.world().each_frame(1, [&](uint64_t seq, const FrameRecords& frame) {
    for (const JournalRecord& record : frame.records) {
      const auto again = cbor::canonical(record.bytes);
      EXPECT_TRUE(again.ok() && *again == record.bytes) << journal_line(seq, record);
      ++records;
    }
    return true;
  });
  EXPECT_GT(records, 150u);
}

}  // namespace
}  // namespace pawl::worlds
