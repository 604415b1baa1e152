// The hash of in-memory tables whose keys come from outside.
//
// Keyed anew in every process, so that nobody can send a thousand keys that all meet in one slot
// and make a reading cost the square of its size. Nothing that is stored, compared between
// processes or shown may depend on it: hash64 of base/hash.h is for those.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

size_t table_hash(std::string_view key);
size_t table_hash(double key);  // of equal numbers alike, 0.0 and -0.0 too

}  // namespace pawl
