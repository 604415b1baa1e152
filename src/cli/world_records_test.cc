#include "cli/world_records.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

std::string line_of(const std::string& kind, const std::string& record) {
  std::string text = R"({"seq":12,"n":3,"kind":")" + kind + R"(","record":)" + record + "}";
  auto doc = json::parse(text);
  PAWL_CHECK(doc.ok());
  std::string line = world_record_line(doc->root(), false);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  return line.substr(0, line.size() - 1);
}

// Without position, time and kind.
std::string text_of_record(const std::string& kind, const std::string& record) {
  std::string line = line_of(kind, record);
  return line.size() < 54 ? "" : line.substr(54);
}

TEST(WorldRecordLine, BeginsWithPositionTimeAndKind) {
  EXPECT_EQ(line_of("manifest", R"({"manifest_hash":"sha256:0123456789abcdef"})"),
            "12.3                                manifest          0123456789ab");
  EXPECT_EQ(line_of("instance", R"({"module":"a/B@1","key":"Y28tMQ==","action":"terminated",)"
                                R"("dropped":2,"stamp":{"now_ns":1700000000123456789}})"),
            "12.3      2023-11-14T22:13:20.123Z  instance          a/B@1 o-1 terminated, 2 "
            "intents dropped");
}

// Bytes of records are canonical CBOR in base64: shown as the JSON that one would type.
TEST(WorldRecordLine, SaysWhatCounts) {
  const std::tuple<const char*, const char*, const char*> kRecords[] = {
      {"domain_event",
       R"({"schema":"a/Order@1","value":"omhvcmRlcl9pZGNvLTFsYW1vdW50X2NlbnRzGRBo","key":null,)"
       R"("client_id":"c1","cause":null})",
       R"(a/Order@1 {"order_id":"o-1","amount_cents":4200} by c1)"},
      {"domain_event", R"({"schema":"a/B@1","value":"AQ==","key":"Y28tMQ==","cause":[12,1]})",
       R"(a/B@1 1 key "o-1" from step 12.1)"},
      {"step",
       R"({"module":"a/m@1","key":"Y28tMQ==","status":"waiting","route":"continuation",)"
       R"("module_version":"sha256:aabbccddeeff0011"})",
       "a/m@1 o-1 → waiting, version aabbccddeeff, continued"},
      {"step", R"({"module":"a/m@1","key":null,"status":"completed","route":"subscription"})",
       "a/m@1 → completed"},
      {"step_failed", R"({"module":"a/m@1","key":null,"code":"step.trap","detail":"unreachable"})",
       "a/m@1 step.trap: unreachable"},
      {"cap_decision",
       R"({"effect_kind":"mail.send","cap_name":"mail","decision":"deny",)"
       R"("deny":{"code":"expired","message":"since yesterday"}})",
       "deny mail.send by mail: expired (since yesterday)"},
      {"cap_decision",
       R"({"effect_kind":"mail.send","cap_name":"mail","decision":"allow","deny":null})",
       "allow mail.send by mail"},
      {"policy_decision",
       R"({"intent_hash":"sha256:aabbccddeeff0011","policy_name":"p","rule_index":0,)"
       R"("decision":"allow"})",
       "allow by p rule 0, intent aabbccddeeff"},
      {"policy_decision", R"({"policy_name":"allow_all","rule_index":null,"decision":"allow"})",
       "allow by allow_all"},
      {"effect_intent",
       R"({"intent_hash":"sha256:aabbccddeeff0011","kind":"timer.set","params":"oWFuBw=="})",
       R"(timer.set aabbccddeeff {"n":7})"},
      {"effect_receipt",
       R"({"intent_hash":"sha256:aabbccddeeff0011","adapter_id":"stripe","status":"ok",)"
       R"("payload":"oWFuBw==","cost_cents":3})",
       R"(ok aabbccddeeff from stripe {"n":7}, cost 3 cents)"},
      {"receipt_fault",
       R"({"intent_hash":"sha256:aabbccddeeff0011","code":"receipt.invalid_payload",)"
       R"("delivered_rejected":false,"workflow_failed":true,"dropped":1})",
       "receipt.invalid_payload aabbccddeeff, the instance failed, 1 intent dropped"},
      {"governance", R"({"action":"approved","proposal_id":"p7","manifest_hash":"sha256:00"})",
       "approved p7 00"},
      {"delivery_skipped", R"({"module":"a/m@1","key":null,"code":"instance.failed"})",
       "a/m@1 instance.failed"},
      {"snapshot", R"({"snapshot_ref":"sha256:aa","height":11})", "of height 11, blob sha256:aa"},
      {"legacy_plan_started", R"({"plan":"x"})", R"({"plan":"x"})"}};
  for (const auto& [kind, record, text] : kRecords)
    EXPECT_EQ(
        text_of_record(kind, record).substr(kind == std::string("legacy_plan_started") ? 3 : 0),
        text)
        << kind;
}

// A newer server may send what this program does not know.
TEST(WorldRecordLine, OddRecordsAreStillALine) {
  for (const char* record : {"null", "[]", "7", "{}", R"({"stamp":7,"module":[],"cause":{}})"})
    for (const char* kind : {"step", "domain_event", "effect_intent", "new\\nkind"})
      EXPECT_EQ(line_of(kind, record).substr(0, 4), "12.3") << kind << record;
}

TEST(WorldRecordLine, NothingInARecordCanControlTheTerminal) {
  EXPECT_EQ(text_of_record("step_failed", R"({"module":"m","code":"\u001b[2J","detail":"a\nb"})"),
            "m ?[2J: a?b");
}

}  // namespace
}  // namespace pawl::cli
