// What commands that change worlds send, what they print, how they end.
#include "cli/worlds.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/testing/scripted_server.h"

namespace pawl::cli {
namespace {

TEST(Worlds, CreateSendsTheFolder) {
  InWorldFolder folder;
  ScriptedServer server;
  server.on("POST /v1/worlds", kWorldReply, 201);
  Ran ran = run_world_command(server, "create", {"w", "w"});
  EXPECT_EQ(server.body(), std::string(R"({"name":"w",)") + kWorldMembers + "}");
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out,
            "name         w\nid           0189\nstatus       open\nheight       1\n"
            "manifest     sha256:aa\ncreated_at   2026-02-03T04:05:06.007Z\n"
            "\nSend it an event with 'pawl worlds event w SCHEMA JSON'.\n");
  EXPECT_EQ(run_world_command(server, "create", {"w", "w"}, {{"--json", "true"}}).out,
            std::string(kWorldReply) + "\n");
}

TEST(Worlds, ATestWorldHasAClockAndASeed) {
  InWorldFolder folder;
  ScriptedServer server;
  server.on("POST /v1/worlds", kWorldReply, 201);
  run_world_command(server, "create", {"w", "w"}, {{"--test", "true"}, {"--id", "0189"}});
  EXPECT_EQ(server.body(), R"({"name":"w","id":"0189","test":{"now_ns":0,"seed":"w"},)" +
                               std::string(kWorldMembers) + "}");
  run_world_command(server, "create", {"w", "w"},
                    {{"--test", "true"}, {"--now-ns", "2023-11-14T22:13:20Z"}, {"--seed", "s"}});
  EXPECT_EQ(server.body(), R"({"name":"w","test":{"now_ns":1700000000000000000,"seed":"s"},)" +
                               std::string(kWorldMembers) + "}");
  Ran refused = run_world_command(server, "create", {"w", "w"}, {{"--seed", "s"}});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_EQ(refused.err, "pawl: --now-ns and --seed are for worlds made with --test\n");
  EXPECT_EQ(
      run_world_command(server, "create", {"w", "w"}, {{"--test", "true"}, {"--now-ns", "soon"}})
          .code,
      kUsage);
}

TEST(Worlds, FaultsOfAProgramAreShownWhereTheyStand) {
  InWorldFolder folder;
  ScriptedServer server;
  server.on(
      "POST /v1/worlds/w/gov/apply",
      R"({"error":{"code":"manifest.invalid","message":"the program is not valid","details":)"
      R"({"validation_errors":[{"path":"/nodes/1/type/nat","code":"type.invalid","message":"m1"},)"
      R"({"path":"/manifest/routing/inboxes","code":"field.missing","message":"m2"},)"
      R"({"path":"","code":"x","message":"m3"}]}}})",
      422);
  Ran ran = run_world_command(server, "push", {"w", "w"});
  EXPECT_EQ(server.body(), std::string(R"({"direct":true,)") + kWorldMembers + "}");
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "w/nodes/a.yaml:3: error: /1/type/nat: m1 (type.invalid)\n"
            "w/manifest.yaml:2: error: /routing/inboxes: m2 (field.missing)\n"
            "error: m3 (x)\n"
            "pawl: the program is not valid (manifest.invalid); nothing was changed\n");
}

// What reads --json gets a refusal as it gets an answer.
TEST(Worlds, JsonOfARefusalIsPrintedToo) {
  InWorldFolder folder;
  ScriptedServer server;
  const std::string faults =
      R"({"error":{"code":"manifest.invalid","message":"m","details":)"
      R"({"validation_errors":[{"path":"/nodes/1/type","code":"type.invalid","message":"m1"}]}}})";
  const std::string unknown = R"({"error":{"code":"not_found","message":"no world"}})";
  server.on("POST /v1/worlds/w/gov/apply", faults, 422);
  server.on("GET /v1/worlds/w/digest", unknown, 404);
  for (const auto& [command, reply] : {std::pair{"push", faults}, std::pair{"digest", unknown}}) {
    const std::vector<std::string> words = std::string_view(command) == "push"
                                               ? std::vector<std::string>{"w", "w"}
                                               : std::vector<std::string>{"w"};
    const Ran ran = run_world_command(server, command, words, {{"--json", "true"}});
    EXPECT_EQ(ran.code, kRefused) << command;
    EXPECT_EQ(ran.out, reply + "\n") << command;
    EXPECT_NE(ran.err, "") << command;
  }
}

TEST(Worlds, AFolderWithFaultsIsNotSent) {
  InWorldFolder folder;
  folder.add("w/nodes/b.json", "{\n]");
  ScriptedServer server;
  Ran ran = run_world_command(server, "push", {"w", "w"});
  EXPECT_EQ(server.calls(), "");
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.err.substr(0, 17), "w/nodes/b.json:2:");
  EXPECT_NE(ran.err.find("pawl: nothing was sent\n"), std::string::npos);
  EXPECT_EQ(run_world_command(server, "push", {"w", "none"}).code, kUsage);
}

TEST(Worlds, ValidateEndsWithTheVerdict) {
  InWorldFolder folder;
  ScriptedServer server;
  server.on("POST /v1/worlds/validate/manifest/validate",
            R"({"valid":true,"errors":[],"warnings":[{"path":"/manifest/routing","code":"alias",)"
            R"("message":"old name"}],"manifest_hash":"sha256:aa"})");
  Ran ran = run_world_command(server, "validate", {"w"});
  EXPECT_EQ(server.body(), std::string("{") + kWorldMembers + "}");
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out, "valid, manifest sha256:aa\n");
  EXPECT_EQ(ran.err, "w/manifest.yaml:2: warning: /routing: old name (alias)\n");

  const char* kInvalid =
      R"({"valid":false,"errors":[{"path":"/nodes/0","code":"kind.unknown","message":"m"}],"warnings":[]})";
  server.on("POST /v1/worlds/v/manifest/validate", kInvalid);
  ran = run_world_command(server, "validate", {"w"}, {{"--world", "v"}});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.err, "w/nodes/a.yaml:1: error: /0: m (kind.unknown)\npawl: 1 error\n");
  ran = run_world_command(server, "validate", {"w"}, {{"--world", "v"}, {"--json", "true"}});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.out, std::string(kInvalid) + "\n");
}

TEST(Worlds, ABlockedApplySaysWhatMustEnd) {
  ScriptedServer server;
  server.on("POST /v1/worlds/w/gov/apply",
            R"({"error":{"code":"apply.blocked","message":"the world is not quiet","details":)"
            R"({"blockers":{"non_terminal_instances":[{"run_id":"r1","module":"a/m@1","key":"o-1",)"
            R"("status":"waiting"}],"inflight_intents":[{"run_id":"r1","intent_hash":)"
            R"("sha256:aabbccddeeff00","effect_kind":"mail.send","age_ns":65000000000}],)"
            R"("queued_work":1}}}})",
            409);
  Ran ran = run_world_command(server, "apply", {"w", "p7"});
  EXPECT_EQ(server.body(), R"({"proposal_id":"p7"})");
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.err,
            "pawl: the world is not quiet (apply.blocked)\n"
            "      RUN  MODULE  KEY  STATE\n"
            "      r1   a/m@1   o-1  waiting\n"
            "      RUN  EFFECT     INTENT        OPEN FOR\n"
            "      r1   mail.send  aabbccddeeff  1 min 5 s\n"
            "      1 intent not taken by an adapter, timers included\n"
            "      Nothing was changed. Let them end, or end one with 'pawl runs cancel RUN';\n"
            "      'pawl worlds summary w' says when it is quiet.\n");
}

TEST(Worlds, RefusalsNameTheNextStep) {
  const std::tuple<const char*, const char*, const char*> kCases[] = {
      {"replay", R"("replay.divergence","details":{"seq":7})", "worlds journal w --from 7'"},
      {"replay", R"("replay.genesis_gone")", "--from baseline"},
      {"snapshot", R"("world.quarantined")", "'pawl worlds get w'"}};
  for (const auto& [command, code, hint] : kCases) {
    ScriptedServer server;
    server.on("POST /v1/worlds/w/" + std::string(command),
              R"({"error":{"message":"m","code":)" + std::string(code) + "}}", 409);
    Ran ran = run_world_command(server, command, {"w"});
    EXPECT_EQ(ran.code, kRefused);
    EXPECT_NE(ran.err.find(hint), std::string::npos) << ran.err;
  }
  ScriptedServer server;
  server.on("DELETE /v1/worlds/w", R"({"error":{"code":"world.busy","message":"m"}})", 409)
      .on("DELETE /v1/worlds/w?force=true", "{}");
  EXPECT_NE(run_world_command(server, "delete", {"w"}).err.find("--force"), std::string::npos);
  EXPECT_EQ(run_world_command(server, "delete", {"w"}, {{"--force", "true"}}).out,
            "w is deleted\n");
}

TEST(Worlds, EventsAreSentAsTheyAreWritten) {
  InWorldFolder folder;
  folder.add("e.json", R"({"n": 18446744073709551615})");
  ScriptedServer server;
  server.on("POST /v1/worlds/w/events",
            R"({"seq":12,"event_hash":"sha256:aa","deliveries":[{"module":"a/m@1","key":"o-1",)"
            R"("run_id":"r1","outcome":"stepped"},{"module":"a/n@1","key":null,"run_id":"r2",)"
            R"("outcome":"skipped"}],"duplicate":false})");
  Ran ran = run_world_command(server, "event", {"w", "a/E@1", "@e.json"});
  EXPECT_EQ(server.body(), R"({"schema":"a/E@1","value":{"n": 18446744073709551615}})");
  EXPECT_EQ(ran.out,
            "seq          12\nevent        sha256:aa\n"
            "MODULE  KEY  STATE    RUN\n"
            "a/m@1   o-1  stepped  r1\n"
            "a/n@1   -    skipped  r2\n"
            "All that came of it: 'pawl worlds trace w 12'\n");
  const std::pair<const char*, const char*> kKeys[] = {
      {"o-1", R"("o-1")"}, {"7", "7"}, {"\"7\"", R"("7")"}};
  for (const auto& [given, sent] : kKeys) {
    run_world_command(server, "event", {"w", "a/E@1", "1"},
                      {{"--instance-key", given}, {"--client-id", "c"}, {"--tagged", "true"}});
    EXPECT_EQ(server.body(), R"({"schema":"a/E@1","value":1,"lens":"tagged","key":)" +
                                 std::string(sent) + R"(,"client_id":"c"})");
  }
  Ran wrong = run_world_command(server, "event", {"w", "a/E@1", "text"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_NE(wrong.err.find("text needs quotes"), std::string::npos) << wrong.err;
}

TEST(Worlds, AnEventSaysWhereToLookWhenAStepFailed) {
  ScriptedServer server;
  server.on("POST /v1/worlds/w/events",
            R"({"seq":12,"event_hash":"sha256:aa","deliveries":[{"module":"a/m@1","key":null,)"
            R"("run_id":"r1","outcome":"failed"}],"duplicate":true})");
  Ran ran = run_world_command(server, "event", {"w", "a/E@1", "1"});
  EXPECT_EQ(ran.out.substr(0, 28), "this event was taken before\n");
  EXPECT_NE(ran.out.find("Why: 'pawl worlds diagnose w r1'\n"), std::string::npos) << ran.out;
}

TEST(Worlds, ProposalsLeadFromStepToStep) {
  InWorldFolder folder;
  ScriptedServer server;
  auto proposal = [](const std::string& state) {
    return R"({"proposal":{"proposal_id":"p7","state":")" + state +
           R"(","manifest_hash":"sha256:aa","base":"sha256:bb","description":null}})";
  };
  server.on("POST /v1/worlds/w/gov/propose", proposal("submitted"), 201)
      .on("POST /v1/worlds/w/gov/shadow",
          R"({"report":{"manifest_hash":"sha256:aa","base":"sha256:bb","at_height":9,)"
          R"("observed_effects":[{"kind":"mail.send","cap_name":"mail","params":{"to":"x"},)"
          R"("module":"a/m@1","key":"o-1","decision":"deny","code":"expired"}],)"
          R"("pending_receipts":[],"instances":[{"module":"a/m@1","key":"o-1","status":"running",)"
          R"("last_seq":10,"inflight":[]}],"failures":[{"module":"a/n@1","key":null,)"
          R"("code":"step.trap"}],"deltas":{"defs":[{"name":"a/N@1","change":"added"}],)"
          R"("caps":[{"name":"mail","change":"removed"}],"policies":[{"name":"p","change":)"
          R"("changed"}],"states":[{"module":"a/m@1","key":"o-1","before":"sha256:01","after":null}]},)"
          R"("horizon":{"inputs":1,"steps":2,"fuel":345,"unmatched_receipts":0,)"
          R"("stopped_by":"idle"}}})")
      .on("POST /v1/worlds/w/gov/approve", proposal("approved"))
      .on("POST /v1/worlds/w/gov/reject", proposal("rejected"))
      .on("POST /v1/worlds/w/gov/apply", R"({"manifest_hash":"sha256:aa","seq":12})");
  Ran ran = run_world_command(server, "propose", {"w", "w"},
                              {{"--base", "sha256:bb"}, {"--description", "d"}});
  EXPECT_EQ(server.body(),
            std::string("{") + kWorldMembers + R"(,"base":"sha256:bb","description":"d"})");
  EXPECT_NE(ran.out.find("Try it with 'pawl worlds shadow w p7'.\n"), std::string::npos) << ran.out;

  folder.add("events.json", R"([{"schema":"a/E@1","value":1}])");
  ran =
      run_world_command(server, "shadow", {"w", "p7"},
                        {{"--events", "events.json"}, {"--from-seq", "5"}, {"--max-steps", "10"}});
  EXPECT_EQ(server.body(),
            R"({"proposal_id":"p7","events":[{"schema":"a/E@1","value":1}],"from_seq":5,)"
            R"("max_steps":10})");
  EXPECT_EQ(ran.out,
            "manifest     sha256:aa\nbase         sha256:bb\nat height    9\n"
            "tried        1 input, 2 steps, fuel 345, until idle\npending      0 receipts\n"
            "+ a/N@1\n- mail\n~ p\n~ state of a/m@1 o-1: 01 → none\n"
            "\nEFFECT     DECISION        CAPABILITY  MODULE  KEY  PARAMS\n"
            "mail.send  deny (expired)  mail        a/m@1   o-1  {\"to\":\"x\"}\n"
            "\nMODULE  KEY  STATE    SEQ  WAITS FOR\na/m@1   o-1  running  10\n"
            "\nFAILED  KEY  CODE\na/n@1   -    step.trap\n"
            "\nNothing was changed. Approve it with 'pawl worlds approve w p7', or reject it with "
            "'pawl worlds reject w p7'.\n");
  EXPECT_NE(run_world_command(server, "approve", {"w", "p7"})
                .out.find("Apply it with 'pawl worlds apply w p7'."),
            std::string::npos);
  EXPECT_EQ(run_world_command(server, "reject", {"w", "p7"}).out.find(" it with "),
            std::string::npos);
  EXPECT_EQ(run_world_command(server, "apply", {"w", "p7"}).out,
            "applied as seq 12, manifest sha256:aa\n");
  folder.add("events.json", "{}");
  EXPECT_EQ(run_world_command(server, "shadow", {"w", "p7"}, {{"--events", "events.json"}}).code,
            kUsage);
}

TEST(Worlds, AdaptersTakeKeysAsBase64OrHexAndSecretsFromFiles) {
  InWorldFolder folder;
  folder.add("text.key", "0123456789abcdef\n");
  folder.add("random.key",
             std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11\x12\x13\x14\x15\n", 16));
  folder.add("short.key", "0123456789abcde\n");
  ScriptedServer server;
  server.on("PUT /v1/worlds/w/adapters/stripe", "{}")
      .on("DELETE /v1/worlds/w/adapters/stripe", "{}")
      .on("GET /v1/worlds/w/adapters",
          R"({"adapters":[{"id":"pawl","algorithm":"ed25519","public_key":"kk=="},)"
          R"({"id":"other","algorithm":"ed25519","public_key":"oo=="},)"
          R"({"id":"stripe","algorithm":"hmac-sha256","kinds":["pay","refund"]}]})");
  auto put = [&](const Given& options) {
    Ran ran = run_world_command(server, "adapters", {"w", "put", "stripe"}, options);
    return ran.code == kDone ? server.body() : std::to_string(ran.code);
  };
  EXPECT_EQ(put({{"--hmac-secret-file", "text.key"}, {"--kinds", "pay,refund"}}),
            R"({"algorithm":"hmac-sha256","secret":"MDEyMzQ1Njc4OWFiY2RlZg==",)"
            R"("kinds":["pay","refund"]})");
  EXPECT_EQ(put({{"--hmac-secret-file", "random.key"}}),
            R"({"algorithm":"hmac-sha256","secret":"AQIDBAUGBwgJEBESExQVCg=="})");
  EXPECT_EQ(
      put({{"--ed25519", std::string(64, '0')}}),
      R"({"algorithm":"ed25519","public_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})");
  EXPECT_EQ(
      put({{"--ed25519", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}),
      R"({"algorithm":"ed25519","public_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})");
  for (const Given& wrong :
       {Given{}, Given{{"--ed25519", "AAAA"}}, Given{{"--ed25519", "0g"}},
        Given{{"--hmac-secret-file", "short.key"}}, Given{{"--hmac-secret-file", "none.key"}},
        Given{{"--hmac-secret-file", "text.key"}, {"--ed25519", "00"}}})
    EXPECT_EQ(put(wrong), "2");
  EXPECT_EQ(run_world_command(server, "adapters", {"w", "delete", "stripe"}).code, kDone);
  EXPECT_EQ(run_world_command(server, "adapters", {"w", "show", "stripe"}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "adapters", {"w"}).out,
            "ADAPTER  SIGNS WITH   KINDS                  PUBLIC KEY\n"
            "pawl     ed25519      built-in ones          kk==\n"
            "other    ed25519      all but built-in ones  oo==\n"
            "stripe   hmac-sha256  pay,refund\n");
}

TEST(Worlds, AnEffectIsSettledByTheBeginningOfItsHash) {
  InWorldFolder folder;
  folder.add("text.key", "0123456789abcdef\n");
  const std::string hash =
      "sha256:e8dd8652afd952af344792d187233a8e181bba29a9ee26a7c25024580ac00f26";
  ScriptedServer server;
  server.on("GET /v1/worlds/w", R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057"})")
      .on("GET /v1/worlds/w/effects?limit=1000",
          R"({"effects":[{"intent_hash":"sha256:e8aa00"}],"next_cursor":"c"})")
      .on("GET /v1/worlds/w/effects?limit=1000&cursor=c",
          R"({"effects":[{"intent_hash":")" + hash + R"("}]})")
      .on("POST /v1/worlds/w/receipts", R"({"outcome":"settled","seq":14})")
      .on("POST /v1/worlds/w/receipts", R"({"outcome":"duplicate","seq":null})")
      .on("POST /v1/worlds/w/receipts", R"({"outcome":"instance_failed","seq":15})");
  const Given signer = {{"--adapter", "stripe"}, {"--hmac-secret-file", "text.key"}};
  auto settle = [&](const char* intent, const Given& options) {
    return run_world_command(server, "settle", {"w", intent, "ok", R"({"charge_id": "ch_1"})"},
                             options);
  };
  EXPECT_EQ(settle("e8dd8652afd9", signer).out, "settled as seq 14\n");
  EXPECT_EQ(server.body(), R"({"intent_hash":")" + hash +
                               R"(","adapter_id":"stripe","status":"ok","payload":)"
                               R"({"charge_id": "ch_1"},"sig":)"
                               R"("6zeIkgLdBUK83qkxx8bzsL0gh0OOVA8KadEPXIrvOoQ="})");
  EXPECT_EQ(settle(hash.c_str(), signer).out, "it was settled before; nothing was changed\n");
  Given with_cost = signer;
  with_cost["--cost-cents"] = "7";
  Ran failed = settle("sha256:e8dd", with_cost);
  EXPECT_EQ(failed.code, kRefused);
  EXPECT_NE(failed.out.find("the instance failed of it"), std::string::npos);
  EXPECT_NE(server.body().find(R"("cost_cents":7,"sig":")"), std::string::npos);
  EXPECT_EQ(server.body().find("6zeIkgLdBUK"), std::string::npos) << "the cost is signed too";

  EXPECT_EQ(settle("e8", signer).code, kUsage);
  EXPECT_EQ(settle("e8ddxx", signer).code, kUsage);
  EXPECT_EQ(settle("0000", signer).err, "pawl: no open intent begins with \"0000\"\n");
  EXPECT_EQ(settle(hash.c_str(), {{"--adapter", "stripe"}}).code, kUsage);
  EXPECT_EQ(settle(hash.c_str(), {{"--hmac-secret-file", "text.key"}}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "settle", {"w", hash, "ok", "{\"x\":0.5}"}, signer).code,
            kUsage);
}

TEST(Worlds, LeasesAndEffectsOfTheOperator) {
  ScriptedServer server;
  server
      .on("POST /v1/worlds/w/effects/lease",
          R"({"effects":[{"kind":"pay","intent_hash":"sha256:aabbccddeeff00","idempotency_key":)"
          R"("00112233445566778899","lease_until":"2023-11-14T22:14:00.000Z","params":{"n":1}}]})")
      .on("POST /v1/worlds/w/system/effects", R"({"intent_hash":"sha256:aa","seq":9})", 201);
  Ran ran = run_world_command(server, "lease", {"w", "stripe"},
                              {{"--kinds", "pay,refund"}, {"--lease-ms", "500"}});
  EXPECT_EQ(server.body(), R"({"adapter_id":"stripe","kinds":["pay","refund"],"lease_ms":500})");
  EXPECT_EQ(ran.out,
            "EFFECT  INTENT        UNTIL                     IDEMPOTENCY KEY   PARAMS\n"
            "pay     aabbccddeeff  2023-11-14T22:14:00.000Z  0011223344556677  {\"n\":1}\n"
            "Settle one with 'pawl worlds settle w INTENT ok JSON --adapter stripe …'.\n");
  EXPECT_EQ(run_world_command(server, "lease", {"w", "stripe"}).code, kUsage);
  EXPECT_EQ(run_world_command(server, "system-effect", {"w", "pay", "{\"n\":1}", "payments"}).out,
            "intent       sha256:aa\nseq          9\n");
  EXPECT_EQ(server.body(), R"({"kind":"pay","params":{"n":1},"cap":"payments"})");
}

TEST(Worlds, BlobsComeBackByteForByte) {
  InWorldFolder folder;
  const std::string bytes("\0\x01\xff\n", 4);
  folder.add("b.bin", bytes);
  ScriptedServer server;
  server.on("POST /v1/worlds/w/blobs", R"({"blob_ref":"sha256:aa","size":4})", 201)
      .on("GET /v1/worlds/w/blobs/sha256%3Aaa", bytes);
  EXPECT_EQ(run_world_command(server, "blob", {"w", "put", "b.bin"}).out,
            "blob         sha256:aa\nsize         4 B\n");
  EXPECT_EQ(server.body(), bytes);
  EXPECT_EQ(run_world_command(server, "blob", {"w", "get", "sha256:aa"}).out, bytes);
  run_world_command(server, "blob", {"w", "get", "sha256:aa"}, {{"--output", "c.bin"}});
  EXPECT_EQ(std::filesystem::file_size("c.bin"), 4u);
  EXPECT_EQ(run_world_command(server, "blob", {"w", "move", "x"}).code, kUsage);
}

TEST(Worlds, AStepThatFailsFailsTheCommand) {
  InWorldFolder folder;
  folder.add("step.json", R"({"module":"a/m@1"})");
  ScriptedServer server;
  server
      .on("POST /v1/worlds/w/step-test",
          R"({"state":{"n":1},"state_b64":"oA==","status":"running","error":null,"domain_events":)"
          R"([{"schema":"a/E@1","value":{"x":1},"key":null}],"effects":[{"kind":"mail.send",)"
          R"("params":{"to":"x"},"cap_slot":"mail"}],"ann_b64":null,"fuel":77})")
      .on("POST /v1/worlds/w/step-test",
          R"({"failed":{"code":"step.trap","detail":"unreachable"},"fuel":5})");
  Ran ran = run_world_command(server, "step-test", {"w", "step.json"});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out,
            "status       running\nfuel         77\nstate\n{\"n\":1}\n"
            "\nEVENT  KEY  VALUE\na/E@1  -    {\"x\":1}\n"
            "\nEFFECT     SLOT  PARAMS\nmail.send  mail  {\"to\":\"x\"}\n");
  ran = run_world_command(server, "step-test", {"w", "step.json"});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.out, "failed       step.trap\ndetail       unreachable\nfuel         5\n");
  EXPECT_EQ(run_world_command(server, "step-test", {"w", "none.json"}).code, kUsage);
}

TEST(Worlds, TheClockTakesNanosecondsOrATime) {
  ScriptedServer server;
  server.on("POST /v1/worlds/w/clock", R"({"now_ns":1700000000000000000,"fired":1})");
  EXPECT_EQ(run_world_command(server, "clock", {"w", "2023-11-14T22:13:20Z"}).out,
            "the clock stands at 2023-11-14T22:13:20.000Z (1700000000000000000); 1 timer fired\n");
  EXPECT_EQ(server.body(), R"({"now_ns":1700000000000000000})");
  run_world_command(server, "clock", {"w", "9223372036854775807"});
  EXPECT_EQ(server.body(), R"({"now_ns":9223372036854775807})");
  for (const char* wrong : {"9223372036854775808", "-1", "now", "", "9999-01-01T00:00:00Z"})
    EXPECT_EQ(run_world_command(server, "clock", {"w", wrong}).code, kUsage) << wrong;
}

TEST(Worlds, EveryCommandIsDescribed) {
  std::map<std::string, int> seen;
  for (const Command& command : world_commands()) {
    EXPECT_EQ(++seen[command.path], 1) << command.path;
    EXPECT_FALSE(command.summary.empty()) << command.path;
    std::map<std::string, int> options;
    for (const Option& option : command.options) {
      EXPECT_EQ(++options[option.name], 1) << command.path << " has " << option.name << " twice";
      EXPECT_FALSE(option.help.empty()) << command.path << " " << option.name;
    }
  }
}

}  // namespace
}  // namespace pawl::cli
