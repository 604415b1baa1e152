#include "cli/world_receipt.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/hash.h"
#include "base/quote.h"
#include "cli/given_inputs.h"

namespace pawl::cli {
namespace {

constexpr size_t kKeyFileBytesMax = 64 * 1024;
constexpr size_t kHmacSecretBytesMin = 16;

enum Major : uint8_t { kNat = 0, kNegative = 1, kByteString = 2, kText = 3, kArray = 4, kMap = 5 };

void put_head(std::string& out, Major major, uint64_t number) {
  const size_t size = number < 24            ? 0
                      : number <= UINT8_MAX  ? 1
                      : number <= UINT16_MAX ? 2
                      : number <= UINT32_MAX ? 4
                                             : 8;
  const auto log = static_cast<uint8_t>(size == 8 ? 27 : size == 4 ? 26 : size == 2 ? 25 : 24);
  out.push_back(static_cast<char>(major << 5 | (size == 0 ? static_cast<uint8_t>(number) : log)));
  for (size_t i = size; i-- > 0;) out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

void put_text(std::string& out, std::string_view text) {
  put_head(out, kText, text.size());
  out += text;
}

Status put_number(std::string& out, std::string_view text) {
  const bool negative = text.front() == '-';
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (negative ? 1 : 0), end, number);
  if (read.ec != std::errc() || read.ptr != end)
    return Error{ErrorCode::InvalidRequest,
                 in_quotes(text) + " is no whole number of 64 bits; decimals are written as text"};
  if (negative && number > 0)
    put_head(out, kNegative, number - 1);
  else
    put_head(out, kNat, number);
  return ok_status();
}

Status put_json(std::string& out, json::View json);

Status put_object(std::string& out, json::View object) {
  std::vector<std::pair<std::string, std::string>> members;  // encoded
  Status status = ok_status();
  object.each_member([&](json::View key, json::View value) {
    if (!status.ok()) return;
    auto& [name, content] = members.emplace_back();
    put_text(name, key.string());
    status = put_json(content, value);
  });
  PAWL_TRY_DO(std::move(status));
  std::sort(members.begin(), members.end());
  for (size_t i = 1; i < members.size(); ++i)
    if (members[i].first == members[i - 1].first)
      return Error{ErrorCode::InvalidRequest, "a member is there twice"};
  put_head(out, kMap, members.size());
  for (const auto& [name, content] : members) out += name + content;
  return ok_status();
}

Status put_json(std::string& out, json::View json) {
  switch (json.kind()) {
    case json::Kind::Null:
      out += '\xf6';
      return ok_status();
    case json::Kind::False:
      out += '\xf4';
      return ok_status();
    case json::Kind::True:
      out += '\xf5';
      return ok_status();
    case json::Kind::Number:
      return put_number(out, json.raw());
    case json::Kind::String:
      put_text(out, json.string());
      return ok_status();
    case json::Kind::Array: {
      put_head(out, kArray, json.size());
      Status status = ok_status();
      json.each_element([&](json::View element) {
        if (status.ok()) status = put_json(out, element);
      });
      return status;
    }
    case json::Kind::Object:
      return put_object(out, json);
  }
  return ok_status();
}

}  // namespace

Result<std::string> cbor_of_json(json::View json) {
  std::string out;
  PAWL_TRY_DO(put_json(out, json));
  return out;
}

std::string signed_bytes(const Receipt& receipt) {
  std::string out;
  put_head(out, kArray, 7);
  put_text(out, "receipt/v1");
  put_text(out, receipt.world_id);
  put_text(out, receipt.intent_hash);
  put_text(out, receipt.adapter_id);
  put_text(out, receipt.status);
  put_text(out, "sha256:" + sha256_hex(receipt.payload));
  if (receipt.cost_cents)
    put_head(out, kNat, *receipt.cost_cents);
  else
    out += '\xf6';
  return out;
}

std::string hmac_signature(std::string_view secret, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                          reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &size);
  PAWL_CHECK(made != nullptr);
  out.resize(size);
  return out;
}

Result<std::string> ed25519_signature(const std::string& key_file, std::string_view bytes) {
  PAWL_TRY(const std::string pem, read_whole_file(key_file, kKeyFileBytesMax));
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  auto no_password = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519)
    return Error{ErrorCode::InvalidRequest,
                 key_file +
                     " holds no private Ed25519 key as PEM ('openssl genpkey -algorithm "
                     "ed25519' makes one)"};
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  std::string out(64, '\0');
  size_t size = out.size();
  const bool made =
      context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1;
  if (!made) return Error{ErrorCode::Internal, "the key in " + key_file + " does not sign"};
  out.resize(size);
  return out;
}

Result<std::string> read_hmac_secret(const std::string& path) {
  PAWL_TRY(std::string secret, read_whole_file(path, kKeyFileBytesMax));
  const size_t text = secret.find_last_not_of("\r\n") + 1;
  const bool is_text = std::all_of(secret.begin(), secret.begin() + static_cast<ptrdiff_t>(text),
                                   [](char c) { return c >= 0x20 && c < 0x7f; });
  if (is_text && secret.size() - text <= 2) secret.resize(text);
  if (secret.size() >= kHmacSecretBytesMin) return secret;
  return Error{ErrorCode::InvalidRequest, "the secret in " + path + " is shorter than " +
                                              std::to_string(kHmacSecretBytesMin) + " bytes"};
}

}  // namespace pawl::cli
