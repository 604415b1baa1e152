// What the host does unasked: leases that run out, waits, names without a world.
#include "worldhost/world_host.h"

#include <gtest/gtest.h>

#include "engine/testing/core_world.h"
#include "worldhost/upkeep.h"
#include "worlds/replay.h"
#include "worlds/testing/native_host.h"
#include "worlds/testing/test_world.h"

namespace pawl {
namespace {

constexpr std::string_view kWorld = "shop";
constexpr Uuid kOtherWorld{7, 7};

// Answers a task at once: decided, committed, released.
class ImmediateLine final : public EngineLine {
 public:
  Status submit(TaskPtr task) override {
    if (fails) return Error{ErrorCode::StoreFailed, "the disk does not answer"};
    engine.submit(std::move(task));
    engine.commit();
    return ok_status();
  }
  Status read(FunctionRef<void(const State&)> read) override {
    read(engine.core->state());
    return ok_status();
  }

  CoreWorld engine;
  bool fails = false;
};

// A host without threads, and the kinds of effects that it began itself.
class HostWorld : public OwnEffects {
 public:
  HostWorld() {
    for (const std::string_view name : {"flow", "plain", "timer", "deaf", "guard"})
      modules_.set(name, [](std::string_view) { return worlds::ModuleCall{}; });
    host.attach(*this);
  }
  ~HostWorld() override { host.stop(); }

  void perform(const std::string&, const OpenIntent& intent) override { begun += intent.kind; }
  void settle_within(WorldSession&, size_t) override {}
  void fire_timers(const std::string& world) override {
    ++timers;
    host.timers_fired(world);
  }

  // Runs an order to its end: "ok", or its refusal's code.
  std::string run(std::string_view world, std::function<Status(WorldSession&)> work) {
    std::string outcome = "nothing";
    WorldOrder order;
    order.work = std::move(work);
    order.done = [&outcome](const Status& status) {
      outcome = status.ok() ? "ok" : std::string(wire_code(status.error()));
    };
    PAWL_CHECK(host.post(std::string(world), std::move(order)).ok());
    while (host.run_one()) {
    }
    return outcome;
  }
  std::string create(bool is_test = false) {
    return run(kWorld, [this, is_test](WorldSession& session) -> Status {
      const std::string body = worlds::WorldText().text();
      PAWL_TRY(json::Doc doc, json::parse(body));
      const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
      PAWL_TRY(worlds::ProgramText text,
               worlds::read_program(doc.root().find("manifest"), doc.root().find("nodes"), nothing,
                                    nothing, modules_));
      PAWL_CHECK(text.faults.empty());
      const worlds::NewWorld made{.id = Uuid::v7(kWorldStartMs, ++worlds_made_, 1, 0),
                                  .name = std::string(kWorld),
                                  .test = is_test};
      session.create(made.id, [&](worlds::Deciding& d) { worlds::create_world(d, made, text); });
      return ok_status();
    });
  }
  std::string emit(std::string_view kind, std::string_view params, std::string_view cap) {
    return run(kWorld, [&](WorldSession& session) -> Status {
      PAWL_TRY(json::Doc doc, json::parse(params));
      PAWL_TRY_DO(session.frame([&](worlds::Deciding& deciding) {
        return worlds::emit_system_effect(deciding, kind, doc.root(), cap);
      }));
      return ok_status();
    });
  }
  std::string emit_request() {
    return emit("http.request", R"({"method":"GET","url":"https://a.test/"})", "cap_http");
  }
  std::string emit_work() { return emit("work.do", R"({"n":1})", "cap_work"); }
  std::string set_adapter(const std::string& id, std::vector<std::string> kinds) {
    return run(kWorld, [&](WorldSession& session) {
      worlds::Adapter adapter;
      adapter.only_kinds = true;
      adapter.kinds = kinds;
      session.change_adapter(id, adapter);
      return ok_status();
    });
  }
  std::string remove_adapter(const std::string& id) {
    return run(kWorld, [&](WorldSession& session) {
      session.change_adapter(id, std::nullopt);
      return ok_status();
    });
  }
  // Posts an event that one instance of the module "flow" gets.
  std::string start_flow() {
    return run(kWorld, [](WorldSession& session) -> Status {
      PAWL_TRY(json::Doc doc, json::parse(worlds::kStartA));
      worlds::GivenEvent given;
      given.schema = "t/Start@1";
      given.value = doc.root();
      PAWL_TRY(auto program, session.program());
      PAWL_TRY(worlds::Event event, worlds::judge_event(*program, given));
      PAWL_TRY_DO(session.frame(
          [&](worlds::Deciding& deciding) { return worlds::post_event(deciding, event); }));
      return ok_status();
    });
  }
  std::string quarantine_code() {
    std::string code;
    run(kWorld, [&](WorldSession& session) {
      code = session.world().head().quarantine_code;
      return ok_status();
    });
    return code;
  }
  std::string remove_world() {
    return run(kWorld, [](WorldSession& session) {
      session.remove_world();
      return ok_status();
    });
  }
  // "waits" until it is answered; then how many effects came, or the refusal's code.
  std::shared_ptr<std::string> lease(const std::string& adapter, const std::string& kind,
                                     int64_t lease_ms, int64_t wait_ms, IsWanted wanted = nullptr) {
    auto answer = std::make_shared<std::string>("waits");
    host.lease(
        std::string(kWorld),
        {.adapter = adapter, .kinds = {kind}, .lease_ms = lease_ms, .wait_ms = wait_ms},
        [this, answer](Result<std::vector<std::string>> leased, int64_t) {
          *answer =
              leased.ok() ? std::to_string(leased->size()) : std::string(wire_code(leased.error()));
          if (leased.ok()) last_leased = *leased;
        },
        std::move(wanted));
    return answer;
  }
  void advance(int64_t ms) {
    line.engine.clock.now += ms;
    host.fire_due(line.engine.clock.now_ms());
    while (host.run_one()) {
    }
  }

  ImmediateLine line;
  worlds::NativeHost modules_;
  static constexpr int64_t kVerifyEveryMs = 3'600'000;
  WorldHost host{{.threads = 0, .waiters_max = 2, .verify_every_ms = kVerifyEveryMs},
                 line,
                 line.engine.clock,
                 modules_};
  std::string begun;
  int timers = 0;
  std::vector<std::string> last_leased;

 private:
  uint64_t worlds_made_ = 0;
};

// The adapter that had taken http.request over is gone, and its lease runs out while nobody calls.
TEST(WorldHost, BeginsItsOwnEffectsWhenALeaseRunsOut) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("proxy", {"http.request"}), "ok");
  ASSERT_EQ(world.emit_request(), "ok");
  EXPECT_EQ(*world.lease("proxy", "http.request", 1'000, 0), "1");
  ASSERT_EQ(world.remove_adapter("proxy"), "ok");
  world.advance(999);
  EXPECT_EQ(world.begun, "");
  world.advance(1);
  EXPECT_EQ(world.begun, "http.request");
}

// A call for other kinds comes between the end of a lease and the host's clock.
TEST(WorldHost, WhoWaitsGetsWhatAnotherCallFoundFree) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do", "safe.do"}), "ok");
  ASSERT_EQ(world.emit_work(), "ok");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 0), "1");
  const auto waiting = world.lease("a", "work.do", 1'000, 60'000);
  world.line.engine.clock.now += 1'000;
  EXPECT_EQ(*waiting, "waits");
  EXPECT_EQ(*world.lease("a", "safe.do", 1'000, 0), "0");
  EXPECT_EQ(*waiting, "1");
}

TEST(WorldHost, LeasesNothingToAClientThatHasGone) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do"}), "ok");
  bool is_there = true;
  const auto gone = world.lease("a", "work.do", 60'000, 60'000, [&] { return is_there; });
  is_there = false;
  ASSERT_EQ(world.emit_work(), "ok");
  EXPECT_EQ(*gone, "0");
  EXPECT_EQ(*world.lease("a", "work.do", 60'000, 0), "1");
}

TEST(WorldHost, LeasesAgainWhatWasHandedBack) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do"}), "ok");
  ASSERT_EQ(world.emit_work(), "ok");
  EXPECT_EQ(*world.lease("a", "work.do", 3'600'000, 0), "1");
  world.host.hand_back(std::string(kWorld), world.last_leased);
  const auto next = world.lease("a", "work.do", 3'600'000, 60'000);
  EXPECT_EQ(*next, "waits")
      << "at once, an effect that nobody can get would be asked for in a loop";
  world.advance(1'000);
  EXPECT_EQ(*next, "1");
}

TEST(WorldHost, WaitsEndWithTheWorldAndWithTheServer) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do"}), "ok");
  const auto deleted = world.lease("a", "work.do", 1'000, 60'000);
  ASSERT_EQ(world.remove_world(), "ok");
  EXPECT_EQ(*deleted, "not_found");

  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do"}), "ok");
  const auto last = world.lease("a", "work.do", 1'000, 60'000);
  EXPECT_EQ(*last, "waits");
  world.host.end_waits();
  EXPECT_EQ(*last, "0");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 60'000), "0");
}

TEST(WorldHost, OnlySoManyWait) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("a", {"work.do"}), "ok");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 500), "waits");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 60'000), "waits");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 60'000), "0");
  world.advance(500);
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 60'000), "waits");
}

// An adapter of a deleted world had a built-in kind: the next world of this name has not.
TEST(WorldHost, ANameStartsAfreshAfterItsWorldWasDeleted) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.set_adapter("proxy", {"http.request"}), "ok");
  ASSERT_EQ(world.remove_world(), "ok");
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.emit_request(), "ok");
  EXPECT_EQ(world.begun, "http.request");
}

// What the state has of adapters was not read when the store failed: the server performed an effect
// that another adapter had taken over, and fired timers of test worlds by its own clock.
TEST(WorldHost, WorksOnNothingBeforeItKnowsWhatIsOpen) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  world.line.fails = true;
  EXPECT_EQ(world.set_adapter("proxy", {"http.request"}), "store_failed");
  world.line.fails = false;
  ASSERT_EQ(world.emit_request(), "ok");
  EXPECT_EQ(world.begun, "");
  const auto waiting = world.lease("proxy", "http.request", 1'000, 60'000);
  world.advance(1'000);
  EXPECT_EQ(world.begun, "http.request") << "no adapter has taken it over";
  EXPECT_EQ(*waiting, "waits");
}

// Its clock is its script's: measured by the server's, all of it was old, and its journal grew
// unasked.
TEST(WorldHost, RetentionLeavesTestWorldsAlone) {
  for (const bool is_test : {false, true}) {
    HostWorld world;
    ASSERT_EQ(world.create(is_test), "ok");
    const auto height = [&] {
      uint64_t seen = 0;
      world.run(kWorld, [&](WorldSession& session) {
        seen = session.world().head().height;
        return ok_status();
      });
      return seen;
    };
    ASSERT_EQ(world.start_flow(), "ok");
    const uint64_t before = height();
    world.line.engine.clock.now += 60'000;
    ASSERT_EQ(world.run(kWorld,
                        [](WorldSession& session) {
                          return sweep_world(session, {1'000, 1'000});
                        }),
              "ok");
    EXPECT_EQ(height() - before, is_test ? 0u : 1u) << "the failed instance without a state";
  }
}

// A world that ends the process must not keep the server down; a clean stop clears the crash book,
// so the start after it blames nobody.
TEST(WorldHost, AWorldThatCrashedTheServerTakesNoWritesUntilACleanStart) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  Uuid id;
  world.run(kWorld, [&](WorldSession& session) {
    id = session.id();
    return ok_status();
  });
  const auto start = [&](std::vector<Suspect> crashed) {
    WorldHost host({.threads = 0, .crashed = std::move(crashed)}, world.line,
                   world.line.engine.clock, world.modules_);
    host.attach(world);
    std::string seen;
    WorldOrder order;
    order.work = [&](WorldSession& session) {
      seen = session.world().head().quarantine_code;
      return ok_status();
    };
    order.done = [&](const Status& outcome) {
      if (!outcome.ok()) seen = "refused " + std::string(wire_code(outcome.error()));
    };
    PAWL_CHECK(host.post(std::string(kWorld), std::move(order)).ok());
    while (host.run_one()) {
    }
    EXPECT_EQ(host.next_work_ms(), 0) << "it is not opened again and again";
    host.stop();
    return seen;
  };
  EXPECT_EQ(start({{.id = kOtherWorld, .deaths = 2}}), "");
  EXPECT_EQ(start({{.id = id, .deaths = 2}}), "world.crashed");
  EXPECT_EQ(start({{.id = id, .deaths = 3}}), "refused world.quarantined") << "reading kills too";
  EXPECT_EQ(start({}), "");
}

// Its receipts would be refused, and each start would perform its effects once more.
TEST(WorldHost, PerformsNothingForAWorldThatTakesNoWrites) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.emit_request(), "ok");
  ASSERT_EQ(world.begun, "http.request");
  const auto start = [&] {
    world.begun.clear();
    WorldHost host({.threads = 0}, world.line, world.line.engine.clock, world.modules_);
    host.attach(world);
    while (host.run_one()) {
    }
    host.stop();
    return world.begun;
  };
  EXPECT_EQ(start(), "http.request");
  ASSERT_EQ(world.run(kWorld,
                      [](WorldSession& session) {
                        worlds::quarantine(session.world(), session.items(), "journal.corrupt",
                                           "a byte was changed", 1);
                        return ok_status();
                      }),
            "ok");
  EXPECT_EQ(start(), "");
}

// The machine of today gives other bytes than that of yesterday: found without anybody asking.
TEST(WorldHost, SamplesOfTheHistoryAreDecidedAgain) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  ASSERT_EQ(world.start_flow(), "ok");
  world.advance(HostWorld::kVerifyEveryMs);
  EXPECT_EQ(world.quarantine_code(), "");
  world.modules_.set(
      "flow", [](std::string_view) { return worlds::ModuleCall{.end = worlds::CallEnd::Trap}; });
  world.advance(HostWorld::kVerifyEveryMs - 1);
  EXPECT_EQ(world.quarantine_code(), "");
  world.advance(1);
  EXPECT_EQ(world.quarantine_code(), "replay.divergence");
}

// Names come from outside: asking for worlds that are not there must not fill the memory.
TEST(WorldHost, KeepsNothingOfNamesWithoutAWorld) {
  HostWorld world;
  ASSERT_EQ(world.create(), "ok");
  EXPECT_EQ(world.host.names_held(), 1u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(world.run("nothing-" + std::to_string(i),
                        [](WorldSession& session) {
                          EXPECT_FALSE(session.exists());
                          return ok_status();
                        }),
              "ok");
  EXPECT_EQ(*world.lease("a", "work.do", 1'000, 0), "0");
  EXPECT_EQ(world.host.names_held(), 1u);
  ASSERT_EQ(world.remove_world(), "ok");
  world.run(kWorld, [](WorldSession&) { return ok_status(); });
  EXPECT_EQ(world.host.names_held(), 0u);
}

// They were served in the order of their addresses: two runs of one simulated seed could differ.
TEST(WorldHost, WorldsThatAreDueAtTheSameTimeAreServedByName) {
  ImmediateLine line;
  worlds::NativeHost modules;
  WorldHost host({.threads = 0}, line, line.engine.clock, modules);
  std::string answered;
  for (const std::string name : {"c", "a", "e", "b", "d"})
    host.lease(name, {.adapter = "proxy", .kinds = {"work.do"}, .wait_ms = 1'000},
               [&answered, name](const auto&, int64_t) { answered += name; });
  while (host.run_one()) continue;
  EXPECT_EQ(answered, "");
  line.engine.clock.now += 1'000;
  host.fire_due(line.engine.clock.now_ms());
  EXPECT_EQ(answered, "abcde");
  host.stop();
}

// Each world may have a cache, and there may be many: together they have one bound.
TEST(WorldHost, WorldsThatNobodyUsesGiveUpTheirCaches) {
  ImmediateLine line;
  worlds::NativeHost modules;
  constexpr size_t kBytesMax = 10'000;
  WorldHost host({.threads = 0, .caches_bytes_max = kBytesMax}, line, line.engine.clock, modules);
  const auto look = [&](const std::string& name) {
    WorldOrder order;
    order.work = [](WorldSession& session) {
      const Uuid id = session.exists() ? session.id() : Uuid::v7(kWorldStartMs, 1, 1, 0);
      if (!session.exists())
        session.create(id, [](worlds::Deciding& deciding) { deciding.writes().put("s", "x"); });
      for (int i = 0; i < 10; ++i) (void)session.table().get("missing" + std::to_string(i));
      return ok_status();
    };
    order.done = [](const Status&) {};
    ASSERT_TRUE(host.post(name, std::move(order)).ok());
    while (host.run_one()) continue;
  };
  look("first");
  const size_t one = host.cached_bytes();
  ASSERT_GT(one, 1'000u);
  for (int i = 0; i < 50; ++i) look("w" + std::to_string(i));
  EXPECT_LE(host.cached_bytes(), kBytesMax);
  EXPECT_GE(host.cached_bytes(), kBytesMax - 2 * one) << "no more than needed";
  host.stop();
}

}  // namespace
}  // namespace pawl
