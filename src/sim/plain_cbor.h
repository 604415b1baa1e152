// CBOR for the checkers of module worlds: a reader that takes nothing but canonical bytes (RFC
// 8949, 4.2.1), and a writer for the preimages of hashes. It shares no code with worlds/cbor.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::sim {

struct PlainItem {
  enum class Kind : uint8_t { Missing, Nat, Negative, Bytes, Text, Array, Map, False, True, Null };
  Kind kind = Kind::Missing;
  uint64_t number = 0;
  std::string string;
  std::vector<PlainItem> items;  // of a map: key, value, key, value, …

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_null() const { return kind == Kind::Null; }
  // Of a map; Missing if it has no such member.
  const PlainItem& at(std::string_view name) const;
  // Of bytes and text; "" otherwise, null too.
  const std::string& text(std::string_view name) const { return at(name).string; }
  uint64_t nat(std::string_view name) const { return at(name).number; }
  bool flag(std::string_view name) const { return at(name).kind == Kind::True; }
};

// False: it is not exactly one item in its one canonical encoding.
bool read_plain(std::string_view bytes, PlainItem& item);

// The parts of a canonical encoding; keys of maps in canonical order are the caller's care.
std::string plain_head(unsigned major, uint64_t number);
std::string plain_text(std::string_view text);
std::string plain_bytes(std::string_view bytes);
std::string plain_bytes_or_null(const PlainItem& item);
std::string plain_nat(uint64_t number);
// The same item, which ends in a number, with a head that is longer than need be: what clients may
// send, and a journal never holds. Of a number past 23 as it is.
std::string with_long_head(std::string item);

// Hashes of the contract: of structures, raw; of bytes and structures as text.
std::string plain_digest(std::string_view structure);
std::string plain_hash(std::string_view structure);
std::string plain_hash_of_bytes(std::string_view bytes);

}  // namespace pawl::sim
