#include "worlds/replay.h"

#include <gtest/gtest.h>

#include "worlds/digest.h"
#include "worlds/frame.h"
#include "worlds/snapshot.h"
#include "worlds/testing/busy_world.h"

namespace pawl::worlds {
namespace {

constexpr ReplayFrom kBoth[] = {ReplayFrom::Genesis, ReplayFrom::Baseline};

std::string replay_digest(BusyWorld& world, ReplayFrom from) {
  const auto result = replay(world.world(), world.host, from, [] { return true; });
  return result.ok() ? digest_line(result->digest) : std::string(wire_code(result.error()));
}

// All items that frames bring about; what no record tells is left out.
std::map<std::string, std::string> folded_items(World& world) {
  std::map<std::string, std::string> items;
  for (const std::string_view kind : {"h", "c", "e", "i", "o", "z", "k", "p"})
    world.table().scan(kind, "", [&](std::string_view key, std::string_view value) {
      items[std::string(key)] = value;
      return true;
    });
  return items;
}

// The replay of a whole world, with every item as it came out.
void expect_items_again(BusyWorld& world, ReplayFrom from) {
  Replay again(world.world(), world.host);
  const uint64_t height = world.world().head().height;
  ASSERT_TRUE(again.begin(from, height).ok());
  const Status ran = again.run(height, [] { return true; });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const auto live = folded_items(world.world()), replayed = folded_items(again.world());
  ASSERT_EQ(live.size(), replayed.size());
  for (const auto& [key, value] : live) {
    const auto found = replayed.find(key);
    ASSERT_NE(found, replayed.end()) << key;
    EXPECT_EQ(found->second, value) << key;
  }
}

// One of everything, with a snapshot in the middle.
void live_through_all(BusyWorld& world) {
  world.start("a", 1, "first");
  world.start("b", 2);
  world.start("c", 3);
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  world.snapshot();
  world.start("d", 5);
  world.start("e", 6);
  world.start("f", 8);
  world.start("g", 7);
  world.receipt(world.open()[0], "error", R"({"code":"E","message":"m"})");
  world.receipt(world.open()[0], "ok", R"({"wrong":1})");
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  world.retry("t/flow@1", "\"e\"");
  world.terminate("t/flow@1", "\"b\"");
  world.note("x");
}

TEST(Replay, EveryFrameComesOutAgain) {
  BusyWorld world;
  live_through_all(world);
  const std::string height = std::to_string(world.world().head().height);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok " + height);
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok " + std::to_string(std::stoi(height) - 5));
  for (const ReplayFrom from : kBoth)
    EXPECT_EQ(replay_digest(world, from), digest_line(digest_of(world.world())));
}

TEST(Replay, GivesTheSameItemsAndNotOnlyTheSameDigest) {
  BusyWorld world;
  live_through_all(world);
  for (const ReplayFrom from : kBoth) expect_items_again(world, from);
}

TEST(Replay, HoldsAfterEveryInputOfAScript) {
  BusyWorld world;
  const auto check = [&] {
    for (const ReplayFrom from : kBoth)
      EXPECT_EQ(replay_digest(world, from), digest_line(digest_of(world.world())));
  };
  check();
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    world.start(std::to_string(n), n);
    check();
  }
  world.snapshot();
  check();
  while (!world.open().empty()) {
    world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
    check();
  }
}

class RandomLife : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomLife, LiveGenesisAndBaselineAgree) {
  BusyWorld world;
  for (int part = 0; part < 3; ++part) {
    lead_life(world, GetParam() * 100 + static_cast<uint64_t>(part), 60);
    for (const ReplayFrom from : kBoth) {
      EXPECT_EQ(replay_digest(world, from), digest_line(digest_of(world.world())));
      expect_items_again(world, from);
    }
    world.snapshot();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLife, testing::Range<uint64_t>(1, 13));

TEST(Replay, TheSameScriptGivesTheSameBytes) {
  BusyWorld one, two;
  lead_life(one, 7, 120);
  lead_life(two, 7, 120);
  one.snapshot();
  two.snapshot();
  EXPECT_EQ(one.items(), two.items());
}

// Not the last bytes of a frame: a torn last frame is the store's to cut.
TEST(Replay, FindsAFlippedByteInAnyFrame) {
  BusyWorld world;
  live_through_all(world);
  const uint64_t height = world.world().head().height;
  for (uint64_t seq = 1; seq <= height; ++seq) {
    const std::string key = frame_key(seq), whole = world.item(key);
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 9) {
      world.flip(key, at);
      const std::string found = replayed(world, ReplayFrom::Genesis);
      EXPECT_TRUE(found == "journal.corrupt " + std::to_string(seq) ||
                  found == "replay.divergence " + std::to_string(seq))
          << found << " after byte " << at << " of frame " << seq;
      world.put_item(key, whole);
    }
  }
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok " + std::to_string(height));
}

// As one who can write checksums would.
TEST(Replay, FindsAForgedRecord) {
  BusyWorld world;
  world.start("a", 1);
  world.start("b", 1);
  FrameRecords frame = *world.world().frame(3);
  std::string& event = frame.records[0].bytes;
  event.replace(event.find("\x61"
                           "b"),
                2,
                "\x61"
                "c");
  frame.checksum = frame_checksum(3, frame);
  world.put_item(frame_key(3), codec::encoded(frame));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "replay.divergence 3");
}

// Whatever stands in records whose checksums are right: a replay says so, and ends.
TEST(Replay, NoForgeryStopsTheServer) {
  BusyWorld world;
  live_through_all(world);
  world.propose(other_body());
  world.shadow(world.last_proposal(), other_body());
  world.forget(world.now_ns / 1'000'000 + 1);
  const uint64_t height = world.world().head().height;
  uint64_t dice = 1;
  const auto below = [&](size_t bound) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(dice >> 33) % bound;
  };
  size_t found = 0;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t seq = 1 + below(height);
    const std::string key = frame_key(seq), whole = world.item(key);
    FrameRecords frame = *world.world().frame(seq);
    JournalRecord& record = frame.records[below(frame.records.size())];
    if (below(8) == 0) record.kind = static_cast<uint8_t>(below(40));
    if (below(8) == 0) frame.records.resize(1 + below(frame.records.size()));
    JournalRecord& other = frame.records[below(frame.records.size())];
    other.bytes[below(other.bytes.size())] = static_cast<char>(below(256));
    frame.checksum = frame_checksum(seq, frame);
    world.put_item(key, codec::encoded(frame));
    found += replayed(world, ReplayFrom::Genesis).starts_with("ok") ? 0 : 1;
    world.put_item(key, whole);
  }
  // What a stamp says is taken as it is, so that some forgeries hold.
  EXPECT_GT(found, 2000u);
  EXPECT_TRUE(replayed(world, ReplayFrom::Genesis).starts_with("ok"));
}

TEST(Replay, FindsWhatDoesNotBelong) {
  BusyWorld world;
  live_through_all(world);
  const std::string whole = world.item(frame_key(4));
  const uint64_t height = world.world().head().height;

  world.remove_item(frame_key(4));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt 4");
  world.put_item(frame_key(4), world.item(frame_key(3)));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt 4");
  world.put_item(frame_key(4), "");
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt 4");
  world.put_item(frame_key(4), whole);

  world.put_item(frame_key(height + 1), whole);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt " + std::to_string(height + 1));
  world.remove_item(frame_key(height + 1));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok " + std::to_string(height));
}

std::string opened(BusyWorld& world, uint64_t frames_max = 1'000) {
  const Status checked = check_opened(world.world(), world.host, frames_max);
  if (checked.ok()) return "ok";
  return std::string(wire_code(checked.error())) + " " +
         std::to_string(broken_frame(checked.error()).value_or(0));
}

// Frames that a replay from the newest snapshot would not read do not matter, nor those past the
// bound; and nothing is decided again.
TEST(OpenedWorld, IsCheckedForWhatCannotBeRead) {
  BusyWorld world;
  live_through_all(world);
  const uint64_t height = world.world().head().height;
  const std::string last = frame_key(height), whole = world.item(last);
  const std::string node = node_key(world.world().head().manifest_hash);
  const std::string manifest = world.item(node);
  EXPECT_EQ(opened(world), "ok");

  std::string changed = whole;
  changed[changed.size() / 2] ^= 1;
  world.put_item(last, changed);
  EXPECT_EQ(opened(world), "journal.corrupt " + std::to_string(height));
  EXPECT_FALSE(world.world().shown_frame(height - 1) == std::nullopt);
  EXPECT_THROW((void)world.world().shown_frame(height), Unreadable) << "it is not quarantined yet";
  world.remove_item(last);
  EXPECT_EQ(opened(world), "journal.corrupt " + std::to_string(height));
  world.put_item(last, whole);

  const uint64_t kept_from = std::max<uint64_t>(1, world.world().head().last_snapshot);
  ASSERT_LT(kept_from, height);
  const std::string before_last = world.item(frame_key(height - 1));
  world.remove_item(frame_key(height - 1));
  EXPECT_EQ(opened(world), "journal.corrupt " + std::to_string(height - 1));
  EXPECT_EQ(opened(world, 1), "ok");
  world.put_item(frame_key(height - 1), before_last);

  world.remove_item(node);
  EXPECT_EQ(opened(world), "journal.corrupt 1");
  world.put_item(node, manifest);
  EXPECT_EQ(opened(world), "ok");
}

TEST(Replay, FindsItemsThatTheFramesDoNotGive) {
  BusyWorld world;
  live_through_all(world);
  const std::string height = std::to_string(world.world().head().height);
  const std::string key = instance_key("t/plain@1", "");
  const std::string whole = world.item(key);

  Instance instance = *world.world().instance("t/plain@1", "");
  instance.last_seq += 1;
  world.put_item(key, codec::encoded(instance));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "replay.divergence " + height);

  instance.last_seq -= 1;
  instance.state.back() = static_cast<char>(instance.state.back() ^ 1);
  world.put_item(key, codec::encoded(instance));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "replay.divergence " + height);

  world.put_item(key, whole);
  const std::string open = world.open()[0];
  world.put_item(intent_key(open), "\xff");
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt " + height);
}

TEST(Replay, FindsCodeThatIsNotWhatItsHashSays) {
  BusyWorld world;
  world.start("a", 1);
  const std::string key = blob_key(world.program().module("t/flow@1")->wasm_hash);
  world.flip(key, 0);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt 1");
  world.remove_item(key);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "journal.corrupt 1");
}

TEST(Replay, FindsCodeThatDoesSomethingElse) {
  BusyWorld world;
  world.start("a", 0);
  world.start("b", 1);
  make_busy(world.host);
  world.host.set("flow", [](std::string_view input) {
    const StepSeen seen(input);
    return StepSaid().state(log_state({"other"})).call();
  });
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "replay.divergence 2");
}

TEST(Replay, TakesTimeoutsFromTheJournal) {
  BusyWorld world;
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::Timeout}; });
  EXPECT_EQ(world.start("a", 0), "domain_event Start | step_failed flow[\"a\"] #0 <0 step.timeout");
  make_busy(world.host);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok 2");
}

// A slow machine says nothing of the world.
TEST(Replay, ATimeoutOfItsOwnIsNoDivergence) {
  BusyWorld world;
  world.start("a", 0);
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::Timeout}; });
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "unavailable");
}

TEST(Replay, NeedsARuntimeAndCanBeStopped) {
  BusyWorld world;
  world.start("a", 0);
  world.host.available = false;
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "worlds.no_runtime");
  world.host.available = true;
  int asked = 0;
  const auto stopped =
      replay(world.world(), world.host, ReplayFrom::Genesis, [&] { return ++asked < 2; });
  EXPECT_EQ(stopped.error().code, ErrorCode::Unavailable);
}

TEST(Replay, LegacyRecordsChangeNothing) {
  BusyWorld world;
  world.start("a", 1);
  const Digest before = digest_of(world.world());
  world.run([](Deciding& deciding) {
    Frame frame(deciding, Frame::Clock::Stays);
    frame.append(RecordKind::LegacyPlanStarted, cbor_text(R"({"plan":"p"})"));
    frame.append(RecordKind::LegacyPlanEnded, cbor_text(R"({"plan":"p"})"));
    frame.finish();
    return ok_status();
  });
  EXPECT_EQ(world.last_frame(), "legacy_plan_started | legacy_plan_ended");
  Digest after = digest_of(world.world());
  EXPECT_EQ(after.height, before.height + 1);
  after.height = before.height;
  EXPECT_EQ(after, before);
  world.start("a", 0);
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok 4");
}

// --- the baseline

TEST(Baseline, StandsInForFramesThatRetentionTook) {
  BusyWorld world;
  live_through_all(world);
  world.snapshot();
  world.start("z", 1);
  const uint64_t last = world.world().head().last_snapshot;
  for (uint64_t seq = 1; seq < last; ++seq) world.remove_item(frame_key(seq));
  Head head = world.world().head();
  head.first_kept = last;
  world.put_item(head_key(), codec::encoded(head));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "replay.genesis_gone");
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 2");
}

// The frame of the input that failed an instance is in the baseline: its retry was journaled.
TEST(Baseline, HoldsWhatARetryReads) {
  BusyWorld world;
  world.start("a", 6);
  world.snapshot();
  world.retry("t/flow@1", "\"a\"");
  world.remove_item(frame_key(1));
  world.remove_item(frame_key(2));
  Head head = world.world().head();
  head.first_kept = 3;
  world.put_item(head_key(), codec::encoded(head));
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 2");
}

TEST(Baseline, OnlyTheNewestIsKept) {
  BusyWorld world;
  world.start("a", 1);
  world.snapshot();
  world.start("b", 1);
  world.snapshot();
  EXPECT_EQ(world.item(baseline_key(3, 0)), "");
  EXPECT_NE(world.item(baseline_key(5, 0)), "");
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 1");
}

TEST(Baseline, WithoutOneAReplayBeginsAtGenesis) {
  BusyWorld world;
  world.start("a", 1);
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 2");
  world.snapshot();
  world.remove_item(baseline_key(3, 0));
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 3");
}

TEST(Baseline, AFlippedByteIsFound) {
  BusyWorld world;
  world.start("a", 1);
  world.start("b", 6);
  world.snapshot();
  const std::string key = baseline_key(4, 0), whole = world.item(key);
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 50) {
    world.flip(key, at);
    const std::string found = replayed(world, ReplayFrom::Baseline);
    EXPECT_TRUE(found == "journal.corrupt 4" || found == "replay.divergence 4")
        << found << " after byte " << at;
    world.put_item(key, whole);
  }
}

// Many cells: several chunks, all needed.
TEST(Baseline, IsCutIntoChunks) {
  BusyWorld world;
  world.host.set("flow", [](std::string_view input) {
    const StepSeen seen(input);
    return StepSaid().state(log_state({std::string(100'000, 'x')})).call();
  });
  for (int i = 0; i < 8; ++i) world.start("k" + std::to_string(i), 0);
  world.snapshot();
  EXPECT_NE(world.item(baseline_key(10, 1)), "");
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "ok 1");
  world.remove_item(baseline_key(10, 1));
  EXPECT_EQ(replayed(world, ReplayFrom::Baseline), "journal.corrupt 10");
}

// --- quarantine

TEST(Quarantine, StopsWritesAndKeepsTheFirstFinding) {
  BusyWorld world;
  world.start("a", 1);
  const auto isolate = [&](std::string_view code, uint64_t seq) {
    world.run([&](Deciding& deciding) {
      quarantine(deciding.world(), deciding.writes(), code, "said", seq);
      return ok_status();
    });
  };
  isolate("replay.divergence", 2);
  isolate("journal.corrupt", 1);
  const Head head = world.world().head();
  EXPECT_EQ(head.quarantine_code, "replay.divergence");
  EXPECT_EQ(head.quarantine_seq, 2u);
  EXPECT_EQ(world.propose(other_body()), "refused world.quarantined");
}

}  // namespace
}  // namespace pawl::worlds
