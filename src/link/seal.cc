#include "link/seal.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/hash.h"
#include "base/read_number.h"

namespace pawl::link {
namespace {

struct MacFree {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using MacContext = std::unique_ptr<EVP_MAC_CTX, MacFree>;

void digest_bytes(EVP_MAC_CTX* context, std::string_view bytes) {
  PAWL_CHECK(EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size()) == 1);
}

}  // namespace

// Setting the key up costs as much as hashing a small batch: it is done once, and copied.
struct Seal::Parts {
  MacContext keyed;
};

Seal::Seal(std::string_view key) : parts_(std::make_unique<Parts>()) {
  const std::unique_ptr<EVP_MAC, MacFree> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  PAWL_CHECK(mac != nullptr);
  parts_->keyed.reset(EVP_MAC_CTX_new(mac.get()));
  char digest_name[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest_name, 0),
      OSSL_PARAM_construct_end()};
  PAWL_CHECK(parts_->keyed != nullptr &&
             EVP_MAC_init(parts_->keyed.get(), reinterpret_cast<const unsigned char*>(key.data()),
                          key.size(), params) == 1);
}

Seal::~Seal() = default;

std::string Seal::digest(std::string_view purpose, uint32_t version, std::string_view bytes) const {
  const MacContext context(EVP_MAC_CTX_dup(parts_->keyed.get()));
  PAWL_CHECK(context != nullptr);
  digest_bytes(context.get(), purpose);
  digest_bytes(context.get(), std::to_string(version));
  digest_bytes(context.get(), "\n");
  digest_bytes(context.get(), bytes);
  std::array<unsigned char, 32> out;
  size_t size = 0;
  PAWL_CHECK(EVP_MAC_final(context.get(), out.data(), &size, out.size()) == 1 &&
             size == out.size());
  return to_hex({reinterpret_cast<const char*>(out.data()), out.size()});
}

std::string Seal::mac_of(uint32_t version, std::string_view body) const {
  return digest("pawl link request ", version, body);
}

std::string Seal::ticket_of(const SealedHeader& header, std::string_view body_bytes) const {
  return digest("pawl link head ", header.version,
                std::string(header.seal).append(" ").append(body_bytes));
}

std::string Seal::request_header(uint32_t version, std::string_view mac, size_t body_bytes) const {
  const std::string ticket =
      ticket_of({.version = version, .seal = mac, .ticket = {}}, std::to_string(body_bytes));
  return sealed_header(version, mac).append(" ").append(ticket);
}

std::string Seal::proof_of(uint32_t version, std::string_view mac) const {
  return digest("pawl link answer ", version, mac);
}

std::optional<SealedHeader> read_sealed_header(std::string_view value) {
  const size_t blank = value.find(' ');
  SealedHeader header;
  if (blank == std::string_view::npos) return std::nullopt;
  if (!read_number(value.substr(0, blank), header.version)) return std::nullopt;
  value.remove_prefix(blank + 1);
  const size_t second = std::min(value.find(' '), value.size());
  header.seal = value.substr(0, second);
  header.ticket = value.substr(std::min(second + 1, value.size()));
  return header;
}

std::string sealed_header(uint32_t version, std::string_view seal) {
  return std::to_string(version).append(" ").append(seal);
}

}  // namespace pawl::link
