// The contract's vectors for identities and signatures.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/commands.h"
#include "worlds/hash.h"
#include "worlds/intent.h"
#include "worlds/receipt.h"
#include "worlds/testing/test_world.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kPrefix = "sha256:";

std::string params() { return cbor_text(R"({"amount_cents":4200,"order_id":"o-1"})"); }

std::string vector_key() {
  const std::string key = cbor_text(R"("o-1")");
  return idempotency_key({.origin_kind = "workflow",
                          .origin_name = "com.acme/order_workflow@1",
                          .instance_key = std::string_view(key),
                          .effect_kind = "payment.charge",
                          .params = params(),
                          .seq = 2});
}

std::string vector_intent() {
  return intent_hash("payment.charge", params(), "cap_payments", vector_key());
}

GivenReceipt vector_receipt() {
  GivenReceipt receipt;
  receipt.intent_hash = vector_intent();
  receipt.adapter_id = "stripe";
  receipt.status = "ok";
  receipt.payload = cbor_text(R"({"charge_id":"ch_1"})");
  return receipt;
}

const Uuid kWorld = *Uuid::parse("01890a5d-ac96-774b-bcce-b302099a8057");
constexpr std::string_view kSecret = "0123456789abcdef";

TEST(KernelVectors, EventHash) {
  const std::string value = cbor_text(R"({"amount_cents":4200,"order_id":"o-1"})");
  EXPECT_TRUE(event_hash("com.acme/OrderEvent@1", value, {})
                  .starts_with(std::string(kPrefix) + "ebf6893ed31a5af2"));
}

TEST(KernelVectors, IdempotencyKeyAndIntentHash) {
  EXPECT_EQ(to_hex(vector_key()).substr(0, 16), "8317335a4736d728");
  EXPECT_EQ(vector_key().size(), 32u);
  EXPECT_EQ(
      vector_intent(),
      std::string(kPrefix) + "e8dd8652afd952af344792d187233a8e181bba29a9ee26a7c25024580ac00f26");
}

TEST(KernelVectors, ReceiptSignature) {
  std::string signature;
  ASSERT_TRUE(from_base64("6zeIkgLdBUK83qkxx8bzsL0gh0OOVA8KadEPXIrvOoQ=", signature));
  const std::string message = receipt_message(kWorld, vector_receipt());
  const Adapter adapter{.hmac = true};
  EXPECT_TRUE(signature_is_good(adapter, kSecret, message, signature));
}

// Everything that the signature is over counts: a receipt moved to another world, or with a cost,
// is another one.
TEST(KernelVectors, ASignatureIsOfOneReceiptAlone) {
  std::string signature;
  ASSERT_TRUE(from_base64("6zeIkgLdBUK83qkxx8bzsL0gh0OOVA8KadEPXIrvOoQ=", signature));
  const Adapter adapter{.hmac = true};
  auto good = [&](const Uuid& world, const GivenReceipt& receipt, std::string_view key) {
    return signature_is_good(adapter, key, receipt_message(world, receipt), signature);
  };
  const GivenReceipt receipt = vector_receipt();
  EXPECT_TRUE(good(kWorld, receipt, kSecret));
  Uuid other = kWorld;
  other.lo ^= 1;
  EXPECT_FALSE(good(other, receipt, kSecret));
  EXPECT_FALSE(good(kWorld, receipt, "0123456789abcdeF"));
  EXPECT_FALSE(good(kWorld, receipt, "short"));
  auto with = [&](auto change) {
    GivenReceipt changed = receipt;
    change(changed);
    return good(kWorld, changed, kSecret);
  };
  EXPECT_FALSE(with([](GivenReceipt& r) { r.status = "error"; }));
  EXPECT_FALSE(with([](GivenReceipt& r) { r.adapter_id = "strype"; }));
  EXPECT_FALSE(with([](GivenReceipt& r) { r.payload.back() ^= 1; }));
  EXPECT_FALSE(with([](GivenReceipt& r) { r.cost_cents = 0; }));
  EXPECT_FALSE(with([](GivenReceipt& r) { r.intent_hash.back() ^= 1; }));
  signature.pop_back();
  EXPECT_FALSE(good(kWorld, receipt, kSecret));
}

// RFC 8032, section 7.1, TEST 2: one byte, 0x72.
TEST(KernelVectors, Ed25519) {
  auto bytes = [](std::string_view hex) {
    std::string out;
    for (size_t i = 0; i < hex.size(); i += 2)
      out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return out;
  };
  const std::string key = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  std::string signature = bytes(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  const Adapter adapter;
  EXPECT_TRUE(signature_is_good(adapter, key, "\x72", signature));
  EXPECT_FALSE(signature_is_good(adapter, key, "\x73", signature));
  EXPECT_FALSE(signature_is_good(adapter, key.substr(1), "\x72", signature));
  signature.front() ^= 1;
  EXPECT_FALSE(signature_is_good(adapter, key, "\x72", signature));
  EXPECT_FALSE(signature_is_good(adapter, key, "\x72", ""));
}

}  // namespace
}  // namespace pawl::worlds
