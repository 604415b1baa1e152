#include "worlds/hash.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/ascii.h"
#include "base/check.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";
constexpr size_t kHashTextSize = 71;
constexpr std::string_view kSelfDescribed = "\xd9\xd9\xf7";

struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Looking an algorithm up by its name costs more than hashing a small value: it is done once.
class Digester {
 public:
  explicit Digester(const char* algorithm)
      : algorithm_(EVP_MD_fetch(nullptr, algorithm, nullptr)), context_(EVP_MD_CTX_new()) {
    PAWL_CHECK(algorithm_ != nullptr && context_ != nullptr);
    PAWL_CHECK(EVP_DigestInit_ex2(context_.get(), algorithm_, nullptr) == 1);
  }
  ~Digester() { EVP_MD_free(algorithm_); }
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  // `out` has room for the digest.
  void run(std::string_view prefix, std::string_view bytes, unsigned char* out) {
    PAWL_CHECK(EVP_DigestInit_ex2(context_.get(), nullptr, nullptr) == 1);
    if (!prefix.empty())
      PAWL_CHECK(EVP_DigestUpdate(context_.get(), prefix.data(), prefix.size()) == 1);
    PAWL_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
    PAWL_CHECK(EVP_DigestFinal_ex(context_.get(), out, nullptr) == 1);
  }

 private:
  EVP_MD* algorithm_;
  std::unique_ptr<EVP_MD_CTX, FreeDigestContext> context_;
};

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256_of(std::string_view prefix, std::string_view bytes) {
  thread_local Digester digester("SHA256");
  Sha256 out;
  digester.run(prefix, bytes, out.data());
  return out;
}

std::string_view chars_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string hash_text(std::string_view bytes32) {
  static constexpr char kHex[] = "0123456789abcdef";
  PAWL_CHECK(bytes32.size() == 32);
  std::string out(kHashTextSize, '\0');
  kHashPrefix.copy(out.data(), kHashPrefix.size());
  char* at = out.data() + kHashPrefix.size();
  for (const char c : bytes32) {
    *at++ = kHex[static_cast<uint8_t>(c) >> 4];
    *at++ = kHex[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

std::string hash_bytes(std::string_view text) {
  PAWL_CHECK(is_hash(text));
  text.remove_prefix(kHashPrefix.size());
  std::string out(32, '\0');
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
  return out;
}

bool is_hash(std::string_view text) {
  if (text.size() != kHashTextSize || !text.starts_with(kHashPrefix)) return false;
  for (const char c : text.substr(kHashPrefix.size()))
    if (!is_digit(c) && !(c >= 'a' && c <= 'f')) return false;
  return true;
}

std::string hash_of_structure(std::string_view canonical) {
  return hash_text(chars_of(sha256_of(kSelfDescribed, canonical)));
}

std::string hash_of_bytes(std::string_view bytes) {
  return hash_text(chars_of(sha256_of({}, bytes)));
}

std::string digest_of_structure(std::string_view canonical) {
  return std::string(chars_of(sha256_of(kSelfDescribed, canonical)));
}

std::string digest_of_bytes(std::string_view bytes) {
  return std::string(chars_of(sha256_of({}, bytes)));
}

std::string sha512(std::string_view bytes) {
  thread_local Digester digester("SHA512");
  std::string out(64, '\0');
  digester.run({}, bytes, reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace pawl::worlds
