// Bounds of the keys that sign receipts, and the statuses of a receipt. The checks themselves are
// in commands.h: receipt_message(), signature_is_good(), judge_receipt().
#pragma once

#include <string_view>

#include "worlds/commands.h"

namespace pawl::worlds {

constexpr size_t kHmacSecretMin = 16;
constexpr size_t kEd25519KeySize = 32;

bool is_receipt_status(std::string_view status);  // ok, error, timeout

}  // namespace pawl::worlds
