// Which rows of the store carry a checksum of their own.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl {

// Frames of a world's journal, and the parts of its baselines (items f and s of worlds/items.h).
// Their readers check it, so damage in one harms its world alone.
bool is_checked_row(uint8_t space, std::string_view key);

}  // namespace pawl
