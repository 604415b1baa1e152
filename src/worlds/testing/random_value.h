// Random types, and their values in many spellings that must all read as the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worlds/type.h"

namespace pawl::worlds {

// Choices that the bytes of a fuzzer make, or a seed. When the bytes are used up, each choice is 0.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes), seeded_(false) {}
  explicit Choices(uint64_t seed) : state_(seed), seeded_(true) {}

  uint64_t below(uint64_t bound);  // at most 2^16 where bytes choose
  bool chance(uint64_t of) { return below(of) == 0; }
  uint64_t any();  // any 64 bits, often small or at a limit
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
  uint64_t state_ = 0;
  const bool seeded_;
};

// A type expression as JSON, without refs.
std::string random_type(Choices& choices, size_t levels);
// A value of the type as sugar JSON.
std::string random_json(Choices& choices, const Type& type);

// Other spellings of a canonical value.
std::string respell_json(Choices& choices, const Type& type, const cbor::Item& item, Lens lens);
// Long heads, shuffled keys and sets, repeated elements, {tag: value}, absent options, maps as
// pairs.
std::string respell_cbor(Choices& choices, const Type& type, const cbor::Item& item);
// Any CBOR with long heads and shuffled keys.
std::string respell_cbor(Choices& choices, const cbor::Item& item);

}  // namespace pawl::worlds
