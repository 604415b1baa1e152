#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "actions/pure_actions.h"
#include "actions/value_text.h"
#include "base/hash.h"
#include "base/uuid.h"

namespace pawl::actions {
namespace {

const EVP_MD* algorithm_named(const std::string& name) {
  if (name == "sha256") return EVP_sha256();
  if (name == "sha512") return EVP_sha512();
  if (name == "sha384") return EVP_sha384();
  if (name == "sha1") return EVP_sha1();
  if (name == "md5") return EVP_md5();
  return nullptr;
}

ActionOutcome unknown_algorithm() {
  return ActionOutcome::failure("VALIDATION_ERROR",
                                "algorithm must be sha256, sha512, sha384, sha1 or md5", false);
}

std::string hex(const unsigned char* bytes, size_t size) {
  return to_hex({reinterpret_cast<const char*>(bytes), size});
}

ActionOutcome unavailable(const std::string& name) {
  return ActionOutcome::failure("NON_RETRYABLE", name + " is not available here", false);
}

ActionOutcome too_long() {
  return ActionOutcome::failure("NON_RETRYABLE", "the data is too long for one action", false);
}

}  // namespace

ActionOutcome crypto_hash(const ActionRequest& request, expr::Budget& budget) {
  std::string name = string_param(request.params, "algorithm", "sha256");
  const EVP_MD* algorithm = algorithm_named(name);
  if (algorithm == nullptr) return unknown_algorithm();
  std::string data = string_param(request.params, "data");
  if (!budget.spend_steps(expr::price::scanning(data.size()))) return too_long();
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(data.data(), data.size(), out, &size, algorithm, nullptr) != 1)
    return unavailable(name);
  return ActionOutcome::success(Value::Object{{"hash", hex(out, size)}, {"algorithm", name}});
}

ActionOutcome crypto_hmac(const ActionRequest& request, expr::Budget& budget) {
  std::string name = string_param(request.params, "algorithm", "sha256");
  const EVP_MD* algorithm = algorithm_named(name);
  if (algorithm == nullptr) return unknown_algorithm();
  std::string data = string_param(request.params, "data");
  std::string key = string_param(request.params, "key");
  if (!budget.spend_steps(expr::price::scanning(data.size() + key.size()))) return too_long();
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(algorithm, key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), out, &size) == nullptr)
    return unavailable(name);
  return ActionOutcome::success(Value::Object{{"hmac", hex(out, size)}, {"algorithm", name}});
}

ActionOutcome crypto_uuid(const ActionRequest&, expr::Budget&) {
  std::string bytes(16, '\0');
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), 16) == 1);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  return ActionOutcome::success(Value::Object{{"uuid", Uuid::from_bytes(bytes)->text()}});
}

}  // namespace pawl::actions
