// Signatures of receipts.
#pragma once

#include <string_view>

#include "worlds/commands.h"

namespace pawl::worlds {

constexpr size_t kHmacSecretMin = 16;
constexpr size_t kEd25519KeySize = 32;

bool is_receipt_status(std::string_view status);  // ok, error, timeout

}  // namespace pawl::worlds
