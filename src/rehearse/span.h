// Virtual time as people write it: "30d", "1h30m", "3.25s", "250ms", "0s". Exact, and reads back as
// a duration. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace pawl::rehearse {

std::string span_text(int64_t ms);

}  // namespace pawl::rehearse
