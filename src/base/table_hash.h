// The hash of in-memory tables whose keys come from outside.
//
// Each process uses a new random key, so that a client cannot send a thousand keys that fall into
// one slot and make parsing take quadratic time. Nothing that is stored, compared between processes
// or shown may depend on it: use hash64 of base/hash.h for that.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

size_t table_hash(std::string_view key);
size_t table_hash(double key);  // equal numbers hash alike, 0.0 and -0.0 too

}  // namespace pawl
