// The vectors of the contract: JSON and type to bytes and hash.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/hash.h"
#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

struct Vector {
  const char* json;
  const char* type;
  const char* bytes;  // hex
  const char* hash;   // its first 16 digits
};

constexpr Vector kVectors[] = {
    {"500", R"({"nat":{}})", "1901f4", "b5b9dab597342990"},
    {"-9223372036854775808", R"({"int":{}})", "3b7fffffffffffffff", "67e32b647dedafb4"},
    {R"({"c":true,"a":1})",
     R"({"record":{"bb":{"option":{"text":{}}},"a":{"nat":{}},"c":{"bool":{}}}})",
     "a36161016163f5626262f6", "b78fa14a43d3ae53"},
    {R"({"Paid":{"cents":4200}})",
     R"({"variant":{"Paid":{"record":{"cents":{"nat":{}}}},"Open":{"unit":{}}}})",
     "a264247461676450616964662476616c7565a16563656e7473191068", "47f48f63ac09301e"},
    {R"({"Open":null})",
     R"({"variant":{"Paid":{"record":{"cents":{"nat":{}}}},"Open":{"unit":{}}}})",
     "a16424746167644f70656e", "bd0acd729a8cf173"},
    {R"(["b","aa","b","a"])", R"({"set":{"text":{}}})", "8361616162626161", "6edbccc499169775"},
    {R"([[256,"y"],[3,"x"]])", R"({"map":{"key":{"nat":{}},"value":{"text":{}}}})",
     "a20361781901006179", "ef6c68d9f861fbb7"},
    {R"({"bb":-1,"c":24})", R"({"map":{"key":{"text":{}},"value":{"int":{}}}})",
     "a26163181862626220", "d752343d4c665ef4"},
    {R"("AAEC/w==")", R"({"bytes":{}})", "44000102ff", "a5c9ae78b0488e28"},
    {R"([{"D":"-12.50"}])", R"({"list":{"variant":{"D":{"dec128":{}}}}})",
     "81a264247461676144662476616c7565662d31322e3530", "7bf873db999b766b"},
    {R"({"t":1700000000000000000,"d":-1500000000})",
     R"({"record":{"t":{"time":{}},"d":{"duration":{}}}})",
     "a261643a59682eff61741b17979cfe362a0000", "2988b4a6a12e3d49"},
};

TEST(ValueVectors, JsonBecomesTheBytesAndHashOfTheContract) {
  for (const Vector& vector : kVectors) {
    auto doc = json::parse(vector.json);
    ASSERT_TRUE(doc.ok());
    const Type type = type_of(vector.type);
    auto bytes = from_json(type, doc->root());
    ASSERT_TRUE(bytes.ok()) << vector.json << ": " << bytes.error().message;
    EXPECT_EQ(to_hex(*bytes), vector.bytes) << vector.json;
    EXPECT_EQ(hash_of_bytes(*bytes).substr(0, 23), std::string("sha256:") + vector.hash);
    EXPECT_EQ(*from_cbor(type, *bytes), *bytes) << vector.json;
  }
}

TEST(ValueVectors, ANodesHashIsOfItsBytesBehindThePrefixOfSelfDescribedCbor) {
  const std::string node = cbor_of(
      R"({"$kind":"defschema","name":"com.acme/Tick@1","type":{"record":{"n":{"nat":{}}}}})");
  EXPECT_EQ(hash_of_structure(node).substr(0, 23), "sha256:0d3924a36e75aa82");
}

// Preimages of identities are structures that the kernel writes member by member.
TEST(ValueVectors, PreimagesOfIdentitiesHashAsTheContractSays) {
  const std::string payload = cbor_of(R"({"amount_cents":4200,"order_id":"o-1"})");
  std::string event;
  cbor::Map(event)
      .text("schema", "com.acme/OrderEvent@1")
      .bytes("value", payload)
      .null("key")
      .end();
  EXPECT_EQ(hash_of_structure(event).substr(0, 23), "sha256:ebf6893ed31a5af2");

  std::string grant;
  cbor::Map(grant)
      .text("cap", "com.acme/Payments@1")
      .text("cap_type", "payments")
      .bytes("params", cbor_of(R"({"max_cents":10000})"))
      .null("expiry_ns")
      .end();
  EXPECT_EQ(hash_of_structure(grant).substr(0, 23), "sha256:b77c831925a29dc3");

  std::string key;
  cbor::put_text(key, "o-1");
  std::string identity;
  cbor::Map(identity)
      .text("origin_kind", "workflow")
      .text("origin_name", "com.acme/order_workflow@1")
      .bytes("instance_key", key)
      .text("effect_kind", "payment.charge")
      .bytes("params", payload)
      .null("requested_key")
      .nat("seq", 2)
      .nat("ordinal", 0)
      .nat("effect_index", 0)
      .end();
  const std::string idempotency_key = digest_of_structure(identity);
  EXPECT_EQ(to_hex(idempotency_key).substr(0, 16), "8317335a4736d728");
  std::string intent;
  cbor::Map(intent)
      .text("kind", "payment.charge")
      .bytes("params", payload)
      .text("cap_name", "cap_payments")
      .bytes("idempotency_key", idempotency_key)
      .end();
  EXPECT_EQ(hash_of_structure(intent),
            "sha256:e8dd8652afd952af344792d187233a8e181bba29a9ee26a7c25024580ac00f26");
}

}  // namespace
}  // namespace pawl::worlds
