// The key pair with which the server signs receipts of the effects that it performs itself:
// Ed25519, one per world. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "worldhost/session.h"
#include "worlds/items.h"

namespace pawl {

inline constexpr std::string_view kOwnAdapter = "pawl";

// 32 random bytes; of a test world they follow from its seed.
std::string new_own_seed(const WorldSession& session, const worlds::Head& head);
std::string public_key_of(std::string_view seed32);
std::string sign_with(std::string_view seed32, std::string_view message);

}  // namespace pawl
