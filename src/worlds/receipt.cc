#include "worlds/receipt.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "worlds/builtins.h"
#include "worlds/cbor.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

constexpr size_t kEd25519SignatureSize = 64;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

bool is_ed25519(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != kEd25519KeySize || signature.size() != kEd25519SignatureSize)
    return false;
  const std::unique_ptr<EVP_PKEY, FreeKey> key(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, octets(public_key), public_key.size()));
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  if (!key || !context) return false;
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(message),
                          message.size()) == 1;
}

bool is_hmac(std::string_view secret, std::string_view message, std::string_view signature) {
  if (secret.size() < kHmacSecretMin) return false;
  unsigned char code[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), octets(message),
           message.size(), code, &size) == nullptr)
    return false;
  return equal_in_constant_time({reinterpret_cast<const char*>(code), size}, signature);
}

bool serves(const Adapter& adapter, std::string_view kind) {
  if (!adapter.only_kinds) return !is_builtin_effect(kind);
  return std::find(adapter.kinds.begin(), adapter.kinds.end(), kind) != adapter.kinds.end();
}

}  // namespace

bool is_receipt_status(std::string_view status) {
  return status == "ok" || status == "error" || status == "timeout";
}

std::string_view outcome_name(ReceiptOutcome outcome) {
  switch (outcome) {
    case ReceiptOutcome::Settled:
      return "settled";
    case ReceiptOutcome::Duplicate:
      return "duplicate";
    case ReceiptOutcome::Rejected:
      return "rejected";
    case ReceiptOutcome::InstanceFailed:
      return "instance_failed";
  }
  return "settled";
}

std::string receipt_message(const Uuid& world, const GivenReceipt& receipt) {
  std::string out;
  out.reserve(256 + receipt.adapter_id.size());
  cbor::put_array(out, 7);
  cbor::put_text(out, "receipt/v1");
  cbor::put_text(out, world.text());
  cbor::put_text(out, receipt.intent_hash);
  cbor::put_text(out, receipt.adapter_id);
  cbor::put_text(out, receipt.status);
  cbor::put_text(out, hash_of_bytes(receipt.payload));
  if (receipt.cost_cents) {
    cbor::put_int(out, *receipt.cost_cents);
  } else {
    cbor::put_null(out);
  }
  return out;
}

bool signature_is_good(const Adapter& adapter, std::string_view key, std::string_view message,
                       std::string_view signature) {
  return adapter.hmac ? is_hmac(key, message, signature) : is_ed25519(key, message, signature);
}

Status judge_receipt(World& world, const Program&, const GivenReceipt& receipt,
                     const Adapter* adapter, std::string_view key) {
  if (!is_receipt_status(receipt.status))
    return Error{ErrorCode::InvalidContent, "status is ok, error or timeout"};
  if (receipt.cost_cents.value_or(0) < 0)
    return Error{ErrorCode::InvalidContent, "cost_cents is not negative"};
  const std::optional<Intent> intent = world.intent(receipt.intent_hash);
  if (!intent) {
    return refusal(ErrorCode::NotFound, "receipt.unknown_intent",
                   "the world has no intent '" + receipt.intent_hash + "'");
  }
  if (adapter == nullptr ||
      !signature_is_good(*adapter, key, receipt_message(world.head().id, receipt),
                         receipt.signature)) {
    return refusal(
        ErrorCode::Forbidden, "receipt.bad_signature",
        "the signature is not that of adapter '" + receipt.adapter_id + "' over this receipt");
  }
  if (!serves(*adapter, intent->kind)) {
    return refusal(ErrorCode::Forbidden, "receipt.kind_not_allowed",
                   "adapter '" + receipt.adapter_id + "' does not serve '" + intent->kind + "'");
  }
  return ok_status();
}

}  // namespace pawl::worlds
