// Receipts as an adapter writes and signs them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace pawl::cli {

// JSON as canonical CBOR, without a schema. InvalidRequest: a number that is not whole or not of 64
// bits, or a member that is there twice.
Result<std::string> cbor_of_json(json::View json);

struct Receipt {
  std::string world_id;
  std::string intent_hash;
  std::string adapter_id;
  std::string status;
  std::string payload;                   // canonical CBOR
  std::optional<uint64_t> cost_cents{};  // none: null
};
// What is signed.
std::string signed_bytes(const Receipt& receipt);

// Both return the signature itself. The key file is a private Ed25519 key as PEM; InvalidRequest:
// it holds none.
std::string hmac_signature(std::string_view secret, std::string_view bytes);
Result<std::string> ed25519_signature(const std::string& key_file, std::string_view bytes);

// The secret that a file holds: all of its bytes, but for the line end of a text. InvalidRequest:
// it cannot be read, or is shorter than 16 bytes.
Result<std::string> read_hmac_secret(const std::string& path);

}  // namespace pawl::cli
