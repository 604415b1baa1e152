// What commands that read worlds ask for, and how they print it.
#include <gtest/gtest.h>

#include "cli/testing/scripted_server.h"
#include "cli/world_journal.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

// Pointers of the server are of the request; the user has files.
TEST(WorldReading, InstancesSayWhatTheyWaitFor) {
  ScriptedServer server;
  server.on("GET /v1/worlds/w/instances?module=a%2Fm%401&key=o-1&status=waiting&limit=5",
            R"({"instances":[{"run_id":"r1","module":"a/m@1","key":"o-1","status":"waiting",)"
            R"("last_seq":7,"inflight":[{"effect_kind":"mail.send"},{"effect_kind":"timer.set"},)"
            R"({"effect_kind":"timer.set"}],"error":null},{"run_id":"r2","module":"a/m@1",)"
            R"("key":-3,"status":"failed","last_seq":8,"inflight":[],"error":{"code":"step.trap",)"
            R"("detail":"unreachable","seq":8}}],"next_cursor":"c9"})");
  Ran ran = run_world_command(server, "instances", {"w"},
                              {{"--module", "a/m@1"},
                               {"--instance-key", "o-1"},
                               {"--status", "waiting"},
                               {"--limit", "5"}});
  EXPECT_EQ(ran.out,
            "MODULE  KEY  STATE    SEQ  WAITS FOR                RUN\n"
            "a/m@1   o-1  waiting  7    mail.send, timer.set ×2  r1\n"
            "a/m@1   -3   failed   8    step.trap: unreachable   r2\n"
            "more: --cursor c9\n");
}

TEST(WorldReading, EffectsSaySinceWhen) {
  ScriptedServer server;
  server
      .on("GET /v1/worlds/w/effects?limit=100",
          R"({"effects":[{"kind":"mail.send","state":"inflight","intent_hash":"sha256:aabbccddeeff00",)"
          R"("origin":{"kind":"workflow","name":"a/m@1","emitted_at_seq":7},)"
          R"("lease":{"adapter_id":"post","until":"2023-11-14T22:14:00.000Z"}},)"
          R"({"kind":"pay","state":"queued","intent_hash":"sha256:00","origin":)"
          R"({"kind":"system","name":"system","emitted_at_seq":9}}]})")
      .on("GET /v1/worlds/w/journal?from=7&limit=1",
          R"({"entries":[{"seq":7,"n":0,"record":{"stamp":{"now_ns":1700000000000000000}}}]})")
      .on("GET /v1/worlds/w/journal?from=9&limit=1",
          R"({"entries":[{"seq":10,"n":0,"record":{"stamp":{"now_ns":1700000000000000000}}}]})");
  EXPECT_EQ(run_world_command(server, "effects", {"w"}).out,
            "EFFECT     STATE     ORIGIN  SEQ  SINCE                     INTENT        ADAPTER\n"
            "mail.send  inflight  a/m@1   7    2023-11-14T22:13:20.000Z  aabbccddeeff  post until "
            "2023-11-14T22:14:00.000Z\n"
            "pay        queued    system  9                              00\n");
}

TEST(WorldReading, StateOfAnInstanceByItsBareKey) {
  ScriptedServer server;
  server.on("GET /v1/worlds/w/state/a%2Fm%401?key=o-1",
            R"({"state":{"n":1},"state_b64":"oWFuAQ==","state_hash":"sha256:aa",)"
            R"("meta":{"height":9,"manifest_hash":"sha256:bb","status":"running","last_seq":7}})");
  EXPECT_EQ(run_world_command(server, "state", {"w", "a/m@1", "o-1"}).out,
            "status       running\nlast seq     7\nheight       9\nstate        sha256:aa\n"
            "{\"n\":1}\n");
}

TEST(WorldReading, SummarySaysWhetherAProgramCanBeApplied) {
  const std::string totals =
      R"({"height":9,"totals":{"steps":8,"step_failures":1,"effects":{"intents":3,"receipts":)"
      R"({"ok":1,"error":0,"timeout":0},"faults":0},"policy_decisions":{"allow":3,"deny":0},)"
      R"("cap_decisions":{"allow":3,"deny":1},"workflows":{"total":2,"running":0,"waiting":1,)"
      R"("completed":1,"failed":0,"inflight_intents":1},"governance":{"proposed":1,"shadowed":0,)"
      R"("approved":0,"rejected":0,"applied":0}},"runtime_wait":{"pending_receipts":1,)"
      R"("queued_effects":0},"strict_quiescence":)";
  ScriptedServer server;
  server
      .on("GET /v1/worlds/w/trace-summary",
          totals + R"({"non_terminal_instances":1,"inflight_intents":1,"queued_work":0},)"
                   R"("continuations":[{"run_id":"r1","module":"a/m@1","key":"o-1","intent_hash":)"
                   R"("sha256:aabbccddeeff00","effect_kind":"mail.send","emitted_at_seq":7}]})")
      .on("GET /v1/worlds/w/trace-summary",
          totals + R"({"non_terminal_instances":0,"inflight_intents":0,"queued_work":0},)"
                   R"("continuations":[]})");
  EXPECT_EQ(run_world_command(server, "summary", {"w"}).out,
            "height       9\n"
            "steps        8, 1 failed\n"
            "effects      3 intents, 0 faults\n"
            "receipts     1 ok, 0 error, 0 timeout\n"
            "capabilities 3 allowed, 1 denied\n"
            "policy       3 allowed, 0 denied\n"
            "instances    2 in all, 0 running, 1 waiting, 1 completed, 0 failed\n"
            "proposals    1 proposed, 0 shadowed, 0 approved, 0 rejected, 0 applied\n"
            "waits for    1 receipt, 0 effects queued\n"
            "quiet        no: 1 open instance, 1 open intent, 0 queued\n"
            "\n"
            "MODULE  KEY  WAITS FOR  INTENT        SEQ  RUN\n"
            "a/m@1   o-1  mail.send  aabbccddeeff  7    r1\n");
  EXPECT_NE(run_world_command(server, "summary", {"w"})
                .out.find("quiet        yes: a program can be applied\n"),
            std::string::npos);
}

TEST(WorldReading, ATraceIsOfASeqOrOfACorrelation) {
  ScriptedServer server;
  const char* kTrace =
      R"({"root":{"seq":12,"n":0},"chain":[{"seq":12,"n":1,"kind":"step","cause":[12,0],)"
      R"("route":"subscription","record":{"module":"a/m@1","key":null,"status":"waiting"}}],)"
      R"("live_wait":[{"intent_hash":"sha256:aabbccddeeff00","effect_kind":"mail.send"}],)"
      R"("terminal_state":"waiting_receipt"})";
  server.on("GET /v1/worlds/w/trace?seq=12", kTrace)
      .on("GET /v1/worlds/w/trace?schema=a%2FE%401&correlate_by=%24value.id&value=o-1", kTrace);
  Ran ran = run_world_command(server, "trace", {"w", "12"});
  EXPECT_EQ(ran.out,
            "12.1                                step              a/m@1 → waiting\n\n"
            "state        waiting_receipt\nwaits for    mail.send aabbccddeeff\n");
  EXPECT_EQ(run_world_command(server, "trace", {"w"},
                              {{"--schema", "a/E@1"}, {"--by", "$value.id"}, {"--value", "o-1"}})
                .out,
            ran.out);
  EXPECT_EQ(run_world_command(server, "trace", {"w"}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "trace", {"w"}, {{"--schema", "a/E@1"}}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "trace", {"w", "12"}, {{"--schema", "a/E@1"}}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "trace", {"w", "x"}).code, kUsage);
}

std::string entry(int seq, int n) {
  return R"({"seq":)" + std::to_string(seq) + R"(,"n":)" + std::to_string(n) +
         R"(,"kind":"manifest","record":{"manifest_hash":"sha256:0)" + std::to_string(seq) +
         R"("}})";
}

// No record is missed or printed twice: over pages, pauses, frames of which --kinds takes nothing,
// and a server that was away.
TEST(WorldReading, WatchPrintsEachRecordOnce) {
  ScriptedServer server;
  auto page = [](const std::string& entries, int head, const std::string& cursor = "") {
    return R"({"entries":[)" + entries + R"(],"head":)" + std::to_string(head) +
           (cursor.empty() ? "" : R"(,"next_cursor":")" + cursor + "\"") + "}";
  };
  const std::string journal = "GET /v1/worlds/w/journal?";
  server.on("GET /v1/worlds/w", kWorldReply)
      .on(journal + "from=2&limit=1000", page("", 1))
      .on(journal + "from=2&limit=1000", page(entry(2, 0) + "," + entry(3, 0), 3, "c1"))
      .on(journal + "limit=1000&cursor=c1", page(entry(3, 1), 3))
      .on(journal + "from=4&limit=1000", R"({"error":{"code":"unavailable","message":"m"}})", 503)
      .on(journal + "from=4&limit=1000", page(entry(4, 0), 6))
      .on(journal + "from=7&limit=1000", page("", 6));
  Invocation given;
  given.arguments = {"w"};
  given.options["--url"] = {server.url()};
  Session session(given);
  std::string idles;
  ::testing::internal::CaptureStdout();
  int code = watch_world(session, given, 0, [&](int idle) {
    idles += std::to_string(idle) + " ";
    return idles.size() < 10;
  });
  std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, kDone);
  std::string positions;
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    positions += out.substr(at, 3) + " ";
  EXPECT_EQ(positions, "2.0 3.0 3.1 4.0 ");
  EXPECT_EQ(idles, "0 0 1 0 1 ");
}

TEST(WorldReading, WatchEndsWhereThereIsNoWorld) {
  ScriptedServer server;
  Ran ran = run_world_command(server, "watch", {"w"});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.err, "pawl: not scripted (not_found)\n");
  EXPECT_EQ(run_world_command(server, "watch", {"w"}, {{"--from", "3"}}).code, kRefused);
  EXPECT_EQ(run_world_command(server, "watch", {"w"}, {{"--from", "x"}}).code, kUsage);
}

TEST(WorldReading, DefinitionsAsAListOrOne) {
  ScriptedServer server;
  server.on("GET /v1/worlds/w/defs?limit=1000",
            R"({"defs":[{"name":"a/A@1","kind":"defschema","hash":"sha256:aabbccddeeff00",)"
            R"("node":{"$kind":"defschema","name":"a/A@1","type":{"nat":{}}}}]})");
  EXPECT_EQ(run_world_command(server, "defs", {"w"}).out,
            "NAME   KIND       HASH\na/A@1  defschema  aabbccddeeff\n");
  EXPECT_EQ(run_world_command(server, "defs", {"w", "a/A@1"}).out,
            "name         a/A@1\nkind         defschema\nhash         sha256:aabbccddeeff00\n"
            R"({"$kind":"defschema","name":"a/A@1","type":{"nat":{}}})"
            "\n");
  EXPECT_EQ(run_world_command(server, "defs", {"w", "a/B@1"}).code, kRefused);
}

}  // namespace
}  // namespace pawl::cli
