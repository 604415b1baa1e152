// The name that was probably meant. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl::plan {

// The candidate that differs least from the name, if it differs by less than a third; else "". Of
// equals the first.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

// "did you mean 'x'?", or "" if nothing is near.
std::string meant(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace pawl::plan
