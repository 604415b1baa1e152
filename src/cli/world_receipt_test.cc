#include "cli/world_receipt.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/base64.h"
#include "base/hash.h"

namespace pawl::cli {
namespace {

std::string cbor_hex(const std::string& text) {
  auto doc = json::parse(text);
  PAWL_CHECK(doc.ok());
  auto cbor = cbor_of_json(doc->root());
  return cbor.ok() ? to_hex(*cbor) : cbor.error().message;
}

std::string file_with(const std::string& text) {
  const std::string path = ::testing::TempDir() + "pawl-receipt-key";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(CborOfJson, HasTheShortestHeadsAndSortedKeys) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"500", "1901f4"},
      {"23", "17"},
      {"24", "1818"},
      {"255", "18ff"},
      {"256", "190100"},
      {"65536", "1a00010000"},
      {"4294967296", "1b0000000100000000"},
      {"18446744073709551615", "1bffffffffffffffff"},
      {"-1", "20"},
      {"-0", "00"},
      {"-9223372036854775808", "3b7fffffffffffffff"},
      {R"({"c":true,"a":1,"bb":null})", "a36161016163f5626262f6"},
      {R"(["b",[],false,{}])", "84616280f4a0"},
      {R"("\u00e4")", "62c3a4"}};
  for (const auto& [json, hex] : kPairs) EXPECT_EQ(cbor_hex(json), hex) << json;
}

TEST(CborOfJson, RefusesWhatHasNoOneEncoding) {
  for (const char* wrong : {"1.0", "1e3", "18446744073709551616", "[[0.5]]"})
    EXPECT_NE(cbor_hex(wrong).find("is no whole number"), std::string::npos) << wrong;
  EXPECT_EQ(cbor_hex(R"({"a":1,"a":1})"), "a member is there twice");
}

// The vector that every implementation of the contract shares.
TEST(Receipt, IsSignedAsTheContractSays) {
  auto doc = json::parse(R"({"charge_id":"ch_1"})");
  Receipt receipt{
      .world_id = "01890a5d-ac96-774b-bcce-b302099a8057",
      .intent_hash = "sha256:e8dd8652afd952af344792d187233a8e181bba29a9ee26a7c25024580ac00f26",
      .adapter_id = "stripe",
      .status = "ok",
      .payload = cbor_of_json(doc->root()).value()};
  EXPECT_EQ(base64(hmac_signature("0123456789abcdef", signed_bytes(receipt))),
            "6zeIkgLdBUK83qkxx8bzsL0gh0OOVA8KadEPXIrvOoQ=");
  const std::string free = signed_bytes(receipt);
  receipt.cost_cents = 0;
  EXPECT_NE(signed_bytes(receipt), free);
}

// RFC 8032, section 7.1, test 2.
TEST(Receipt, Ed25519IsThatOfTheStandard) {
  const std::string key = file_with(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
      "-----END PRIVATE KEY-----\n");
  auto signature = ed25519_signature(key, "\x72");
  ASSERT_TRUE(signature.ok()) << signature.error().message;
  EXPECT_EQ(to_hex(*signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  for (const char* wrong :
       {"", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"})
    EXPECT_FALSE(ed25519_signature(file_with(wrong), "x").ok());
}

TEST(ReadHmacSecret, DropsTheLineEndOfATextOnly) {
  const std::string random("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11\x12\x13\x14\x15\n", 16);
  EXPECT_EQ(read_hmac_secret(file_with("0123456789abcdef\r\n")).value(), "0123456789abcdef");
  EXPECT_EQ(read_hmac_secret(file_with(random)).value(), random);
  EXPECT_FALSE(read_hmac_secret(file_with("0123456789abcde\n")).ok());
  EXPECT_FALSE(read_hmac_secret(::testing::TempDir() + "no-such-file").ok());
}

}  // namespace
}  // namespace pawl::cli
