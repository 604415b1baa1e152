// What every world has: sys/* and the constraints of its caps.
#include "worlds/builtins.h"

#include <gtest/gtest.h>

#include "worlds/testing/program_text.h"
#include "worlds/type.h"

namespace pawl::worlds {
namespace {

std::shared_ptr<const Program> bare_program() {
  const ProgramText text = read_body(R"({"manifest":{"air_version":"1"}})");
  EXPECT_NE(text.program, nullptr);
  return text.program;
}

std::string bytes_of(const Type& type, std::string_view sugar) {
  const Result<json::Doc> doc = json::parse(sugar);
  if (!doc.ok()) return "bad json";
  Result<std::string> bytes = from_json(type, doc->root());
  return bytes.ok() ? *std::move(bytes) : "refused: " + bytes.error().message;
}

TEST(Builtins, EffectsHaveTheirKindsTypesAndCaps) {
  const auto program = bare_program();
  std::vector<std::string> lines;
  for (const auto& [kind, effect] : program->effects) {
    lines.push_back(kind + " " + effect.cap_type + " " + effect.params_schema + " " +
                    effect.receipt_schema);
    EXPECT_TRUE(is_builtin_effect(kind));
    EXPECT_EQ(effect.params_type, program->types.find(effect.params_schema));
    EXPECT_EQ(effect.receipt_type, program->types.find(effect.receipt_schema));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "blob.get blob sys/BlobGetParams@1 sys/BlobGetReceipt@1",
                       "blob.put blob sys/BlobPutParams@1 sys/BlobPutReceipt@1",
                       "http.request http.out sys/HttpRequestParams@1 sys/HttpRequestReceipt@1",
                       "job.run job sys/JobRunParams@1 sys/JobRunReceipt@1",
                       "run.start run sys/RunStartParams@1 sys/RunStartReceipt@1",
                       "timer.set timer sys/TimerSetParams@1 sys/TimerSetReceipt@1",
                   }));
  EXPECT_TRUE(is_reserved_effect("governance.reject"));
  EXPECT_FALSE(is_builtin_effect("governance.reject"));
  EXPECT_FALSE(is_reserved_effect("payment.charge"));
  EXPECT_TRUE(program->defs.empty());  // never listed
}

// A value of each type, written as the contract does: read, printed and read again.
TEST(Builtins, EveryTypeReadsAndPrintsItsValues) {
  const std::string hash = "\"sha256:" + std::string(64, '1') + "\"";
  const std::string envelope_head = R"("origin_module_id":"m","origin_instance_key":"YQ==",)";
  const std::string intent =
      R"("intent_id":)" + hash + R"(,"effect_kind":"k","params_hash":)" + hash;
  const std::pair<std::string, std::string> samples[] = {
      {"sys/TextOrSecretRef@1", R"({"$tag":"secret","$value":{"alias":"a","version":1}})"},
      {"sys/TextOrSecretRef@1", R"({"$tag":"literal","$value":"x"})"},
      {"sys/EffectError@1", R"({"code":"c","message":"m"})"},
      {"sys/TimerSetParams@1", R"({"deliver_at_ns":5,"key":"k"})"},
      {"sys/TimerSetReceipt@1", R"({"delivered_at_ns":5,"key":null})"},
      {"sys/BlobPutParams@1", R"({"bytes":"YQ=="})"},
      {"sys/BlobPutReceipt@1", R"({"blob_ref":)" + hash + R"(,"size":1})"},
      {"sys/BlobGetParams@1", R"({"blob_ref":)" + hash + "}"},
      {"sys/BlobGetReceipt@1", R"({"bytes":"YQ==","size":1})"},
      {"sys/HttpRequestParams@1",
       R"({"method":"GET","url":"http://a/","headers":{"A":{"literal":"b"}},"body":"","timeout_ms":5})"},
      {"sys/HttpRequestReceipt@1", R"({"status":200,"headers":{"A":"b"},"body":"YQ=="})"},
      {"sys/JobRunParams@1", R"({"type":"t","args_json":"[]","queue":"q","options_json":"{}"})"},
      {"sys/JobRunReceipt@1", R"({"job_id":"j","result_json":null})"},
      {"sys/RunStartParams@1", R"({"definition":"d","version":null,"inputs_json":"{}"})"},
      {"sys/RunStartReceipt@1", R"({"run_id":"r","output_json":"1"})"},
      {"sys/EffectReceiptEnvelope@1",
       "{" + envelope_head + intent +
           R"(,"receipt_payload":"YQ==","status":"ok","emitted_at_seq":2,"adapter_id":"a",)"
           R"("cost_cents":3,"signature":"YQ=="})"},
      {"sys/EffectReceiptRejected@1",
       "{" + envelope_head + intent +
           R"(,"adapter_id":"a","status":"ok","error_code":"c","error_message":"m",)"
           R"("payload_hash":)" +
           hash + R"(,"payload_size":4,"emitted_at_seq":2})"},
      {"sys/EffectDenied@1",
       "{" + envelope_head + R"("effect_kind":"k","params_hash":)" + hash +
           R"(,"effect_index":0,"stage":"cap","code":"c","message":"m","emitted_at_seq":2})"},
      {"sys/TimerFired@1", R"({"intent_id":)" + hash +
                               R"(,"status":"ok","requested":{"deliver_at_ns":5},)"
                               R"("receipt":{"delivered_at_ns":5}})"},
      {"sys/BlobPutResult@1", R"({"intent_id":)" + hash +
                                  R"(,"status":"ok","requested":{"bytes":""},)"
                                  R"("receipt":{"blob_ref":)" +
                                  hash + R"(,"size":0}})"},
      {"sys/BlobGetResult@1", R"({"intent_id":)" + hash +
                                  R"(,"status":"ok","requested":{"blob_ref":)" + hash +
                                  R"(},"receipt":{"bytes":"","size":0}})"},
      {"sys/WorkflowContext@1",
       R"({"now_ns":1,"logical_now_ns":2,"journal_height":3,"entropy":"YQ==","event_hash":)" +
           hash + R"(,"manifest_hash":)" + hash +
           R"(,"workflow":"w","key":null,"cell_mode":true})"},
      {"sys/PureContext@1",
       R"({"logical_now_ns":2,"journal_height":3,"manifest_hash":)" + hash + R"(,"module":"m"})"},
      {"sys/CapCheckInput@1",
       R"({"cap_def":"c","grant_name":"g","cap_params":"","effect_kind":"k","effect_params":"",)"
       R"("origin":{"kind":"workflow","name":"n"},"logical_now_ns":1})"},
      {"sys/CapCheckOutput@1", R"({"constraints_ok":false,"deny":{"code":"c","message":"m"}})"},
  };
  const auto program = bare_program();
  std::set<std::string, std::less<>> sampled;
  for (const auto& [name, sugar] : samples) {
    sampled.insert(name);
    const TypeRef type = program->types.find(name);
    ASSERT_NE(type, nullptr) << name;
    const std::string bytes = bytes_of(*type, sugar);
    ASSERT_FALSE(bytes.starts_with("refused")) << name << " " << bytes;
    std::string printed;
    append_json(printed, *type, bytes);
    EXPECT_EQ(bytes_of(*type, printed), bytes) << name << " " << printed;
    EXPECT_TRUE(bytes_of(*type, R"({"other":1})").starts_with("refused")) << name;
  }
  for (const BuiltinSchema& schema : builtin_schemas()) EXPECT_TRUE(sampled.contains(schema.name));
}

class Constraints : public ::testing::Test {
 protected:
  // "granted", or the code of the denial.
  std::string check(const std::string& cap, const std::string& kind, std::string_view grant,
                    std::string_view params) {
    const Cap& of = program_->caps.at(cap);
    const std::string grant_bytes = bytes_of(of.type, grant);
    const std::string param_bytes = bytes_of(*program_->effect(kind)->params_type, params);
    const Result<cbor::Item> grant_item = cbor::read(grant_bytes);
    const Result<cbor::Item> param_item = cbor::read(param_bytes);
    if (!grant_item.ok() || !param_item.ok()) return grant_bytes + param_bytes;
    const auto fault = check_builtin_cap(of.cap_type, *grant_item, *param_item);
    return fault ? fault->code : "granted";
  }
  std::string http(std::string_view grant, const std::string& url,
                   const std::string& method = "GET") {
    return check("sys/HttpOut@1", "http.request", grant,
                 R"({"url":")" + url + R"(","method":")" + method + "\"}");
  }
  std::string job(std::string_view grant, std::string_view params) {
    return check("sys/Job@1", "job.run", grant, params);
  }

  std::shared_ptr<const Program> program_ = bare_program();
};

TEST_F(Constraints, AGrantWithoutAnyAllowsAnything) {
  EXPECT_EQ(http("{}", "http://anywhere/"), "granted");
  EXPECT_EQ(http("{}", "no address at all"), "granted");
  EXPECT_EQ(job("{}", R"({"type":"t","args_json":"[]"})"), "granted");
  EXPECT_EQ(check("sys/Run@1", "run.start", "{}", R"({"definition":"d"})"), "granted");
  EXPECT_EQ(check("sys/Timer@1", "timer.set", "{}", R"({"deliver_at_ns":1})"), "granted");
  EXPECT_EQ(check("sys/Blob@1", "blob.put", "{}", R"({"bytes":""})"), "granted");
}

TEST_F(Constraints, AnEmptySetAllowsNothing) {
  EXPECT_EQ(http(R"({"hosts":[]})", "http://a/"), "constraint");
  EXPECT_EQ(http(R"({"methods":[]})", "http://a/"), "constraint");
  EXPECT_EQ(job(R"({"types":[]})", R"({"type":"t","args_json":"[]"})"), "constraint");
}

TEST_F(Constraints, AHostIsTheOneThatIsContacted) {
  const std::string_view grant = R"({"hosts":["api.acme.com","127.0.0.1","::1"]})";
  for (const char* url :
       {"https://api.acme.com", "https://API.Acme.COM/x", "http://api.acme.com:8080/x?y#z",
        "http://127.0.0.1:9/", "http://[::1]:80/", "http://api.acme.com?@evil.com"})
    EXPECT_EQ(http(grant, url), "granted") << url;
  for (const char* url : {"https://evil.com/",
                          "https://api.acme.com.evil.com/",
                          "https://api.acme.com@evil.com/",
                          "https://evil.com/api.acme.com",
                          "https://evil.com\\\\@api.acme.com/",
                          "https://user@api.acme.com/",
                          "https://api.acme.com%2eevil.com/",
                          "https:///api.acme.com/",
                          "https:api.acme.com",
                          "//api.acme.com/",
                          "api.acme.com",
                          "",
                          "https://api.acme.com /",
                          "https://api.acme.com\\r\\n/",
                          "https://api.acme.com./",
                          "https://api.acme.com:99999999/",
                          "https://api.acme.com:80x/",
                          "http://[::1/",
                          "http://::1/",
                          "http://[api.acme.com]/",
                          "https://\u0430pi.acme.com/",
                          "://api.acme.com/"})
    EXPECT_EQ(http(grant, url), "constraint") << url;
}

TEST_F(Constraints, SchemesAndMethodsAreComparedWithoutCase) {
  EXPECT_EQ(http(R"({"schemes":["https"]})", "HTTPS://a/"), "granted");
  EXPECT_EQ(http(R"({"schemes":["https"]})", "http://a/"), "constraint");
  EXPECT_EQ(http(R"({"methods":["GET","post"]})", "http://a/", "get"), "granted");
  EXPECT_EQ(http(R"({"methods":["GET","post"]})", "http://a/", "POST"), "granted");
  EXPECT_EQ(http(R"({"methods":["GET"]})", "http://a/", "DELETE"), "constraint");
  EXPECT_EQ(http(R"({"methods":["GET"]})", "no address", "GET"), "granted");
}

TEST_F(Constraints, AJobHasItsTypeAndEveryQueueThatItNames) {
  EXPECT_EQ(job(R"({"types":["mail"]})", R"({"type":"mail","args_json":"[]"})"), "granted");
  EXPECT_EQ(job(R"({"types":["mail"]})", R"({"type":"Mail","args_json":"[]"})"), "constraint");
  const std::string_view grant = R"({"queues":["slow"]})";
  auto params = [](std::string_view rest) {
    return R"({"type":"t","args_json":"[]")" + std::string(rest) + "}";
  };
  EXPECT_EQ(job(grant, params(R"(,"queue":"slow")")), "granted");
  EXPECT_EQ(job(grant, params(R"(,"queue":"fast")")), "constraint");
  EXPECT_EQ(job(grant, params("")), "constraint");  // goes to "default"
  EXPECT_EQ(job(R"({"queues":["default"]})", params("")), "granted");
  EXPECT_EQ(job(grant, params(R"(,"options_json":"{\"queue\":\"slow\"}")")), "granted");
  EXPECT_EQ(job(grant, params(R"(,"options_json":"{\"queue\":\"fast\"}")")), "constraint");
  EXPECT_EQ(job(grant, params(R"(,"queue":"slow","options_json":"{\"queue\":\"fast\"}")")),
            "constraint");
  EXPECT_EQ(job(grant, params(R"(,"queue":"slow","options_json":"{\"queue\":7}")")), "constraint");
  EXPECT_EQ(job(grant, params(R"(,"queue":"slow","options_json":"{")")), "constraint");
  EXPECT_EQ(job(grant, params(R"(,"queue":"slow","options_json":"{\"priority\":1}")")), "granted");
}

TEST_F(Constraints, ARunHasItsDefinition) {
  EXPECT_EQ(check("sys/Run@1", "run.start", R"({"definitions":["a"]})", R"({"definition":"a"})"),
            "granted");
  EXPECT_EQ(check("sys/Run@1", "run.start", R"({"definitions":["a"]})", R"({"definition":"b"})"),
            "constraint");
}

}  // namespace
}  // namespace pawl::worlds
