#include "worldhost/own_keys.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>

#include "base/check.h"
#include "base/hash.h"

namespace pawl {
namespace {

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

Key private_key(std::string_view seed32) {
  PAWL_CHECK(seed32.size() == 32);
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                       reinterpret_cast<const unsigned char*>(seed32.data()), 32),
          EVP_PKEY_free);
  PAWL_CHECK(key != nullptr);
  return key;
}

}  // namespace

std::string new_own_seed(const worlds::Head& head) {
  if (head.test) {
    const auto digest = sha256("pawl-adapter/" + head.seed);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }
  std::string seed(32, '\0');
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(seed.data()), 32) == 1);
  return seed;
}

std::string public_key_of(std::string_view seed32) {
  std::string bytes(32, '\0');
  size_t size = bytes.size();
  PAWL_CHECK(EVP_PKEY_get_raw_public_key(private_key(seed32).get(),
                                         reinterpret_cast<unsigned char*>(bytes.data()),
                                         &size) == 1);
  return bytes;
}

std::string sign_with(std::string_view seed32, std::string_view message) {
  const Key key = private_key(seed32);
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(64, '\0');
  size_t size = signature.size();
  PAWL_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  PAWL_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                            &size, reinterpret_cast<const unsigned char*>(message.data()),
                            message.size()) == 1);
  return signature;
}

}  // namespace pawl
