// Keys of rows: byte strings with the same order as the values they encode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "kernel/timer_key.h"

namespace pawl {

struct ReadyKey;

void put_big_endian(std::string& out, uint64_t value, int bytes);

std::string ready_prefix(std::string_view scoped_queue);
std::string ready_row_key(std::string_view scoped_queue, const ReadyKey& key);
std::optional<ReadyKey> parse_ready_row_key(std::string_view scoped_queue,
                                            std::string_view row_key);

std::string due_row_key(const TimerKey& key);
std::optional<TimerKey> parse_due_row_key(std::string_view row_key);

std::string unique_row_key(std::string_view unique_key, const JobId& job);

}  // namespace pawl
