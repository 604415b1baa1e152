#include "kernel/keys.h"

#include "base/quote.h"
#include "journal/events.h"
#include "kernel/cold.h"
#include "kernel/jobs/queue.h"

namespace pawl {
namespace {

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

// Signed numbers in unsigned order.
uint32_t ordered(int32_t value) { return static_cast<uint32_t>(value) ^ 0x80000000u; }
uint64_t ordered(int64_t value) { return static_cast<uint64_t>(value) ^ 0x8000000000000000ULL; }

}  // namespace

void put_big_endian(std::string& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift));
}

void unreadable_row(std::string_view what, std::string_view key) {
  throw Unreadable{Error{ErrorCode::Corrupt, "the row of " + std::string(what) + " " +
                                                 in_quotes(key) + " makes no sense"}};
}

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

std::string ready_prefix(std::string_view scoped_queue) { return std::string(scoped_queue) + '\0'; }

std::string ready_row_key(std::string_view scoped_queue, const ReadyKey& key) {
  std::string out = ready_prefix(scoped_queue);
  put_big_endian(out, ordered(key.reverse_priority), 4);
  put_big_endian(out, key.order, 8);
  key.job.append_bytes(out);
  return out;
}

std::optional<ReadyKey> parse_ready_row_key(std::string_view scoped_queue,
                                            std::string_view row_key) {
  if (row_key.size() != scoped_queue.size() + 1 + 4 + 8 + 16) return std::nullopt;
  row_key.remove_prefix(scoped_queue.size() + 1);
  ReadyKey key;
  key.reverse_priority =
      static_cast<int32_t>(static_cast<uint32_t>(big_endian(row_key.substr(0, 4))) ^ 0x80000000u);
  key.order = big_endian(row_key.substr(4, 8));
  key.job = JobId(*Uuid::from_bytes(row_key.substr(12)));
  return key;
}

std::string due_row_key(const TimerKey& key) {
  std::string out;
  put_big_endian(out, ordered(key.due_ms), 8);
  out.push_back(static_cast<char>(key.kind));
  key.id.append_bytes(out);
  return out;
}

std::optional<TimerKey> parse_due_row_key(std::string_view row_key) {
  if (row_key.size() != 8 + 1 + 16) return std::nullopt;
  TimerKey key;
  key.due_ms = static_cast<int64_t>(big_endian(row_key.substr(0, 8)) ^ 0x8000000000000000ULL);
  key.kind = static_cast<TimerKind>(row_key[8]);
  key.id = *Uuid::from_bytes(row_key.substr(9));
  return key;
}

std::string unique_row_key(std::string_view unique_key, const JobId& job) {
  std::string out(unique_key);
  job.append_bytes(out);
  return out;
}

std::string doc_key(DocKind kind, std::string_view key) {
  std::string out(1, static_cast<char>(kind));
  return out.append(key);
}

}  // namespace pawl
