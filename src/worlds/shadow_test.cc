// The shadow of a proposal: what it says, and that it leaves the world alone.
#include <gtest/gtest.h>

#include "worlds/digest.h"
#include "worlds/hash.h"
#include "worlds/testing/busy_world.h"

namespace pawl::worlds {
namespace {

// Events of a shadow, with the texts they are read from.
class Events {
 public:
  Events& start(std::string_view id, int n) {
    return add("t/Start@1", "{\"id\":\"" + std::string(id) + "\",\"n\":" + std::to_string(n) + "}");
  }
  Events& add(std::string_view schema, std::string json) {
    texts_.push_back(std::make_unique<std::string>(std::move(json)));
    docs_.push_back(std::make_unique<json::Doc>(*json::parse(*texts_.back())));
    GivenEvent& event = given_.emplace_back();
    event.schema = schema;
    event.value = docs_.back()->root();
    return *this;
  }
  ShadowOrder order(uint64_t max_steps = 1000) const {
    ShadowOrder order;
    order.events = given_;
    order.max_steps = max_steps;
    return order;
  }

 private:
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<std::unique_ptr<json::Doc>> docs_;
  std::vector<GivenEvent> given_;
};

ShadowOrder from_frame(uint64_t seq, uint64_t max_steps = 1000) {
  ShadowOrder order;
  order.from_seq = seq;
  order.max_steps = max_steps;
  return order;
}

// A member of the report, as its JSON text; "list.0.member" goes deeper.
std::string in_json(std::string_view json, std::string_view path) {
  const auto doc = json::parse(json);
  EXPECT_TRUE(doc.ok());
  json::View at = doc->root();
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string name(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    std::optional<json::View> next;
    if (at.is_array()) {
      size_t index = 0;
      at.each_element([&](json::View element) {
        if (std::to_string(index++) == name) next = element;
      });
    } else {
      next = at.find(name);
    }
    if (!next) return "absent";
    at = *next;
  }
  return at.is_string() ? at.string() : std::string(at.raw());
}

std::string in_report(const BusyWorld& world, std::string_view path) {
  return in_json(world.report, path);
}

// The candidate under which every test runs, proposed.
struct ShadowWorld : BusyWorld {
  explicit ShadowWorld(WorldText body = other_body()) : candidate(std::move(body)) {}
  std::string look(ShadowOrder order = {}) {
    if (last_proposal().empty()) propose(candidate);
    return shadow(last_proposal(), candidate, std::move(order));
  }
  WorldText candidate;
};

TEST(Shadow, TheReportHasEveryMemberInItsOrder) {
  ShadowWorld world;
  world.look();
  const std::string live = world.world().head().manifest_hash;
  EXPECT_EQ(world.report,
            "{\"manifest_hash\":\"" + world.read(world.candidate).manifest_hash + "\",\"base\":\"" +
                live +
                "\",\"at_height\":2,\"observed_effects\":[],\"pending_receipts\":[],"
                "\"instances\":[],\"failures\":[],\"effect_allowlists\":["
                "{\"module\":\"t/deaf@1\",\"effects_emitted\":[]},"
                "{\"module\":\"t/flow@1\",\"effects_emitted\":[\"http.request\",\"safe.do\","
                "\"timer.set\",\"work.do\"]},"
                "{\"module\":\"t/plain@1\",\"effects_emitted\":[\"work.do\"]},"
                "{\"module\":\"t/timer@1\",\"effects_emitted\":[\"timer.set\"]}],"
                "\"deltas\":{\"defs\":[{\"name\":\"t/deaf@1\",\"change\":\"changed\"}],"
                "\"caps\":[],\"policies\":[],\"states\":[]},\"horizon\":{\"inputs\":0,\"steps\":0,"
                "\"fuel\":0,\"unmatched_receipts\":0,\"stopped_by\":\"idle\"}}");
}

TEST(Shadow, LeavesTheWorldUntouchedButForItsRecord) {
  ShadowWorld world;
  world.start("a", 2);
  world.propose(world.candidate);
  const Digest before = digest_of(world.world());
  const auto open = world.open();
  EXPECT_EQ(world.look(Events().start("a", 1).start("b", 2).start("c", 6).order()),
            "effect_intent governance.shadow  | governance shadow_report");
  EXPECT_TRUE(world.opened.empty());
  EXPECT_TRUE(world.changed.empty());
  EXPECT_EQ(world.open(), open);
  Digest after = digest_of(world.world());
  EXPECT_EQ(after.height, before.height + 1);
  after.height = before.height;
  EXPECT_EQ(after, before);
  EXPECT_TRUE(replayed(world, ReplayFrom::Genesis).starts_with("ok"));
}

// What is observed is what really happens: the same inputs again, under the program that ran them.
TEST(Shadow, ObservesAsReallyRun) {
  ShadowWorld world{WorldText()};
  world.start("a", 2);
  world.start("b", 7);
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  world.start("c", 1);
  world.look(from_frame(1));
  std::vector<std::string> real;
  for (uint64_t seq = 2; seq <= 5; ++seq) {
    const auto frame = world.world().frame(seq);
    for (const JournalRecord& record : frame->records)
      if (static_cast<RecordKind>(record.kind) == RecordKind::EffectIntent)
        real.push_back(in_record(record.bytes, "kind") + in_record(record.bytes, "cap_name") +
                       in_record(record.bytes, "params_hash") +
                       in_record(record.bytes, "intent_hash"));
  }
  EXPECT_EQ(real.size(), 5u);
  for (size_t i = 0; i < real.size(); ++i) {
    const std::string effect = in_report(world, "observed_effects." + std::to_string(i));
    EXPECT_EQ(in_json(effect, "kind") + in_json(effect, "cap_name") +
                  in_json(effect, "params_hash") + in_json(effect, "intent_hash"),
              real[i]);
    EXPECT_EQ(in_json(effect, "decision"), "allow");
    EXPECT_EQ(in_json(effect, "code"), "null");
  }
  EXPECT_EQ(in_report(world, "observed_effects.5"), "absent");
  EXPECT_EQ(in_report(world, "observed_effects.0.params"), "{\"n\":2}");
  EXPECT_EQ(in_report(world, "observed_effects.0.module"), "t/flow@1");
  EXPECT_EQ(in_report(world, "observed_effects.0.key"), "a");
  EXPECT_EQ(in_report(world, "deltas.states"), "[]");
  EXPECT_EQ(in_report(world, "at_height"), "0");
  EXPECT_EQ(in_report(world, "horizon.inputs"), "4");
  EXPECT_EQ(in_report(world, "horizon.unmatched_receipts"), "0");
}

// A fork of the middle, by way of the snapshot and without it, is the same fork.
TEST(Shadow, BeginsWhereItIsTold) {
  std::string with, without;
  for (std::string* report : {&with, &without}) {
    ShadowWorld world{WorldText()};
    world.start("a", 1);
    world.start("b", 1);
    if (report == &with) {
      world.snapshot();
    } else {
      world.system_effect("work.do", R"({"n":1})", "cap_work");
    }
    world.start("c", 1);
    world.look(from_frame(5));
    EXPECT_EQ(in_report(world, "at_height"), "4");
    EXPECT_EQ(in_report(world, "horizon.inputs"), "1");
    EXPECT_EQ(in_report(world, "instances.2.key"), "c");
    EXPECT_EQ(in_report(world, "deltas.states"), "[]");
    *report = in_report(world, "observed_effects.0.key");
  }
  EXPECT_EQ(with, "c");
  EXPECT_EQ(with, without);
}

TEST(Shadow, ListsWhatIsPendingInTheFork) {
  ShadowWorld world;
  world.start("a", 1);
  const std::string intent = world.open()[0];
  world.start("b", 0);
  world.look();
  EXPECT_EQ(in_report(world, "pending_receipts"),
            "[{\"run_id\":\"" +
                world.world().instance("t/flow@1", cbor_text("\"a\""))->run_id.text() +
                "\",\"module\":\"t/flow@1\",\"key\":\"a\",\"intent_hash\":\"" + intent +
                "\",\"effect_kind\":\"work.do\",\"emitted_at_seq\":2}]");
  EXPECT_EQ(in_report(world, "instances.0.status"), "waiting");
  EXPECT_EQ(in_report(world, "instances.0.inflight.0.intent_hash"), intent);
  EXPECT_EQ(in_report(world, "instances.1.status"), "running");
  EXPECT_EQ(in_report(world, "instances.1.last_seq"), "3");
}

TEST(Shadow, InstancesAndStatesAreThoseOfTheEnd) {
  ShadowWorld world;
  world.start("a", 0);
  world.start("b", 0);
  const std::string before = world.world().instance("t/flow@1", cbor_text("\"a\""))->state_hash;
  world.look(Events().start("a", 4).start("c", 1).order());
  EXPECT_EQ(in_report(world, "instances.0.status"), "completed");
  EXPECT_EQ(in_report(world, "instances.2.status"), "waiting");
  EXPECT_EQ(in_report(world, "instances.0.last_seq"), "5");  // frames head + 1 …
  EXPECT_EQ(in_report(world, "instances.2.last_seq"), "6");
  EXPECT_EQ(in_report(world, "deltas.states"),
            "[{\"module\":\"t/flow@1\",\"key\":\"a\",\"before\":\"" + before + "\",\"after\":\"" +
                hash_of_bytes(log_state({"Start0", "Start4"})) +
                "\"},{\"module\":\"t/flow@1\",\"key\":\"c\",\"before\":null,\"after\":\"" +
                hash_of_bytes(log_state({"Start1"})) + "\"}]");
  EXPECT_EQ(in_report(world, "horizon"),
            "{\"inputs\":2,\"steps\":2,\"fuel\":200,\"unmatched_receipts\":0,"
            "\"stopped_by\":\"idle\"}");
}

TEST(Shadow, FailuresAndDenialsAreTold) {
  ShadowWorld world(WorldText().with(R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}})",
                                     R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10},)"
                                     R"("expiry_ns":1})"));
  world.look(Events().start("a", 6).start("b", 1).order());
  EXPECT_EQ(in_report(world, "failures"),
            "[{\"module\":\"t/flow@1\",\"key\":\"a\",\"code\":\"step.trap\"}]");
  // The module hears of denials, so its step stands.
  EXPECT_EQ(in_report(world, "observed_effects.0.decision"), "deny");
  EXPECT_EQ(in_report(world, "observed_effects.0.code"), "expired");
  EXPECT_EQ(in_report(world, "observed_effects.0.params"), "{\"n\":1}");
  EXPECT_EQ(in_report(world, "deltas.caps"), "[{\"name\":\"cap_work\",\"change\":\"changed\"}]");
}

TEST(Shadow, ABranchThatNothingReachesIsAbsent) {
  ShadowWorld world;
  world.look(Events().start("a", 0).order());
  EXPECT_EQ(in_report(world, "observed_effects"), "[]");
  EXPECT_EQ(in_report(world, "pending_receipts"), "[]");
}

// The candidate asks for something else, so the recorded receipts are of intents that it never had.
TEST(Shadow, CountsReceiptsThatMatchNoIntent) {
  ShadowWorld world;
  world.host.set("silent",
                 [](std::string_view) { return StepSaid().state(log_state({"silent"})).call(); });
  world.candidate = WorldText().with(base64("flow"), base64("silent"));
  world.start("a", 1);
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  world.look(from_frame(2));
  EXPECT_EQ(in_report(world, "horizon.unmatched_receipts"), "1");
  EXPECT_EQ(in_report(world, "horizon.inputs"), "1");
  EXPECT_EQ(in_report(world, "deltas.states.0.after"), hash_of_bytes(log_state({"silent"})));
  EXPECT_EQ(in_report(world, "instances.0.module_version"), hash_of_bytes("silent"));
}

TEST(Shadow, RecordedEventsThatTheCandidateWouldRefuseAreFailures) {
  ShadowWorld world(WorldText().with(R"({"record":{"id":{"text":{}},"n":{"nat":{}}}})",
                                     R"({"record":{"id":{"text":{}},"n":{"text":{}}}})"));
  world.start("a", 1);
  world.look(from_frame(1));
  EXPECT_EQ(in_report(world, "failures"),
            "[{\"module\":null,\"key\":null,\"code\":\"event.invalid\"}]");
}

TEST(Shadow, StopsAtItsSteps) {
  ShadowWorld world;
  world.propose(world.candidate);
  world.look(Events().start("a", 0).start("b", 0).start("c", 0).order(2));
  EXPECT_EQ(in_report(world, "horizon.steps"), "2");
  EXPECT_EQ(in_report(world, "horizon.inputs"), "2");
  EXPECT_EQ(in_report(world, "horizon.stopped_by"), "max_steps");
  world.look(Events().start("a", 0).start("b", 0).order(2));
  EXPECT_EQ(in_report(world, "horizon.stopped_by"), "idle");
  // Within one input: the Note of n = 3 would step two more.
  world.look(Events().start("a", 3).order(2));
  EXPECT_EQ(in_report(world, "horizon.steps"), "2");
  EXPECT_EQ(in_report(world, "horizon.stopped_by"), "max_steps");
  world.look(Events().start("a", 3).order(3));
  EXPECT_EQ(in_report(world, "horizon.stopped_by"), "idle");
}

TEST(Shadow, ABadEventIsRefusedBeforeAnythingRuns) {
  ShadowWorld world;
  world.propose(world.candidate);
  world.host.calls = 0;
  EXPECT_EQ(world.look(Events().start("a", 0).add("t/Start@1", R"({"id":"x"})").order()),
            "refused event.invalid");
  EXPECT_EQ(world.look(Events().add("t/None@1", "{}").order()), "refused event.unknown_schema");
  EXPECT_EQ(world.look(from_frame(0)), "refused validation_error");
  EXPECT_EQ(world.look(from_frame(4)), "refused validation_error");
  EXPECT_EQ(world.host.calls, 0u);
  EXPECT_EQ(world.look(from_frame(3)),
            "effect_intent governance.shadow  | governance shadow_report");
}

TEST(Shadow, TheSameOrderGivesTheSameReport) {
  std::string reports[2];
  for (std::string& report : reports) {
    ShadowWorld world;
    lead_life(world, 11, 80);
    world.propose(world.candidate);
    world.look(from_frame(2));
    report = world.report;
  }
  EXPECT_EQ(reports[0], reports[1]);
  EXPECT_NE(in_json(reports[0], "observed_effects.0.intent_hash"), "absent");
}

// Under the program that ran them, all inputs lead to the state that is there.
TEST(Shadow, UnderItsOwnProgramALifeComesOutAsItWas) {
  BusyWorld world;
  for (int i = 0; i < 40; ++i) {
    world.start(std::string(1, static_cast<char>('a' + i % 7)), i % 9);
    if (i % 3 == 0 && !world.open().empty())
      world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  }
  world.propose(WorldText());
  world.shadow(world.last_proposal(), WorldText(), from_frame(1));
  EXPECT_EQ(in_report(world, "deltas.states"), "[]");
  EXPECT_EQ(in_report(world, "deltas.defs"), "[]");
  EXPECT_EQ(in_report(world, "horizon.unmatched_receipts"), "0");
}

TEST(Shadow, DeltasNameWhatIsAddedAndRemoved) {
  WorldText body;
  body.with(R"({"event":"t/Note@1","module":"t/deaf@1"},)", "");
  std::erase_if(body.nodes,
                [](const std::string& node) { return node.find("t/deaf@1") != std::string::npos; });
  body.with(R"({"name":"cap_http")", R"({"name":"cap_more","cap":"sys/Blob@1","params":{}},
  {"name":"cap_http")");
  body.with(R"("defaults":{)", R"("defaults":{"policy":"t/policy@1",)");
  body.nodes.push_back(
      R"({"$kind":"defpolicy","name":"t/policy@1","rules":[{"when":{},"decision":"allow"}]})");
  ShadowWorld world(body);
  world.look();
  EXPECT_EQ(in_report(world, "deltas.defs"),
            "[{\"name\":\"t/deaf@1\",\"change\":\"removed\"},"
            "{\"name\":\"t/policy@1\",\"change\":\"added\"}]");
  EXPECT_EQ(in_report(world, "deltas.caps"), "[{\"name\":\"cap_more\",\"change\":\"added\"}]");
  EXPECT_EQ(in_report(world, "deltas.policies"),
            "[{\"name\":\"t/policy@1\",\"change\":\"added\"}]");
}

}  // namespace
}  // namespace pawl::worlds
