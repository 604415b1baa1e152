// Content addresses: "sha256:" and 64 hex digits. Two kinds, which must not be mixed up: of
// structures (nodes, manifests, preimages of identities), whose bytes get the prefix of
// self-described CBOR, and of plain bytes (WASM, blobs, snapshots, states, params, payloads, keys),
// which do not (docs/reference/worlds-bytes.md).
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/base64.h"

namespace pawl::worlds {

std::string hash_of_structure(std::string_view canonical);  // H of worlds-bytes.md
std::string hash_of_bytes(std::string_view bytes);          // sha of it
bool is_hash(std::string_view text);

// The 32 bytes behind the text, for keys of tables. The text must be is_hash().
std::string hash_bytes(std::string_view text);
std::string hash_text(std::string_view bytes32);

// The same digests as raw bytes: 32 of them.
std::string digest_of_structure(std::string_view canonical);
std::string digest_of_bytes(std::string_view bytes);
std::string sha512(std::string_view bytes);  // 64 raw bytes

using pawl::base64;       // canonical, padded
using pawl::from_base64;  // false: not canonical padded base64

}  // namespace pawl::worlds
